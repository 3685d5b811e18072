// Reads of properties whose value an external data resolver may supply. The graph stores no value of such a property. If
// a read returned null, `IS NULL`, a negation or a count could grant what the value would deny; the read throws instead
// (docs/decisions/0029-external-data-resolvers.md).
import { ExecutionError } from '../errors.ts'
import { externalPropertyName, type Snapshot, type StoredProperty, type SymbolId } from '../store.ts'
import type { PropertyValue } from './value.ts'

/** The kind of an element of a graph. */
export type GraphElementKind = 'node' | 'relationship'

/** Whether any element of the graph ever had such a property with that name; `''` stands for any name. */
export function mayHaveExternal(graph: Snapshot, name: string): boolean {
  return graph.symbol('property', externalPropertyName(name)) !== 0
}

/**
 * Returns `value`, which was read from the element. Throws ExecutionError `external` if it is null because a resolver
 * supplies it.
 */
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

/** Whether a resolver supplies the value of that property of the element. */
export function isExternallySupplied(graph: Snapshot, kind: GraphElementKind, id: number, property: SymbolId): boolean {
  if (property === 0) return false
  const stored =
    kind === 'node' ? graph.nodeStoredProperty(id, property) : graph.relationshipStoredProperty(id, property)
  return stored?.externalValue != null
}

/** Returns all properties of the element. Throws ExecutionError `external` if a resolver supplies one of them. */
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
