// Reads of properties that an external resolver may supply. The graph holds no value of them, and to take that for an
// absence would let `IS NULL`, a negation or a count grant what the value might refuse: such a read is a fault.
import { ExecutionError } from '../errors.ts'
import { externalPropertyName, type Snapshot, type StoredProperty, type SymbolId } from '../store.ts'
import type { PropertyValue } from './value.ts'

export type GraphElementKind = 'node' | 'relationship'

/** Whether any element of the graph has had such a property; `''` asks for any name at all. */
export function mayHaveExternal(graph: Snapshot, name: string): boolean {
  return graph.symbol('property', externalPropertyName(name)) !== 0
}

/** The value that was read, or null where the element has none. */
export function requirePresentValue(
  graph: Snapshot,
  kind: GraphElementKind,
  id: number,
  property: SymbolId,
  value: PropertyValue | null,
): PropertyValue | null {
  if (value === null && isExternallySupplied(graph, kind, id, property))
    throw externalPropertyError(graph.symbolName('property', property))
  return value
}

export function isExternallySupplied(graph: Snapshot, kind: GraphElementKind, id: number, property: SymbolId): boolean {
  if (property === 0) return false
  const stored =
    kind === 'node' ? graph.nodeStoredProperty(id, property) : graph.relationshipStoredProperty(id, property)
  return stored?.externalValue != null
}

/** All properties of the element: one without a value is none that can be left out. */
export function requirePresentValues(
  graph: Snapshot,
  kind: GraphElementKind,
  id: number,
): ReadonlyMap<string, PropertyValue> {
  if (mayHaveExternal(graph, '')) {
    const stored: ReadonlyMap<string, StoredProperty> =
      kind === 'node' ? graph.nodeStoredProperties(id) : graph.relationshipStoredProperties(id)
    for (const [name, { externalValue }] of stored) if (externalValue !== null) throw externalPropertyError(name)
  }
  return kind === 'node' ? graph.nodeProperties(id) : graph.relationshipProperties(id)
}

function externalPropertyError(name: string): ExecutionError {
  return new ExecutionError(
    'external',
    `an external data resolver supplies \`${name}\`, which a condition cannot read`,
    name,
  )
}
