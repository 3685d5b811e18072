// The kind of MCP server configurations: one in a project, which binds an agent and the tokens that are taken.
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

export const mcpServersKind = 'mcp-servers'

const scopes = z
  .array(z.string().min(1).max(256))
  .min(1)
  .max(100)
  .refine((all) => new Set(all).size === all.length, { error: 'a scope is given twice' })

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
  }),
  updateSchema: z.strictObject({
    ...envelopeUpdate,
    app_agent_id: reference.nullish(),
    token_introspect_id: reference.nullish(),
    enabled: z.boolean().nullish(),
    scopes_supported: scopes.nullish(),
  }),
  readShape: {
    app_agent_id: z.string(),
    token_introspect_id: z.string(),
    enabled: z.boolean(),
    scopes_supported: z.array(z.string()),
  },
  secrets: [],
  omittedInLists: [],
  // What the agent may do is asked when it does it: its permissions can change at any time.
  check(fields, context) {
    const issues = [
      ...checkReference(fields, 'app_agent_id', applicationAgentsKind, 'application agent', context),
      ...checkReference(fields, 'token_introspect_id', 'token-introspects', 'token introspect', context),
    ]
    return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
  },
}

/** Only what is sent is looked up: a reference whose target is gone must not be in the way of `enabled: false`. */
function checkReference(
  fields: DocumentFields,
  member: string,
  kind: string,
  label: string,
  { reader, body, parent }: CheckContext,
) {
  if (body[member] === undefined) return []
  const id = fields[member] as string
  return reader.get(kind, id)?.project_id === parent.id ? [] : [`${member}: no ${label} \`${id}\` in the project`]
}
