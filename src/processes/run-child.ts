// The child side of every process that a service starts: it obeys the orders of its parent (protocol.ts), and ends with it.
import { OperationalError } from '../kernel/errors.ts'
import type { ChildKind } from './child-kinds.ts'
import { ownMemory } from './own-memory.ts'
import { exitWithParent, surviveParent } from './parent-death.ts'
import { type ChildReport, childExits, type ParentOrder } from './protocol.ts'

const MEMORY_CHECK_MS = 5000
/** At most so often a process reports that it works, milliseconds. */
const ALIVE_MS = 1000
const EXIT_FAILED = childExits.failed.code

/** The work of a process that is open. */
export interface OpenChild<Command = never> {
  /** Resolves when all work is done, with false if some of it is still due. The process then exits. Absent: it works until it is stopped. */
  readonly done?: Promise<boolean>
  /** Whether everything that the process has started answers within `timeoutMs`. Absent: it has started nothing. */
  isAnswering?(timeoutMs: number): Promise<boolean>
  /** Clears stale LMDB reader slots. */
  checkReaders?(): void
  onCommand?(command: Command): void | Promise<void>
  /** On SIGHUP. Absent: the signal is ignored. */
  onHangUp?(): void
  /** Ends the work. The process then exits. `isOutOfMemory`: not because it was asked to, but because it exceeds `memoryBytesMax`. */
  stop(isOutOfMemory: boolean): Promise<void>
}

/** The parent, as its child sees it. */
export interface Parent<Event> {
  report(event: Event): void
  /** Reports that the process works, while its event loop may answer no ping. Call it often. */
  alive(): void
  /**
   * From now on the process ends properly when its parent was killed, within `timeoutMs`. Before, it ends at once. Returns whether the parent
   * still runs.
   */
  outlive(timeoutMs: number): boolean
}

/** Options of a child. */
interface ChildOptions<Task, Command, Event> {
  readonly kind: ChildKind
  /** The process id of the parent. */
  readonly parent: number
  /** Beyond this the process ends, and its parent starts another one, bytes. Absent: there is no limit. */
  readonly memoryBytesMax?: number
  /** True: the process also stops on SIGTERM. False: it ignores the signal, and its parent decides. */
  readonly stopsOnSignal?: boolean
  open(task: Task, parent: Parent<Event>): Promise<OpenChild<Command>>
  /** Reports why the process ends with an error. Null: before it had a task. */
  failed(failure: unknown, task: Task | null): void
}

/** Runs a child, which exits by `process.exit`: never resolves. */
export async function runChild<Task, Command = never, Event = never>(
  options: ChildOptions<Task, Command, Event>,
): Promise<never> {
  const { parent, memoryBytesMax } = options
  exitWithParent(parent)
  let task: Task | null = null
  let opened: Promise<OpenChild<Command>> | null = null
  let orphanMs = 0
  let aliveMs = 0
  let isStopping = false
  const report = (message: ChildReport<Event>): void => void process.send?.(message)
  const fail = (failure: unknown): never => {
    options.failed(failure, task)
    process.exit(EXIT_FAILED)
  }
  const stop = (exitCode: number): void => {
    if (isStopping) return
    isStopping = true
    Promise.resolve(opened)
      .then((child) => child?.stop(exitCode === childExits.memory.code))
      .then(() => process.exit(exitCode), fail)
  }
  const own: Parent<Event> = {
    report: (event) => report({ report: 'event', event }),
    alive() {
      if (performance.now() - aliveMs < ALIVE_MS) return
      aliveMs = performance.now()
      report({ report: 'alive' })
    },
    outlive(timeoutMs) {
      orphanMs = timeoutMs
      return surviveParent(parent)
    },
  }

  async function obey(message: ParentOrder<Task, Command>): Promise<void> {
    if (message.order === 'stop') return stop(0)
    if (message.order === 'open') {
      task = message.task
      opened = options.open(task, own)
    }
    const child = await opened
    // Commands still come: requests that end may need what they bring.
    if (child === null || (isStopping && message.order !== 'command')) return
    switch (message.order) {
      case 'open':
        report({ report: 'open' })
        void child.done?.then((isFinished) => stop(isFinished ? 0 : childExits.unfinished.code), fail)
        return
      case 'ping':
        if ((await child.isAnswering?.(message.timeoutMs)) ?? true) report({ report: 'alive' })
        return
      case 'check readers':
        return child.checkReaders?.()
      case 'command':
        return child.onCommand?.(message.command)
    }
  }

  process.on('message', (message: ParentOrder<Task, Command>) => void obey(message).catch(fail))
  // Terminals and service managers signal whole process groups, and the parent decides when this process stops.
  for (const signal of ['SIGINT', 'SIGUSR2'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => options.stopsOnSignal === true && stop(0))
  process.on('SIGHUP', () => void opened?.then((child) => child.onHangUp?.()))
  process.on('disconnect', () => {
    if (orphanMs === 0) process.exit(EXIT_FAILED)
    setTimeout(() => process.exit(EXIT_FAILED), orphanMs)
    stop(0)
  })
  if (memoryBytesMax !== undefined)
    setInterval(() => {
      const bytes = ownMemory()
      if (bytes === null || bytes <= memoryBytesMax || isStopping) return
      options.failed(new OperationalError(`it uses ${bytes} bytes of memory, more than ${memoryBytesMax}`), task)
      stop(childExits.memory.code)
    }, MEMORY_CHECK_MS)
  // The IPC channel keeps the process alive.
  return await new Promise(() => {})
}
