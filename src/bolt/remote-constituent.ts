// A constituent of a composite project in database servers. The global database has a proxy of each node: its key, its global id and
// its location, so that relationships can connect nodes of different constituents. A node that another tool has written has an id from
// its first capture on, or from the provisioning of the project, and a proxy from then on. No transaction spans two databases. The
// constituent is written first; the same transaction notes which nodes it has touched. Proxies are derived from the current contents of
// all constituents, so an interrupted update can be repeated by any process.

import type { GraphStore, NodeKey, OpenSnapshot, WriteBatch } from '../engine/store.ts'
import { parseJson, writeJson } from '../kernel/json/json.ts'
import { STATE_LABEL } from './print/names.ts'
import type { RemoteBatch } from './remote-batch.ts'
import type { NodeIdentity, RemoteGraph } from './remote-graph.ts'

/** The databases of a composite project. */
export interface CompositeDatabases {
  global(): RemoteGraph
  /** All databases that may hold nodes. */
  constituents(): readonly RemoteGraph[]
}

/** A constituent as the features use it. */
export class RemoteConstituent implements GraphStore {
  readonly isRemote = true
  private readonly own: RemoteGraph
  private readonly databases: CompositeDatabases

  constructor(own: RemoteGraph, databases: CompositeDatabases) {
    this.own = own
    this.databases = databases
  }

  snapshot(): OpenSnapshot {
    return this.own.snapshot()
  }

  async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    let touched: readonly NodeKey[] = []
    let left: readonly string[] = []
    let intent = ''
    const value = await this.own.writeBatch(change, {
      async written(transaction, batch) {
        touched = movedNodes(batch)
        const [state] = await transaction.run(
          `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN coalesce(s.intents, []) AS intents`,
          {},
        )
        // Of writes whose proxies could not be updated, such as an earlier attempt of this client.
        left = state?.intents as readonly string[]
        if (touched.length === 0) return
        intent = intentOf(touched)
        await transaction.run(
          `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.intents = coalesce(s.intents, []) + [$intent]`,
          { intent },
        )
      },
    })
    const done = touched.length > 0 ? [...left, intent] : left
    if (done.length > 0) {
      await updateProxies(this.databases, [...left.flatMap(keysOf), ...touched])
      await removeIntents(this.own, done)
    }
    return value
  }
}

/** The nodes that a batch has created, deleted or given a location. */
function movedNodes(batch: RemoteBatch): readonly NodeKey[] {
  return [...batch.nodes.values()].flatMap(({ before, now }): NodeKey[] => {
    const record = now ?? before
    if (before === now || record === null || record.type === 0) return []
    const isMoved = before === null || now === null || before.location !== now.location || before.gid !== now.gid
    return isMoved ? [{ type: batch.nameOfType(record.type), externalId: record.externalId }] : []
  })
}

function intentOf(keys: readonly NodeKey[]): string {
  return writeJson({ id: crypto.randomUUID(), keys: keys.map(({ type, externalId }) => [type, externalId]) })
}

function keysOf(intent: string): readonly NodeKey[] {
  const read = parseJson(intent)
  if (!read.ok) return []
  const { keys } = read.value as { readonly keys: readonly (readonly [string, string])[] }
  return keys.map(([type, externalId]) => ({ type, externalId }))
}

async function removeIntents(graph: RemoteGraph, intents: readonly string[]): Promise<void> {
  await graph.runInLock(
    `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.intents = [intent IN coalesce(s.intents, []) WHERE NOT intent IN $intents]`,
    { intents },
  )
}

/** Updates the proxies of interrupted writes. */
export async function replayIntents(databases: CompositeDatabases): Promise<void> {
  for (const constituent of databases.constituents()) {
    const intents = await constituent.note('intents')
    if (!Array.isArray(intents) || intents.length === 0) continue
    await updateProxies(databases, (intents as string[]).flatMap(keysOf))
    await removeIntents(constituent, intents as string[])
  }
}

/** Creates the proxies of nodes that are older than the global database. */
export async function completeProxies(databases: CompositeDatabases): Promise<void> {
  for (const constituent of databases.constituents()) {
    if ((await constituent.note('proxies_complete')) === true) continue
    for (let after: bigint | null = -1n; after !== null; ) {
      const { keys, last }: Awaited<ReturnType<RemoteGraph['identifiedKeys']>> = await constituent.identifiedKeys(after)
      await updateProxies(databases, keys)
      after = last
    }
    await constituent.runInLock(`MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.proxies_complete = true`, {})
  }
}

async function updateProxies(databases: CompositeDatabases, keys: readonly NodeKey[]): Promise<void> {
  if (keys.length === 0) return
  let holders: Map<string, NodeIdentity[]> = new Map()
  const textOf = ({ type, externalId }: NodeKey): string => `${type}\u0000${externalId}`
  await databases.global().writeBatch(
    (batch) => {
      for (const key of keys) updateProxy(batch, key, holders.get(textOf(key)) ?? [])
    },
    {
      async locked() {
        const found = await Promise.all(databases.constituents().map((constituent) => constituent.identities(keys)))
        holders = Map.groupBy(found.flat(), ({ key }) => textOf(key))
      },
    },
  )
}

/**
 * Several constituents may have a node with the same key. The proxy represents one of them as long as it exists. After that the
 * proxy is deleted with its relationships and created again for another node.
 */
function updateProxy(batch: RemoteBatch, key: NodeKey, holders: readonly NodeIdentity[]): void {
  const proxy = batch.nodeImage(key)
  const holder =
    holders.find(({ gid }) => gid === proxy?.id) ?? holders.find(({ location }) => location !== null) ?? holders[0]
  if (proxy !== null && proxy.id !== holder?.gid) batch.deleteNode(key)
  if (holder === undefined || (holder.gid === proxy?.id && holder.location === proxy.location)) return
  const { gid, location } = holder
  batch.upsertNode({ ...key, ...(location === null ? {} : { location }) }, { gid })
}
