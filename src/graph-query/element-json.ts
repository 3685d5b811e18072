// Nodes, relationships and paths as members of an answer: with their labels, properties and the keys of their nodes.

import { ExecutionError } from '../engine/errors.ts'
import type { Snapshot, StoredNode, StoredProperty } from '../engine/store.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { NodeValue, PathValue, type RelationshipValue, type Value } from '../engine/value/value.ts'

/** The snapshot of the graph that an element belongs to. */
type SnapshotOf = (element: NodeValue | RelationshipValue) => Snapshot

/** Charges what a value contains. A function that returns false ends the conversion: the rest of the value is not read. */
export interface ValueCharges {
  /** Called with each element that was read. */
  element(json: unknown): boolean
  /** Called with the number of items of a list or map before they are copied. */
  items(count: number): boolean
}

/** A value as JSON data. Throws ExecutionError `entity` for an element that does not exist. */
export function valueToJson(value: Value, snapshotOf: SnapshotOf, charges: ValueCharges): unknown {
  let isFull = false
  return toJson(
    value,
    (element) => {
      if (isFull) return null
      const json = elementToJson(element, snapshotOf)
      isFull = !charges.element(json)
      return json
    },
    (count) => {
      isFull ||= !charges.items(count)
      return !isFull
    },
  )
}

function elementToJson(element: NodeValue | RelationshipValue | PathValue, snapshotOf: SnapshotOf): unknown {
  if (element instanceof PathValue) {
    return {
      kind: 'path',
      nodes: element.nodes.map((node) => elementToJson(node, snapshotOf)),
      relationships: element.relationships.map((relationship) => elementToJson(relationship, snapshotOf)),
    }
  }
  return element instanceof NodeValue
    ? nodeToJson(element, snapshotOf(element))
    : relationshipToJson(element, snapshotOf(element))
}

function nodeToJson({ id: node }: NodeValue, snapshot: Snapshot): object {
  const stored = snapshot.storedNode(node)
  if (stored === null) throw new ExecutionError('entity', 'a node of the answer does not exist')
  const { id, labels, isIdentity: is_identity, location, properties } = stored
  return {
    kind: 'node',
    id,
    ...keyOf(stored),
    labels,
    is_identity,
    ...(location !== null && { location }),
    ...propertiesToJson(properties),
  }
}

function relationshipToJson({ id: relationship }: RelationshipValue, snapshot: Snapshot): object {
  const stored = snapshot.storedRelationship(relationship)
  if (stored === null) throw new ExecutionError('entity', 'a relationship of the answer does not exist')
  const { id, type, source, target, properties } = stored
  return {
    kind: 'relationship',
    id,
    type,
    source: keyOf(snapshot.storedNode(source)),
    target: keyOf(snapshot.storedNode(target)),
    ...propertiesToJson(properties),
  }
}

function keyOf(stored: StoredNode | null): object {
  return { type: stored?.type ?? null, external_id: stored?.externalId ?? null }
}

/** Without a prototype, so that a property `__proto__` is an ordinary one. */
function propertiesToJson(stored: ReadonlyMap<string, StoredProperty>): object {
  const properties = Object.create(null) as Record<string, unknown>
  const external = Object.create(null) as Record<string, string>
  for (const [name, { value, externalValue }] of stored) {
    if (externalValue !== null) external[name] = externalValue
    else properties[name] = toJson(value, () => null)
  }
  return { properties, ...(Object.keys(external).length > 0 && { external }) }
}
