// The kind of agent credentials (ruling F8): the key is in the create answer, and nowhere after.
import { z } from 'zod'
import { type ConfigKind, envelope, reference } from '../config/kind.ts'
import { type Clock, timestamp } from '../kernel/clock.ts'
import { err, ok } from '../kernel/result.ts'
import { mintAgentKey } from './agent-key.ts'

/** Of a key that was created without `expire_time`: no key lives for ever by an oversight. */
const LIFETIME_DEFAULT_MS = 365 * 24 * 60 * 60 * 1000

const RFC_3339 = /^\d{4}-(\d\d)-(\d\d)[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Not a number where the text is not a moment (30 February included). */
function momentOf(text: string): number {
  const [, month, day] = RFC_3339.exec(text) ?? []
  if (month === undefined || day === undefined) return Number.NaN
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(month), 0)).getUTCDate()
  return Number(day) > lastDay ? Number.NaN : Date.parse(text.toUpperCase())
}

export function agentCredentials(clock: Clock): ConfigKind {
  return {
    path: 'application-agent-credentials',
    label: 'application agent credential',
    parent: { field: 'application_agent_id', kind: 'application-agents' },
    operations: { create: true, update: false, delete: true, byName: false },
    createSchema: z.strictObject({
      application_agent_id: reference,
      display_name: envelope.display_name,
      expire_time: z
        .string()
        .refine((text) => !Number.isNaN(momentOf(text)), { error: 'expected an RFC 3339 timestamp with offset' })
        .nullish(),
    }),
    updateSchema: null,
    secrets: ['key_hash'],
    heavy: [],
    check(fields, { parent }) {
      const now = clock.now()
      const expireTime = (fields.expire_time as string | undefined) ?? timestamp(now + LIFETIME_DEFAULT_MS)
      if (!(momentOf(expireTime) > now)) {
        return err({ kind: 'invalid', issues: [`expire_time: expected a time in the future, found \`${expireTime}\``] })
      }
      const { key, kid, hash } = mintAgentKey()
      return ok({
        fields: {
          ...fields,
          application_id: parent.parent_id,
          expire_time: expireTime.toUpperCase(),
          kid,
          key_hash: hash,
        },
        shown: { api_key: key },
      })
    },
    // The key of a project that is gone is still a key: who calls with it is told that the graph is gone (facts 1.7.4).
    remains({ parent_id, fields }, removed, reader) {
      if (removed.kind !== 'projects') return null
      const permissions = reader.get('application-agents', parent_id)?.fields.api_permissions ?? []
      const { kid, key_hash, application_id, expire_time } = fields
      return {
        fields: { kid, key_hash, application_id, application_agent_id: parent_id, api_permissions: permissions },
        until: expire_time as string,
      }
    },
    answer({ id, create_time, created_by, project_id, fields }, { api_key }) {
      return {
        id,
        kid: fields.kid,
        application_agent_id: fields.application_agent_id,
        display_name: fields.display_name ?? '',
        create_time,
        created_by,
        expire_time: fields.expire_time,
        api_key,
        application_agent_config: {
          appAgentId: fields.application_agent_id,
          applicationId: fields.application_id,
          projectId: project_id,
          token: api_key,
        },
      }
    },
  }
}
