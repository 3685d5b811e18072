// One process that this process has started, from its start to its exit. Who starts another one, and when, is decided elsewhere
// (supervised.ts, the pool of lanes, the supervisor of workers).
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { type ChildKind, childKinds, MISSED_MAX } from './child-kinds.ts'
import { childOomScore, OomWatch } from './oom-kills.ts'
import { processorTicks } from './processor-ticks.ts'
import { type ChildReport, childExits, type ParentOrder } from './protocol.ts'

/** How often a watched process is asked whether it answers, milliseconds. */
const PING_MS = 5000
/** How often the kills of the OOM killer are counted, milliseconds. */
const OOM_LOOK_MS = 5000

/** Why a process has exited, for the log and the metrics. */
export interface ChildExit {
  /** For example `signal SIGKILL` or `exit code 1`. */
  readonly how: string
  /** Null: a signal has killed it. */
  readonly code: number | null
  /**
   * `done`: by itself, with exit code 0. `unfinished`: by itself, and some of its work is due later. `stopped`: by `stop`. `hung`: killed,
   * because it did not answer or did not open. `killed`: killed for another reason of this process. `oom`: the system has killed it for lack
   * of memory. `failed`: by itself.
   */
  readonly cause: 'done' | 'unfinished' | 'stopped' | 'hung' | 'killed' | 'oom' | 'failed'
  /** Why this process has killed it; null: it has not. */
  readonly killedFor: string | null
}

/** Options of a process. */
export interface ChildProcessOptions<Task, Event> {
  readonly kind: ChildKind
  /** The command line. The process id of this process is appended as the last argument. */
  readonly command: readonly string[]
  readonly task: Task
  /** Called when it has opened what it works on. */
  onOpen?(): void
  onEvent?(event: Event): void
  onExit?(exit: ChildExit): void
}

/** A running process. The constructor starts it. */
export class ChildProcess<Task, Command = never, Event = never> {
  /** False: it still starts. */
  isOpen = false
  /** Resolves after `onExit`. */
  readonly exited: Promise<ChildExit>
  readonly pid: number
  private readonly options: ChildProcessOptions<Task, Event>
  private readonly process: Bun.Subprocess
  private readonly answers = new Set<() => void>()
  private isStopped = false
  private hasExited = false
  private killed: Pick<ChildExit, 'cause' | 'killedFor'> | null = null

  constructor(options: ChildProcessOptions<Task, Event>) {
    this.options = options
    const oom = new OomWatch()
    const looks = setInterval(() => oom.look(), OOM_LOOK_MS)
    looks.unref()
    this.process = Bun.spawn([...options.command, String(process.pid)], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      // The channel closes when this process exits.
      ipc: (report: ChildReport<Event>) => this.onReport(report),
    })
    this.pid = this.process.pid
    setPrecedence(this.pid, options.kind)
    this.send({ order: 'open', task: options.task })
    this.exited = this.process.exited.then(() => {
      const exit = this.exitOf(oom)
      this.hasExited = true
      clearInterval(looks)
      for (const onAlive of this.answers) onAlive()
      options.onExit?.(exit)
      return exit
    })
  }

  /** Sends a command that only this kind understands. */
  command(command: Command): void {
    this.send({ order: 'command', command })
  }

  /** Makes the process clear stale LMDB reader slots. */
  checkReaders(): void {
    this.send({ order: 'check readers' })
  }

  /** Resolves with whether the process answers within `timeoutMs`. An exited one counts as answering: another one replaces it. */
  async ping(timeoutMs: number): Promise<boolean> {
    if (this.hasExited) return true
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const onAlive = (): void => resolve(true)
    this.answers.add(onAlive)
    const timer = setTimeout(() => resolve(false), timeoutMs)
    // Before this process gives up, the child gives up on what it has started.
    this.send({ order: 'ping', timeoutMs: timeoutMs / 2 })
    const isAnswered = await promise
    clearTimeout(timer)
    this.answers.delete(onAlive)
    return isAnswered
  }

  /**
   * From now on the process is killed when it hangs: it does not open within `startingMax` pings (infinity: its parent limits that), or misses
   * as many in a row as its kind may.
   * Counts ticks and not time: after the machine, or this process, was suspended, the process has time to answer. `pingMs`: for tests.
   */
  watch(startingMax = 2 * MISSED_MAX, pingMs = PING_MS): void {
    const { missedMax = MISSED_MAX, isComputing = false } = childKinds[this.options.kind]
    let missed = 0
    let wasOpen = false
    let usedTicks: number | null = null
    const timer = setInterval(() => {
      if (isComputing && missed > 0) {
        const ticks = processorTicks(this.pid)
        if (ticks === null || ticks !== usedTicks) missed = 0
        usedTicks = ticks
      }
      if (this.isOpen && !wasOpen) {
        wasOpen = true
        missed = 0
      }
      if (missed >= (wasOpen ? missedMax : startingMax)) {
        this.kill(`it did not ${wasOpen ? 'answer' : 'start'} within ${missed * pingMs} ms`, 'hung')
        return
      }
      missed += 1
      // Until it is open, it answers nothing.
      void this.ping(pingMs).then((isAnswered) => {
        if (isAnswered && this.isOpen) missed = 0
      })
    }, pingMs)
    void this.exited.then(() => clearInterval(timer))
  }

  /** Lets the process end its work, for the time of its kind and `moreMs`. Resolves when it has exited. */
  async stop(moreMs = 0): Promise<ChildExit> {
    this.isStopped = true
    // One that still starts ends what it opens: a killed one may leave a database that it has begun to create.
    this.send({ order: 'stop' })
    const limitMs = childKinds[this.options.kind].stopMs + moreMs
    const timer = setTimeout(() => this.kill(`it did not end within ${limitMs} ms`), limitMs)
    const exit = await this.exited
    clearTimeout(timer)
    return exit
  }

  /** Kills the process. `killedFor`: for the log; absent: it has failed, and may have exited already. */
  kill(killedFor?: string, cause: 'hung' | 'killed' = 'killed'): void {
    if (killedFor !== undefined) this.killed ??= { cause, killedFor }
    this.process.kill('SIGKILL')
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name)
  }

  private send(order: ParentOrder<Task, Command>): void {
    try {
      this.process.send(order)
    } catch {
      // The process has just exited; `onExit` follows.
    }
  }

  private onReport(message: ChildReport<Event>): void {
    switch (message.report) {
      case 'open':
        this.isOpen = true
        this.options.onOpen?.()
        return
      case 'alive':
        for (const onAlive of this.answers) onAlive()
        return
      case 'event':
        this.options.onEvent?.(message.event)
    }
  }

  private exitOf(oom: OomWatch): ChildExit {
    const { signalCode, exitCode } = this.process
    const meaning = Object.values(childExits).find(({ code }) => signalCode === null && code === exitCode)?.meaning
    const how =
      signalCode === null
        ? `exit code ${exitCode}${meaning === undefined ? '' : `: ${meaning}`}`
        : `signal ${signalCode}`
    const exit = { how, code: signalCode === null ? exitCode : null, killedFor: null }
    if (this.killed !== null) return { ...exit, ...this.killed }
    if (this.isStopped) return { ...exit, cause: exit.code === 0 || signalCode === 'SIGKILL' ? 'stopped' : 'failed' }
    if (exit.code === 0) return { ...exit, cause: 'done' }
    if (exit.code === childExits.unfinished.code) return { ...exit, cause: 'unfinished' }
    return { ...exit, cause: signalCode === 'SIGKILL' && oom.hasKilled() ? 'oom' : 'failed' }
  }
}

/** Sets the priority and the score of the OOM killer of a process, if the system permits it. */
function setPrecedence(pid: number, kind: ChildKind): void {
  const { niceness, oomScore } = childKinds[kind]
  try {
    if (niceness !== 0) setPriority(pid, niceness)
    if (process.platform === 'linux') writeFileSync(`/proc/${pid}/oom_score_adj`, String(childOomScore(oomScore)))
  } catch {
    // Not permitted, or the process has exited. It also works at normal priority.
  }
}
