// Reads a line of an export, or of whoever writes such lines, field by field.
import type { NodeKey, PropertyMetadata } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import { construct } from '../engine/value/temporal/construct.ts'
import { isTemporal, type TemporalKind } from '../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { isGid } from '../kernel/ids.ts'
import { parseJson } from '../kernel/json.ts'
import type { GivenNode, GivenProperty, GivenRelationship } from '../store/lmdb/bulk-batch.ts'
import type { Document } from './folders.ts'
import { id, known, LineFault, type Members, name, object, only, text, time } from './line-fields.ts'
import { type End, FORMAT, type Line, type Section, VERSION } from './lines.ts'

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
  const { id: gid, create_time, update_time, properties } = members
  return {
    ...(gid === undefined ? {} : { gid: id(gid, `${field}.id`) }),
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
