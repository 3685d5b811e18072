// A constituent of a composite project in database servers. The global database has a proxy of each node: its key, its global id and
// its location, so that relationships can connect nodes of different constituents. No transaction spans two databases: the constituent
// is written first, and a repeated write completes the proxies.
import type { GraphStore, NodeKey, Snapshot, WriteBatch } from '../engine/store.ts'
import type { RemoteGraph } from './remote-graph.ts'

interface Proxy {
  readonly key: NodeKey
  /** Null: the node was deleted. */
  readonly identity: { readonly gid: string; readonly location: string | null } | null
}

/** A constituent as the features use it. */
export class RemoteConstituent implements GraphStore {
  readonly isRemote = true
  private readonly own: RemoteGraph
  private readonly global: () => RemoteGraph

  constructor(own: RemoteGraph, global: () => RemoteGraph) {
    this.own = own
    this.global = global
  }

  snapshot(): Snapshot {
    return this.own.snapshot()
  }

  async write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    let proxies: Proxy[] = []
    const value = await this.own.writeBatch((batch) => {
      const result = change(batch)
      proxies = [...batch.nodes.values()].flatMap(({ before, now }): Proxy[] => {
        const record = now ?? before
        if (before === now || record === null || record.type === 0) return []
        const key = { type: batch.nameOfType(record.type), externalId: record.externalId }
        return [{ key, identity: now === null ? null : { gid: now.gid, location: now.location } }]
      })
      return result
    })
    if (proxies.length > 0) await this.writeProxies(proxies)
    return value
  }

  private async writeProxies(proxies: readonly Proxy[]): Promise<void> {
    await this.global().writeBatch((batch) => {
      for (const { key, identity } of proxies) {
        if (identity === null) {
          batch.deleteNode(key)
          continue
        }
        const proxy = batch.nodeImage(key)
        const { gid, location } = identity
        if (proxy !== null && proxy.id === gid && proxy.location === location) continue
        if (proxy !== null && proxy.id !== gid) batch.deleteNode(key)
        batch.upsertNode({ ...key, ...(location === null ? {} : { location }) }, { gid })
      }
    })
  }
}
