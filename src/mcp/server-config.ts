// The configuration kind of MCP servers: at most one per project. It names an application agent and a token introspection.
import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import { applicationAgentsKind, type CheckContext, type DocumentFields, reference } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'

/** The path of the kind. */
export const mcpServersKind = 'mcp-servers'

const scopes = z
  .array(z.string().min(1).max(256))
  .min(1)
  .max(100)
  .refine((all) => new Set(all).size === all.length, { error: 'duplicate scope' })

/** The descriptor of the kind. */
export const mcpServers = defineKind({
  path: mcpServersKind,
  label: 'MCP server',
  onePerProject: true,
  deleteReturnsNoBody: true,
  fields: {
    app_agent_id: field(reference).required(),
    token_introspect_id: field(reference).required(),
    enabled: field(z.boolean()).required(),
    scopes_supported: field(scopes).required(),
    application_queries: field(z.boolean())
      .describe(
        'true: every user whose token is accepted may also run the knowledge queries whose policy has the subject `_Application`, with the rights of the application of `app_agent_id`; default false',
      )
      .default(false),
  },
  // Permissions of the agent are checked at each call, because they can change at any time.
  check(fields, context) {
    const issues = [
      ...checkReference(fields, 'app_agent_id', applicationAgentsKind, 'application agent', context),
      ...checkReference(fields, 'token_introspect_id', 'token-introspects', 'token introspect', context),
    ]
    return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
  },
})

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
