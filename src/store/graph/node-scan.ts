// Reads nodes one after another without creating objects: the node and its properties are views that the next node reuses.
import type { PropertyMetadata, ScannedNode, ScannedProperty, SymbolId } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import type { ValueView } from '../format/bytes.ts'
import * as records from '../format/records.ts'
import { TextMemo } from '../format/text-memo.ts'
import type { SymbolTable } from './symbols.ts'

/** A property of the scanned node, at an offset of its record. */
class PropertyView implements ScannedProperty {
  name = ''
  private record: ValueView
  private at = 0
  /** Undefined: not decoded yet. */
  private decoded: PropertyMetadata | null | undefined = undefined
  private readonly memo: TextMemo<PropertyMetadata>

  constructor(record: ValueView, memo: TextMemo<PropertyMetadata>) {
    this.record = record
    this.memo = memo
  }

  set(record: ValueView, at: number, name: string): void {
    this.record = record
    this.at = at
    this.name = name
    this.decoded = undefined
  }

  get value(): PropertyValue | null {
    return records.propertyValueAt(this.record, this.at)
  }

  get externalValue(): string | null {
    return records.externalValueAt(this.record, this.at)
  }

  get updatedMs(): number {
    return records.propertyUpdatedMsAt(this.record, this.at)
  }

  get metadata(): PropertyMetadata | null {
    if (this.decoded === undefined) this.decoded = records.metadataAt(this.record, this.at, this.memo)
    return this.decoded
  }
}

/** The scanned node of an environment: one object, because a read of another value ends its validity anyway. */
export class NodeScan implements ScannedNode {
  properties: ScannedProperty[] = []
  private record: ValueView | null = null
  private readonly views: PropertyView[] = []
  private readonly memo = new TextMemo<PropertyMetadata>()

  /** Shows the node of a record. */
  of(record: ValueView, symbols: SymbolTable): this {
    this.record = record
    const { views, properties } = this
    const count = records.propertyCountOf(record)
    while (views.length < count) views.push(new PropertyView(record, this.memo))
    if (properties.length > count) properties.length = count
    for (let i = 0; i < count; i++) {
      const view = views[i]!
      const name = symbols.name('property', records.propertySymbolAt(record, i))
      view.set(record, records.propertyOffsetAt(record, i), name)
      properties[i] = view
    }
    return this
  }

  get type(): SymbolId {
    return records.typeOf(this.record!)
  }

  get externalId(): string {
    return records.externalIdOf(this.record!)
  }

  get id(): string {
    return records.gidOf(this.record!)
  }

  get location(): string | null {
    return records.locationOf(this.record!)
  }

  get updatedMs(): number {
    return records.updatedMsOf(this.record!)
  }
}
