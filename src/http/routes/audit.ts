// The routes of auditors: batches, manifests, checkpoints, records and proofs of the audit logs, their files (C2SP tlog-tiles), and
// exports.

import { z } from 'zod'
import { PRUNED_FILE } from '../../audit/log/pruned-note.ts'
import { NEWEST } from '../../audit/read/audit-reads.ts'
import {
  type AuditFile,
  type AuditReads,
  auditBatchPage,
  auditCheckpointPage,
  auditExportQuery,
  auditKeySet,
  auditLogQuery,
  auditManifestPage,
  auditPageQuery,
  auditRecordPage,
  auditRecordQuery,
  auditTreesAnswer,
  consistencyAnswer,
  consistencyQuery,
  type FoundRecord,
  inclusionAnswer,
  inclusionQuery,
} from '../../audit/read/read-operations.ts'
import { assert } from '../../kernel/assert.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/request/caller.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { endWhenRevoked } from '../revocable-stream.ts'
import { errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'

const tag: Tag = { name: 'Audit', description: 'The signed audit logs, their proofs and their public keys.' }
const auth = { kind: 'agent-or-account', permission: 'Audit' } as const
const lane = { always: true, limit: 'query' } as const
const shared = { method: 'GET', tag, auth, lane, request: null, invalidQuery: 'malformed' } as const

const treePath = '/audit/v1/tlog/{log}/{generation}'
const treeParameters = {
  log: 'the identifier of the project or organization without `gid:`, as in `url` of `GET /audit/v1/tlog`',
  generation: `the history of the log; \`${NEWEST}\`: the newest one`,
}
/** Folders in the path of a tile: for up to 10¹⁴ entries. */
const INDEX_PARTS_MAX = 5

/** Builds the routes. */
export function auditRoutes(audit: AuditReads): Route[] {
  return [...listRoutes(audit), ...recordRoutes(audit), ...treeRoutes(audit), keyRoute(audit)]
}

function listRoutes(audit: AuditReads): Route[] {
  const list = { ...shared, query: auditPageQuery }
  const statuses = errorStatuses(400, 403, 404, 503)
  return [
    {
      ...list,
      path: '/audit/v1/logs',
      operationId: 'listAuditLogs',
      summary: 'List the batches of an audit log with their entries',
      description:
        'In their order. Each batch signs the hash of its entries, and has one manifest. A page may have fewer items than `pagesize` if they are long.',
      responses: { 200: auditBatchPage, ...statuses },
      handle: async (context) => answer(await audit.batches(callerOf(context), context.query)),
    },
    {
      ...list,
      path: '/audit/v1/manifests',
      operationId: 'listAuditManifests',
      summary: 'List the manifests of an audit log, which chain its batches',
      responses: { 200: auditManifestPage, ...statuses },
      handle: async (context) => answer(await audit.manifests(callerOf(context), context.query)),
    },
    {
      ...list,
      path: '/audit/v1/checkpoints',
      operationId: 'listAuditCheckpoints',
      summary: 'List the checkpoints of an audit log, newest first',
      responses: { 200: auditCheckpointPage, ...statuses },
      handle: async (context) => answer(await audit.checkpoints(callerOf(context), context.query)),
    },
  ]
}

function recordRoutes(audit: AuditReads): Route[] {
  return [
    {
      ...shared,
      path: '/audit/v1/records',
      operationId: 'listAuditRecords',
      summary: 'Find records of an audit log',
      description:
        'A page may have fewer items than `pagesize`, or none, although `has_more` is true: the search continues with `next_cursor`.',
      query: auditRecordQuery,
      responses: { 200: auditRecordPage, ...errorStatuses(400, 403, 404, 503) },
      async handle(context) {
        const found = await audit.records(callerOf(context), context.query)
        if (!found.ok) return found
        const { items, nextCursor } = found.value
        const more = `"next_cursor":${JSON.stringify(nextCursor)},"has_more":${nextCursor !== null}`
        return ok({ status: 200, text: `{${more},"items":[${items.map(recordText).join(',')}]}` })
      },
    },
    {
      ...shared,
      path: '/audit/v1/records/{index}/proof',
      operationId: 'proveAuditRecord',
      summary: 'Prove that an audit log has a record',
      description: 'The inclusion proof (RFC 9162) leads from the entry to the root hash of a signed checkpoint.',
      pathParameters: { index: 'the index of the record in its generation' },
      query: inclusionQuery,
      responses: { 200: inclusionAnswer, ...errorStatuses(400, 403, 404, 503) },
      handle: async (context) =>
        answer(await audit.inclusion(callerOf(context), context.pathParameters.index ?? '', context.query)),
    },
    {
      ...shared,
      path: '/audit/v1/consistency',
      operationId: 'proveAuditConsistency',
      summary: 'Prove that an audit log continues an earlier state of it',
      description: 'The consistency proof (RFC 9162) of two sizes of the tree.',
      query: consistencyQuery,
      responses: { 200: consistencyAnswer, ...errorStatuses(400, 403, 404, 503) },
      handle: async (context) => answer(await audit.consistency(callerOf(context), context.query)),
    },
    {
      method: 'GET',
      tag,
      auth,
      request: null,
      invalidQuery: 'malformed',
      path: '/audit/v1/export',
      operationId: 'exportAuditLog',
      summary: 'Export records with their proofs, as lines of JSON',
      description:
        'The first line has the signed checkpoint, the last one the number of entries: without it, the export is not complete. `verdigraph audit verify` verifies it without the service. An export has one generation of the log.',
      query: auditExportQuery,
      mediaType: 'application/x-ndjson',
      responses: { 200: z.string(), ...errorStatuses(400, 403, 404, 503) },
      async handle(context) {
        const lines = await audit.export(callerOf(context), context.query, context.headOnly)
        if (!lines.ok) return lines
        const stream = endWhenRevoked(lines.value, () => context.isStillAuthenticated())
        return ok({ status: 200, headers: { 'content-type': 'application/x-ndjson' }, stream })
      },
    },
  ]
}

function treeRoutes(audit: AuditReads): Route[] {
  const file = { ...shared, pathParameters: treeParameters }
  const statuses = errorStatuses(403, 404, 503)
  const read = async (context: RequestContext, path: string): Promise<Result<RouteResponse, ServiceError>> => {
    const { log = '', generation = '' } = context.pathParameters
    return fileAnswer(await audit.file(callerOf(context), log, generation, path))
  }
  const tile: Route = {
    ...file,
    path: `${treePath}/tile/{level}/{n1}`,
    operationId: 'readAuditTile',
    summary: 'Read a tile of hashes, or a bundle of entries',
    description:
      'C2SP tlog-tiles. An index of more than three digits has further segments (`x001/234`), as has the width of a partial tile (`567.p/8`).',
    pathParameters: { ...treeParameters, level: 'the level of the tile, or `entries`', n1: 'the index of the tile' },
    mediaType: 'application/octet-stream',
    responses: { 200: z.string(), ...statuses },
    handle: (context) => read(context, tilePathOf(context)),
  }
  return [
    {
      ...shared,
      path: '/audit/v1/tlog',
      operationId: 'listAuditTrees',
      summary: 'List the generations of an audit log, with the URLs of their tiles and their keys',
      query: auditLogQuery,
      responses: { 200: auditTreesAnswer, ...errorStatuses(400, 403, 404, 503) },
      handle: async (context) => answer(await audit.trees(callerOf(context), context.query)),
    },
    {
      ...file,
      path: `${treePath}/checkpoint`,
      operationId: 'readAuditCheckpoint',
      summary: 'Read the newest checkpoint of an audit log',
      description: 'A signed note (C2SP tlog-checkpoint).',
      mediaType: 'text/plain',
      responses: { 200: z.string(), ...statuses },
      handle: (context) => read(context, 'checkpoint'),
    },
    {
      ...file,
      path: `${treePath}/${PRUNED_FILE}`,
      operationId: 'readAuditPruned',
      summary: 'Read the note about the entries that retention has removed from a replaced generation',
      description:
        'A signed note: `svc.audit.log.pruned`, the origin, and the index of the first entry that is left. Only generations before a restore have it; the present one has entries about it.',
      mediaType: 'text/plain',
      responses: { 200: z.string(), ...statuses },
      handle: (context) => read(context, PRUNED_FILE),
    },
    tile,
    ...Array.from({ length: INDEX_PARTS_MAX - 1 }, (_, more): Route => {
      const names = Array.from({ length: more + 2 }, (_, at) => `{n${at + 1}}`)
      return {
        ...tile,
        path: `${treePath}/tile/{level}/${names.join('/')}`,
        operationId: `readAuditTile${more + 2}`,
        aliasOf: tile.operationId,
      }
    }),
    {
      ...file,
      path: `${treePath}/bodies/{hash}`,
      operationId: 'readAuditBody',
      summary: 'Read the payload of an entry that is too long for a bundle',
      pathParameters: { ...treeParameters, hash: 'SHA-256 of the payload, in hexadecimal' },
      responses: { 200: z.looseObject({}).meta({ id: 'AuditPayload' }), ...statuses },
      handle: (context) => read(context, `bodies/${context.pathParameters.hash ?? ''}`),
    },
  ]
}

function keyRoute(audit: AuditReads): Route {
  return {
    method: 'GET',
    path: '/audit/.well-known/jwks.json',
    operationId: 'readAuditKeys',
    tag,
    summary: 'Read the public keys of the platform that sign and have signed audit logs',
    description: 'All projects have the same keys.',
    auth: { kind: 'public' },
    query: auditLogQuery,
    invalidQuery: 'malformed',
    request: null,
    responses: { 200: auditKeySet, ...errorStatuses(503) },
    handle: async () => ok({ status: 200, body: await audit.keys() }),
  }
}

function callerOf({ caller }: RequestContext): Caller {
  assert(caller !== null, 'the route is not public')
  return caller
}

function tilePathOf({ pathParameters }: RequestContext): string {
  const { level = '', ...others } = pathParameters
  const parts = Array.from({ length: INDEX_PARTS_MAX }, (_, at) => others[`n${at + 1}`])
  return ['tile', level, ...parts.filter((part) => part !== undefined)].join('/')
}

/** The text of an entry must stay as it was hashed. */
function recordText({ index, generation, origin, entry }: FoundRecord): string {
  const members = JSON.stringify({ index, generation, origin })
  const text = Buffer.from(entry.buffer, entry.byteOffset, entry.length).toString()
  return `${members.slice(0, -1)},"entry":${text}}`
}

function answer(result: Result<object, ServiceError>): Result<RouteResponse, ServiceError> {
  return result.ok ? ok({ status: 200, body: result.value }) : result
}

function fileAnswer(result: Result<AuditFile, ServiceError>): Result<RouteResponse, ServiceError> {
  if (!result.ok) return result
  const { bytes, mediaType } = result.value
  return ok({ status: 200, headers: { 'content-type': mediaType }, bytes })
}
