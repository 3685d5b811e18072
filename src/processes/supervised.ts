// A process that this process keeps running while there is work for it: it is started again when it exits, and replaced when it hangs.
import type { Backoff } from '../kernel/time/backoff.ts'
import type { Log } from '../ops/log.ts'
import { type ChildKind, childKinds, MISSED_MAX } from './child-kinds.ts'
import { type ChildExit, ChildProcess } from './child-process.ts'
import type { ChildFigures } from './process-figures.ts'
import { RestartDelay } from './restart-delay.ts'

/** A process that has not opened after so many pings hangs. Its replacement gets twice the time, because the machine may be slow. */
const STARTING_MAX = 2 * MISSED_MAX
const STARTING_LIMIT_MAX = 10 * MISSED_MAX

/** Replacements of the supervision of lanes, the background process, the matcher, the shipper and backup jobs. */
export interface SupervisionOverrides {
  /** How often they are asked whether they answer, milliseconds. */
  readonly pingMs: number
  /** The command line that starts the matcher. Absent: that of this program. */
  readonly matcherCommand?: readonly string[]
}

/** Options of a supervised process. */
export interface SupervisedOptions<Task> {
  readonly kind: ChildKind
  /** The command line. The process id of this process is appended as the last argument. */
  readonly command: readonly string[]
  readonly task: Task
  /** True: the process ends by itself when its work is done. False: it is stopped when it is not wanted. */
  readonly endsWhenDone?: boolean
  /** Absent: the delays of all processes. */
  readonly restart?: Backoff
  /** For tests. Absent: that of `ChildProcess.watch`. */
  readonly pingMs?: number
  readonly figures: ChildFigures
  readonly log: Log
  /** Whether there is work. Call `adjust` when that may have changed. */
  isWanted(): boolean
  /** Called when the process was killed or has failed. It may have left a stale LMDB reader slot. */
  onUnexpectedExit(): void
}

/** Keeps one process running while it is wanted. */
export class Supervised<Task> {
  private readonly options: SupervisedOptions<Task>
  private readonly delay: RestartDelay
  private child: ChildProcess<Task> | null = null
  private isClosing = false
  /** Null: no start is scheduled. */
  private restart: ReturnType<typeof setTimeout> | null = null
  private startingMax = STARTING_MAX

  constructor(options: SupervisedOptions<Task>) {
    this.options = options
    this.delay = new RestartDelay(options.restart)
  }

  /** Process id; null: the process is not running. */
  get pid(): number | null {
    return this.child?.pid ?? null
  }

  /** Starts the process if it is wanted, and stops it if it is not. */
  adjust(): void {
    const { child, options } = this
    if (this.isClosing || this.restart !== null) return
    if (child === null) {
      if (options.isWanted()) this.start()
    } else if (options.endsWhenDone !== true && !options.isWanted()) void child.stop()
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.child?.checkReaders()
  }

  /** Stops the process. Resolves when it has exited. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.restart !== null) clearTimeout(this.restart)
    await this.child?.stop()
    this.options.figures.setReplaced(this.options.kind, false)
  }

  private start(): void {
    const { kind, command, task, figures, pingMs } = this.options
    const child = new ChildProcess<Task>({
      kind,
      command,
      task,
      onOpen: () => {
        this.startingMax = STARTING_MAX
        figures.setReplaced(kind, false)
      },
      onExit: (exit) => {
        if (exit.cause === 'hung' && !child.isOpen)
          this.startingMax = Math.min(2 * this.startingMax, STARTING_LIMIT_MAX)
        this.onExit(exit)
      },
    })
    this.child = child
    this.delay.started()
    child.watch(this.startingMax, pingMs)
  }

  private onExit(exit: ChildExit): void {
    const { kind, endsWhenDone, figures, log } = this.options
    this.child = null
    if (exit.cause === 'unfinished') {
      figures.setReplaced(kind, false)
      if (!this.isClosing) this.startLater()
      return
    }
    if (exit.code !== 0) this.options.onUnexpectedExit()
    const isExpected = exit.cause === 'stopped' || (exit.cause === 'done' && endsWhenDone === true)
    if (isExpected) {
      this.delay.reset()
      figures.setReplaced(kind, false)
      // It may have become wanted again. One that ends by itself is started when there is new work.
      if (endsWhenDone !== true) this.adjust()
      return
    }
    // A stop that takes too long is an ordinary stop.
    if (this.isClosing && exit.cause === 'killed') return
    const { how, killedFor: reason } = exit
    log({ level: 'error', message: `${childKinds[kind].label} exited`, how, ...(reason !== null && { reason }) })
    if (this.isClosing) return
    figures.countExit(kind, exit, Math.round(Date.now() / 1000))
    figures.setReplaced(kind, true)
    this.startLater()
  }

  private startLater(): void {
    const { kind, figures } = this.options
    this.restart = setTimeout(() => {
      this.restart = null
      if (!this.options.isWanted()) figures.setReplaced(kind, false)
      this.adjust()
    }, this.delay.nextMs())
  }
}
