// Reads of properties that an external resolver may supply. The graph holds no value of them, and to take that for an
// absence would let `IS NULL`, a negation or a count grant what the value might refuse: such a read is a fault.
import { RunFault } from '../errors.ts'
import { externalMark, type Snapshot, type StoredProperty, type SymbolId } from '../store.ts'
import type { PropertyValue } from './value.ts'

export type ElementKind = 'node' | 'relationship'

/** Whether any element of the graph has had such a property; `''` asks for any name at all. */
export function mayBeExternal(graph: Snapshot, name: string): boolean {
  return graph.symbol('property', externalMark(name)) !== 0
}

/** The value that was read, or null where the element has none. */
export function presentValue(
  graph: Snapshot,
  kind: ElementKind,
  id: number,
  property: SymbolId,
  value: PropertyValue | null,
): PropertyValue | null {
  if (value === null && isExternal(graph, kind, id, property)) throw external(graph.symbolName('property', property))
  return value
}

export function isExternal(graph: Snapshot, kind: ElementKind, id: number, property: SymbolId): boolean {
  if (property === 0) return false
  const stored =
    kind === 'node' ? graph.nodeStoredProperty(id, property) : graph.relationshipStoredProperty(id, property)
  return stored?.externalValue != null
}

/** All properties of the element: one without a value is none that can be left out. */
export function presentValues(graph: Snapshot, kind: ElementKind, id: number): ReadonlyMap<string, PropertyValue> {
  if (mayBeExternal(graph, '')) {
    const stored: ReadonlyMap<string, StoredProperty> =
      kind === 'node' ? graph.nodeStoredProperties(id) : graph.relationshipStoredProperties(id)
    for (const [name, { externalValue }] of stored) if (externalValue !== null) throw external(name)
  }
  return kind === 'node' ? graph.nodeProperties(id) : graph.relationshipProperties(id)
}

function external(name: string): RunFault {
  return new RunFault('external', `an external data resolver supplies \`${name}\`, which a condition cannot read`, name)
}
