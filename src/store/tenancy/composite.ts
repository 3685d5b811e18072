// Composite projects. The data of a node is in a constituent. The global environment has a proxy of every node, so that
// relationships can connect nodes of different locations. A proxy has the global id of its node and none of its data.
//
// No transaction spans two environments. The constituent is written first; the same transaction stores an intent: the nodes
// whose proxies may be outdated until the global environment is updated. Proxies are always derived from the current contents
// of the constituents, so an update can be repeated by any process in any order. After a crash the intent remains; the next
// start, or the next write of the same nodes, updates the proxies.
import {
  createChunk,
  type GraphStore,
  type NodeKey,
  type OpenSnapshot,
  type Snapshot,
  type WriteBatch,
} from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { LmdbEnvironment } from '../graph/environment.ts'
import type { LmdbWriteBatch } from '../graph/write-batch.ts'
import { FLAG } from '../lmdb/databases.ts'
import { readIntent, TouchedNodes } from './touched-nodes.ts'

/** The environments of a composite project, looked up at each call. */
export interface CompositeGraphs {
  /** The global environment. Opened if necessary, without blocking the process. */
  global(): Promise<LmdbEnvironment>
  /** All environments that may hold nodes. Opened if necessary, without blocking the process. */
  constituents(): Promise<readonly LmdbEnvironment[]>
  /** As `constituents`, without waiting. Null if one of them is not open, because another process has created it since. */
  openConstituents(): readonly LmdbEnvironment[] | null
}

/** A constituent as a graph store. Its writes update the proxies in the global environment. */
export class ConstituentStore implements GraphStore {
  private readonly own: LmdbEnvironment
  private readonly graphs: CompositeGraphs
  /** Intents whose proxies are updated. The next batch removes them. One that outlives the process is processed again. */
  private processed: readonly number[] = []

  constructor(own: LmdbEnvironment, graphs: CompositeGraphs) {
    this.own = own
    this.graphs = graphs
  }

  snapshot(): OpenSnapshot {
    return this.own.snapshot()
  }

  async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    const { processed } = this
    const { value, touched } = await this.own.write((batch) => {
      // Read within the transaction: a project may become composite while writes are in progress.
      if (!batch.flags.has(FLAG.constituent)) return { value: assertSynchronous(change(batch)), touched: null }
      const touched = new TouchedNodes()
      batch.onNodeTouched = (key, moved) => touched.add(key, moved)
      const value = assertSynchronous(change(batch))
      touched.putIntent(batch.intents)
      for (const intent of processed) batch.intents.remove(intent)
      return { value, touched }
    })
    if (touched === null) return value
    this.processed = this.processed.filter((intent) => !processed.includes(intent))
    await updateProxies(this.graphs, findStaleProxies(await this.graphs.global(), this.own, touched.keys))
    if (touched.intent !== null) this.processed = [...this.processed, touched.intent]
    return value
  }
}

function assertSynchronous<T>(value: T): T {
  assert(!(value instanceof Promise), 'a write batch is synchronous')
  return value
}

/** Sets a flag in all constituents: from now on their writes maintain proxies. */
export async function flagConstituents(graphs: CompositeGraphs): Promise<void> {
  for (const constituent of await graphs.constituents()) {
    if (!constituent.hasFlag(FLAG.constituent)) await constituent.write((batch) => batch.flags.set(FLAG.constituent))
  }
}

/**
 * Updates the proxies of all stored intents, which a crash has left. Intents of writes in progress in other processes may be
 * processed twice.
 */
export async function processIntents(graphs: CompositeGraphs): Promise<void> {
  for (const constituent of await graphs.constituents()) {
    const intents = constituent.intents()
    if (intents.size === 0) continue
    await updateProxies(graphs, [...intents.values()].flatMap(readIntent))
    await constituent.write((batch) => {
      for (const intent of intents.keys()) batch.intents.remove(intent)
    })
  }
}

/** Creates proxies for the nodes that are older than the flag of their constituent. */
export async function completeProxies(graphs: CompositeGraphs): Promise<void> {
  for (const constituent of await graphs.constituents()) {
    if (constituent.hasFlag(FLAG.complete)) continue
    for (let from: number | null = 0; from !== null; ) {
      const { keys, next } = readKeys(constituent, from)
      await updateProxies(graphs, findStaleProxies(await graphs.global(), constituent, keys))
      from = next
    }
    await constituent.write((batch) => batch.flags.set(FLAG.complete))
  }
}

function readKeys(constituent: LmdbEnvironment, from: number): { keys: NodeKey[]; next: number | null } {
  const snapshot = constituent.wholeSnapshot()
  try {
    const chunk = createChunk()
    snapshot.allNodes(from, chunk)
    const keys: NodeKey[] = []
    for (let i = 0; i < chunk.length; i++) {
      const type = snapshot.nodeField(chunk.ids[i]!, 'type')
      const externalId = snapshot.nodeField(chunk.ids[i]!, 'external_id')
      if (typeof type === 'string' && typeof externalId === 'string') keys.push({ type, externalId })
    }
    return { keys, next: chunk.more ? chunk.next : null }
  } finally {
    snapshot.close()
  }
}

// -- updating proxies

/** The fields that a node and its proxy share in addition to their key. */
export interface ProxyIdentity {
  readonly gid: string
  readonly location: string | null
}

/** Derives the proxies of these nodes from the constituents, as they are when the batch runs. */
async function updateProxies(graphs: CompositeGraphs, keys: readonly NodeKey[]): Promise<void> {
  if (keys.length === 0) return
  const global = await graphs.global()
  const attempt = (batch: LmdbWriteBatch): boolean => {
    const constituents = graphs.openConstituents()
    if (constituents === null) return false
    const snapshots = constituents.map((constituent) => constituent.wholeSnapshot())
    try {
      for (const key of keys) updateProxy(batch, key, snapshots)
      return true
    } finally {
      for (const snapshot of snapshots) snapshot.close()
    }
  }
  while (!(await global.write(attempt))) await graphs.constituents()
}

/**
 * Several constituents may have a node with the same key. The proxy represents one of them as long as it exists. After that
 * the proxy is deleted with its relationships and created again for another node.
 */
function updateProxy(batch: LmdbWriteBatch, key: NodeKey, snapshots: readonly Snapshot[]): void {
  const proxy = batch.identityOf(key)
  const holders = snapshots.flatMap((snapshot) => identityOf(snapshot, key) ?? [])
  const holder =
    holders.find(({ gid }) => gid === proxy?.gid) ?? holders.find(({ location }) => location !== null) ?? holders[0]
  if (proxy !== null && proxy.gid !== holder?.gid) batch.deleteNode(key)
  if (holder === undefined || (holder.gid === proxy?.gid && holder.location === proxy.location)) return
  const { gid, location } = holder
  batch.upsertNode({ ...key, ...(location === null ? {} : { location }) }, { gid })
}

/** The nodes whose proxies are outdated. Writes of properties leave none. */
function findStaleProxies(global: LmdbEnvironment, own: LmdbEnvironment, keys: readonly NodeKey[]): NodeKey[] {
  if (keys.length === 0) return []
  const nodes = own.wholeSnapshot()
  const proxies = global.wholeSnapshot()
  try {
    return keys.filter((key) => {
      const node = identityOf(nodes, key)
      const proxy = identityOf(proxies, key)
      return node?.gid !== proxy?.gid || node?.location !== proxy?.location
    })
  } finally {
    nodes.close()
    proxies.close()
  }
}

/** Global id and location of a node. Null if it does not exist. */
export function identityOf(snapshot: Snapshot, { type, externalId }: NodeKey): ProxyIdentity | null {
  const label = snapshot.symbol('label', type)
  const node = label === 0 ? 0 : snapshot.findNode(label, externalId)
  if (node === 0) return null
  return {
    gid: snapshot.nodeField(node, 'id') as string,
    location: snapshot.nodeField(node, 'location') as string | null,
  }
}
