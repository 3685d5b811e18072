// The configuration kind of agent credentials. The key is in the create response and never stored in the clear
// (docs/decisions/0013-secrets.md). A client that brings its own public key signs tokens instead.
import { z } from 'zod'
import { defineKind, field, hidden, shown } from '../config/define-kind.ts'
import { applicationAgentsKind, type ConfigKind, projectsKind, readTimestamp } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { agentCredentialsKind, mintAgentKey } from './agent-key.ts'
import { expireTimeSchema, resolveExpireTime } from './expire-time.ts'
import { providedKeyFields, readProvidedKey } from './provided-key.ts'

const answerSchema = z
  .strictObject({
    id: z.string(),
    kid: z.string(),
    application_agent_id: z.string(),
    display_name: z.string(),
    create_time: readTimestamp,
    created_by: z.string(),
    expire_time: z.string(),
    api_key: z
      .string()
      .optional()
      .describe('the agent key, shown once; absent if the client brought its own public key'),
    application_agent_config: z
      .strictObject({
        appAgentId: z.string(),
        applicationId: z.string(),
        projectId: z.string(),
        baseUrl: z.string().optional(),
        endpoint: z.string().optional(),
        token: z.string().optional().describe('the same as `api_key`'),
      })
      .meta({ id: 'ApplicationAgentConfig' }),
  })
  .meta({ id: 'ApplicationAgentCredentialSecret' })

/**
 * The kind `application-agent-credentials`. `publicUrl`: the base URL for clients, shown in the create response; empty
 * if not configured.
 */
export function agentCredentials(clock: Clock, publicUrl = ''): ConfigKind {
  return defineKind({
    path: agentCredentialsKind,
    label: 'application agent credential',
    parent: { field: 'application_agent_id', kind: applicationAgentsKind },
    operations: { create: true, update: false, delete: true, byName: false },
    isNamed: false,
    fields: {
      kid: shown(z.string()),
      application_agent_id: shown(z.string()),
      application_id: shown(z.string()),
      expire_time: field(expireTimeSchema).read(z.string()),
      ...providedKeyFields,
      key_hash: hidden().secret(),
      public_jwk: hidden(),
      algorithm: hidden(),
    },
    check({ public_key_jwk, public_key_pem, ...fields }, { reader, parent }) {
      const expireTime = resolveExpireTime(fields.expire_time as string | undefined, clock)
      if (!expireTime.ok) return err({ kind: 'invalid', issues: [expireTime.error] })
      const provided = readProvidedKey({ public_key_jwk, public_key_pem }, (kid) =>
        reader.all(agentCredentialsKind).some((other) => other.fields.kid === kid),
      )
      if (!provided.ok) return provided
      const stored = { ...fields, application_id: parent.parent_id, expire_time: expireTime.value }
      if (provided.value !== null) {
        const { jwk, algorithm, kid } = provided.value
        return ok({ fields: { ...stored, kid, public_jwk: jwk, algorithm } })
      }
      const { key, kid, hash } = mintAgentKey()
      return ok({ fields: { ...stored, kid, key_hash: hash }, shown: { api_key: key } })
    },
    // A key outlives its project: a request with it gets the error that the graph no longer exists, and not that the
    // key is unknown.
    tombstone({ id, parent_id, fields }, removed, reader) {
      if (removed.kind !== projectsKind) return null
      const permissions = reader.get(applicationAgentsKind, parent_id)?.fields.api_permissions ?? []
      const { kid, key_hash, public_jwk, algorithm, application_id, expire_time } = fields
      const secret = key_hash === undefined ? { public_jwk, algorithm } : { key_hash }
      return {
        fields: {
          credential_id: id,
          kid,
          ...secret,
          application_id,
          application_agent_id: parent_id,
          api_permissions: permissions,
        },
        until: expire_time as string,
      }
    },
    createResponse: {
      schema: answerSchema,
      of: ({ id, create_time, created_by, project_id, fields }, { api_key }) => ({
        id,
        kid: fields.kid,
        application_agent_id: fields.application_agent_id,
        display_name: fields.display_name ?? '',
        create_time,
        created_by,
        expire_time: fields.expire_time,
        ...(api_key !== undefined && { api_key }),
        application_agent_config: {
          appAgentId: fields.application_agent_id,
          applicationId: fields.application_id,
          projectId: project_id,
          ...(publicUrl !== '' && { baseUrl: publicUrl, endpoint: publicUrl }),
          ...(api_key !== undefined && { token: api_key }),
        },
      }),
    },
  })
}
