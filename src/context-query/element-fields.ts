// The own fields of nodes and relationships (docs/decisions/0004-element-fields-and-values.md) with their properties.
import type { Snapshot, StoredNode, StoredProperty, StoredRelationship } from '../engine/store.ts'
import { NodeValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { ownFields } from '../policy/element-path.ts'

/** An own field with its value. */
export type OwnField = readonly [name: string, value: PropertyValue | null]

/** The own fields of an element in response order, and its properties. */
interface FieldsAndProperties {
  readonly fields: readonly OwnField[]
  readonly properties: ReadonlyMap<string, StoredProperty>
}

/** Reads the own fields and the properties of an element; nothing if it does not exist. */
export function fieldsAndProperties(element: NodeValue | RelationshipValue, snapshot: Snapshot): FieldsAndProperties {
  if (element instanceof NodeValue) {
    const stored = snapshot.storedNode(element.id)
    return stored === null ? NOTHING : { fields: nodeFields(stored), properties: stored.properties }
  }
  const stored = snapshot.storedRelationship(element.id)
  return stored === null ? NOTHING : { fields: relationshipFields(stored), properties: stored.properties }
}

const NOTHING: FieldsAndProperties = { fields: [], properties: new Map() }

/** Returns the own fields of a node in response order. */
export function nodeFields(stored: StoredNode): OwnField[] {
  const { id, type, externalId: external_id, isIdentity: is_identity } = stored
  const { createTime: create_time, updateTime: update_time } = stored
  const values = { create_time, external_id, id, is_identity, type, update_time }
  return ownFields.node.map((name) => [name, values[name]])
}

/** Returns the own fields of a relationship in response order. */
export function relationshipFields(stored: StoredRelationship): OwnField[] {
  const { id, type, createTime: create_time, updateTime: update_time } = stored
  const values = { create_time, id, type, update_time }
  return ownFields.relationship.map((name) => [name, values[name]])
}
