// Reads of graphs that are not in this process. The features read graphs synchronously. A read of something that was not fetched
// throws PendingReadsError; the code that has started the work fetches it and runs the work again from its start, until it ends
// without such an error. Graphs of this process never throw it, so they cost nothing
// (docs/decisions/0067-graphs-in-a-database-server.md).
import { AsyncLocalStorage } from 'node:async_hooks'
import { ThrownServiceError } from '../errors.ts'
import { systemClock } from '../time/clock.ts'
import { ExecutionTimes } from './execution-times.ts'
import { RestartRequiredError } from './restart-required.ts'

/** Thrown by a read of a graph that is not in this process, if the data was not fetched. */
export class PendingReadsError extends RestartRequiredError {
  override readonly name = 'PendingReadsError'
  constructor() {
    super('data of a graph in a database server is fetched')
  }
}

/** Limits of one run of work with remote reads. */
interface RemoteReadLimits {
  /** Milliseconds for the fetches of the work that belong to no execution: each of those has a time limit of its own. */
  readonly timeMs: number
  /** How often the work may be run again. */
  readonly roundsMax: number
}

const defaultLimits: RemoteReadLimits = { timeMs: 30_000, roundsMax: 5_000 }

/** What was fetched for one run of work, and what it still needs. */
class RemoteReads {
  private readonly byOwner = new Map<object, unknown>()
  private pending: (() => Promise<void>)[] = []
  private readonly endings: (() => void)[] = []
  /** Milliseconds since the Unix epoch. */
  readonly startedMs = systemClock.now()
  /** As `startedMs`, on the clock of `performance.now()`. */
  readonly beganMs = performance.now()
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number

  constructor(timeMs: number) {
    this.deadlineMs = this.beganMs + timeMs
  }

  /** What an owner keeps for this work. */
  of<T>(owner: object, create: () => T): T {
    let kept = this.byOwner.get(owner) as T | undefined
    if (kept === undefined) {
      kept = create()
      this.byOwner.set(owner, kept)
    }
    return kept
  }

  /** Calls `end` when the work has ended. */
  whenEnded(end: () => void): void {
    this.endings.push(end)
  }

  /** The work has ended. */
  end(): void {
    for (const end of this.endings) end()
  }

  /** Requires a fetch before the work can continue. */
  require(fetch: () => Promise<void>): never {
    this.pending.push(fetch)
    throw new PendingReadsError()
  }

  /** Fetches what is required. Rejects with the first failure. */
  async settle(): Promise<void> {
    const { pending } = this
    this.pending = []
    await Promise.all(pending.map((fetch) => fetch()))
  }
}

/** Running work. */
export interface RunningReads {
  readonly reads: RemoteReads
  /** Parts of the work that are run again alone have executions of their own. */
  readonly executions: ExecutionTimes
}

const current = new AsyncLocalStorage<RunningReads>()

/** The reads of the running work. Throws PendingReadsError if the work was not started by `withRemoteReads`. */
export function currentRemoteReads(): RunningReads {
  const running = current.getStore()
  if (running === undefined) throw new PendingReadsError()
  return running
}

/** Fetches what the running work requires, without running all of it again. */
export async function settleRemoteReads(): Promise<void> {
  await currentRemoteReads().reads.settle()
}

/** When the running request began, in its first attempt: on the clock of `performance.now()`. */
export function requestStartMs(): number {
  return current.getStore()?.reads.beganMs ?? performance.now()
}

/** When the execution that comes next first began, in an attempt before this one; else now. On the clock of `performance.now()`. */
export function nextExecutionMs(): number {
  return current.getStore()?.executions.nextStartMs ?? performance.now()
}

/**
 * Runs work that may read remote graphs, again after each fetch. Work must have no effect before its last read. Rejects with
 * what the work throws; with ThrownServiceError `timed-out` if the fetches take too long, `unavailable` if a server cannot be
 * reached.
 */
export async function withRemoteReads<T>(
  work: () => T | Promise<T>,
  { timeMs, roundsMax }: RemoteReadLimits = defaultLimits,
): Promise<T> {
  const running = { reads: new RemoteReads(timeMs), executions: new ExecutionTimes() }
  try {
    for (let round = 0; ; round++) {
      running.executions.restart()
      try {
        return await current.run(running, work)
      } catch (error) {
        if (!(error instanceof PendingReadsError)) throw error
      }
      if (round >= roundsMax || isOver(running)) throw tooLong()
      await running.reads.settle()
    }
  } finally {
    running.reads.end()
  }
}

/**
 * Runs synchronous work as `withRemoteReads` does, without a promise while it needs none. Within other such work, only this part is
 * run again: what was done before it is not repeated.
 */
export function readingGraphs<T>(work: () => T): T | Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof PendingReadsError)) throw error
    return current.getStore() === undefined ? withRemoteReads(work) : settled(work)
  }
}

async function settled<T>(work: () => T): Promise<T> {
  const running = { reads: currentRemoteReads().reads, executions: new ExecutionTimes() }
  for (;;) {
    if (isOver(running)) throw tooLong()
    await running.reads.settle()
    running.executions.restart()
    try {
      return current.run(running, work)
    } catch (error) {
      if (!(error instanceof PendingReadsError)) throw error
    }
  }
}

/** An execution ends itself at its own time limit, which may be later. */
function isOver({ reads, executions }: RunningReads): boolean {
  return executions.current?.state !== 'open' && performance.now() > reads.deadlineMs
}

function tooLong(): ThrownServiceError {
  return new ThrownServiceError({ kind: 'timed-out', message: 'the reads of the graph take too long' })
}
