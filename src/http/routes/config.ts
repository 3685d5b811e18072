// The configuration routes. They are generated from the list of kinds, so a new kind needs no route of its own.
import { z } from 'zod'
import {
  authorshipSchema,
  authorshipSchemaOf,
  type ConfigKind,
  type DocumentFields,
  pluralOf,
  projectsKind,
  scopeFieldOf,
} from '../../config/kind.ts'
import type { ConfigResponse, ConfigService } from '../../config/service.ts'
import { describedUpdateSchema } from '../../config/update-body.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import {
  type Auth,
  errorStatuses,
  type LaneUse,
  type RequestContext,
  type Route,
  type RouteResponse,
  type Tag,
} from '../route.ts'
import { serviceAccountOf } from './callers.ts'
import { projectDocumentRoutes } from './project-documents.ts'

const auth: Auth = { kind: 'service-account' }

/** Builds the routes of all kinds. */
export function configRoutes(service: ConfigService): Route[] {
  return [
    organizationRoute(service),
    ...service.kinds.flatMap((kind) => [
      ...kindRoutes(service, kind),
      ...(kind.path === projectsKind ? projectDocumentRoutes(service.projects, tagOf(kind)) : []),
    ]),
  ]
}

function organizationRoute(service: ConfigService): Route {
  const { id, ...times } = authorshipSchema.shape
  return {
    method: 'GET',
    path: '/configs/v1/organizations/current',
    operationId: 'readOrganization',
    tag: { name: 'Organizations', description: 'The organization of the caller.' },
    summary: 'Read the organization of the caller',
    auth,
    lane: { always: true, limit: 'query' },
    query: z.strictObject({}),
    request: null,
    responses: {
      200: z
        .strictObject({ id, name: z.string(), display_name: z.string(), description: z.string(), ...times })
        .meta({ id: 'Organization' }),
      ...errorStatuses(403, 422),
    },
    handle: (context) => ok(configResponse(200, service.organization(serviceAccountOf(context)))),
  }
}

/** The members that all routes of a kind share. */
interface RouteNames {
  readonly path: string
  readonly noun: string
  readonly tag: Tag
  /** The schema of a document in responses. */
  readonly document: z.ZodObject
}

function kindRoutes(service: ConfigService, kind: ConfigKind): Route[] {
  const { label, operations, path } = kind
  const tag = tagOf(kind)
  const noun = operationNoun(label)
  const document = kind.readSchema.meta({ id: noun })
  const naming: RouteNames = { path: `/configs/v1/${path}`, noun, tag, document }
  return [
    listRoute(service, kind, naming),
    readRoute(service, kind, naming),
    ...(operations.create ? [createRoute(service, kind, naming)] : []),
    ...(operations.update ? [updateRoute(service, kind, naming)] : []),
    ...(operations.delete ? [deleteRoute(service, kind, naming)] : []),
  ]
}

function tagOf(kind: ConfigKind): Tag {
  return { name: capitalised(pluralOf(kind)), description: `Configuration of every ${kind.label}.` }
}

function listRoute(service: ConfigService, kind: ConfigKind, { path, noun, tag, document }: RouteNames): Route {
  const scope = scopeFieldOf(kind)
  const filters = Object.entries(kind.filters ?? {}).map(([name, values]) => [name, z.enum(Object.keys(values))])
  return {
    method: 'GET',
    path,
    operationId: `list${operationNoun(pluralOf(kind))}`,
    tag,
    summary: `List every ${kind.label} of a scope`,
    auth,
    lane: { always: true, limit: 'query' },
    query: z.strictObject({
      ...optionalParameters(scope, kind.parent.field),
      search: z.string().optional().describe('text to find in name, display name or description'),
      full_fetch: z
        .enum(['true', 'false'])
        .meta({ documentedAs: z.boolean() })
        .optional()
        .describe('false: long members are empty'),
      ...z.object(Object.fromEntries(filters)).partial().shape,
    }),
    request: null,
    responses: {
      200: z.strictObject({ data: z.array(document) }).meta({ id: `${noun}List` }),
      ...errorStatuses(403, 422),
    },
    async handle(context) {
      const listed = await service.listWithState(serviceAccountOf(context), kind, context.query, context)
      return listed.ok ? ok({ status: 200, body: listed.value }) : listed
    },
  }
}

function readRoute(service: ConfigService, kind: ConfigKind, { path, noun, tag, document }: RouteNames): Route {
  const { byName } = kind.operations
  return {
    method: 'GET',
    path: `${path}/{id}`,
    operationId: `read${noun}`,
    tag,
    summary: `Read one ${kind.label}`,
    ...(byName && {
      description: 'To read by name, pass the scope of the name as `project_id`, `organization_id` or `location`.',
    }),
    auth,
    lane: { always: true, limit: 'query' },
    pathParameters: { id: byName ? 'the identifier or the name' : 'the identifier' },
    query: z.strictObject({
      ...optionalParameters('project_id', 'organization_id', 'location'),
      version: z.string().optional().describe('the number of a past revision, from 1'),
    }),
    request: null,
    responses: { 200: document, ...errorStatuses(403, 404, 422) },
    responseHeaders: etagHeader,
    async handle(context) {
      const key = context.pathParameters.id ?? ''
      const read = await service.readWithState(serviceAccountOf(context), kind, key, context.query, context)
      return read.ok ? ok(configResponse(200, read.value)) : read
    },
  }
}

function createRoute(service: ConfigService, kind: ConfigKind, { path, noun, tag }: RouteNames): Route {
  return {
    method: 'POST',
    path,
    operationId: `create${noun}`,
    tag,
    summary: `Create one ${kind.label}`,
    ...trialDescription(kind),
    auth,
    lane: writingLane(kind),
    ...trialQuery(kind),
    request: kind.createSchema.meta({ id: `${noun}Create` }),
    // The service validates the body, because some checks need other documents, and answers 422.
    parse: ok,
    responses: {
      ...(kind.trial !== undefined && { 200: kind.trial.schema.meta({ id: `${noun}DryRun` }) }),
      201: kind.createResponse?.schema ?? authorshipSchemaOf(kind),
      ...errorStatuses(400, 403, 409, 413, 415, 422),
    },
    responseHeaders: etagHeader,
    async handle(context, body) {
      if (isDryRun(kind, context)) return tested(await service.tryCreate(serviceAccountOf(context), kind, body))
      const created = await service.create(serviceAccountOf(context), kind, body, context)
      return created.ok ? ok(configResponse(201, created.value)) : created
    },
  }
}

function updateRoute(service: ConfigService, kind: ConfigKind, { path, noun, tag }: RouteNames): Route {
  return {
    method: 'PUT',
    path: `${path}/{id}`,
    operationId: `update${noun}`,
    tag,
    summary: `Update one ${kind.label}`,
    description: `A null or absent member keeps its value, an empty string removes it. A document can be sent back as it was read. A request without changes keeps the ETag.${kind.trial === undefined ? '' : ` ${DRY_RUN_TEXT}`}`,
    auth,
    lane: writingLane(kind),
    pathParameters: identifier,
    requestHeaders: ifMatchHeader,
    ...trialQuery(kind),
    request: describedUpdateSchema(kind)?.meta({ id: `${noun}Update` }) ?? null,
    parse: ok,
    responses: {
      200:
        kind.trial === undefined
          ? authorshipSchemaOf(kind)
          : z
              .union([authorshipSchemaOf(kind), kind.trial.schema.meta({ id: `${noun}DryRun` })])
              .meta({ id: `${noun}Updated` }),
      ...errorStatuses(400, 403, 404, 409, 412, 413, 415, 422),
    },
    responseHeaders: etagHeader,
    async handle(context, body) {
      const id = context.pathParameters.id ?? ''
      const ifMatch = context.header('if-match')
      if (isDryRun(kind, context))
        return tested(await service.tryUpdate(serviceAccountOf(context), kind, id, body, ifMatch))
      const updated = await service.update(serviceAccountOf(context), kind, id, body, ifMatch, context)
      return updated.ok ? ok(configResponse(200, updated.value)) : updated
    },
  }
}

function deleteRoute(service: ConfigService, kind: ConfigKind, { path, noun, tag }: RouteNames): Route {
  const silent = kind.deleteReturnsNoBody === true
  return {
    method: 'DELETE',
    path: `${path}/{id}`,
    operationId: `delete${noun}`,
    tag,
    summary: `Delete one ${kind.label}`,
    auth,
    lane: { always: true, limit: 'write', writes: 'once' },
    pathParameters: identifier,
    requestHeaders: ifMatchHeader,
    query: z.strictObject({ etag: z.string().optional().describe('alternative to `If-Match`') }),
    request: null,
    responses: {
      ...(silent ? { 204: null } : { 200: deletedDocument }),
      ...errorStatuses(403, 404, 409, 412, 422),
    },
    async handle(context) {
      const id = context.pathParameters.id ?? ''
      const ifMatch = context.header('if-match') ?? context.query.get('etag')
      const gone = await service.remove(serviceAccountOf(context), kind, id, ifMatch, context)
      if (!gone.ok) return gone
      return ok(silent ? { status: 204 } : { status: 200, body: gone.value })
    },
  }
}

const DRY_RUN_TEXT = 'With `dry_run`, the document is tested as if it were stored, and nothing is stored.'

/** A trial waits for another service. */
function writingLane({ trial }: ConfigKind): LaneUse {
  return { always: true, limit: 'write', writes: 'once', ...(trial !== undefined && { waits: true }) }
}

function trialDescription({ trial }: ConfigKind): Pick<Route, 'description'> {
  return trial === undefined ? {} : { description: DRY_RUN_TEXT }
}

/** Other kinds refuse `dry_run`: if it were ignored, the document would be stored. */
function trialQuery({ trial }: ConfigKind): Pick<Route, 'query'> {
  if (trial === undefined) return { query: z.strictObject({}) }
  const flag = z
    .enum(['true', 'false'])
    .meta({ documentedAs: z.boolean() })
    .optional()
    .describe('true: test the document and store nothing; the status is 200')
  return { query: z.strictObject({ dry_run: flag }) }
}

function isDryRun({ trial }: ConfigKind, { query }: RequestContext): boolean {
  return trial !== undefined && query.get('dry_run') === 'true'
}

function tested(result: Result<DocumentFields, ServiceError>): Result<RouteResponse, ServiceError> {
  return result.ok ? ok({ status: 200, body: result.value }) : result
}

/** The answer to a deletion. */
export const deletedDocument = z.strictObject({ id: z.string() }).meta({ id: 'DeletedDocument' })
const identifier = { id: 'the identifier' }
const ifMatchHeader = { 'If-Match': 'the expected ETag; if it differs, the response is 412' }
const etagHeader = {
  ETag: 'the ETag of this revision',
  'X-Revision': 'the number of this revision, from 1; a read with `version` returns a past one',
}

/** Optional text parameters; duplicate names give one parameter. */
function optionalParameters(...names: readonly string[]): Record<string, z.ZodOptional<z.ZodString>> {
  return Object.fromEntries(names.map((name) => [name, z.string().optional()]))
}

/** `application agent` → `ApplicationAgent`, `MCP server` → `MCPServer`. */
function operationNoun(label: string): string {
  return label.split(/[ -]/).map(capitalised).join('')
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function configResponse(status: number, response: ConfigResponse): RouteResponse {
  return response.etag === null
    ? { status, body: response.body }
    : {
        status,
        body: response.body,
        headers: {
          etag: response.etag,
          ...(response.revision !== undefined && { 'x-revision': String(response.revision) }),
        },
      }
}
