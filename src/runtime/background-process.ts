// The background process, as its serving process sees it: it delivers events and seals the audit logs. It runs while some project
// has a sink, or there is an audit log, and is started again when it exits. Among several workers one is elected to start it
// (docs/decisions/0035-event-delivery.md).

import type { StoredDocument } from '../config/kind.ts'
import type { ConfigRepository } from '../config/repository.ts'
import { eventSinksKind } from '../events/event-sink.ts'
import { lowerPriority } from '../lanes/lane-process.ts'
import { matchRemovalsKind } from '../matching/entity-matching.ts'
import { entityMatchingPipelinesKind } from '../matching/entity-matching-pipeline.ts'
import type { Log } from '../ops/log.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { trustScoreProfilesKind } from '../trust/trust-score-profile.ts'
import { trustScoreRemovalsKind } from '../trust/trust-scoring.ts'

/** Kinds whose documents give the process work. */
const workKinds: ReadonlySet<string> = new Set([
  eventSinksKind,
  trustScoreProfilesKind,
  trustScoreRemovalsKind,
  entityMatchingPipelinesKind,
  matchRemovalsKind,
])

/** The number of the process among those on the folder: no worker and no lane has it. */
export const BACKGROUND_NUMBER = 999

/** Delay before a process that exited is started again. It doubles each time until a process has run for STABLE_MS. */
const RESTART_DELAY_MIN_MS = 100
const RESTART_DELAY_MAX_MS = 10_000
const STABLE_MS = 10_000
/** Time that the process gets to finish running calls and to store its progress. */
const STOP_TIMEOUT_MS = 8000

/** Messages from the serving process to the background process. */
export type BackgroundCommand =
  /** Start. `proof` shows that the parent holds the lock of the data folder. */
  | { readonly order: 'work'; readonly settings: unknown; readonly number: number; readonly proof: string }
  /** Another process on the folder was killed: clear its stale LMDB reader slots. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/** Collaborators of the process. */
export interface BackgroundProcessDeps {
  readonly dataDir: string
  /** The command line. The process id of this process is appended as the last argument. */
  readonly command: readonly string[]
  readonly settings: unknown
  readonly proof: string
  readonly documents: ConfigRepository
  /** Whether there are audit logs, which it seals. */
  readonly isAudited: boolean
  readonly log: Log
  /** Called when the process was killed or has crashed. It may have left a stale LMDB reader slot. */
  onUnexpectedExit(): void
}

/** Starts and stops the background process. */
export class BackgroundProcess {
  private readonly deps: BackgroundProcessDeps
  private readonly elections: LeaderElection
  private child: Bun.Subprocess | null = null
  /** False: it still starts. */
  private isWorking = false
  private isLeading = false
  private isClosing = false
  /** Null: no start is scheduled. */
  private restart: ReturnType<typeof setTimeout> | null = null
  private restartDelayMs = 0
  private startedMs = 0
  private stoppedWhileStarting: Bun.Subprocess | null = null

  constructor(deps: BackgroundProcessDeps) {
    this.deps = deps
    this.elections = new LeaderElection(deps.dataDir)
  }

  /** Starts the process as soon as this process is elected and there is work. */
  start(): void {
    this.deps.documents.subscribe((changes) => {
      if (changes.some(({ before, after }) => workKinds.has(((after ?? before) as StoredDocument).kind))) this.adjust()
    })
    this.elections.campaign('background', () => {
      this.isLeading = true
      this.adjust()
    })
  }

  /** Process id; null: the process is not running. */
  get pid(): number | null {
    return this.child?.pid ?? null
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.send({ order: 'check readers' })
  }

  /** Stops the process. Resolves when it has exited. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.restart !== null) clearTimeout(this.restart)
    await this.stop()
    this.elections.close()
  }

  private adjust(): void {
    if (this.isClosing || !this.isLeading) return
    const isNeeded = this.isNeeded()
    if (isNeeded && this.child === null && this.restart === null) this.spawn()
    if (!isNeeded && this.child !== null) void this.stop()
  }

  private isNeeded(): boolean {
    const { isAudited, documents } = this.deps
    return isAudited || [...workKinds].some((kind) => documents.all(kind).length > 0)
  }

  private spawn(): void {
    const { command, settings, proof } = this.deps
    const child = Bun.spawn([...command, String(process.pid)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      // Its only message: it works. The channel closes when this process exits.
      ipc: () => {
        if (this.child === child) this.isWorking = true
      },
    })
    this.child = child
    this.isWorking = false
    this.startedMs = performance.now()
    lowerPriority(child.pid)
    this.send({ order: 'work', settings, number: BACKGROUND_NUMBER, proof })
    void child.exited.then(() => this.onExit(child))
  }

  private send(command: BackgroundCommand): void {
    try {
      this.child?.send(command)
    } catch {
      // The process has just exited; `onExit` follows.
    }
  }

  private onExit(child: Bun.Subprocess): void {
    this.child = null
    const { signalCode, exitCode } = child
    const isExpected = exitCode === 0 && (this.isClosing || !this.isNeeded())
    const isStoppedWhileStarting = this.stoppedWhileStarting === child
    if (!isExpected && !isStoppedWhileStarting) {
      const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`
      this.deps.log({ level: 'error', message: 'the background process exited', how })
    }
    if (!isExpected) this.deps.onUnexpectedExit()
    if (this.isClosing) return
    const isStable = performance.now() - this.startedMs > STABLE_MS
    this.restartDelayMs = isStable
      ? RESTART_DELAY_MIN_MS
      : Math.min(RESTART_DELAY_MAX_MS, Math.max(RESTART_DELAY_MIN_MS, this.restartDelayMs * 2))
    this.restart = setTimeout(() => {
      this.restart = null
      this.adjust()
    }, this.restartDelayMs)
  }

  private async stop(): Promise<void> {
    const { child } = this
    if (child === null) return
    // It may be killed at any moment. While it starts it has nothing to finish, and would answer late.
    if (this.isWorking) this.send({ order: 'stop' })
    else {
      this.stoppedWhileStarting = child
      child.kill('SIGKILL')
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await child.exited
    clearTimeout(timer)
  }
}
