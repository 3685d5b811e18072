// Functions of this product, not of openCypher. Filters of policies compile to calls of them
// (docs/decisions/0008-policy-filters-and-parameters.md).
import type { StoredProperty } from '../../store.ts'
import { instantMs } from '../instant.ts'
import { fromJson } from '../json-conversion.ts'
import { ANY } from '../static-type.ts'
import { NodeValue, type Value } from '../value.ts'
import { type CypherFunction, defineFunction, requireString, wrongKindArgument } from './function.ts'

/** `graph.instant` and `graph.metadata`. */
export const graphFunctions: readonly CypherFunction[] = [
  // Converts RFC 3339 text or a NumericDate to milliseconds since the epoch; null if the value is not an instant.
  defineFunction('graph.instant', 1, [], 'integer', (_, a) => {
    const ms = instantMs(a)
    return ms === null ? null : Math.trunc(ms)
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
 * Returns `source`, `assurance_level`, `verified_time` or a member of the custom metadata of a property; null if it is
 * absent.
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
    default: {
      const { custom } = metadata
      return custom !== undefined && Object.hasOwn(custom, field) ? fromJson(custom[field]) : null
    }
  }
}
