// What answers tell of nodes and relationships: whole elements with their system fields (facts 1.6.2), metadata of a
// property and the trust score beside a node.
import { createChunk, type NodeId, type Snapshot, type StoredProperty } from '../engine/store.ts'
import { NodeValue, type PathValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { type RecordContext, readProperty } from './deferred-properties.ts'
import { nodeFields } from './node-fields.ts'

/** `Id` is a number within the graph; `ElementId` is the global id, and empty for elements that were never captured. */
export function wholeElement(element: NodeValue | RelationshipValue | PathValue, site: RecordContext): unknown {
  if (element instanceof NodeValue) return wholeNode(element, site)
  if ('nodes' in element) {
    return {
      Nodes: element.nodes.map((node) => wholeElement(node, site)),
      Relationships: element.relationships.map((relationship) => wholeElement(relationship, site)),
    }
  }
  const { snapshot } = site
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
    Props: propertiesOf(element, snapshot.relationshipStoredProperties(id), site, [
      ['create_time', snapshot.relationshipField(id, 'create_time')],
      ['id', snapshot.relationshipField(id, 'id')],
      ['update_time', snapshot.relationshipField(id, 'update_time')],
    ]),
  }
}

function wholeNode(element: NodeValue, site: RecordContext): unknown {
  const { snapshot } = site
  const { id } = element
  return {
    Id: id,
    ElementId: snapshot.nodeField(id, 'id') ?? '',
    Labels: snapshot.labels(id).map((label) => snapshot.symbolName('label', label)),
    Props: propertiesOf(element, snapshot.nodeStoredProperties(id), site, nodeFields(id, snapshot)),
  }
}

/** Own fields win over properties of their name (ruling G4). */
function propertiesOf(
  element: NodeValue | RelationshipValue,
  stored: ReadonlyMap<string, StoredProperty>,
  site: RecordContext,
  own: readonly (readonly [name: string, value: PropertyValue | null])[],
): Record<string, unknown> {
  const told: Record<string, unknown> = Object.create(null)
  for (const [name, value] of own) told[name] = value
  for (const [name, property] of stored) if (!(name in told)) readProperty(element, name, property, site, told, name)
  return told
}

/** Null before the first scoring pass. */
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
