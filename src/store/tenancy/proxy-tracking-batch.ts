// A batch that remembers the nodes it writes or deletes, and leaves a note of those whose proxies have to follow.
import type {
  BatchView,
  MetadataFields,
  NodeId,
  NodeInput,
  NodeKey,
  PropertyInput,
  RelationshipId,
  RelationshipInput,
  RelationshipKey,
  UpsertResult,
  WriteBatch,
} from '../../engine/store.ts'
import type { LmdbWriteBatch } from '../graph/write-batch.ts'

export class ProxyTrackingBatch implements WriteBatch {
  /** The number of the note, once it is left; null when there is nothing to note. */
  intent: number | null = null
  private readonly batch: LmdbWriteBatch
  private readonly keys = new Map<string, NodeKey>()
  /** A subset: what came, went or got a location. */
  private readonly moved = new Map<string, NodeKey>()

  constructor(batch: LmdbWriteBatch) {
    this.batch = batch
  }

  get touchedNodes(): readonly NodeKey[] {
    return [...this.keys.values()]
  }

  putIntent(): void {
    if (this.moved.size === 0) return
    this.intent = crypto.getRandomValues(new Uint32Array(1))[0]!
    this.batch.intents.put(
      this.intent,
      JSON.stringify([...this.moved.values()].map(({ type, externalId }) => [type, externalId])),
    )
  }

  static readIntent(this: void, text: string): NodeKey[] {
    return (JSON.parse(text) as [string, string][]).map(([type, externalId]) => ({ type, externalId }))
  }

  private remember({ type, externalId }: NodeKey, moved: boolean): void {
    const name = `${type}\0${externalId}`
    const key = { type, externalId }
    this.keys.set(name, key)
    if (moved) this.moved.set(name, key)
  }

  upsertNode(node: NodeInput): UpsertResult {
    const written = this.batch.upsertNode(node)
    this.remember(node, written.created || node.location !== undefined)
    return written
  }

  deleteNode(key: NodeKey): string | null {
    const gid = this.batch.deleteNode(key)
    this.remember(key, gid !== null)
    return gid
  }

  upsertRelationship(relationship: RelationshipInput): UpsertResult | null {
    return this.batch.upsertRelationship(relationship)
  }

  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null {
    return this.batch.deleteNodeProperties(key, names)
  }

  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null {
    return this.batch.deleteNodePropertyMetadata(key, property, fields)
  }

  deleteRelationship(key: RelationshipKey): string | null {
    return this.batch.deleteRelationship(key)
  }

  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null {
    return this.batch.deleteRelationshipProperties(key, names)
  }

  /** Without a key it has no proxy. */
  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId {
    return this.batch.createNode(labels, properties)
  }

  createRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    properties: readonly PropertyInput[],
  ): RelationshipId {
    return this.batch.createRelationship(source, type, target, properties)
  }

  findNode(key: NodeKey): NodeId {
    return this.batch.findNode(key)
  }

  view(): BatchView | null {
    return this.batch.view()
  }
}
