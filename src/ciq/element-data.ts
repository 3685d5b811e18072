// What answers tell of nodes and relationships: whole elements with their system fields (facts 1.6.2), metadata of a
// property and the trust score beside a node.
import { emptyChunk, type NodeId, type Snapshot, type StoredProperty } from '../engine/store.ts'
import { NodeValue, type PathValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { giveProperty, type Site } from './awaited.ts'
import { nodeFields } from './node-fields.ts'

/** `Id` is a number within the graph; `ElementId` is the global id, and empty for elements that were never captured. */
export function wholeElement(element: NodeValue | RelationshipValue | PathValue, site: Site): unknown {
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
    ElementId: snapshot.relationshipOwn(id, 'id') ?? '',
    StartId: source,
    StartElementId: snapshot.nodeOwn(source, 'id') ?? '',
    EndId: target,
    EndElementId: snapshot.nodeOwn(target, 'id') ?? '',
    Type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    Props: propertiesOf(element, snapshot.relationshipStoredProperties(id), site, [
      ['create_time', snapshot.relationshipOwn(id, 'create_time')],
      ['id', snapshot.relationshipOwn(id, 'id')],
      ['update_time', snapshot.relationshipOwn(id, 'update_time')],
    ]),
  }
}

function wholeNode(element: NodeValue, site: Site): unknown {
  const { snapshot } = site
  const { id } = element
  return {
    Id: id,
    ElementId: snapshot.nodeOwn(id, 'id') ?? '',
    Labels: snapshot.labels(id).map((label) => snapshot.symbolName('label', label)),
    Props: propertiesOf(element, snapshot.nodeStoredProperties(id), site, nodeFields(id, snapshot)),
  }
}

/** Own fields win over properties of their name (ruling G4). */
function propertiesOf(
  element: NodeValue | RelationshipValue,
  stored: ReadonlyMap<string, StoredProperty>,
  site: Site,
  own: readonly (readonly [name: string, value: PropertyValue | null])[],
): Record<string, unknown> {
  const told: Record<string, unknown> = Object.create(null)
  for (const [name, value] of own) told[name] = value
  for (const [name, property] of stored) if (!(name in told)) giveProperty(element, name, property, site, told, name)
  return told
}

/** Null before the first scoring pass. */
export function scoresOf(node: NodeId, snapshot: Snapshot): ReadonlyMap<string, PropertyValue> | null {
  const chunk = emptyChunk()
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
