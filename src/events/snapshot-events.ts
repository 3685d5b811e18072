// The initial snapshot of change data capture: one event for each element that a graph has, before the stream of its changes.
//
// The graph is read in parts, while others write to it. A receiver applies the snapshot, and then the stream from the log
// sequence number that the graph had before the first part. Each event has the whole element, so a change that the snapshot
// already contains is applied once more with the same result, and the end is the graph: deletions and later changes of what the
// snapshot contains are in the stream.
import { createChunk, type NodeImage, type NodeKey, type RelationshipImage, type Snapshot } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { ElementWriter, elementContext, subjectOfElement } from './element-text.ts'
import { type EventEnvelope, type EventStreamName, envelopeOf } from './envelope.ts'
import { PAYLOAD_VERSION } from './event-types.ts'
import { noContext, type SinkRoutes } from './sink-routes.ts'

/** The next element of a snapshot. It is plain data, so that it can be stored. */
export interface SnapshotPosition {
  readonly element: 'node' | 'relationship'
  /** Id of the node, or of the source of the relationship. */
  readonly node: number
  /** Of the relationship; 0: the first. */
  readonly type: number
  /** Position in the list of the node's relationships of that type. */
  readonly from: number
}

/** The first element. */
export const snapshotStart: SnapshotPosition = { element: 'node', node: 0, type: 0, from: 0 }

/** The stream of a graph, and a provider that receives its snapshot. */
interface SnapshotTarget {
  readonly stream: EventStreamName
  /** Of the stream. */
  readonly origin: string
  /** The number of the next event of the graph, read before `snapshot` was opened. */
  readonly lsn: number
  readonly routes: SinkRoutes
  readonly provider: string
  /** The nodes of the graph are proxies, which are left out. */
  readonly isGlobal: boolean
}

/** A part of a snapshot. */
export interface SnapshotPart {
  readonly events: readonly EventEnvelope[]
  /** Null: the snapshot is complete. */
  readonly next: SnapshotPosition | null
}

/** Reads about `limit` elements from `position` on. Elements that the routes do not send to the provider have no event. */
export function readSnapshotPart(
  snapshot: Snapshot,
  position: SnapshotPosition,
  limit: number,
  target: SnapshotTarget,
): SnapshotPart {
  const events: EventEnvelope[] = []
  const next =
    position.element === 'node'
      ? readNodes(snapshot, position, limit, target, events)
      : readRelationships(snapshot, position, limit, target, events)
  return { events, next }
}

function readNodes(
  snapshot: Snapshot,
  { node: first }: SnapshotPosition,
  limit: number,
  target: SnapshotTarget,
  events: EventEnvelope[],
): SnapshotPosition | null {
  const relationships: SnapshotPosition = { ...snapshotStart, element: 'relationship' }
  if (target.isGlobal) return relationships
  const chunk = createChunk()
  let count = 0
  for (let from = first; ; from = chunk.next) {
    snapshot.allNodes(from, chunk)
    for (const id of chunk.ids.subarray(0, chunk.length)) {
      if (count === limit) return { ...snapshotStart, node: id }
      count += 1
      append(nodeImage(snapshot, id), `n${id}`, target, events)
    }
    if (!chunk.more) return relationships
  }
}

function readRelationships(
  snapshot: Snapshot,
  { node: firstNode, type: firstType, from: firstFrom }: SnapshotPosition,
  limit: number,
  target: SnapshotTarget,
  events: EventEnvelope[],
): SnapshotPosition | null {
  const nodes = createChunk()
  const list = createChunk()
  let count = 0
  for (let at = firstNode; ; at = nodes.next) {
    snapshot.allNodes(at, nodes)
    for (const node of nodes.ids.subarray(0, nodes.length)) {
      const isFirst = node === firstNode
      for (const type of snapshot.relationshipTypesAt(node, 'out')) {
        if (isFirst && type < firstType) continue
        for (let from = isFirst && type === firstType ? firstFrom : 0; ; from = list.next) {
          if (count >= limit) return { element: 'relationship', node, type, from }
          snapshot.neighbours(node, 'out', type, from, list)
          for (const id of list.relationships.subarray(0, list.length)) {
            append(relationshipImage(snapshot, id), `r${id}`, target, events)
          }
          count += list.length
          if (!list.more) break
        }
      }
      // A node without relationships counts, so that a part ends.
      count += 1
    }
    if (!nodes.more) return null
  }
}

function append(
  image: NodeImage | RelationshipImage,
  name: string,
  { stream, origin, lsn, routes, provider }: SnapshotTarget,
  events: EventEnvelope[],
): void {
  const isNode = !('source' in image)
  const type = isNode ? 'svc.audit.cdc.node.create' : 'svc.audit.cdc.relationship.create'
  const matching = routes.ofType(type)
  const bits = matching?.match(matching.readsContext ? elementContext(image.type, image) : noContext) ?? 0
  if (((bits >>> routes.providers.indexOf(provider)) & 1) === 0) return
  const start = `{"eventType":"${type}","version":${PAYLOAD_VERSION},"lsn":${lsn},"snapshot":true`
  const text = `${start},"before":null,"after":${new ElementWriter().element(image)}}`
  const envelope = envelopeOf(stream, origin, type, lsn, subjectOfElement(image), image.updatedMs, text)
  const { id } = envelope.attributes
  events.push({
    ...envelope,
    attributes: { ...envelope.attributes, id: `${id}-snapshot-${name}` },
    sinkId: routes.sinkId,
    revision: routes.revision,
    providers: [provider],
  })
}

function nodeImage(snapshot: Snapshot, id: number): NodeImage {
  const properties = snapshot.nodeStoredProperties(id)
  return {
    ...nodeKey(snapshot, id),
    id: textOf(snapshot.nodeField(id, 'id')),
    labels: snapshot.labels(id).map((label) => snapshot.symbolName('label', label)),
    isIdentity: snapshot.nodeField(id, 'is_identity') === true,
    location: (snapshot.nodeField(id, 'location') ?? null) as string | null,
    createdMs: Date.parse(textOf(snapshot.nodeField(id, 'create_time'))),
    updatedMs: Date.parse(textOf(snapshot.nodeField(id, 'update_time'))),
    property: (name) => properties.get(name)?.value ?? null,
    properties: () => properties,
  }
}

function relationshipImage(snapshot: Snapshot, id: number): RelationshipImage {
  const properties = snapshot.relationshipStoredProperties(id)
  return {
    id: textOf(snapshot.relationshipField(id, 'id')),
    type: textOf(snapshot.relationshipField(id, 'type')),
    source: nodeKey(snapshot, snapshot.relationshipSource(id)),
    target: nodeKey(snapshot, snapshot.relationshipTarget(id)),
    createdMs: Date.parse(textOf(snapshot.relationshipField(id, 'create_time'))),
    updatedMs: Date.parse(textOf(snapshot.relationshipField(id, 'update_time'))),
    property: (name) => properties.get(name)?.value ?? null,
    properties: () => properties,
  }
}

function nodeKey(snapshot: Snapshot, id: number): NodeKey {
  return { type: textOf(snapshot.nodeField(id, 'type')), externalId: textOf(snapshot.nodeField(id, 'external_id')) }
}

/** Null for the key of a node that was created without one. */
function textOf(field: PropertyValue | null): string {
  return field === null ? '' : String(field)
}
