// Permission to change a configuration is not permission to read its secrets: a stored secret cannot be sent to another
// address.
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DocumentFields } from '../../../src/config/kind.ts'
import {
  errorIn,
  openProject,
  type ProjectFixture,
  projectBody,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'
import { type KeyConfiguration, type KeyServices, startKeyServices } from '../../support/counterparts/key-services.ts'

let setup: ProjectFixture
let keys: KeyServices
beforeEach(async () => {
  setup = await openProject()
  keys = startKeyServices()
})
afterEach(async () => {
  await setup.close()
  await keys.stop()
})
afterAll(removeTemporaryFolders)

const update = (path: string, id: string, body: DocumentFields) =>
  setup.service.update(setup.admin, setup.kind(path), id, body, null)

async function refusal(path: string, id: string, body: DocumentFields): Promise<unknown> {
  const before = setup.documents.get(path, id)
  const error = errorIn(await update(path, id, body))
  expect(setup.documents.get(path, id)).toBe(before)
  return error.kind === 'invalid' ? error.issues : error
}

/** The secret that would be used now. */
function opened(path: string, id: string, secret: string): string {
  let value: unknown = setup.documents.get(path, id)?.fields
  for (const step of secret.split('.')) value = (value as DocumentFields)[step]
  return setup.box.open(value as string, `${path}/${id}/${secret}`)
}

const broker = { brokers: ['a:9092', 'b:9092'], topic: 'events', username: 'sink', password: 'pw' }
const { password: _, ...open } = broker
const at = 'providers.kafka.streaming_broker'
const routes = [{ provider_id: 'kafka', event_type_key_values_filter: { event_type: 'svc.audit.*' } }]
const kafka = (streaming_broker: DocumentFields) => ({ providers: { kafka: { streaming_broker } } })
const sink = async (provider: DocumentFields = kafka(broker)): Promise<string> =>
  (await setup.create('event-sinks', { project_id: setup.project, name: 'sink', routes, ...provider })).id

describe('the password of a broker', () => {
  test.each([
    ['another broker', { brokers: ['evil:9092'] }, 'brokers'],
    ['a broker more', { brokers: ['a:9092', 'b:9092', 'evil:9092'] }, 'brokers'],
    ['no TLS', { disable_tls: true }, 'disable_tls'],
    ['TLS without verification', { tls_skip_verify: true }, 'tls_skip_verify'],
  ])('is required again for %s', async (_name, change, member) => {
    const id = await sink()
    expect(await refusal('event-sinks', id, kafka({ ...open, ...change }))).toEqual([
      `${at}.password: required again with another \`${at}.${member}\``,
    ])
    valueIn(await update('event-sinks', id, kafka({ ...broker, ...change })))
    expect(opened('event-sinks', id, `${at}.password`)).toBe('pw')
    valueIn(await update('event-sinks', id, kafka({ ...broker, ...change, password: 'anew' })))
    expect(opened('event-sinks', id, `${at}.password`)).toBe('anew')
  })

  test('is refused with every change that requires it', async () => {
    const id = await sink()
    expect(
      await refusal('event-sinks', id, kafka({ ...open, brokers: ['evil:9092'], disable_tls: true, topic: 'mine' })),
    ).toEqual([
      `${at}.password: required again with another \`${at}.brokers\``,
      `${at}.password: required again with another \`${at}.disable_tls\``,
    ])
  })

  test.each([
    ['another topic', { topic: 'others' }],
    ['another user', { username: 'someone' }],
    ['a broker less', { brokers: ['b:9092'] }],
    ['brokers in another order', { brokers: ['b:9092', 'a:9092'] }],
    ['switches that stay off', { disable_tls: false, tls_skip_verify: null }],
  ])('is kept for %s', async (_name, change) => {
    const id = await sink()
    valueIn(await update('event-sinks', id, kafka({ ...open, ...change })))
    expect(opened('event-sinks', id, `${at}.password`)).toBe('pw')
  })

  test('is kept if TLS is turned on again', async () => {
    const id = await sink(kafka({ ...broker, disable_tls: true }))
    valueIn(await update('event-sinks', id, kafka(open)))
    expect(opened('event-sinks', id, `${at}.password`)).toBe('pw')
  })

  test('is deleted with an empty string, whatever the address, and is then not required', async () => {
    const id = await sink()
    valueIn(await update('event-sinks', id, kafka({ ...open, brokers: ['other:9092'], password: '' })))
    expect(JSON.stringify(setup.documents.get('event-sinks', id)?.fields)).not.toContain('password')
    valueIn(await update('event-sinks', id, kafka({ ...open, brokers: ['third:9092'] })))
  })
})

test('the key of an event topic is required again for another endpoint', async () => {
  const topic = (event_topic: DocumentFields) => ({ providers: { kafka: { event_topic } } })
  const id = await sink(topic({ topic_endpoint: 'https://a.example', access_key: 'k' }))
  expect(await refusal('event-sinks', id, topic({ topic_endpoint: 'https://evil.example' }))).toEqual([
    'providers.kafka.event_topic.access_key: required again with another `providers.kafka.event_topic.topic_endpoint`',
  ])
  valueIn(await update('event-sinks', id, topic({ topic_endpoint: 'https://a.example' })))
})

test('a provider with the same name and another kind gets no secret of the previous one', async () => {
  const id = await sink()
  const topic = { providers: { kafka: { event_topic: { topic_endpoint: 'https://evil.example' } } } }
  expect(await refusal('event-sinks', id, topic)).toEqual([
    'providers.kafka.event_topic.access_key: expected string, found nothing',
  ])
})

test('a provider that changes its address is distinguished from one that does not', async () => {
  const two = (other: DocumentFields) => ({
    providers: { kafka: { streaming_broker: open }, other: { streaming_broker: other } },
  })
  const id = await sink({
    providers: { kafka: { streaming_broker: broker }, other: { streaming_broker: broker } },
  })
  expect(await refusal('event-sinks', id, two({ ...open, brokers: ['evil:9092'] }))).toEqual([
    'providers.other.streaming_broker.password: required again with another `providers.other.streaming_broker.brokers`',
  ])
})

test('the parameters of a signing key are all required again for another provider', async () => {
  const { CLOUD1, CLOUD2 } = keys.configurations as Record<string, KeyConfiguration>
  const { auth_params, ...key } = CLOUD1 as KeyConfiguration
  const { auth_params: otherParams, ...other } = CLOUD2 as KeyConfiguration
  const { id } = await setup.create('audit-signings', { project_id: setup.project, name: 'signing', ...CLOUD1 })
  const again = (name: string, changed = 'provider') =>
    `auth_params.${name}: required again with another \`${changed}\``
  expect(await refusal('audit-signings', id, { ...other })).toEqual(Object.keys(auth_params).map((name) => again(name)))
  // As they read back, which keeps them.
  const masked = { ...other, auth_params: { ...otherParams, endpoint: '' } }
  expect(await refusal('audit-signings', id, masked)).toEqual([again('endpoint')])
  valueIn(await update('audit-signings', id, { ...key, kid: 'key-2' }))
  const secret = 'auth_params.secret_access_key'
  expect(opened('audit-signings', id, secret)).toBe(auth_params.secret_access_key as string)
  const elsewhere = { ...auth_params, secret_access_key: '', endpoint: 'http://127.0.0.1:1' }
  expect(await refusal('audit-signings', id, { ...key, auth_params: elsewhere })).toEqual([
    again('secret_access_key', 'auth_params.endpoint'),
  ])
  valueIn(await update('audit-signings', id, { ...other, auth_params: otherParams }))
  expect(opened('audit-signings', id, 'auth_params.endpoint')).toBe(keys.url)
})

test('the parameters of a signing key are deleted if the platform keeps the key, and are not required', async () => {
  const { id } = await setup.create('audit-signings', {
    project_id: setup.project,
    name: 'signing',
    ...keys.configurations.CLOUD1,
  })
  valueIn(await update('audit-signings', id, { provider: 'PLATFORM_MANAGED' }))
  expect(setup.documents.get('audit-signings', id)?.fields).not.toHaveProperty('auth_params')
})

test('the password of a database is required again for another address', async () => {
  const db_connection = { url: 'lmdb:', username: 'ann', password: 'pw' }
  const { id } = await setup.create('projects', projectBody(setup, { name: 'other', db_connection }))
  expect(await refusal('projects', id, { db_connection: { url: 'lmdb://elsewhere', username: 'ann' } })).toEqual([
    'db_connection.password: required again with another `db_connection.url`',
  ])
  valueIn(await update('projects', id, { db_connection: { ...db_connection, url: 'lmdb://elsewhere' } }))
  expect(opened('projects', id, 'db_connection.password')).toBe('pw')
})
