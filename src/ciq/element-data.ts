// What answers tell of nodes and relationships: whole elements with their system fields (facts 1.6.2), metadata of a
// property and the trust score beside a node.
import { emptyChunk, type NodeId, type OwnField, type Snapshot } from '../engine/store.ts'
import { NodeValue, type PathValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'

const FIELDS: readonly OwnField[] = ['create_time', 'external_id', 'id', 'is_identity', 'type', 'update_time']

export function nodeFields(node: NodeId, snapshot: Snapshot): (readonly [name: string, value: PropertyValue | null])[] {
  return FIELDS.map((field) => [field, snapshot.nodeOwn(node, field)])
}

/** `Id` is a number within the graph; `ElementId` is the global id, and empty for elements that were never captured. */
export function wholeElement(element: NodeValue | RelationshipValue | PathValue, snapshot: Snapshot): unknown {
  if (element instanceof NodeValue) return wholeNode(element.id, snapshot)
  if ('nodes' in element) {
    return {
      Nodes: element.nodes.map((node) => wholeElement(node, snapshot)),
      Relationships: element.relationships.map((relationship) => wholeElement(relationship, snapshot)),
    }
  }
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
    Props: {
      create_time: snapshot.relationshipOwn(id, 'create_time'),
      id: snapshot.relationshipOwn(id, 'id'),
      update_time: snapshot.relationshipOwn(id, 'update_time'),
      ...Object.fromEntries(snapshot.relationshipProperties(id)),
    },
  }
}

/** Own fields win over properties of their name (ruling G4). */
function wholeNode(id: NodeId, snapshot: Snapshot): unknown {
  return {
    Id: id,
    ElementId: snapshot.nodeOwn(id, 'id') ?? '',
    Labels: snapshot.labels(id).map((label) => snapshot.symbolName('label', label)),
    Props: { ...Object.fromEntries(snapshot.nodeProperties(id)), ...Object.fromEntries(nodeFields(id, snapshot)) },
  }
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
