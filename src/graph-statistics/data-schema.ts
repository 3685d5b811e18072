// Collects the data schema of a graph: node and relationship types with their properties and counts, in JSON Graph
// Format. The graph is walked in short slices, each on a snapshot of its own, with decisions between the slices. Counts
// of a graph that is written to at the same time are therefore not those of one version.
import { readGraphNow } from '../engine/read-graph.ts'
import {
  type Chunk,
  createChunk,
  type GraphStore,
  type NodeId,
  type Snapshot,
  type StoredProperty,
  type SymbolId,
} from '../engine/store.ts'
import { isTemporal } from '../engine/value/temporal/temporal.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { TRUST_SCORE_LABEL } from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import type { DataSchema, EdgeSchema, NodeSchema, PropertySchema } from './schema.ts'

/** Milliseconds after which a slice yields. The relationships of one node are counted in one slice. */
const SLICE_MS = 5

class PropertyStatistics {
  count = 0
  readonly types = new Map<string, number>()
  readonly metadata = new Map<string, PropertyStatistics>()

  add(value: unknown): void {
    this.count += 1
    increment(this.types, typeName(value))
  }

  addStored({ value, externalValue, metadata }: StoredProperty): void {
    this.count += 1
    increment(this.types, externalValue === null ? typeName(value) : 'external')
    if (metadata === null) return
    const { source, assuranceLevel, verifiedTime, custom = {} } = metadata
    const fields = { source, assurance_level: assuranceLevel, verified_time: verifiedTime, ...custom }
    for (const [name, field] of Object.entries(fields)) {
      if (field !== undefined) this.metadata.getOrInsertComputed(name, () => new PropertyStatistics()).add(field)
    }
  }

  schema(): PropertySchema {
    return {
      count: this.count,
      types: countList(this.types, 'type'),
      metadata: Object.fromEntries(
        [...this.metadata].map(([name, { count, types }]) => [name, { count, types: countList(types, 'type') }]),
      ),
    }
  }
}

interface NodeStatistics {
  count: number
  identities: number
  readonly labels: Map<string, number>
  readonly properties: Map<string, PropertyStatistics>
  /** Nodes with a trust score. */
  scored: number
  readonly scores: Map<string, PropertyStatistics>
}

interface EdgeStatistics {
  readonly source: string
  readonly target: string
  readonly relation: string
  count: number
  readonly properties: Map<string, PropertyStatistics>
}

/**
 * Returns the data schema, without the service's own applications and agents; null if nothing was captured yet. Trust scores are
 * listed with the types of their nodes.
 */
export async function collectDataSchema(graph: GraphStore): Promise<DataSchema | null> {
  const survey = new DataSchemaCollector()
  for (let from = 0; ; ) {
    const begin = from
    const next = readGraphNow(graph, (snapshot) => survey.slice(snapshot, begin))
    if (next === null) break
    from = next
    await new Promise((resolve) => setImmediate(resolve))
  }
  return survey.schema()
}

class DataSchemaCollector {
  private readonly nodes = new Map<string, NodeStatistics>()
  private readonly edges = new Map<string, EdgeStatistics>()
  private readonly chunk: Chunk = createChunk()
  private readonly neighbourChunk: Chunk = createChunk()
  private earliest = ''
  private latest = ''

  /** Counts nodes from `from` on. Returns where the next slice begins; null at the end. */
  slice(snapshot: Snapshot, from: NodeId): NodeId | null {
    const deadlineMs = performance.now() + SLICE_MS
    for (let at = from; ; at = this.chunk.next) {
      snapshot.allNodes(at, this.chunk)
      const { length, more, next } = this.chunk
      // Copied, because the snapshot reuses the chunk, also for the walk around a node.
      const ids = this.chunk.ids.slice(0, length)
      for (const id of ids) {
        if (id < from) continue
        if (performance.now() > deadlineMs && id > from) return id
        this.node(id, snapshot)
      }
      if (!more) return null
      this.chunk.next = next
    }
  }

  private node(id: NodeId, snapshot: Snapshot): void {
    const type = snapshot.nodeField(id, 'type') as string | null
    if (type === null || isSystem(type)) return
    const node = this.nodes.getOrInsertComputed(type, () => ({
      count: 0,
      identities: 0,
      labels: new Map(),
      properties: new Map(),
      scored: 0,
      scores: new Map(),
    }))
    node.count += 1
    if (snapshot.nodeField(id, 'is_identity') === true) node.identities += 1
    for (const label of snapshot.labels(id)) {
      const name = snapshot.symbolName('label', label)
      if (name !== type) increment(node.labels, name)
    }
    this.times(snapshot.nodeField(id, 'create_time'), snapshot.nodeField(id, 'update_time'))
    this.properties(node.properties, snapshot.nodeStoredProperties(id))
    for (const relation of snapshot.relationshipTypesAt(id, 'out')) {
      const name = snapshot.symbolName('type', relation)
      if (name === '_HAS') this.score(id, relation, node, snapshot)
      if (isSystem(name)) continue
      for (let from = 0; ; from = this.neighbourChunk.next) {
        snapshot.neighbours(id, 'out', relation, from, this.neighbourChunk)
        const { length, more, next } = this.neighbourChunk
        const ends = this.neighbourChunk.ids.slice(0, length)
        const relationships = this.neighbourChunk.relationships.slice(0, length)
        ends.forEach((end, i) => {
          this.edge(type, name, end, relationships[i]!, snapshot)
        })
        if (!more) break
        this.neighbourChunk.next = next
      }
    }
  }

  private score(id: NodeId, relation: SymbolId, node: NodeStatistics, snapshot: Snapshot): void {
    const label = snapshot.symbol('label', TRUST_SCORE_LABEL)
    snapshot.neighbours(id, 'out', relation, 0, this.neighbourChunk)
    const { length, ids } = this.neighbourChunk
    for (let i = 0; i < length; i++) {
      if (!snapshot.hasLabel(ids[i]!, label)) continue
      node.scored += 1
      this.properties(node.scores, snapshot.nodeStoredProperties(ids[i]!))
    }
  }

  private edge(source: string, relation: string, end: NodeId, relationship: number, snapshot: Snapshot): void {
    const target = snapshot.nodeField(end, 'type') as string | null
    if (target === null || isSystem(target)) return
    const key = JSON.stringify([source, relation, target])
    const edge = this.edges.getOrInsertComputed(key, () => ({
      source,
      relation,
      target,
      count: 0,
      properties: new Map(),
    }))
    edge.count += 1
    this.properties(edge.properties, snapshot.relationshipStoredProperties(relationship))
  }

  private properties(counts: Map<string, PropertyStatistics>, stored: ReadonlyMap<string, StoredProperty>): void {
    for (const [name, property] of stored)
      counts.getOrInsertComputed(name, () => new PropertyStatistics()).addStored(property)
  }

  private times(created: PropertyValue | null, updated: PropertyValue | null): void {
    if (typeof created === 'string' && (this.earliest === '' || created < this.earliest)) this.earliest = created
    if (typeof updated === 'string' && updated > this.latest) this.latest = updated
  }

  schema(): DataSchema | null {
    if (this.nodes.size === 0) return null
    return {
      graph: {
        directed: true,
        metadata: { created_at: this.earliest, updated_at: this.latest },
        nodes: Object.fromEntries([...this.nodes].map(([type, node]) => [type, nodeSchema(node)])),
        edges: [...this.edges.values()].map(edgeSchema),
      },
    }
  }
}

function nodeSchema({ count, identities, labels, properties, scored, scores }: NodeStatistics): NodeSchema {
  return {
    metadata: {
      node_count: count,
      properties: propertySchemas(properties),
      system_labels: identities === 0 ? [] : [{ name: 'identity', count: identities }],
      user_defined_labels: countList(labels, 'name'),
      ...(scored > 0 && { trust_score: { count: scored, properties: propertySchemas(scores) } }),
    },
  }
}

function edgeSchema({ source, target, relation, count, properties }: EdgeStatistics): EdgeSchema {
  return { source, target, relation, directed: true, metadata: { count, properties: propertySchemas(properties) } }
}

function propertySchemas(properties: ReadonlyMap<string, PropertyStatistics>): Record<string, PropertySchema> {
  return Object.fromEntries([...properties].map(([name, property]) => [name, property.schema()]))
}

function isSystem(name: string): boolean {
  return name.startsWith('_')
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'array' : `array of ${typeName(value[0])}`
  if (value instanceof Float) return 'number'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (value === null) return 'null'
  return isTemporal(value) ? value.kind : typeof value
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function countList<K extends 'type' | 'name'>(
  counts: ReadonlyMap<string, number>,
  key: K,
): ({ [P in K]: string } & { count: number })[] {
  return [...counts].map(([name, count]) => ({ [key]: name, count }) as { [P in K]: string } & { count: number })
}
