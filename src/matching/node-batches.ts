// Reads the nodes of a type: their values for a comparison, samples for suggestions, and the relationships of matches.
import {
  type Chunk,
  createChunk,
  type GraphStore,
  type NodeId,
  type RelationshipKey,
  type Snapshot,
  type SymbolId,
} from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'
import type { MatchedTypes } from './entity-matching-pipeline.ts'
import type { LinkageScalar, LinkageValue, LinkageValues, PropertySamples } from './linkage/types.ts'
import { type OwnershipTest, PIPELINE_PROPERTY, SAME_AS } from './same-as.ts'

/** Nodes of one type that a sample for suggestions has at most. */
const SAMPLE_NODES = 20_000
/** Properties that are considered for suggestions. */
const SAMPLE_PROPERTIES = 200

/** The graphs of a project in a fixed order. */
export interface MatchedGraphs {
  /** Those with nodes. */
  readonly nodes: readonly GraphStore[]
  /** Relationships between nodes of different graphs; null: the project is not composite. */
  readonly global: GraphStore | null
}

/** Number of nodes of a type. */
export function countNodes(snapshots: readonly Snapshot[], type: string): number {
  let nodes = 0
  for (const snapshot of snapshots) {
    const label = snapshot.symbol('label', type)
    if (label !== 0) nodes += snapshot.typedNodeCount(label)
  }
  return nodes
}

/** Whether a graph has a node. */
export function hasNode(snapshot: Snapshot, type: string, externalId: string): boolean {
  const label = snapshot.symbol('label', type)
  return label !== 0 && snapshot.findNode(label, externalId) !== 0
}

/** A node with its values, in the order of the properties that were asked for. */
export interface NodeValues {
  readonly externalId: string
  readonly values: LinkageValues
}

/** Emits the values of all nodes of a type. Takes about 10 µs for each node, without a pause. Returns their number. */
export function readValues(
  snapshot: Snapshot,
  type: string,
  properties: readonly string[],
  emit: (node: NodeValues) => void,
): number {
  let nodes = 0
  const symbols = properties.map((name) => snapshot.symbol('property', name))
  eachNode(snapshot, type, 0, Number.POSITIVE_INFINITY, (id) => {
    const externalId = snapshot.nodeField(id, 'external_id')
    if (typeof externalId !== 'string') return
    nodes += 1
    const values = symbols.map((symbol) => (symbol === 0 ? null : linkageValueOf(snapshot.nodeProperty(id, symbol))))
    emit({ externalId, values })
  })
  return nodes
}

/** Reads a sample of the nodes of a type: all of a small type, evenly distributed ones of a large type. */
export function sampleProperties(snapshots: readonly Snapshot[], type: string): PropertySamples {
  const step = Math.max(1, Math.ceil(countNodes(snapshots, type) / SAMPLE_NODES))
  const properties = new Map<string, LinkageValue[]>()
  let nodes = 0
  let seen = 0
  for (const snapshot of snapshots) {
    eachNode(snapshot, type, 0, Number.POSITIVE_INFINITY, (id) => {
      seen += 1
      if (seen % step !== 0) return
      nodes += 1
      for (const [name, value] of snapshot.nodeProperties(id)) {
        const found = linkageValueOf(value)
        if (found === null) continue
        const values = properties.get(name)
        if (values !== undefined) values.push(found)
        else if (properties.size < SAMPLE_PROPERTIES) properties.set(name, [found])
      }
    })
  }
  return { nodes, properties }
}

/** A relationship of a pipeline, as it is stored. */
export interface StoredMatch {
  readonly source: string
  readonly target: string
  readonly properties: ReadonlyMap<string, PropertyValue>
}

/** A batch of source nodes with their relationships. */
export interface MatchBatch {
  /** External ids of the source nodes. */
  readonly sources: readonly string[]
  readonly matches: readonly StoredMatch[]
  /** Where the next batch begins; null at the end. */
  readonly next: NodeId | null
}

/** Reads the relationships of matches between two types that begin at one batch of source nodes and pass `owns`. */
export function readMatches(
  snapshot: Snapshot,
  { types, owns }: { readonly types: MatchedTypes; readonly owns: OwnershipTest },
  from: NodeId,
  nodesMax: number,
): MatchBatch {
  const sources: string[] = []
  const matches: StoredMatch[] = []
  const sameAs = snapshot.symbol('type', SAME_AS)
  const owner = snapshot.symbol('property', PIPELINE_PROPERTY)
  const targetLabel = snapshot.symbol('label', types.target)
  const linked = createChunk()
  const next = eachNode(snapshot, types.source, from, nodesMax, (id) => {
    const source = snapshot.nodeField(id, 'external_id')
    if (typeof source !== 'string') return
    sources.push(source)
    if (sameAs === 0 || owner === 0) return
    eachNeighbour(snapshot, id, sameAs, linked, (node, relationship) => {
      if (snapshot.nodeType(node) !== targetLabel) return
      if (!owns(snapshot.relationshipProperty(relationship, owner))) return
      const target = snapshot.nodeField(node, 'external_id')
      if (typeof target === 'string')
        matches.push({ source, target, properties: snapshot.relationshipProperties(relationship) })
    })
  })
  return { sources, matches, next }
}

/** The `pipeline_id` of the relationship of a match; null: there is no such relationship, or it has none. */
export function matchOwner(snapshot: Snapshot, { source, target }: RelationshipKey): PropertyValue | null {
  const sameAs = snapshot.symbol('type', SAME_AS)
  const owner = snapshot.symbol('property', PIPELINE_PROPERTY)
  const labels = [source, target].map(({ type }) => snapshot.symbol('label', type))
  if (sameAs === 0 || owner === 0 || labels.includes(0)) return null
  const from = snapshot.findNode(labels[0]!, source.externalId)
  const to = snapshot.findNode(labels[1]!, target.externalId)
  if (from === 0 || to === 0) return null
  let found: PropertyValue | null = null
  eachNeighbour(snapshot, from, sameAs, createChunk(), (node, relationship) => {
    if (node === to) found = snapshot.relationshipProperty(relationship, owner)
  })
  return found
}

function eachNeighbour(
  snapshot: Snapshot,
  node: NodeId,
  type: SymbolId,
  chunk: Chunk,
  visit: (node: NodeId, relationship: number) => void,
): void {
  for (let from = 0; ; from = chunk.next) {
    snapshot.neighbours(node, 'out', type, from, chunk)
    for (let i = 0; i < chunk.length; i++) visit(chunk.ids[i]!, chunk.relationships[i]!)
    if (!chunk.more) return
  }
}

/** Visits the nodes of a type from an id on. Returns where the next batch begins; null at the end. */
function eachNode(
  snapshot: Snapshot,
  type: string,
  from: NodeId,
  nodesMax: number,
  visit: (id: NodeId) => void,
): NodeId | null {
  const label = snapshot.symbol('label', type)
  if (label === 0) return null
  // The label may also be a further label of nodes of another type.
  const isOnlyType = snapshot.isOnlyType(label)
  const chunk = createChunk()
  let left = nodesMax
  for (let at = from; ; at = chunk.next) {
    snapshot.nodesWithLabel(label, at, chunk)
    for (let i = 0; i < chunk.length; i++) {
      const id = chunk.ids[i]!
      if (id < from) continue
      if (left === 0) return id
      left -= 1
      if (isOnlyType || snapshot.nodeType(id) === label) visit(id)
    }
    if (!chunk.more) return null
  }
}

/** The form in which values are compared; null: there is nothing to compare. */
function linkageValueOf(value: PropertyValue | null): LinkageValue | null {
  if (value === null) return null
  return Array.isArray(value) ? value.map(scalarOf) : scalarOf(value as Exclude<PropertyValue, readonly unknown[]>)
}

function scalarOf(value: Exclude<PropertyValue, readonly unknown[]>): LinkageScalar {
  if (value instanceof Float) return value.value
  return typeof value === 'object' ? String(value) : value
}
