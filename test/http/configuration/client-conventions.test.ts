// What existing clients of the configuration interface rely on, beyond the operations that all kinds share.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({}, { sync: false })
})
afterAll(() => service?.stop())

const read = (path: string) => service.configure('GET', path)

async function created(kind: string, body: object): Promise<TestResponse> {
  const answered = await service.configure('POST', kind, body)
  expect([answered.status, answered.text]).toEqual([201, expect.any(String)])
  return answered
}

describe('credentials', () => {
  it.each([
    ['application-agent-credentials', () => ({ application_agent_id: service.agentId })],
    ['service-account-credentials', () => ({ service_account_id: service.app.serviceAccountId })],
  ])('%s have an ETag, which guards their deletion', async (kind, bodyOf) => {
    const { body, headers } = await created(kind, bodyOf())
    const path = `${kind}/${body.id}`
    const etag = headers.get('etag') as string
    expect(etag).toMatch(/^"[\w-]+"$/)
    expect((await read(path)).headers.get('etag')).toBe(etag)
    const other = (await created(kind, bodyOf())).headers.get('etag') as string
    expect(other).not.toBe(etag)
    const remove = (ifMatch: string) =>
      service.send(`/configs/v1/${path}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${service.token}`, 'if-match': ifMatch },
      })
    expect((await remove(other)).status).toBe(412)
    expect((await read(path)).status).toBe(200)
    expect((await remove(etag)).status).toBe(200)
    expect((await read(path)).status).toBe(404)
  })
})

describe('a service account', () => {
  it('is read with its role, which cannot be changed', async () => {
    const body = { organization_id: service.app.organizationId, name: 'reader', role: 'all_viewer' }
    const { id } = (await created('service-accounts', body)).body
    expect((await read(`service-accounts/${id}`)).body.role).toBe('all_viewer')
    expect((await read(`service-accounts/${service.app.serviceAccountId}`)).body.role).toBe('all_editor')
    const listed = (await read('service-accounts')).body.data as { id: string; role: string }[]
    expect(listed.find((one) => one.id === id)?.role).toBe('all_viewer')
    const changed = await service.configure('PUT', `service-accounts/${id}`, { role: 'all_editor' })
    expect([changed.status, changed.body.errors]).toEqual([422, ['role: cannot be changed after creation']])
  })
})

describe('a token introspection', () => {
  it('without sub_claim is read without it', async () => {
    const issuer = (name: string, more: object) =>
      created('token-introspects', {
        project_id: service.projectId,
        name,
        jwt_matcher: { issuer: `https://${name}.example`, audience: 'a' },
        offline_validation: {},
        ikg_node_type: 'Person',
        ...more,
      })
    const { id } = (await issuer('plain', {})).body
    expect((await read(`token-introspects/${id}`)).body).not.toHaveProperty('sub_claim')
    const named = (await issuer('named', { sub_claim: { selector: 'sub' } })).body.id
    expect((await read(`token-introspects/${named}`)).body.sub_claim).toBe('sub')
  })
})

describe('an event sink', () => {
  const broker = { brokers: ['broker:9092'], topic: 'events', display_name: 'Broker' }
  const route = (filter: object) => ({ provider_id: 'main', event_type_key_values_filter: filter })

  it('can be sent back as it was read', async () => {
    const pairs = [{ key: 'captureLabel', value: 'Car' }]
    const { id } = (
      await created('event-sinks', {
        project_id: service.projectId,
        name: 'sink',
        providers: {
          main: { streaming_broker: broker },
          bus: { queue_service: { queue_or_topic_name: 'q', connection_string: 's3cret' }, display_name: 'Bus' },
        },
        routes: [route({ event_type: 'svc.audit.capture.*', key_value_pairs: pairs })],
      })
    ).body
    const first = await read(`event-sinks/${id}`)
    expect(first.body).toMatchObject({
      providers: {
        main: { streaming_broker: { ...broker, last_error: '' } },
        bus: { queue_service: { queueOrTopicName: 'q', display_name: 'Bus', last_error: '' } },
      },
      routes: [route({ event_type: 'svc.audit.capture.*', context_key_value: pairs })],
    })
    const { providers, routes } = first.body
    const sent = await service.configure('PUT', `event-sinks/${id}`, { providers, routes })
    expect([sent.status, sent.headers.get('etag')]).toEqual([200, first.headers.get('etag')])

    const renamed = { main: { streaming_broker: { ...broker, display_name: '' } } }
    expect((await service.configure('PUT', `event-sinks/${id}`, { providers: renamed })).status).toBe(200)
    const { main } = (await read(`event-sinks/${id}`)).body.providers as { main: { streaming_broker: object } }
    expect(main.streaming_broker).not.toHaveProperty('display_name')
  })
})
