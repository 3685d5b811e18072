// The routes that read and apply the documents of a project as a whole (docs/decisions/0047-projects-as-files.md).
import { z } from 'zod'
import { type ApplyRequest, appliedAction, applyRequest } from '../../config/apply-documents.ts'
import { jsonObject } from '../../config/json-schema.ts'
import type { ProjectConfiguration } from '../../config/project-configuration.ts'
import { ok } from '../../kernel/result.ts'
import { type Auth, errorStatuses, type Route, type Tag } from '../route.ts'
import { serviceAccountOf } from './callers.ts'

const auth: Auth = { kind: 'service-account' }
const pathParameters = { id: 'the identifier or the name of the project' }

const readable = z
  .strictObject({
    kind: z.string(),
    id: z.string(),
    name: z.string(),
    body: jsonObject.describe('the body of a create request without the name, the project and secrets'),
    secrets: z.array(z.array(z.string())).describe('the path of each secret in `body`'),
  })
  .meta({ id: 'ReadableDocument' })

const etag = z.string().describe('changes with every revision of these documents')

const projectDocuments = z
  .strictObject({
    etag,
    project: readable,
    documents: z.array(readable).describe('by kind and name; credentials and service accounts are not among them'),
    credentials: z
      .record(z.string(), z.int())
      .describe('number of credentials by the identifier of the application agent that has them'),
  })
  .meta({ id: 'ProjectDocuments' })

const appliedProject = z
  .strictObject({
    project_id: z.string().describe('empty: a dry run that would create the project'),
    etag,
    documents: z
      .array(
        z
          .strictObject({
            kind: z.string(),
            name: z.string(),
            id: z.string(),
            action: appliedAction,
            warnings: z.array(z.string()).optional(),
          })
          .meta({ id: 'AppliedResult' }),
      )
      .describe('the project first, then the documents of the request, then the deleted ones'),
  })
  .meta({ id: 'ProjectApplied' })

/** Builds the routes. `tag`: that of projects. */
export function projectDocumentRoutes(service: ProjectConfiguration, tag: Tag): Route[] {
  return [
    {
      method: 'GET',
      path: '/configs/v1/projects/{id}/documents',
      operationId: 'readProjectDocuments',
      tag,
      summary: 'Read all documents of a project that have names',
      description: 'The documents are those of one commit. Secrets are left out.',
      auth,
      lane: { always: true, limit: 'query' },
      pathParameters,
      query: z.strictObject({}),
      request: null,
      responses: { 200: projectDocuments, ...errorStatuses(403, 404, 422) },
      handle(context) {
        const read = service.read(serviceAccountOf(context), context.pathParameters.id ?? '', context)
        return read.ok ? ok({ status: 200, body: read.value }) : read
      },
    },
    {
      method: 'POST',
      path: '/configs/v1/projects/{id}/apply',
      operationId: 'applyProject',
      tag,
      summary: 'Create, update and delete documents of a project in one transaction',
      description:
        'Each document replaces the stored one of its kind and name as a whole: a member that it does not have is removed. Documents that are the same already keep their revisions. If one document is refused, nothing is stored. Documents that the request does not name stay as they are. With `dry_run`, all checks run and nothing is stored.',
      auth,
      // It may compile thousands of policies, so it does not share its lane although the test of a signing key waits for another service.
      lane: { always: true, limit: 'write', writes: 'once' },
      pathParameters,
      query: z.strictObject({
        dry_run: z
          .enum(['true', 'false'])
          .meta({ documentedAs: z.boolean() })
          .optional()
          .describe('true: check the request and store nothing'),
      }),
      request: applyRequest,
      example: {
        project: { body: { region: 'local' } },
        documents: [
          {
            kind: 'knowledge-queries',
            name: 'my-cars',
            body: { query: '{"nodes":["car.external_id"]}', status: 'DRAFT' },
            references: [{ member: 'policy_id', kind: 'authorization-policies', name: 'see-cars' }],
          },
        ],
        delete: [{ kind: 'authorization-policies', name: 'old' }],
      },
      responses: { 200: appliedProject, ...errorStatuses(400, 403, 404, 409, 412, 413, 415, 422) },
      async handle(context, body) {
        const applied = await service.apply(
          serviceAccountOf(context),
          context.pathParameters.id ?? '',
          body as ApplyRequest,
          context.query.get('dry_run') === 'true',
          context,
        )
        return applied.ok ? ok({ status: 200, body: applied.value }) : applied
      },
    },
  ]
}
