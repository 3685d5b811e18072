// The upsert keys of a bulk load. Keys of earlier batches come from a cache. New keys are kept in a list, because a load
// neither changes nor deletes keys.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { type UpsertKey, upsertKeyText } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { BulkKeyCache } from './bulk-key-cache.ts'
import { type ChangedKey, KeyEdits } from './key-edits.ts'

/** Upsert keys of a bulk batch. */
export class BulkKeyEdits extends KeyEdits {
  private readonly cache: BulkKeyCache
  private readonly added: ChangedKey[] = []

  constructor(database: Database<UpsertKey>, cached: BulkKeyCache) {
    super(database)
    this.cache = cached
  }

  override find(type: SymbolId, externalId: string): NodeId {
    if (type === 0) return 0
    const key = upsertKeyText(externalId)
    const cached = this.cache.find(type, key)
    if (cached !== null) return cached
    const id = this.findKey(type, key)
    if (id !== 0) this.cache.add(type, key, id)
    return id
  }

  override set(type: SymbolId, externalId: string, node: NodeId): void {
    assert(node !== 0, 'a load deletes no node')
    const key = upsertKeyText(externalId)
    this.added.push({ type, externalId: key, node })
    this.cache.add(type, key, node)
  }

  protected override changed(): readonly ChangedKey[] {
    return this.added
  }
}
