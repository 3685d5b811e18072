// Reads of graphs. A read may end before its result is known: data of a graph in a database server is fetched first, or the request
// moves to a lane. It is then run again from the start, so it is a function without effects: a look. It gets snapshots, which cannot
// write, and returns a value; what follows from the value is done after it. Nothing above the stores opens a snapshot otherwise
// (docs/decisions/0067-graphs-in-a-database-server.md).
import { readingGraphs } from '../kernel/request/remote-reads.ts'
import type { GraphStore, LookResult, OpenSnapshot, Snapshot } from './store.ts'

/** The snapshots of one look. */
export interface Views {
  /** The snapshot of a graph: the same one for the whole look. */
  of(store: GraphStore): Snapshot
  /** The snapshots that the look has used. */
  opened(): Iterable<Snapshot>
}

/**
 * Runs a look at one graph, or at several. Returns its value, or a promise if data of a graph in a database server must be fetched:
 * then only the look is run again. Throws, or rejects with, what the look throws.
 *
 * @example
 * const count = await readGraph(graph, (snapshot) => snapshot.nodeCount(null))
 */
export function readGraph<T extends LookResult>(store: GraphStore, look: (snapshot: Snapshot) => T): T | Promise<T>
export function readGraph<T extends LookResult>(
  stores: readonly GraphStore[],
  look: (snapshots: readonly Snapshot[]) => T,
): T | Promise<T>
export function readGraph<T extends LookResult>(
  stores: GraphStore | readonly GraphStore[],
  look: (snapshots: Snapshot & readonly Snapshot[]) => T,
): T | Promise<T> {
  return readingGraphs(() =>
    readGraphsNow((views) => {
      const snapshots = isSeveral(stores) ? stores.map((store) => views.of(store)) : views.of(stores)
      return look(snapshots as Snapshot & readonly Snapshot[])
    }),
  )
}

/**
 * As `readGraph`, for callers that are looks themselves: where it must be run again, it throws RestartRequiredError, and the request is run
 * again from its start.
 */
export function readGraphNow<T extends LookResult>(store: GraphStore, look: (snapshot: Snapshot) => T): T {
  const snapshot = store.snapshot()
  try {
    return look(snapshot)
  } finally {
    snapshot.close()
  }
}

/** As `readGraphNow`, for a look that finds out which graphs it needs. Each is opened when it is first used. */
export function readGraphsNow<T extends LookResult>(look: (views: Views) => T): T {
  const views = new OpenViews()
  try {
    return look(views)
  } finally {
    views.close()
  }
}

/**
 * As `readGraph`, for many rows: the look emits them, and `use` gets each one. `use` may have effects. Rows of a graph in a database server
 * are kept until the look has ended, because it may be run again; others are used at once.
 */
export function readGraphRows<R, T extends LookResult>(
  store: GraphStore,
  look: (snapshot: Snapshot, emit: (row: R) => void) => T,
  use: (row: R) => void,
): T | Promise<T> {
  if (store.isRemote !== true) return readGraphNow(store, (snapshot) => look(snapshot, use))
  const used = ({ rows, value }: { readonly rows: readonly R[]; readonly value: T }): T => {
    for (const row of rows) use(row)
    return value
  }
  const found = readGraph(store, (snapshot) => {
    const rows: R[] = []
    return { value: look(snapshot, (row) => void rows.push(row)), rows }
  })
  return found instanceof Promise ? found.then(used) : used(found)
}

/** Opens each graph once. One graph, which is the most frequent case, needs no map. */
class OpenViews implements Views {
  private first: GraphStore | null = null
  private firstOpened: OpenSnapshot | null = null
  private others: Map<GraphStore, OpenSnapshot> | null = null

  of(store: GraphStore): Snapshot {
    if (store === this.first) return this.firstOpened!
    const known = this.others?.get(store)
    if (known !== undefined) return known
    const snapshot = store.snapshot()
    if (this.first === null) {
      this.first = store
      this.firstOpened = snapshot
    } else {
      this.others ??= new Map()
      this.others.set(store, snapshot)
    }
    return snapshot
  }

  *opened(): Iterable<Snapshot> {
    if (this.firstOpened !== null) yield this.firstOpened
    if (this.others !== null) yield* this.others.values()
  }

  close(): void {
    this.firstOpened?.close()
    if (this.others !== null) for (const snapshot of this.others.values()) snapshot.close()
  }
}

function isSeveral(stores: GraphStore | readonly GraphStore[]): stores is readonly GraphStore[] {
  return Array.isArray(stores)
}
