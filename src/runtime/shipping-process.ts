// The process that ships changes to a place of backups, as its serving process sees it. Among several workers one is elected to start
// it; it is started again when it exits (docs/decisions/0060-shipping.md).
import { lowerPriority } from '../lanes/lane-process.ts'
import type { Log } from '../ops/log.ts'
import { LeaderElection } from '../store/process/leader-election.ts'

/** Delay before a process that exited is started again. It doubles each time until a process has run for STABLE_MS. */
const RESTART_DELAY_MIN_MS = 100
const RESTART_DELAY_MAX_MS = 10_000
const STABLE_MS = 10_000
/** Time that the process gets to ship the last changes. The next start ships the others. */
const STOP_TIMEOUT_MS = 3000

/** Messages from the serving process to the process. */
export type ShippingCommand =
  | { readonly order: 'work'; readonly settings: unknown; readonly organizationId: string }
  /** Another process on the folder was killed: clear its stale LMDB reader slots. */
  | { readonly order: 'check readers' }
  | { readonly order: 'stop' }

/** Collaborators of the process. */
export interface ShippingProcessDeps {
  readonly dataDir: string
  /** The command line. The process id of this process is appended as the last argument. */
  readonly command: readonly string[]
  readonly settings: unknown
  readonly organizationId: string
  readonly log: Log
  /** Called when the process was killed or has crashed. It may have left a stale LMDB reader slot. */
  onUnexpectedExit(): void
}

/** Starts and stops the process. */
export class ShippingProcess {
  private readonly deps: ShippingProcessDeps
  private readonly elections: LeaderElection
  private child: Bun.Subprocess | null = null
  private isClosing = false
  private restart: ReturnType<typeof setTimeout> | null = null
  private restartDelayMs = 0

  constructor(deps: ShippingProcessDeps) {
    this.deps = deps
    this.elections = new LeaderElection(deps.dataDir)
  }

  /** Starts the process as soon as this process is elected. */
  start(): void {
    this.elections.campaign('shipping', () => this.spawn())
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.send({ order: 'check readers' })
  }

  /** Lets the process ship the last changes, and stops it. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.restart !== null) clearTimeout(this.restart)
    const { child } = this
    if (child !== null) {
      this.send({ order: 'stop' })
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await child.exited
      clearTimeout(timer)
    }
    this.elections.close()
  }

  private spawn(): void {
    if (this.isClosing) return
    const { command, settings, organizationId } = this.deps
    const child = Bun.spawn([...command, String(process.pid)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      // It sends nothing. The channel closes when this process exits.
      ipc: () => {},
    })
    this.child = child
    const startedMs = performance.now()
    lowerPriority(child.pid)
    this.send({ order: 'work', settings, organizationId })
    void child.exited.then(() => this.onExit(child, performance.now() - startedMs))
  }

  private send(command: ShippingCommand): void {
    try {
      this.child?.send(command)
    } catch {
      // The process has just exited; `onExit` follows.
    }
  }

  private onExit({ signalCode, exitCode }: Bun.Subprocess, ranMs: number): void {
    this.child = null
    if (exitCode !== 0) this.deps.onUnexpectedExit()
    if (this.isClosing) return
    const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`
    this.deps.log({ level: 'error', message: 'the process that ships changes exited', how })
    this.restartDelayMs =
      ranMs > STABLE_MS
        ? RESTART_DELAY_MIN_MS
        : Math.min(RESTART_DELAY_MAX_MS, Math.max(RESTART_DELAY_MIN_MS, this.restartDelayMs * 2))
    this.restart = setTimeout(() => this.spawn(), this.restartDelayMs)
  }
}
