// The fields of a node in response order.
import type { ElementField, NodeId, Snapshot } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'

const FIELDS: readonly ElementField[] = ['create_time', 'external_id', 'id', 'is_identity', 'type', 'update_time']

/** Returns names and values of the node's fields. */
export function nodeFields(node: NodeId, snapshot: Snapshot): (readonly [name: string, value: PropertyValue | null])[] {
  return FIELDS.map((field) => [field, snapshot.nodeField(node, field)])
}
