// A graph as plain maps with the write interface of a store, and all readable content of either as plain data for
// comparison.
import {
  type Chunk,
  createChunk,
  type Direction,
  type MetadataFields,
  type NodeImage,
  type NodeInput,
  type NodeKey,
  type PropertyInput,
  type RelationshipImage,
  type RelationshipInput,
  type RelationshipKey,
  type Snapshot,
  type SymbolKind,
  type UpsertResult,
  type WriteBatch,
} from '../../src/engine/store.ts'
import type { PropertyValue } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'
import type { Clock } from '../../src/kernel/time/clock.ts'
import { timestamp } from '../../src/kernel/time/clock.ts'

interface ModelProperty extends PropertyInput {
  readonly updatedMs: number
}

type ModelProperties = ReadonlyMap<string, ModelProperty>

interface GraphModelNode {
  readonly key: NodeKey | null
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  readonly location: string | null
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: ModelProperties
}

interface ModelRelationship {
  readonly type: string
  readonly source: number
  readonly target: number
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: ModelProperties
}

const NONE: ModelProperties = new Map()

export class GraphModel implements WriteBatch {
  nodes = new Map<number, GraphModelNode>()
  relationships = new Map<number, ModelRelationship>()
  private nextNode = 1
  private nextRelationship = 1
  private nextEvent = 1
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Records are immutable, so copying the maps copies the graph. */
  copy(): GraphModel {
    const copy = new GraphModel(this.clock)
    copy.nodes = new Map(this.nodes)
    copy.relationships = new Map(this.relationships)
    copy.nextNode = this.nextNode
    copy.nextRelationship = this.nextRelationship
    copy.nextEvent = this.nextEvent
    return copy
  }

  /** The model has no transaction to read within. */
  view(): null {
    return null
  }

  appendEvents(_record: Uint8Array, count: number): number {
    this.nextEvent += count
    return this.nextEvent - count
  }

  nodeImage(key: NodeKey): NodeImage | null {
    const node = this.nodes.get(this.findNode(key))
    if (node === undefined) return null
    const { labels, isIdentity, location } = node
    return { ...imageOf(node), ...key, labels, isIdentity, location }
  }

  relationshipImage(key: RelationshipKey): RelationshipImage | null {
    const [id] = this.between(this.findNode(key.source), key.type, this.findNode(key.target))
    const relationship = id === undefined ? undefined : this.relationships.get(id)
    return relationship === undefined ? null : { ...imageOf(relationship), ...key }
  }

  hasNode(node: number): boolean {
    return this.nodes.has(node)
  }

  findNode(key: NodeKey): number {
    for (const [id, node] of this.nodes) {
      if (node.key?.type === key.type && node.key.externalId === key.externalId) return id
    }
    return 0
  }

  upsertNode(input: NodeInput): UpsertResult {
    const now = this.clock.now()
    const found = this.findNode(input)
    const old = this.nodes.get(found)
    const id = found === 0 ? this.nextNode++ : found
    this.nodes.set(id, {
      key: { type: input.type, externalId: input.externalId },
      labels: input.labels === undefined && old ? old.labels : [...new Set([input.type, ...(input.labels ?? [])])],
      isIdentity: input.isIdentity ?? old?.isIdentity ?? false,
      location: input.location ?? old?.location ?? null,
      createdMs: old?.createdMs ?? now,
      updatedMs: now,
      properties: merge(old?.properties ?? NONE, input.properties ?? [], now),
    })
    return { id, gid: '', created: old === undefined }
  }

  createNode(labels: readonly string[], properties: readonly PropertyInput[]): number {
    const now = this.clock.now()
    const id = this.nextNode++
    this.nodes.set(id, {
      key: null,
      labels: [...new Set(labels)],
      isIdentity: false,
      location: null,
      createdMs: now,
      updatedMs: now,
      properties: merge(NONE, properties, now),
    })
    return id
  }

  deleteNode(key: NodeKey): string | null {
    const id = this.findNode(key)
    for (const [relationship, { source, target }] of this.relationships) {
      if (source === id || target === id) this.relationships.delete(relationship)
    }
    return this.nodes.delete(id) ? '' : null
  }

  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null {
    const id = this.findNode(key)
    const node = this.nodes.get(id)
    if (node === undefined) return null
    const properties = without(node.properties, names)
    if (properties !== null) this.nodes.set(id, { ...node, properties, updatedMs: this.clock.now() })
    return ''
  }

  deleteNodePropertyMetadata(key: NodeKey, name: string, { own, custom }: MetadataFields): string | null {
    const id = this.findNode(key)
    const node = this.nodes.get(id)
    if (node === undefined) return null
    const property = node.properties.get(name)
    if (property?.metadata === undefined) return ''
    const metadata = structuredClone(property.metadata) as Record<string, unknown>
    for (const field of own) delete metadata[field]
    const left = (metadata.custom ?? {}) as Record<string, unknown>
    for (const field of custom) delete left[field]
    if (Bun.deepEquals(metadata, property.metadata)) return ''
    if (Object.keys(left).length === 0) delete metadata.custom
    const updatedMs = this.clock.now()
    const { metadata: _, ...rest } = property
    const changed = Object.keys(metadata).length === 0 ? { ...rest, updatedMs } : { ...rest, metadata, updatedMs }
    const properties = new Map(node.properties).set(name, changed)
    this.nodes.set(id, { ...node, properties, updatedMs })
    return ''
  }

  between(source: number, type: string, target: number): number[] {
    const ids: number[] = []
    for (const [id, relationship] of this.relationships) {
      if (relationship.source === source && relationship.type === type && relationship.target === target) ids.push(id)
    }
    return ids
  }

  upsertRelationship(input: RelationshipInput): UpsertResult | null {
    const source = this.findNode(input.source)
    const target = this.findNode(input.target)
    if (source === 0 || target === 0) return null
    const [id] = this.between(source, input.type, target)
    const properties = input.properties ?? []
    if (id === undefined) {
      return { id: this.createRelationship(source, input.type, target, properties), gid: '', created: true }
    }
    const old = this.relationships.get(id)!
    const now = this.clock.now()
    this.relationships.set(id, { ...old, updatedMs: now, properties: merge(old.properties, properties, now) })
    return { id, gid: '', created: false }
  }

  createRelationship(source: number, type: string, target: number, properties: readonly PropertyInput[]): number {
    const now = this.clock.now()
    const id = this.nextRelationship++
    const record = { type, source, target, createdMs: now, updatedMs: now, properties: merge(NONE, properties, now) }
    this.relationships.set(id, record)
    return id
  }

  deleteRelationship(key: RelationshipKey): string | null {
    const ids = this.between(this.findNode(key.source), key.type, this.findNode(key.target))
    for (const id of ids) this.relationships.delete(id)
    return ids.length > 0 ? '' : null
  }

  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null {
    const ids = this.between(this.findNode(key.source), key.type, this.findNode(key.target))
    for (const id of ids) {
      const old = this.relationships.get(id)!
      const properties = without(old.properties, names)
      if (properties !== null) this.relationships.set(id, { ...old, properties, updatedMs: this.clock.now() })
    }
    return ids.length > 0 ? '' : null
  }
}

function imageOf({
  properties,
  createdMs,
  updatedMs,
}: Pick<ModelRelationship, 'properties' | 'createdMs' | 'updatedMs'>) {
  return {
    id: '',
    createdMs,
    updatedMs,
    property: (name: string) => properties.get(name)?.value ?? null,
    properties: () =>
      new Map(
        [...properties].map(([name, { value, externalValue, metadata, updatedMs: ms }]) => [
          name,
          { value: value ?? null, externalValue: externalValue ?? null, metadata: metadata ?? null, updatedMs: ms },
        ]),
      ),
  }
}

function merge(old: ModelProperties, inputs: readonly PropertyInput[], updatedMs: number): ModelProperties {
  const merged = new Map(old)
  for (const input of inputs) merged.set(input.name, { ...input, updatedMs })
  return merged
}

/** Null if none of the names exists. */
function without(old: ModelProperties, names: readonly string[]): ModelProperties | null {
  const rest = new Map([...old].filter(([name]) => !names.includes(name)))
  return rest.size === old.size ? null : rest
}

// -- everything readable, as plain data

export interface NamePool {
  readonly labels: readonly string[]
  readonly types: readonly string[]
  readonly externalIds: readonly string[]
  readonly properties: readonly string[]
  readonly values: readonly PropertyValue[]
}

/** One line per fact, sorted: two graphs are equal if their lines are. */
export function factsOfModel(model: GraphModel, names: NamePool): string[] {
  const facts: string[] = []
  const say = (...words: unknown[]): void => void facts.push(words.map(show).join(' '))
  say('nodes', model.nodes.size)
  say('relationships', model.relationships.size)
  const nodes = [...model.nodes].sort(([a], [b]) => a - b)
  for (const [id, node] of nodes) {
    say('node', id, node.key?.type ?? null, node.key?.externalId ?? null, node.isIdentity, node.location)
    say('times', id, timestamp(node.createdMs), timestamp(node.updatedMs))
    say('labels', id, [...node.labels].sort())
    for (const [name, input] of node.properties) saySaved(say, 'node', id, name, input)
    for (const direction of ['out', 'in'] as const) {
      const here = [...model.relationships].filter(([, r]) => (direction === 'out' ? r.source : r.target) === id)
      say('types', id, direction, [...new Set(here.map(([, r]) => r.type))].sort())
      for (const type of names.types) {
        const entries = here
          .filter(([, r]) => r.type === type)
          .map(([relationship, r]) => [direction === 'out' ? r.target : r.source, relationship] as const)
          .sort((a, b) => a[0] - b[0] || a[1] - b[1])
        say('neighbours', id, direction, type, entries)
        say('degree', id, direction, type, entries.length)
      }
    }
    for (const type of names.types) {
      for (const [other] of nodes) say('between', id, type, other, model.between(id, type, other))
    }
  }
  for (const [id, relationship] of model.relationships) {
    const { source, target, type, createdMs, updatedMs } = relationship
    say('relationship', id, source, type, target, timestamp(createdMs), timestamp(updatedMs))
    for (const [name, input] of relationship.properties) saySaved(say, 'relationship', id, name, input)
  }
  for (const label of names.labels) {
    const carriers = nodes.filter(([, node]) => node.labels.includes(label))
    say(
      'label',
      label,
      carriers.map(([id]) => id),
    )
    say('counts', label, carriers.length, nodes.filter(([, node]) => node.key?.type === label).length)
    for (const externalId of names.externalIds)
      say('key', label, externalId, model.findNode({ type: label, externalId }))
    for (const property of names.properties) {
      for (const value of names.values) {
        const equal = carriers.filter(([, node]) => isCandidate(node.properties.get(property)?.value, value))
        say(
          'indexed',
          label,
          property,
          value,
          equal.map(([id]) => id),
        )
      }
    }
  }
  for (const type of names.types) {
    say('type', type, [...model.relationships.values()].filter((relationship) => relationship.type === type).length)
  }
  return facts.sort()
}

type FactWriter = (...words: unknown[]) => void

function saySaved(say: FactWriter, element: string, id: number, name: string, property: ModelProperty): void {
  const { value, externalValue, metadata, updatedMs } = property
  if (value !== undefined) say(element, 'property', id, name, value)
  say(element, 'saved', id, name, value ?? null, externalValue ?? null, metadata ?? null, updatedMs)
}

/** Values that the index treats as equal: equal scalars, including 1 and 1.0. Lists are not indexed. */
function isCandidate(stored: PropertyValue | undefined, value: PropertyValue): boolean {
  if (stored === undefined || Array.isArray(stored) || Array.isArray(value)) return false
  const plain = (scalar: PropertyValue): unknown =>
    scalar instanceof Float ? scalar.value : typeof scalar === 'bigint' ? Number(scalar) : scalar
  return plain(stored) === plain(value)
}

export function factsOfSnapshot(snapshot: Snapshot, names: NamePool): string[] {
  const facts: string[] = []
  const say: FactWriter = (...words) => void facts.push(words.map(show).join(' '))
  const type = (name: string): number => snapshot.symbol('type', name)
  say('nodes', snapshot.nodeCount(null))
  say('relationships', snapshot.relationshipCount(null))
  const nodes = drain((from, chunk) => snapshot.allNodes(from, chunk)).map(([id]) => id)
  for (const first of nodes) {
    const rest = drain((from, chunk) => snapshot.allNodes(from === 0 ? first : from, chunk)).map(([id]) => id)
    if (show(rest) !== show(nodes.filter((id) => id >= first))) say('nodes read differently from', first)
  }
  const relationships = new Set<number>()
  for (const id of nodes) {
    const own = (field: 'type' | 'external_id' | 'is_identity' | 'location' | 'create_time' | 'update_time'): unknown =>
      snapshot.nodeField(id, field)
    say('node', id, own('type'), own('external_id'), own('is_identity'), own('location'))
    say('times', id, own('create_time'), own('update_time'))
    const labels = snapshot.labels(id)
    say('labels', id, named(snapshot, 'label', labels))
    for (const label of names.labels) {
      const symbol = snapshot.symbol('label', label)
      if (snapshot.hasLabel(id, symbol) !== labels.includes(symbol)) say('label bits of', id, 'are wrong')
    }
    const properties = snapshot.nodeProperties(id)
    for (const [name, value] of properties) say('node', 'property', id, name, value)
    for (const name of names.properties) {
      const single = snapshot.nodeProperty(id, snapshot.symbol('property', name))
      if (show(single) !== show(properties.get(name) ?? null))
        say('property', name, 'of', id, 'reads differently alone')
      const saved = snapshot.nodeStoredProperty(id, snapshot.symbol('property', name))
      if (saved !== null) {
        const { value, externalValue, metadata, updatedMs } = saved
        say('node', 'saved', id, name, value, externalValue, metadata, updatedMs)
      }
    }
    for (const direction of ['out', 'in'] as const) {
      say('types', id, direction, named(snapshot, 'type', snapshot.relationshipTypesAt(id, direction)))
      for (const name of names.types) {
        const entries = walk(snapshot, id, direction, type(name))
        for (const [, relationship] of entries) relationships.add(relationship)
        say('neighbours', id, direction, name, entries)
        say('degree', id, direction, name, snapshot.degree(id, direction, type(name)))
        for (const first of nodes) {
          if (show(walkFrom(snapshot, id, direction, type(name), first)) !== show(behind(entries, first)))
            say('neighbours', id, direction, name, 'read differently from', first)
        }
      }
    }
    for (const name of names.types) {
      for (const other of nodes) {
        const chunk = createChunk()
        snapshot.relationshipsBetween(id, type(name), other, chunk)
        if (chunk.ids.subarray(0, chunk.length).some((target) => target !== other)) say('between', id, 'reaches', other)
        say('between', id, name, other, [...chunk.relationships.subarray(0, chunk.length)])
      }
    }
  }
  for (const id of relationships) {
    const own = (field: 'type' | 'create_time' | 'update_time'): unknown => snapshot.relationshipField(id, field)
    const ends = [snapshot.relationshipSource(id), snapshot.relationshipTarget(id)]
    say('relationship', id, ends[0], own('type'), ends[1], own('create_time'), own('update_time'))
    const properties = snapshot.relationshipProperties(id)
    for (const [name, value] of properties) say('relationship', 'property', id, name, value)
    for (const name of names.properties) {
      const single = snapshot.relationshipProperty(id, snapshot.symbol('property', name))
      if (show(single) !== show(properties.get(name) ?? null))
        say('property', name, 'at', id, 'reads differently alone')
      const saved = snapshot.relationshipStoredProperty(id, snapshot.symbol('property', name))
      if (saved !== null) {
        const { value, externalValue, metadata, updatedMs } = saved
        say('relationship', 'saved', id, name, value, externalValue, metadata, updatedMs)
      }
    }
  }
  for (const label of names.labels) {
    const symbol = snapshot.symbol('label', label)
    say(
      'label',
      label,
      drain((from, chunk) => snapshot.nodesWithLabel(symbol, from, chunk)).map(([id]) => id),
    )
    say('counts', label, snapshot.nodeCount(symbol), snapshot.typedNodeCount(symbol))
    for (const externalId of names.externalIds) say('key', label, externalId, snapshot.findNode(symbol, externalId))
    for (const property of names.properties) {
      const propertySymbol = snapshot.symbol('property', property)
      for (const value of names.values) {
        const found = drain((from, chunk) => snapshot.nodesWithProperty(symbol, propertySymbol, value, from, chunk))
        say(
          'indexed',
          label,
          property,
          value,
          found.map(([id]) => id),
        )
      }
    }
  }
  for (const name of names.types) say('type', name, snapshot.relationshipCount(type(name)))
  return facts.sort()
}

function named(snapshot: Snapshot, kind: SymbolKind, symbols: readonly number[]): string[] {
  if (symbols.some((symbol, at) => at > 0 && symbols[at - 1]! >= symbol)) return ['symbols out of order']
  return symbols.map((symbol) => snapshot.symbolName(kind, symbol)).sort()
}

function behind(entries: readonly [number, number][], first: number): [number, number][] {
  return entries.filter(([id]) => id >= first)
}

export function walkFrom(snapshot: Snapshot, node: number, direction: Direction, type: number, first: number) {
  return drain((from, chunk) => {
    if (from === 0) snapshot.neighboursFrom(node, direction, type, first, chunk)
    else snapshot.neighbours(node, direction, type, from, chunk)
  })
}

export function walk(snapshot: Snapshot, node: number, direction: Direction, type: number): [number, number][] {
  return drain((from, chunk) => snapshot.neighbours(node, direction, type, from, chunk))
}

/** All entries, chunk by chunk. */
export function drain(fill: (from: number, chunk: Chunk) => void): [number, number][] {
  const chunk = createChunk()
  const entries: [number, number][] = []
  for (let from = 0; ; from = chunk.next) {
    fill(from, chunk)
    for (let i = 0; i < chunk.length; i++) entries.push([chunk.ids[i]!, chunk.relationships[i]!])
    if (!chunk.more) return entries
  }
}

function show(word: unknown): string {
  return JSON.stringify(word, (_, value: unknown) => {
    if (value instanceof Float) return { float: Object.is(value.value, -0) ? '-0' : String(value.value) }
    return typeof value === 'bigint' ? { bigint: String(value) } : value
  })
}
