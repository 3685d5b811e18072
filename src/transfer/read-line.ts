// Reads a line of an export, or of whoever writes such lines, field by field. A stranger's element is taken where a capture
// would take it; an export has also what the service writes by itself, and what queries have made of an element.
import type { NodeKey } from '../engine/store.ts'
import { externalIdLength, LABELS_MAX, labelLength, locationLength, relationshipTypeLength } from '../kernel/element.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { isGid } from '../kernel/ids.ts'
import { parseJson } from '../kernel/json.ts'
import type { GivenNode, GivenProperty, GivenRelationship } from '../store/lmdb/bulk-batch.ts'
import type { Document } from './folders.ts'
import { id, known, LineFault, type Members, name, object, only, refuseReserved, text, time } from './line-fields.ts'
import { readProperties } from './line-properties.ts'
import { type End, FORMAT, type Line, type Section, VERSION } from './lines.ts'

/** Throws LineFault. `isExport`: a header came before it. */
export function readLine(text: string, isExport: boolean): Line {
  const parsed = parseJson(text)
  if (!parsed.ok) throw new LineFault('', parsed.error.message.replace('at line 1, column', 'at column'))
  const line = parsed.value
  if (!isJsonObject(line)) throw new LineFault('', `expected an object, found ${foundName(line)}`)
  const members = line as Members
  if ('node' in members) return { kind: 'node', node: readNode(only(members, 'node'), isExport) }
  if ('relationship' in members)
    return { kind: 'relationship', relationship: readRelationship(only(members, 'relationship'), isExport) }
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

function readNode(members: Members, isExport: boolean): GivenNode {
  known(members, NODE, 'node')
  const { labels, is_identity, location } = members
  const key = readKey(members, 'node')
  if (!isExport) refuseReserved(key.type, 'node.type')
  if (is_identity !== undefined && typeof is_identity !== 'boolean')
    throw new LineFault('node.is_identity', `expected a boolean, found ${foundName(is_identity)}`)
  return {
    ...key,
    ...(labels === undefined ? {} : { labels: readLabels(labels, isExport) }),
    ...(is_identity === undefined ? {} : { isIdentity: is_identity }),
    ...(location === undefined ? {} : { location: text(location, 'node.location', locationLength) }),
    ...readCommon(members, 'node', isExport, true),
  }
}

function readLabels(labels: unknown, isExport: boolean): string[] {
  if (!Array.isArray(labels)) throw new LineFault('node.labels', `expected an array, found ${foundName(labels)}`)
  if (!isExport && labels.length > LABELS_MAX)
    throw new LineFault('node.labels', `expected at most ${LABELS_MAX} labels, found ${labels.length}`)
  return labels.map((label, i) => {
    const field = `node.labels[${i}]`
    const found = name(label, field, labelLength)
    if (!isExport) refuseReserved(found, field)
    return found
  })
}

function readKey(members: Members, field: string): NodeKey {
  return {
    type: name(members.type, `${field}.type`, labelLength),
    externalId: text(members.external_id, `${field}.external_id`, externalIdLength),
  }
}

const RELATIONSHIP = new Set(['source', 'target', 'type', 'id', 'create_time', 'update_time', 'properties'])
const KEY = new Set(['type', 'external_id'])

function readRelationship(members: Members, isExport: boolean): GivenRelationship {
  known(members, RELATIONSHIP, 'relationship')
  const type = name(members.type, 'relationship.type', relationshipTypeLength)
  // Its ends may be of a reserved type, as in a capture: so an application is joined to business data.
  if (!isExport) refuseReserved(type, 'relationship.type')
  return {
    source: readEndNode(members.source, 'relationship.source'),
    type,
    target: readEndNode(members.target, 'relationship.target'),
    ...readCommon(members, 'relationship', isExport, false),
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
  isExport: boolean,
  mayBeSourced: boolean,
): { gid?: string; createdMs?: number; updatedMs?: number; properties?: GivenProperty[] } {
  const { id: gid, create_time, update_time, properties } = members
  return {
    ...(gid === undefined ? {} : { gid: id(gid, `${field}.id`) }),
    ...(create_time === undefined ? {} : { createdMs: time(create_time, `${field}.create_time`) }),
    ...(update_time === undefined ? {} : { updatedMs: time(update_time, `${field}.update_time`) }),
    ...(properties === undefined
      ? {}
      : { properties: readProperties(properties, `${field}.properties`, isExport, mayBeSourced) }),
  }
}

/** Documents are plain JSON: their numbers are what the runtime's own parser makes of them. */
function readDocument(line: string, kind: 'configuration' | 'past'): Document {
  const document = object(only(JSON.parse(line) as Members, kind), kind)
  for (const field of ['id', 'kind'] as const) text(document[field], `${kind}.${field}`, { min: 1, max: 256 })
  if (kind === 'past' && !Number.isSafeInteger(document.revision))
    throw new LineFault('past.revision', `expected the number of a revision, found ${foundName(document.revision)}`)
  return document as unknown as Document
}

const PART = /^(?:default|global|[a-z]+\/[0-9a-f]{40})$/

function readSection(members: Members): Section {
  known(members, new Set(['project', 'part']), 'graph')
  const project = text(members.project, 'graph.project', { min: 1, max: 256 })
  const part = text(members.part ?? 'default', 'graph.part', { min: 1, max: 128 })
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
