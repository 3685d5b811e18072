// One line of an export: elements as lines and lines as elements, with everything that the store keeps of them but the
// numbers that it gives by itself. Names stand in the order of the alphabet, so that equal graphs are equal text.
// A line of a stranger is read field by field; what is wrong is told with the name of the field.
import type { NodeKey, PropertyMetadata } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import { construct } from '../engine/value/temporal/construct.ts'
import { isTemporal, type TemporalKind } from '../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../engine/value/value.ts'
import { timestamp } from '../kernel/clock.ts'
import { Float } from '../kernel/float.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { isGid } from '../kernel/ids.ts'
import { parseJson, writeJson } from '../kernel/json.ts'
import type { GivenNode, GivenProperty, GivenRelationship } from '../store/lmdb/bulk-batch.ts'
import type { Document } from './folders.ts'

export const FORMAT = 'verdigraph-export'
export const VERSION = 1

/** What is wrong in a line: where, and how. */
export class LineFault extends Error {
  override readonly name = 'LineFault'
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

export interface Section {
  readonly project: string
  /** Path below the folder of the project. */
  readonly part: string
}

export interface End {
  readonly configuration: number
  readonly nodes: number
  readonly relationships: number
}

export type Line =
  | { readonly kind: 'header' }
  | { readonly kind: 'configuration' | 'past'; readonly document: Document }
  | { readonly kind: 'graph'; readonly section: Section }
  | { readonly kind: 'node'; readonly node: GivenNode }
  | { readonly kind: 'relationship'; readonly relationship: GivenRelationship }
  | { readonly kind: 'end'; readonly end: End }

// -- writing

export interface StoredProperty {
  readonly name: string
  readonly value: PropertyValue | null
  readonly externalValue: string | null
  readonly updatedMs: number
  readonly metadata: PropertyMetadata | null
}

export interface ExportedNode extends NodeKey {
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  readonly location: string | null
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: readonly StoredProperty[]
}

export interface ExportedRelationship {
  readonly source: NodeKey
  readonly target: NodeKey
  readonly type: string
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: readonly StoredProperty[]
}

export const headerLine = `${JSON.stringify({ format: FORMAT, version: VERSION })}\n`

export function configurationLine(document: unknown): string {
  return `${JSON.stringify({ configuration: document })}\n`
}

/** Of a revision that another one has replaced. */
export function pastLine(document: unknown): string {
  return `${JSON.stringify({ past: document })}\n`
}

export function graphLine(section: Section): string {
  return `${JSON.stringify({ graph: section })}\n`
}

export function endLine(end: End): string {
  return `${JSON.stringify({ end })}\n`
}

export function nodeLine(node: ExportedNode): string {
  const labels = node.labels.filter((label) => label !== node.type)
  return `${writeJson({
    node: {
      type: node.type,
      external_id: node.externalId,
      ...(labels.length === 0 ? {} : { labels: labels.sort() }),
      ...(node.isIdentity ? { is_identity: true } : {}),
      ...(node.location === null ? {} : { location: node.location }),
      ...common(node),
    },
  })}\n`
}

export function relationshipLine(relationship: ExportedRelationship): string {
  const { source, target, type } = relationship
  return `${writeJson({
    relationship: { source: keyMembers(source), type, target: keyMembers(target), ...common(relationship) },
  })}\n`
}

function keyMembers({ type, externalId }: NodeKey): object {
  return { type, external_id: externalId }
}

function common({
  gid,
  createdMs,
  updatedMs,
  properties,
}: {
  gid: string
  createdMs: number
  updatedMs: number
  properties: readonly StoredProperty[]
}): object {
  return {
    id: gid,
    create_time: timestamp(createdMs),
    ...(updatedMs === createdMs ? {} : { update_time: timestamp(updatedMs) }),
    ...(properties.length === 0
      ? {}
      : {
          properties: properties
            .toSorted((a, b) => (a.name < b.name ? -1 : 1))
            .map((property) => ({
              type: property.name,
              ...(property.externalValue === null
                ? { value: written(property.value as PropertyValue) }
                : { external_value: property.externalValue }),
              ...(property.updatedMs === updatedMs ? {} : { update_time: timestamp(property.updatedMs) }),
              ...(property.metadata === null ? {} : { metadata: metadataMembers(property.metadata) }),
            })),
        }),
  }
}

function metadataMembers({ source, assuranceLevel, verifiedTime, custom }: PropertyMetadata): object {
  return {
    ...(source === undefined ? {} : { source }),
    ...(assuranceLevel === undefined ? {} : { assurance_level: assuranceLevel }),
    ...(verifiedTime === undefined ? {} : { verified_time: verifiedTime }),
    ...(custom === undefined ? {} : { custom_metadata: custom }),
  }
}

/** What JSON has no word for becomes an object, which no property holds otherwise. */
function written(value: PropertyValue): unknown {
  if (Array.isArray(value)) return (value as readonly PropertyScalar[]).map(written)
  if (isTemporal(value)) return { [value.kind]: String(value) }
  if (value instanceof Float && !Number.isFinite(value.value)) return { float: String(value.value) }
  return value
}

// -- reading

type Members = Readonly<Record<string, unknown>>

/** Throws LineFault. */
export function readLine(text: string): Line {
  const parsed = parseJson(text)
  if (!parsed.ok) throw new LineFault('', parsed.error.message.replace('at line 1, column', 'at column'))
  const line = parsed.value
  if (!isJsonObject(line)) throw new LineFault('', `expected an object, found ${foundName(line)}`)
  const members = line as Members
  if ('node' in members) return { kind: 'node', node: readNode(only(members, 'node')) }
  if ('relationship' in members)
    return { kind: 'relationship', relationship: readRelationship(only(members, 'relationship')) }
  if ('configuration' in members) return { kind: 'configuration', document: readDocument(text, 'configuration') }
  if ('past' in members) return { kind: 'past', document: readDocument(text, 'past') }
  if ('graph' in members) return { kind: 'graph', section: readSection(only(members, 'graph')) }
  if ('end' in members) return { kind: 'end', end: readEnd(only(members, 'end')) }
  if (members.format !== FORMAT) throw new LineFault('', 'expected a node, a relationship, a configuration or a graph')
  if (members.version !== VERSION)
    throw new LineFault('version', `expected ${VERSION}, found ${String(members.version)}: another program wrote this`)
  return { kind: 'header' }
}

function only(members: Members, name: string): Members {
  for (const other of Object.keys(members)) if (other !== name) throw new LineFault(other, 'unknown field')
  return object(members[name], name)
}

function object(value: unknown, field: string): Members {
  if (!isJsonObject(value)) throw new LineFault(field, `expected an object, found ${foundName(value)}`)
  return value as Members
}

function known(members: Members, names: ReadonlySet<string>, field: string): void {
  for (const name in members) if (!names.has(name)) throw new LineFault(`${field}.${name}`, 'unknown field')
}

function text(value: unknown, field: string, min: number, max: number): string {
  if (typeof value !== 'string') throw new LineFault(field, `expected a string, found ${foundName(value)}`)
  if (value.length < min || value.length > max) {
    // Characters as a capture counts them: what is beyond the first plane takes two units of a string.
    const length = [...value].length
    if (length < min || length > max)
      throw new LineFault(field, `expected ${min} to ${max} characters, found ${length}`)
  }
  return value
}

// Names as capture takes them, and those of the service with them.
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u
const knownNames = new Map<string, Set<string>>()

function name(value: unknown, field: string, min: number, max: number): string {
  const found = text(value, field, min, max)
  let good = knownNames.get(`${min} ${max}`)
  if (good === undefined) {
    good = new Set()
    knownNames.set(`${min} ${max}`, good)
  }
  if (good.has(found)) return found
  if (!NAME.test(found)) throw new LineFault(field, `expected a letter or \`_\`, then letters, digits and \`_\``)
  if (good.size < 10_000) good.add(found)
  return found
}

let lastTime = ''
let lastMs = 0

function time(value: unknown, field: string): number {
  if (value === lastTime) return lastMs
  const found = text(value, field, 1, 64)
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/.test(found)
    ? Date.parse(found)
    : Number.NaN
  if (Number.isNaN(ms)) throw new LineFault(field, `expected an RFC 3339 timestamp, found \`${found}\``)
  lastTime = found
  lastMs = ms
  return ms
}

const NODE = new Set([
  'type',
  'external_id',
  'labels',
  'is_identity',
  'location',
  'id',
  'create_time',
  'update_time',
  'properties',
])

function readNode(members: Members): GivenNode {
  known(members, NODE, 'node')
  const { labels, is_identity, location } = members
  if (labels !== undefined && !Array.isArray(labels))
    throw new LineFault('node.labels', `expected an array, found ${foundName(labels)}`)
  if (is_identity !== undefined && typeof is_identity !== 'boolean')
    throw new LineFault('node.is_identity', `expected a boolean, found ${foundName(is_identity)}`)
  return {
    ...readKey(members, 'node'),
    ...(labels === undefined ? {} : { labels: labels.map((label, i) => name(label, `node.labels[${i}]`, 2, 64)) }),
    ...(is_identity === undefined ? {} : { isIdentity: is_identity }),
    ...(location === undefined ? {} : { location: text(location, 'node.location', 1, 256) }),
    ...readCommon(members, 'node'),
  }
}

function readKey(members: Members, field: string): NodeKey {
  return {
    type: name(members.type, `${field}.type`, 2, 64),
    externalId: text(members.external_id, `${field}.external_id`, 1, 256),
  }
}

const RELATIONSHIP = new Set(['source', 'target', 'type', 'id', 'create_time', 'update_time', 'properties'])
const KEY = new Set(['type', 'external_id'])

function readRelationship(members: Members): GivenRelationship {
  known(members, RELATIONSHIP, 'relationship')
  return {
    source: readEndNode(members.source, 'relationship.source'),
    type: name(members.type, 'relationship.type', 1, 128),
    target: readEndNode(members.target, 'relationship.target'),
    ...readCommon(members, 'relationship'),
  }
}

function readEndNode(value: unknown, field: string): NodeKey {
  const members = object(value, field)
  known(members, KEY, field)
  return readKey(members, field)
}

function readCommon(
  members: Members,
  field: string,
): { gid?: string; createdMs?: number; updatedMs?: number; properties?: GivenProperty[] } {
  const { id, create_time, update_time, properties } = members
  if (id !== undefined && !(typeof id === 'string' && id.length === 30 && isGid(id)))
    throw new LineFault(`${field}.id`, 'expected an id of this service: `gid:` and 26 characters')
  return {
    ...(id === undefined ? {} : { gid: id as string }),
    ...(create_time === undefined ? {} : { createdMs: time(create_time, `${field}.create_time`) }),
    ...(update_time === undefined ? {} : { updatedMs: time(update_time, `${field}.update_time`) }),
    ...(properties === undefined ? {} : { properties: readProperties(properties, `${field}.properties`) }),
  }
}

const PROPERTY = new Set(['type', 'value', 'external_value', 'update_time', 'metadata'])
/** Own fields of every element: a property of that name could never be told from them. */
const PROTECTED = new Set(['_service', 'create_time', 'external_id', 'id', 'type', 'update_time'])

function readProperties(value: unknown, field: string): GivenProperty[] {
  if (!Array.isArray(value)) throw new LineFault(field, `expected an array, found ${foundName(value)}`)
  return value.map((item, i) => readProperty(object(item, `${field}[${i}]`), `${field}[${i}]`))
}

function readProperty(members: Members, field: string): GivenProperty {
  known(members, PROPERTY, field)
  const { value, external_value, update_time, metadata } = members
  const property = text(members.type, `${field}.type`, 1, 128)
  if (PROTECTED.has(property)) throw new LineFault(`${field}.type`, `\`${property}\` is a protected name`)
  if ((value === undefined) === (external_value === undefined))
    throw new LineFault(field, 'expected exactly one of `value` and `external_value`')
  return {
    name: property,
    ...(value === undefined ? {} : { value: readValue(value, `${field}.value`) }),
    ...(external_value === undefined ? {} : { externalValue: text(external_value, `${field}.external_value`, 1, 256) }),
    ...(update_time === undefined ? {} : { updatedMs: time(update_time, `${field}.update_time`) }),
    ...(metadata === undefined ? {} : { metadata: readMetadata(object(metadata, `${field}.metadata`), field) }),
  }
}

function readValue(value: unknown, field: string): PropertyValue {
  if (!Array.isArray(value)) return readScalar(value, field)
  const items = value.map((item, i) => readScalar(item, `${field}[${i}]`))
  for (const [i, item] of items.entries())
    if (kindOf(item) !== kindOf(items[0] as PropertyScalar))
      throw new LineFault(`${field}[${i}]`, 'expected items of one kind')
  return items
}

function kindOf(value: PropertyScalar): string {
  if (isTemporal(value)) return value.kind
  return typeof value === 'string' || typeof value === 'boolean' ? typeof value : 'number'
}

const TEMPORALS: ReadonlySet<string> = new Set<TemporalKind>([
  'date',
  'localtime',
  'time',
  'localdatetime',
  'datetime',
  'duration',
])

function readScalar(value: unknown, field: string): PropertyScalar {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  try {
    if (isJsonObject(value)) {
      const [[kind = '', from] = [], ...more] = Object.entries(value as Members)
      if (more.length === 0 && typeof from === 'string') {
        if (TEMPORALS.has(kind)) return construct(kind as TemporalKind, from) as PropertyScalar
        if (kind === 'float' && /^(?:NaN|-?Infinity)$/.test(from)) return new Float(Number(from))
      }
    } else if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Float)
      return fromJson(value) as PropertyScalar
  } catch (fault) {
    throw new LineFault(field, (fault as Error).message)
  }
  throw new LineFault(
    field,
    `expected a string, a number of at most 64 bits, a boolean or an array of one of these, found ${foundName(value)}`,
  )
}

const METADATA = new Set(['source', 'assurance_level', 'verified_time', 'custom_metadata'])

function readMetadata(members: Members, property: string): PropertyMetadata {
  const field = `${property}.metadata`
  known(members, METADATA, field)
  const { source, assurance_level, verified_time, custom_metadata } = members
  if (assurance_level !== undefined && ![1, 2, 3].includes(assurance_level as number))
    throw new LineFault(`${field}.assurance_level`, 'expected 1, 2 or 3')
  if (verified_time !== undefined) time(verified_time, `${field}.verified_time`)
  return {
    ...(source === undefined ? {} : { source: text(source, `${field}.source`, 0, Number.POSITIVE_INFINITY) }),
    ...(assurance_level === undefined ? {} : { assuranceLevel: assurance_level as number }),
    ...(verified_time === undefined ? {} : { verifiedTime: verified_time as string }),
    ...(custom_metadata === undefined ? {} : { custom: readCustom(custom_metadata, `${field}.custom_metadata`) }),
  }
}

/** Free JSON, but its numbers must be values when they are read. */
function readCustom(value: unknown, field: string): Members {
  const members = object(value, field)
  try {
    fromJson(members)
  } catch (fault) {
    throw new LineFault(field, (fault as Error).message)
  }
  return members
}

/** Documents are plain JSON: their numbers are what the runtime's own parser makes of them. */
function readDocument(line: string, kind: 'configuration' | 'past'): Document {
  const document = object(only(JSON.parse(line) as Members, kind), kind)
  for (const field of ['id', 'kind'] as const) text(document[field], `${kind}.${field}`, 1, 256)
  if (kind === 'past' && !Number.isSafeInteger(document.revision))
    throw new LineFault('past.revision', `expected the number of a revision, found ${foundName(document.revision)}`)
  return document as unknown as Document
}

const PART = /^(?:default|global|[a-z]+\/[0-9a-f]{40})$/

function readSection(members: Members): Section {
  known(members, new Set(['project', 'part']), 'graph')
  const project = text(members.project, 'graph.project', 1, 256)
  const part = text(members.part ?? 'default', 'graph.part', 1, 128)
  if (!isGid(project)) throw new LineFault('graph.project', 'expected the id of a project')
  if (!PART.test(part)) throw new LineFault('graph.part', 'expected a part of a graph, as an export names it')
  return { project, part }
}

function readEnd(members: Members): End {
  known(members, new Set(['configuration', 'nodes', 'relationships']), 'end')
  for (const field of ['configuration', 'nodes', 'relationships'] as const)
    if (!Number.isSafeInteger(members[field])) throw new LineFault(`end.${field}`, 'expected a count')
  return members as unknown as End
}
