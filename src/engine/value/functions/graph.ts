// Functions of our own: what filters of context policies compare besides values (facts 1.5.2).
import type { StoredProperty } from '../../store.ts'
import { instantMs } from '../instant.ts'
import { fromJson } from '../json-conversion.ts'
import { ANY } from '../static-type.ts'
import { NodeValue, type Value } from '../value.ts'
import { type CypherFunction, defineFunction, requireString, wrongKindArgument } from './function.ts'

export const graphFunctions: readonly CypherFunction[] = [
  // Milliseconds since the epoch of an RFC 3339 text or of seconds as tokens write them; null for what is no moment.
  defineFunction('graph.instant', 1, [], 'integer', (_, a) => {
    const ms = instantMs(a)
    return ms === null ? null : Math.trunc(ms)
  }),
  // A field of the metadata of a node's property; null where there is none.
  defineFunction('graph.metadata', 3, [['node'], ['string'], ['string']], ANY, (run, node, property, field) => {
    if (!(node instanceof NodeValue)) throw wrongKindArgument('graph.metadata', node, 'a node')
    const graph = run.graphs[node.graph]!
    const symbol = graph.symbol('property', requireString('graph.metadata', property))
    return metadataField(graph.nodeStoredProperty(node.id, symbol), requireString('graph.metadata', field))
  }),
]

/** `source`, `assurance_level`, `verified_time`, or a member of the custom metadata. */
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
