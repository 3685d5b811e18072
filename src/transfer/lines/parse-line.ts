// Parses a line of an import with a message for each field at fault. A foreign line accepts what a capture accepts. An export
// also contains elements with reserved names, and values that only queries write.
import type { NodeKey } from '../../engine/store.ts'
import {
  externalIdLength,
  LABELS_MAX,
  labelLength,
  locationLength,
  relationshipTypeLength,
} from '../../kernel/element-rules.ts'
import { isGid } from '../../kernel/ids.ts'
import { parseJson } from '../../kernel/json/json.ts'
import { isJsonObject, jsonKindOf } from '../../kernel/json/json-kind.ts'
import type { BulkNode, BulkProperty, BulkRelationship } from '../../store/graph/bulk-batch.ts'
import type { TransferredDocument } from '../files/database-folders.ts'
import {
  LineError,
  type Members,
  readId,
  readName,
  readObject,
  readText,
  readTime,
  rejectReserved,
  rejectUnknown,
  soleMember,
} from './line-fields.ts'
import { type ExportLine, type ExportTotals, FORMAT, type GraphSection, VERSION } from './line-format.ts'
import { readProperties } from './line-properties.ts'

/** Parses one line. `isExport`: the file starts with the header of an export. Throws LineError. */
export function parseLine(text: string, isExport: boolean): ExportLine {
  const parsed = parseJson(text)
  if (!parsed.ok) throw new LineError('', parsed.error.message.replace('at line 1, column', 'at column'))
  const line = parsed.value
  if (!isJsonObject(line)) throw new LineError('', `expected an object, found ${jsonKindOf(line)}`)
  const members = line as Members
  if ('node' in members) return { kind: 'node', node: readNode(soleMember(members, 'node'), isExport) }
  if ('relationship' in members)
    return { kind: 'relationship', relationship: readRelationship(soleMember(members, 'relationship'), isExport) }
  if ('configuration' in members) return { kind: 'configuration', document: readDocument(text, 'configuration') }
  if ('past' in members) return { kind: 'past', document: readDocument(text, 'past') }
  if ('graph' in members) return { kind: 'graph', section: readSection(soleMember(members, 'graph')) }
  if ('end' in members) return { kind: 'end', end: readTotals(soleMember(members, 'end')) }
  if (members.format !== FORMAT) throw new LineError('', 'expected a node, a relationship, a configuration or a graph')
  if (members.version !== VERSION)
    throw new LineError(
      'version',
      `expected ${VERSION}, found ${String(members.version)}: written by another version of the program`,
    )
  return { kind: 'header' }
}

const NODE_FIELDS = new Set([
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

function readNode(members: Members, isExport: boolean): BulkNode {
  rejectUnknown(members, NODE_FIELDS, 'node')
  const { labels, is_identity, location } = members
  const key = readKey(members, 'node')
  if (!isExport) rejectReserved(key.type, 'node.type')
  if (is_identity !== undefined && typeof is_identity !== 'boolean')
    throw new LineError('node.is_identity', `expected a boolean, found ${jsonKindOf(is_identity)}`)
  return {
    ...key,
    ...(labels === undefined ? {} : { labels: readLabels(labels, isExport) }),
    ...(is_identity === undefined ? {} : { isIdentity: is_identity }),
    ...(location === undefined ? {} : { location: readText(location, 'node.location', locationLength) }),
    ...readCommon(members, 'node', isExport, true),
  }
}

function readLabels(labels: unknown, isExport: boolean): string[] {
  if (!Array.isArray(labels)) throw new LineError('node.labels', `expected an array, found ${jsonKindOf(labels)}`)
  if (!isExport && labels.length > LABELS_MAX)
    throw new LineError('node.labels', `expected at most ${LABELS_MAX} labels, found ${labels.length}`)
  return labels.map((label, i) => {
    const field = `node.labels[${i}]`
    const found = readName(label, field, labelLength)
    if (!isExport) rejectReserved(found, field)
    return found
  })
}

function readKey(members: Members, field: string): NodeKey {
  return {
    type: readName(members.type, `${field}.type`, labelLength),
    externalId: readText(members.external_id, `${field}.external_id`, externalIdLength),
  }
}

const RELATIONSHIP_FIELDS = new Set(['source', 'target', 'type', 'id', 'create_time', 'update_time', 'properties'])
const KEY_FIELDS = new Set(['type', 'external_id'])

function readRelationship(members: Members, isExport: boolean): BulkRelationship {
  rejectUnknown(members, RELATIONSHIP_FIELDS, 'relationship')
  const type = readName(members.type, 'relationship.type', relationshipTypeLength)
  // Its end nodes may have a reserved type, as in a capture: this connects an application to business data.
  if (!isExport) rejectReserved(type, 'relationship.type')
  return {
    source: readEndNode(members.source, 'relationship.source'),
    type,
    target: readEndNode(members.target, 'relationship.target'),
    ...readCommon(members, 'relationship', isExport, false),
  }
}

function readEndNode(value: unknown, field: string): NodeKey {
  const members = readObject(value, field)
  rejectUnknown(members, KEY_FIELDS, field)
  return readKey(members, field)
}

function readCommon(
  members: Members,
  field: string,
  isExport: boolean,
  mayBeSourced: boolean,
): { gid?: string; createdMs?: number; updatedMs?: number; properties?: BulkProperty[] } {
  const { id: gid, create_time, update_time, properties } = members
  return {
    ...(gid === undefined ? {} : { gid: readId(gid, `${field}.id`) }),
    ...(create_time === undefined ? {} : { createdMs: readTime(create_time, `${field}.create_time`) }),
    ...(update_time === undefined ? {} : { updatedMs: readTime(update_time, `${field}.update_time`) }),
    ...(properties === undefined
      ? {}
      : { properties: readProperties(properties, `${field}.properties`, isExport, mayBeSourced) }),
  }
}

/** Documents are plain JSON, so their numbers are parsed as JavaScript numbers. */
function readDocument(line: string, kind: 'configuration' | 'past'): TransferredDocument {
  const document = readObject(soleMember(JSON.parse(line) as Members, kind), kind)
  for (const field of ['id', 'kind'] as const) readText(document[field], `${kind}.${field}`, { min: 1, max: 256 })
  if (kind === 'past' && !Number.isSafeInteger(document.revision))
    throw new LineError('past.revision', `expected a revision number, found ${jsonKindOf(document.revision)}`)
  return document as unknown as TransferredDocument
}

const PART_PATH = /^(?:default|global|[a-z]+\/[0-9a-f]{40})$/

function readSection(members: Members): GraphSection {
  rejectUnknown(members, new Set(['project', 'part']), 'graph')
  const project = readText(members.project, 'graph.project', { min: 1, max: 256 })
  const part = readText(members.part ?? 'default', 'graph.part', { min: 1, max: 128 })
  if (!isGid(project)) throw new LineError('graph.project', 'expected a project id')
  if (!PART_PATH.test(part))
    throw new LineError('graph.part', 'expected a constituent: `default`, `global`, or a path as an export writes it')
  return { project, part }
}

function readTotals(members: Members): ExportTotals {
  rejectUnknown(members, new Set(['configuration', 'nodes', 'relationships']), 'end')
  for (const field of ['configuration', 'nodes', 'relationships'] as const)
    if (!Number.isSafeInteger(members[field])) throw new LineError(`end.${field}`, 'expected a count')
  return members as unknown as ExportTotals
}
