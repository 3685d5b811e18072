// Composite projects: a node's data is in a constituent, and the global environment has a proxy of every node, so that
// relationships may join nodes of different locations there. A proxy bears its node's own id, and nothing of its data.
//
// There is no transaction over two environments. The constituent is written first and leaves, in the same transaction, a
// note of the nodes whose proxies may be wrong until the global environment has followed. A proxy is never told what to
// be: whoever follows derives it from what the constituents hold by then, so following may be repeated, by any process and
// in any order. What a crash leaves is a note; the next start follows it, and so does the next write of the same nodes.
import { createChunk, type GraphStore, type NodeKey, type Snapshot, type WriteBatch } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { LmdbEnvironment } from '../graph/environment.ts'
import type { LmdbWriteBatch } from '../graph/write-batch.ts'
import { FLAG } from '../lmdb/databases.ts'
import { ProxyTrackingBatch } from './proxy-tracking-batch.ts'

/** The parts of a composite project, as they are at the moment of the question. */
export interface CompositeGraphs {
  /** Opened where it is not yet, and the process goes on meanwhile: others may be writing to it. */
  global(): Promise<LmdbEnvironment>
  /** All that may hold nodes, opened likewise. */
  constituents(): Promise<readonly LmdbEnvironment[]>
  /** Where nobody may wait. Null when one of them is not open: another process has made it since. */
  constituentsNow(): readonly LmdbEnvironment[] | null
}

/** One environment of a project as it is read and written: its writes take the proxies along. */
export class ConstituentStore implements GraphStore {
  private readonly own: LmdbEnvironment
  private readonly parts: CompositeGraphs
  /** Notes that have been followed go with the next batch. One that outlives the process is followed once more. */
  private followed: readonly number[] = []

  constructor(own: LmdbEnvironment, parts: CompositeGraphs) {
    this.own = own
    this.parts = parts
  }

  snapshot(): Snapshot {
    return this.own.snapshot()
  }

  async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    const { followed } = this
    const { value, watched } = await this.own.write((batch) => {
      // Asked within the transaction: a project may become composite while writes are under way.
      if (!batch.flags.has(FLAG.constituent)) return { value: assertSynchronous(change(batch)), watched: null }
      const watched = new ProxyTrackingBatch(batch)
      const value = assertSynchronous(change(watched))
      watched.putIntent()
      for (const note of followed) batch.intents.remove(note)
      return { value, watched }
    })
    if (watched === null) return value
    this.followed = this.followed.filter((note) => !followed.includes(note))
    await updateProxies(this.parts, findStaleProxies(await this.parts.global(), this.own, watched.touchedNodes))
    if (watched.intent !== null) this.followed = [...this.followed, watched.intent]
    return value
  }
}

function assertSynchronous<T>(value: T): T {
  assert(!(value instanceof Promise), 'a write batch is synchronous')
  return value
}

/** From now on every write of a constituent takes its proxies along. */
export async function flagConstituents(parts: CompositeGraphs): Promise<void> {
  for (const constituent of await parts.constituents()) {
    if (!constituent.hasFlag(FLAG.constituent)) await constituent.write((batch) => batch.flags.set(FLAG.constituent))
  }
}

/** What a crash has left. Others may be writing meanwhile: what they are about to follow is followed twice. */
export async function processIntents(parts: CompositeGraphs): Promise<void> {
  for (const constituent of await parts.constituents()) {
    const notes = constituent.intents()
    if (notes.size === 0) continue
    await updateProxies(parts, [...notes.values()].flatMap(ProxyTrackingBatch.readIntent))
    await constituent.write((batch) => {
      for (const note of notes.keys()) batch.intents.remove(note)
    })
  }
}

/** Proxies for the nodes that were there before their constituent was marked. */
export async function completeProxies(parts: CompositeGraphs): Promise<void> {
  for (const constituent of await parts.constituents()) {
    if (constituent.hasFlag(FLAG.complete)) continue
    for (let from: number | null = 0; from !== null; ) {
      const { keys, next } = readKeys(constituent, from)
      await updateProxies(parts, findStaleProxies(await parts.global(), constituent, keys))
      from = next
    }
    await constituent.write((batch) => batch.flags.set(FLAG.complete))
  }
}

function readKeys(constituent: LmdbEnvironment, from: number): { keys: NodeKey[]; next: number | null } {
  const snapshot = constituent.snapshot()
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

// -- following

/** What a node and its proxy have in common beside their key. */
export interface ProxyIdentity {
  readonly gid: string
  readonly location: string | null
}

/** Brings the proxies of these nodes to what the constituents hold when their turn to be written has come. */
async function updateProxies(parts: CompositeGraphs, keys: readonly NodeKey[]): Promise<void> {
  if (keys.length === 0) return
  const global = await parts.global()
  const attempt = (batch: LmdbWriteBatch): boolean => {
    const constituents = parts.constituentsNow()
    if (constituents === null) return false
    const snapshots = constituents.map((constituent) => constituent.snapshot())
    try {
      for (const key of keys) updateProxy(batch, key, snapshots)
      return true
    } finally {
      for (const snapshot of snapshots) snapshot.close()
    }
  }
  while (!(await global.write(attempt))) await parts.constituents()
}

/**
 * Several constituents may hold a node of one key. The proxy stands for one of them as long as that one is there; then
 * it goes, with its relationships, and another takes its place.
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

/** Those whose proxies do not stand for what their constituent holds: a write of properties leaves none. */
function findStaleProxies(global: LmdbEnvironment, own: LmdbEnvironment, keys: readonly NodeKey[]): NodeKey[] {
  if (keys.length === 0) return []
  const nodes = own.snapshot()
  const proxies = global.snapshot()
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

/** Null when there is no such node. */
export function identityOf(snapshot: Snapshot, { type, externalId }: NodeKey): ProxyIdentity | null {
  const label = snapshot.symbol('label', type)
  const node = label === 0 ? 0 : snapshot.findNode(label, externalId)
  if (node === 0) return null
  return {
    gid: snapshot.nodeField(node, 'id') as string,
    location: snapshot.nodeField(node, 'location') as string | null,
  }
}
