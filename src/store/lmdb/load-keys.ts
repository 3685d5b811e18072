// The keys of a bulk load: what earlier batches of it have met need not be asked of the database again, and what is new is
// kept in a list, because no load changes or deletes a key.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { UpsertKey } from '../keys.ts'
import type { Database } from './database.ts'
import { type ChangedKey, KeyEdits } from './key-edits.ts'
import type { KnownNodes } from './known-nodes.ts'

export class LoadKeys extends KeyEdits {
  private readonly known: KnownNodes
  private readonly added: ChangedKey[] = []

  constructor(database: Database<UpsertKey>, known: KnownNodes) {
    super(database)
    this.known = known
  }

  override find(type: SymbolId, externalId: string): NodeId {
    if (type === 0) return 0
    const known = this.known.find(type, externalId)
    if (known !== null) return known
    const id = super.find(type, externalId)
    if (id !== 0) this.known.add(type, externalId, id)
    return id
  }

  override set(type: SymbolId, externalId: string, node: NodeId): void {
    assert(node !== 0, 'a load deletes no node')
    this.added.push({ type, externalId, node })
    this.known.add(type, externalId, node)
  }

  protected override changed(): readonly ChangedKey[] {
    return this.added
  }
}
