// The process that executes entity matching pipelines, as the background process sees it. It is started when work is due, and exits when
// none is left: a comparison needs memory in proportion to the nodes, which only the end of a process gives back.
import type { ConfigWriter } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import { lowerPriority } from '../lanes/lane-process.ts'
import { MatchingSchedule } from '../matching/entity-matching.ts'
import type { Log } from '../ops/log.ts'

/** The number of the process among those on the folder: no worker, no lane and no background process has it. */
export const MATCHER_NUMBER = 998

/** How often pipelines are compared with the clock. A look takes microseconds. */
const POLL_MS = 250
/** Delay before a process that failed is started again. It doubles each time. */
const RESTART_DELAY_MIN_MS = 1000
const RESTART_DELAY_MAX_MS = 60_000
/** Time that the process gets to end its step. */
const STOP_TIMEOUT_MS = 3000

/** Messages from the background process to the process. */
export type MatcherCommand =
  /** Do all work that is due, then exit. `proof` shows that the serving process holds the lock of the data folder. */
  | { readonly order: 'work'; readonly settings: unknown; readonly number: number; readonly proof: string }
  /** Another process on the folder was killed: clear its stale LMDB reader slots. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/** Collaborators of the process. */
export interface MatchingProcessDeps {
  /** The command line. The process id of this process is appended as the last argument. */
  readonly command: readonly string[]
  readonly settings: unknown
  readonly proof: string
  readonly documents: ConfigWriter
  readonly clock: Clock
  readonly log: Log
  /** False: another instance executes the pipelines. Absent: there is no other. */
  readonly isLeading?: () => boolean
  /** Called when the process was killed or has crashed. It may have left a stale LMDB reader slot. */
  onUnexpectedExit(): void
}

/** Starts the process when work is due, and stops it. */
export class MatchingProcess {
  private readonly deps: MatchingProcessDeps
  private readonly schedule: MatchingSchedule
  private timer: ReturnType<typeof setInterval> | null = null
  private child: Bun.Subprocess | null = null
  private isClosing = false
  private restartDelayMs = 0
  private notBeforeMs = 0

  constructor(deps: MatchingProcessDeps) {
    this.deps = deps
    this.schedule = new MatchingSchedule(deps.documents, deps.clock)
  }

  /** Starts the process whenever work is due. */
  start(): void {
    this.timer = setInterval(() => this.poll(), POLL_MS)
    this.poll()
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.send({ order: 'check readers' })
  }

  /** Stops the process. The work in progress begins again in the next one. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.timer !== null) clearInterval(this.timer)
    const { child } = this
    if (child === null) return
    this.send({ order: 'stop' })
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await child.exited
    clearTimeout(timer)
  }

  private poll(): void {
    if (this.child !== null || performance.now() < this.notBeforeMs || this.deps.isLeading?.() === false) return
    this.deps.documents.catchUp()
    if (this.schedule.due().length > 0) this.spawn()
  }

  private spawn(): void {
    const { command, settings, proof } = this.deps
    const child = Bun.spawn([...command, String(process.pid)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      ipc: () => undefined,
    })
    this.child = child
    lowerPriority(child.pid)
    this.send({ order: 'work', settings, number: MATCHER_NUMBER, proof })
    void child.exited.then(() => this.onExit(child))
  }

  private send(command: MatcherCommand): void {
    try {
      this.child?.send(command)
    } catch {
      // The process has just exited; `onExit` follows.
    }
  }

  private onExit({ signalCode, exitCode }: Bun.Subprocess): void {
    this.child = null
    if (exitCode === 0) {
      this.restartDelayMs = 0
      return
    }
    if (!this.isClosing) {
      const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`
      this.deps.log({ level: 'error', message: 'the entity matching process exited', how })
    }
    this.deps.onUnexpectedExit()
    this.restartDelayMs = Math.min(RESTART_DELAY_MAX_MS, Math.max(RESTART_DELAY_MIN_MS, this.restartDelayMs * 2))
    this.notBeforeMs = performance.now() + this.restartDelayMs
  }
}
