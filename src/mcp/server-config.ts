// The configuration kind of MCP servers: at most one per project. It names an application agent and a token introspection.
import { z } from 'zod'
import {
  applicationAgentsKind,
  type CheckContext,
  type ConfigKind,
  type DocumentFields,
  envelope,
  envelopeUpdate,
  projectsKind,
  reference,
} from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'

/** The path of the kind. */
export const mcpServersKind = 'mcp-servers'

const applicationQueries = z
  .boolean()
  .nullish()
  .describe(
    'true: every user whose token is accepted may also run the knowledge queries whose policy has the subject `_Application`, with the rights of the application of `app_agent_id`; default false',
  )

const scopes = z
  .array(z.string().min(1).max(256))
  .min(1)
  .max(100)
  .refine((all) => new Set(all).size === all.length, { error: 'duplicate scope' })

/** The descriptor of the kind. */
export const mcpServers: ConfigKind = {
  path: mcpServersKind,
  label: 'MCP server',
  parent: { field: 'project_id', kind: projectsKind },
  operations: { create: true, update: true, delete: true, byName: true },
  onePerProject: true,
  deleteReturnsNoBody: true,
  createSchema: z.strictObject({
    ...envelope,
    project_id: reference,
    app_agent_id: reference,
    token_introspect_id: reference,
    enabled: z.boolean(),
    scopes_supported: scopes,
    application_queries: applicationQueries,
  }),
  updateSchema: z.strictObject({
    ...envelopeUpdate,
    app_agent_id: reference.nullish(),
    token_introspect_id: reference.nullish(),
    enabled: z.boolean().nullish(),
    scopes_supported: scopes.nullish(),
    application_queries: applicationQueries,
  }),
  readShape: {
    app_agent_id: z.string(),
    token_introspect_id: z.string(),
    enabled: z.boolean(),
    scopes_supported: z.array(z.string()),
    application_queries: z.boolean(),
  },
  defaults: { application_queries: false },
  secrets: [],
  omittedInLists: [],
  // Permissions of the agent are checked at each call, because they can change at any time.
  check(fields, context) {
    const issues = [
      ...checkReference(fields, 'app_agent_id', applicationAgentsKind, 'application agent', context),
      ...checkReference(fields, 'token_introspect_id', 'token-introspects', 'token introspect', context),
    ]
    return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
  },
}

/** Checks only new references, so that a server with a deleted agent can still be disabled. */
function checkReference(
  fields: DocumentFields,
  member: string,
  kind: string,
  label: string,
  { reader, current, parent }: CheckContext,
) {
  const id = fields[member] as string
  if (id === current?.fields[member]) return []
  return reader.get(kind, id)?.project_id === parent.id ? [] : [`${member}: no ${label} \`${id}\` in the project`]
}
