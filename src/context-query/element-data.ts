// The response form of whole elements with their fields, and of a node's trust scores.
import { createChunk, type NodeId, type Snapshot, type StoredProperty } from '../engine/store.ts'
import { NodeValue, type PathValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { type RecordContext, readProperty } from './deferred-properties.ts'
import { nodeFields } from './node-fields.ts'

/**
 * Returns an element or a path as response data. `Id` is a number within the graph; `ElementId` is the global id, empty
 * for elements that were never captured. Throws ExecutionError if the response budget is exceeded.
 */
export function wholeElement(element: NodeValue | RelationshipValue | PathValue, context: RecordContext): unknown {
  if (element instanceof NodeValue) return wholeNode(element, context)
  if ('nodes' in element) {
    return {
      Nodes: element.nodes.map((node) => wholeElement(node, context)),
      Relationships: element.relationships.map((relationship) => wholeElement(relationship, context)),
    }
  }
  const { snapshot } = context
  const { id } = element
  const [source, target] = [snapshot.relationshipSource(id), snapshot.relationshipTarget(id)]
  return {
    Id: id,
    ElementId: snapshot.relationshipField(id, 'id') ?? '',
    StartId: source,
    StartElementId: snapshot.nodeField(source, 'id') ?? '',
    EndId: target,
    EndElementId: snapshot.nodeField(target, 'id') ?? '',
    Type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    Props: propertiesOf(element, snapshot.relationshipStoredProperties(id), context, [
      ['create_time', snapshot.relationshipField(id, 'create_time')],
      ['id', snapshot.relationshipField(id, 'id')],
      ['update_time', snapshot.relationshipField(id, 'update_time')],
    ]),
  }
}

function wholeNode(element: NodeValue, context: RecordContext): unknown {
  const { snapshot } = context
  const { id } = element
  return {
    Id: id,
    ElementId: snapshot.nodeField(id, 'id') ?? '',
    Labels: snapshot.labels(id).map((label) => snapshot.symbolName('label', label)),
    Props: propertiesOf(element, snapshot.nodeStoredProperties(id), context, nodeFields(id, snapshot)),
  }
}

/**
 * Element fields take precedence over properties of the same name (docs/decisions/0004-element-fields-and-values.md).
 */
function propertiesOf(
  element: NodeValue | RelationshipValue,
  stored: ReadonlyMap<string, StoredProperty>,
  context: RecordContext,
  own: readonly (readonly [name: string, value: PropertyValue | null])[],
): Record<string, unknown> {
  const properties: Record<string, unknown> = Object.create(null)
  for (const [name, value] of own) properties[name] = value
  for (const [name, property] of stored)
    if (!(name in properties)) readProperty(element, name, property, context, properties, name)
  return properties
}

/** Returns the trust scores of a node by name; null before the first scoring run. */
export function scoresOf(node: NodeId, snapshot: Snapshot): ReadonlyMap<string, PropertyValue> | null {
  const chunk = createChunk()
  const has = snapshot.symbol('type', '_HAS')
  const score = snapshot.symbol('label', '_TrustScore')
  if (has === 0 || score === 0) return null
  for (let from = 0; ; from = chunk.next) {
    snapshot.neighbours(node, 'out', has, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      if (snapshot.hasLabel(chunk.ids[i]!, score)) return snapshot.nodeProperties(chunk.ids[i]!)
    }
    if (!chunk.more) return null
  }
}
