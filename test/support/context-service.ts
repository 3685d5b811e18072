// A service with an agent for context queries, and tokens of a person, signed by a pinned key.
import type { AppOverrides } from '../../src/app/overrides.ts'
import type { Settings } from '../../src/settings.ts'
import { startService, type TestResponse, type TestService } from './service.ts'
import { makePeople } from './user-tokens.ts'

export interface ContextService {
  readonly service: TestService
  /** Of an agent with CIQ and Capture. */
  readonly key: string
  /** A token of the person with additional claims. */
  tokenOf(subject: string, claims?: Record<string, unknown>): Promise<string>
  /** Stores a 1.0-ciq policy and a query for it; returns the query's id. */
  addQuery(name: string, policy: object, query: object): Promise<string>
  /** Both must be accepted; throws the error message if not. */
  execute(id: string, more?: object, token?: string): Promise<TestResponse>
  capture(path: string, body: object): Promise<TestResponse>
  stop(): Promise<void>
}

export async function startContextService(
  settings: Partial<Settings> = {},
  overrides: AppOverrides = {},
): Promise<ContextService> {
  const service = await startService(settings, overrides)
  const { key } = await service.addAgent('context', ['CIQ', 'Capture', 'Authorization', 'ReadDataSchema'])
  const people = await makePeople('Person')
  const create = async (kind: string, body: object): Promise<string> => {
    const created = await service.configure('POST', kind, { project_id: service.projectId, ...body })
    if (created.status !== 201) throw new Error(`creating ${kind} answered ${created.status}: ${created.text}`)
    return created.body.id as string
  }
  await create('token-introspects', {
    ...people.introspect,
    claims_mapping: { email: { selector: 'email' } },
  })
  const headers = (token: string | undefined) => ({
    'x-svc-clientkey': key,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  })
  return {
    service,
    key,
    tokenOf: people.tokenOf,
    async addQuery(name, policy, query) {
      const policyId = await create('authorization-policies', {
        name: `${name}-policy`,
        status: 'ACTIVE',
        policy: JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy }),
      })
      return create('knowledge-queries', { name, status: 'ACTIVE', policy_id: policyId, query: JSON.stringify(query) })
    },
    execute: (id, more = {}, token) =>
      service.send('/contx-iq/v1/execute', { headers: headers(token), body: { id, ...more } }),
    capture: (path, body) => service.send(`/capture/v1/${path}`, { headers: headers(undefined), body }),
    stop: () => service.stop(),
  }
}
