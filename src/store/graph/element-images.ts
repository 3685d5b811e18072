// Nodes and relationships as a batch sees them, before and after its writes, with names instead of symbols.
import type { NodeImage, NodeKey, RelationshipImage, StoredProperty, SymbolId, SymbolKind } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../format/records.ts'

/** Names and ids of the symbols of records. */
interface ImageSymbols {
  /** The id of a name; 0: the graph does not have it. */
  find(kind: SymbolKind, name: string): SymbolId
  name(kind: SymbolKind, id: SymbolId): string
}

abstract class RecordImage<R extends { readonly properties: StoredProperties; readonly gid: string }> {
  protected readonly record: R
  protected readonly symbols: ImageSymbols

  constructor(record: R, symbols: ImageSymbols) {
    this.record = record
    this.symbols = symbols
  }

  get id(): string {
    return this.record.gid
  }

  property(name: string): PropertyValue | null {
    const symbol = this.symbols.find('property', name)
    return symbol === 0 ? null : (this.record.properties.get(symbol)?.value ?? null)
  }

  properties(): ReadonlyMap<string, StoredProperty> {
    const entries = [...this.record.properties].sort(([a], [b]) => a - b)
    return new Map(entries.map(([symbol, property]) => [this.symbols.name('property', symbol), property]))
  }
}

/** The image of a node record. */
export class NodeRecordImage extends RecordImage<NodeRecord> implements NodeImage {
  get type(): string {
    return nameOf(this.symbols, 'label', this.record.type)
  }

  get externalId(): string {
    return this.record.externalId
  }

  get labels(): readonly string[] {
    return this.record.labels.map((label) => this.symbols.name('label', label))
  }

  get isIdentity(): boolean {
    return this.record.isIdentity
  }

  get location(): string | null {
    return this.record.location
  }

  get createdMs(): number {
    return this.record.createdMs
  }

  get updatedMs(): number {
    return this.record.updatedMs
  }
}

/** The image of a relationship record. */
export class RelationshipRecordImage extends RecordImage<RelationshipRecord> implements RelationshipImage {
  private readonly keyOf: (node: number) => NodeKey

  constructor(record: RelationshipRecord, symbols: ImageSymbols, keyOf: (node: number) => NodeKey) {
    super(record, symbols)
    this.keyOf = keyOf
  }

  get type(): string {
    return nameOf(this.symbols, 'type', this.record.type)
  }

  get source(): NodeKey {
    return this.keyOf(this.record.source)
  }

  get target(): NodeKey {
    return this.keyOf(this.record.target)
  }

  get createdMs(): number {
    return this.record.createdMs
  }

  get updatedMs(): number {
    return this.record.updatedMs
  }
}

function nameOf(symbols: ImageSymbols, kind: 'label' | 'type', symbol: SymbolId): string {
  return symbol === 0 ? '' : symbols.name(kind, symbol)
}
