// Functions of this product, not of openCypher. Filters of policies compile to calls of them
// (docs/decisions/0008-policy-filters-and-parameters.md).
import type { ElementField, StoredProperty } from '../../store.ts'
import { instantMs } from '../instant.ts'
import { fromJson } from '../json-conversion.ts'
import { ANY } from '../static-type.ts'
import { NodeValue, RelationshipValue, type Value } from '../value.ts'
import { type CypherFunction, defineFunction, requireString, wrongKindArgument } from './function.ts'

/** Own fields that `graph.field` reads. */
const FIELDS: ReadonlySet<string> = new Set<ElementField>([
  'external_id',
  'type',
  'create_time',
  'update_time',
  'is_identity',
  'id',
])

/** `graph.instant`, `graph.field` and `graph.metadata`. */
export const graphFunctions: readonly CypherFunction[] = [
  // Converts RFC 3339 text or a NumericDate to milliseconds since the epoch; null if the value is not an instant.
  defineFunction('graph.instant', 1, [], 'integer', (_, a) => {
    const ms = instantMs(a)
    return ms === null ? null : Math.trunc(ms)
  }),
  // An own field of a node or a relationship; null if it has no such field.
  defineFunction('graph.field', 2, [['node', 'relationship'], ['string']], ANY, (run, element, name) => {
    const field = requireString('graph.field', name)
    const isNode = element instanceof NodeValue
    if (!isNode && !(element instanceof RelationshipValue)) {
      throw wrongKindArgument('graph.field', element, 'a node or a relationship')
    }
    if (!FIELDS.has(field)) return null
    const graph = run.graphs[element.graph]!
    return isNode
      ? graph.nodeField(element.id, field as ElementField)
      : graph.relationshipField(element.id, field as ElementField)
  }),
  // A field of the metadata of a property of a node; null if it is absent.
  defineFunction('graph.metadata', 3, [['node'], ['string'], ['string']], ANY, (run, node, property, field) => {
    if (!(node instanceof NodeValue)) throw wrongKindArgument('graph.metadata', node, 'a node')
    const graph = run.graphs[node.graph]!
    const symbol = graph.symbol('property', requireString('graph.metadata', property))
    return metadataField(graph.nodeStoredProperty(node.id, symbol), requireString('graph.metadata', field))
  }),
]

/**
 * Returns `source`, `assurance_level`, `verified_time`, `custom_metadata` or a member of the custom metadata of a
 * property; null if it is absent.
 */
export function metadataField(stored: StoredProperty | null, field: string): Value {
  const metadata = stored?.metadata
  if (metadata == null) return null
  switch (field) {
    case 'source':
      return metadata.source ?? null
    case 'assurance_level':
      return metadata.assuranceLevel ?? null
    case 'verified_time':
      return metadata.verifiedTime ?? null
    case 'custom_metadata':
      return fromJson(metadata.custom)
    default: {
      const { custom } = metadata
      return custom !== undefined && Object.hasOwn(custom, field) ? fromJson(custom[field]) : null
    }
  }
}
