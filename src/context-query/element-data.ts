// The response form of whole elements with their fields, and of a node's trust scores.
import { createChunk, type NodeId, type Snapshot, type StoredProperty } from '../engine/store.ts'
import { NodeValue, PathValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { TRUST_SCORE_LABEL } from '../kernel/element-rules.ts'
import { type PropertyReading, readProperty } from './deferred-properties.ts'
import { nodeFields, type OwnField, relationshipFields } from './element-fields.ts'
import type { RecordContext } from './record-context.ts'

/**
 * Returns an element or a path as response data. `Id` is a number within the graph; `ElementId` is the global id, empty
 * for elements that were never captured. Throws ExecutionError if the response budget is exceeded.
 */
export function wholeElement(element: NodeValue | RelationshipValue | PathValue, context: RecordContext): unknown {
  if (element instanceof PathValue) {
    return {
      Nodes: element.nodes.map((node) => wholeElement(node, context)),
      Relationships: element.relationships.map((relationship) => wholeElement(relationship, context)),
    }
  }
  return context.shared(WHOLE, element, (shared) => readWhole(element, context, { shared, access: null }))
}

/** Identifies whole elements without restrictions among what the records of a response share. */
const WHOLE = {}

/** Reads a whole element as response data; with `access` only what it permits. Null if the element does not exist. */
export function readWhole(
  element: NodeValue | RelationshipValue,
  context: RecordContext,
  reading: PropertyReading,
): unknown {
  return element instanceof NodeValue
    ? wholeNode(element, context, reading)
    : wholeRelationship(element, context, reading)
}

function wholeNode(element: NodeValue, context: RecordContext, reading: PropertyReading): unknown {
  const stored = context.snapshot.storedNode(element.id)
  if (stored === null) return null
  const { id, type, labels, properties } = stored
  const showsLabels = reading.access?.labels(element.id) ?? true
  return {
    Id: element.id,
    ElementId: id,
    Labels: showsLabels ? labels : labels.filter((label) => label === type),
    Props: propertiesOf(element, nodeFields(stored), properties, context, reading),
  }
}

function wholeRelationship(element: RelationshipValue, context: RecordContext, reading: PropertyReading): unknown {
  const stored = context.snapshot.storedRelationship(element.id)
  if (stored === null) return null
  const { id, type, source, target, properties } = stored
  // The type has a member of its own.
  const fields = relationshipFields(stored).filter(([name]) => name !== 'type')
  return {
    Id: element.id,
    ElementId: id,
    StartId: source,
    StartElementId: context.globalId(source),
    EndId: target,
    EndElementId: context.globalId(target),
    Type: type,
    Props: propertiesOf(element, fields, properties, context, reading),
  }
}

/**
 * Own fields take precedence over properties of the same name (docs/decisions/0004-element-fields-and-values.md).
 */
function propertiesOf(
  element: NodeValue | RelationshipValue,
  fields: readonly OwnField[],
  stored: ReadonlyMap<string, StoredProperty>,
  context: RecordContext,
  reading: PropertyReading,
): Record<string, unknown> {
  const properties: Record<string, unknown> = Object.create(null)
  for (const [name, value] of fields) properties[name] = value
  for (const [name, property] of stored) {
    if (name in properties || reading.access?.property(element, name) === 'hidden') continue
    readProperty(element, name, property, context, reading, properties, name)
  }
  return properties
}

/** Returns the trust scores of a node by name; null before the first scoring run. */
export function scoresOf(node: NodeId, snapshot: Snapshot): ReadonlyMap<string, PropertyValue> | null {
  const chunk = createChunk()
  const has = snapshot.symbol('type', '_HAS')
  const score = snapshot.symbol('label', TRUST_SCORE_LABEL)
  if (has === 0 || score === 0) return null
  for (let from = 0; ; from = chunk.next) {
    snapshot.neighbours(node, 'out', has, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      if (snapshot.hasLabel(chunk.ids[i]!, score)) return snapshot.nodeProperties(chunk.ids[i]!)
    }
    if (!chunk.more) return null
  }
}
