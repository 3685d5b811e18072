// No event of any type contains a secret: every member that holds one gets a marker, in every kind of configuration and in every
// kind of request, and all bytes that a receiver gets, and those of the audit log, are searched for the markers.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventTypeNames } from '../../../src/events/event-types.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { startKeyServices } from '../../support/counterparts/key-services.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink } from '../../support/events.ts'
import { type SampleContext, samples } from '../../support/kind-samples.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import type { TestResponse, TestService } from '../../support/service.ts'

const seed = testSeed()
const random = new Random(seed)

/** Secrets by what they are. */
const secrets = new Map<string, string>()
/** Values that captures and queries store as properties: change data capture contains them, and the audit log does not. */
const storedValues = new Map<string, string>()

function marker(what: string, among = secrets): string {
  const text = `mk${Array.from({ length: 12 }, () => random.between(0, 35).toString(36)).join('')}`
  among.set(text, what)
  return text
}

function keep(what: string, secret: unknown): void {
  expect(typeof secret, what).toBe('string')
  secrets.set(secret as string, what)
}

/** The marker as a value of an input parameter: alone, in a list, or in an object. */
function hidden(what: string): unknown {
  const text = marker(what)
  const forms = [text, [1, text], { deep: { [`k${random.between(0, 9)}`]: [text] } }, `a b\n"${text}"`]
  return forms[random.between(0, forms.length - 1)]
}

let mcp: McpService
let service: TestService
let receiver: EventReceiver
let resolverServer: Bun.Server<undefined>
let sink: string
let ciqKey: string
const resolverCalls: string[] = []
/** Responses of requests that are expected to fail, to see that the failure happened. */
const failures: TestResponse[] = []

const configure = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
  const answered = await service.configure(method, path, body)
  expect([200, 201, 204], `${method} ${path}: ${answered.text}`).toContain(answered.status)
  return answered.body
}

beforeAll(async () => {
  receiver = startReceiver()
  resolverServer = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      resolverCalls.push(request.url)
      // An answer that repeats everything that it was sent.
      const echo = `${request.url} ${JSON.stringify([...request.headers])} ${await request.text()}`
      return new Response(echo, { status: 500 })
    },
  })
  mcp = await startMcpService({
    settings: { upstreamAllow: '127.0.0.1', auditDecisions: 'all' },
    overrides: { sync: false, eventDelivery: { random: () => 0.001 } },
  })
  service = mcp.service
  keep('agent key', service.key)
  keep('token of the service account', service.token)
  ciqKey = (await service.addAgent('ciq', ['CIQ', 'Authorization', 'Capture'])).key
  keep('agent key', ciqKey)
  const provider = receiverProvider(receiver, { include_cdc_events: true }, marker('access key of the sink in use'))
  sink = await addSink(service, [{ type: 'svc.*' }], { main: provider })
})

afterAll(async () => {
  await mcp?.stop()
  await receiver?.stop()
  await resolverServer?.stop(true)
})

/** Bodies with each secret of the kind. The kinds without a secret are not here. */
const secretBodies: Readonly<Record<string, () => Promise<void>>> = {
  async projects() {
    for (const username of ['ann', 'bob']) {
      const db_connection = { url: 'lmdb:', username, password: marker('database password') }
      await configure('PUT', `projects/${service.projectId}`, { db_connection })
    }
  },
  async 'application-agent-credentials'() {
    const created = await configure('POST', 'application-agent-credentials', { application_agent_id: service.agentId })
    keep('agent key', created.api_key)
    keepDocument(created.application_agent_config)
    await configure('GET', `application-agent-credentials/${created.id}`)
    await configure('DELETE', `application-agent-credentials/${created.id}`)
  },
  async 'service-account-credentials'() {
    const organization_id = service.app.organizationId
    const { id } = await configure('POST', 'service-accounts', { organization_id, name: 'robot', role: 'all_editor' })
    const created = await configure('POST', 'service-account-credentials', { service_account_id: id })
    keepDocument(created.service_account_config)
    const { token } = created.service_account_config as { token: string }
    const headers = { authorization: `Bearer ${token}` }
    expect((await service.send(`/configs/v1/projects/${service.projectId}`, { headers })).status).toBe(200)
  },
  async 'external-data-resolvers'() {
    const values = (): object => ({ 'X-One': marker('resolver header'), Accept: [marker('resolver header')] })
    await through('external-data-resolvers', { headers: values() }, { headers: values() })
  },
  async 'audit-signings'() {
    const keys = startKeyServices()
    try {
      for (const configuration of Object.values(keys.configurations)) {
        await through('audit-signings', configuration, { ...configuration, kid: 'next' })
        // A key that does not work: the key service refuses what it gets.
        const params = Object.keys(configuration.auth_params).map((name) => [name, marker('audit parameter')])
        const body = { project_id: service.projectId, name: 'refused-key', ...configuration }
        const refused = { ...body, auth_params: { ...Object.fromEntries(params), endpoint: keys.url } }
        failures.push(await service.configure('POST', 'audit-signings', refused))
      }
      for (const secret of keys.secrets) keep('secret of a key service', secret)
    } finally {
      await keys.stop()
    }
  },
  async 'event-sinks'() {
    const providers = (): object => ({
      broker: {
        streaming_broker: {
          brokers: ['b.example:9093'],
          topic: 't',
          username: 'u',
          password: marker('broker password'),
        },
      },
      topic: { event_topic: { topic_endpoint: 'https://t.example/e', access_key: marker('access key') } },
      queue: {
        queue_service: {
          queueOrTopicName: 'q',
          connectionString: `Endpoint=sb://b.example/;SharedAccessKeyName=k;SharedAccessKey=${marker('connection string')}`,
        },
      },
      pubsub: {
        pub_sub: {
          project_id: 'project-1',
          topic_name: 'events',
          credentials_json: JSON.stringify({ private_key: marker('service account key') }),
        },
      },
    })
    const { providers: used } = (await configure('GET', `event-sinks/${sink}`)) as { providers: object }
    for (const display_name of ['One', 'Two'])
      await configure('PUT', `event-sinks/${sink}`, { display_name, providers: { ...used, ...providers() } })
    const text = `Endpoint=sb://x/;SharedAccessKeyName=k;SharedAccessKey=${marker('connection string in a description')}`
    await configure('PUT', `event-sinks/${sink}`, { description: text })
    await configure('GET', `event-sinks?project_id=${service.projectId}&full_fetch=true`)
    const tested = { project_id: service.projectId, providers: providers(), routes: [routeTo('topic')] }
    const event = { type: 'svc.audit.capture.upsert.node' }
    await configure('POST', 'event-sinks/test', { sink: tested, event })
    await configure('POST', `event-sinks/${sink}/test`, { event, send: true })
    await configure('PUT', `event-sinks/${sink}`, { providers: used })
  },
}

const routeTo = (provider_id: string): object => ({
  provider_id,
  event_type_key_values_filter: { event_type: 'svc.audit.capture.*' },
})

/** The secret members of a document that a credential is created with. */
function keepDocument(document: unknown): void {
  const { token, privateKeyJWK } = document as { token: string; privateKeyJWK?: { d: string } }
  keep('token of a credential', token)
  if (privateKeyJWK !== undefined) keep('private key', privateKeyJWK.d)
}

/** Creates, reads, updates, lists and deletes the sample of a kind with other secrets, and sends a body that is refused. */
async function through(kind: string, members: object, changed: object): Promise<void> {
  const body = {
    name: `secret-${kind}`,
    ...samples[kind]?.body({ project: service.projectId } as SampleContext),
    ...members,
  }
  const { id } = await configure('POST', kind, body)
  await configure('GET', `${kind}/${id}`)
  await configure('GET', `${kind}?project_id=${service.projectId}&full_fetch=true`)
  await configure('PUT', `${kind}/${id}`, changed)
  failures.push(await service.configure('POST', kind, { ...body, name: 'refused', unknown: marker('refused body') }))
  await configure('DELETE', `${kind}/${id}`)
}

describe(`no event contains a secret (VERDIGRAPH_SEED=${seed})`, () => {
  test('every kind with a secret has a body for it', () => {
    const withSecrets = service.app.config.kinds.filter((kind) => kind.secrets.length > 0).map(({ path }) => path)
    expect(Object.keys(secretBodies).sort()).toEqual(withSecrets.sort())
    const sinkSecrets = service.app.config.kinds.find(({ path }) => path === 'event-sinks')?.secrets
    expect(sinkSecrets).toHaveLength(4)
  })

  test.each(Object.keys(secretBodies))('of %s', async (kind) => {
    await secretBodies[kind]?.()
  })

  test('of tokens: accepted, refused, and not tokens', async () => {
    const tokens = [
      await mcp.tokenOf('ann', { claims: { note: marker('claim') } }),
      await mcp.tokenOf('ann', { expires: new Date(1000) }),
      await mcp.tokenOf('ann', { issuer: `https://${marker('unknown issuer')}.example` }),
      `${(await mcp.tokenOf('ann')).slice(0, -9)}${marker('signature')}`,
      marker('opaque token'),
    ]
    const statuses: number[] = []
    for (const token of tokens) {
      keep('user token', token)
      if (token.includes('.')) keep('signature', token.split('.')[2])
      const headers = { 'x-svc-clientkey': ciqKey, authorization: `Bearer ${token}` }
      statuses.push((await service.send('/contx-iq/v1/whoami', { headers })).status)
      await mcp.ask(token, 'tools/list')
      await service.send('/capture/v1/nodes', { headers: { 'x-svc-clientkey': token }, body: { nodes: [] } })
      await service.send('/configs/v1/projects', { headers: { authorization: `Bearer ${token}` } })
    }
    expect(statuses).toEqual([200, 401, 401, 401, 401])
  })

  test('of input parameters of decisions, searches and explanations, also of those that fail', async () => {
    await service.addPolicy({
      name: 'plain',
      actions: ['see'],
      cypher: 'MATCH (subject)-[:OWNS]->(resource) WHERE resource.price <> $p',
    })
    await service.addPolicy({
      name: 'failing',
      actions: ['fail'],
      cypher:
        'MATCH (subject)-[:OWNS]->(resource) WHERE date($p) < date() OR duration($p) IS NULL OR toInteger($p) / 0 > 1',
    })
    await service.addPolicy({
      name: 'typed',
      actions: ['type'],
      cypher: 'MATCH (subject)-[:OWNS]->(resource) WHERE $p.a.b + 1 > size($p) OR $p[0] = 1',
    })
    const ann = { subject: { type: 'Person', id: 'ann' } }
    const car = { resource: { type: 'Car', id: 'c1' } }
    for (const name of ['see', 'fail', 'type', 'none']) {
      for (const parameter of ['p', 'other']) {
        const context = { input_params: { [parameter]: hidden(`parameter of ${name}`), q: hidden('parameter') } }
        const action = { action: { name } }
        const evaluation = { ...ann, ...action, ...car, context }
        for (const [path, body] of [
          ['evaluation', evaluation],
          [
            'evaluations',
            { ...evaluation, evaluations: [{}, { context: { input_params: { p: hidden('item') } } }, { resource: 1 }] },
          ],
          ['search/resource', { ...evaluation, resource: { type: 'Car' } }],
          ['search/subject', { ...evaluation, subject: { type: 'Person' } }],
          ['search/action', { ...ann, ...car, context }],
          ['what-authorized', { ...ann, evaluations: [{ ...action, resource: { type: 'Car' } }], context }],
          ['who-authorized', { evaluations: [{ ...action, ...car }], context }],
          ['explain', evaluation],
          ['compare', { replace_all: true, context, token: { claims: { secret: hidden('claim') } } }],
        ] as const)
          await service.ask(`/access/v1/${path}`, body)
      }
    }
    const tokens = await mcp.tokenOf('ann')
    const flat = {
      subject_type: 'Person',
      subject_id: 'ann',
      action_name: 'fail',
      resource_type: 'Car',
      resource_id: 'c1',
    }
    const context = { input_params: { p: hidden('parameter of a tool') } }
    for (const name of [
      'authzen_evaluate',
      'authzen_evaluations',
      'authzen_search_resource',
      'authzen_search_subject',
      'authzen_search_action',
      'authzen_explain',
    ])
      await mcp.ask(tokens, 'tools/call', { name, arguments: { ...flat, evaluations: [{}], context } })
  })

  test('of parameters of graph queries', async () => {
    for (const query of ['RETURN $p AS p', 'MATCH (n:Person) WHERE n.name = $p RETURN n', 'RETURN $p +']) {
      await service.send('/graph/v1/query', {
        headers: { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId },
        body: { query, parameters: { p: hidden('parameter of a graph query') } },
      })
    }
  })

  test('of input parameters of queries, and of resolvers that repeat headers and parameters', async () => {
    const user = await mcp.tokenOf('ann')
    const execute = (body: object): Promise<TestResponse> =>
      service.send('/contx-iq/v1/execute', {
        headers: { 'x-svc-clientkey': ciqKey, authorization: `Bearer ${user}` },
        body,
      })
    await mcp.create('external-data-resolvers', {
      name: 'market',
      url: `http://127.0.0.1:${resolverServer.port}/{$p}`,
      method: 'POST',
      headers: { Authorization: `Bearer ${marker('header of a resolver in use')}` },
      request_content_type: 'JSON',
      request_payload: '{"p":"{$p}"}',
      response_content_type: 'JSON',
      response_selector: '.price',
    })
    const captured = await service.ask('/capture/v1/nodes', {
      nodes: [{ type: 'Car', external_id: 'c1', properties: [{ type: 'value', external_value: 'market' }] }],
    })
    expect(captured.status).toBe(200)
    const policy_id = await mcp.create('authorization-policies', {
      name: 'values',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: 'Person' },
        condition: {
          cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car)',
          filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
          token_filter: { operator: '<>', attribute: '$token.sub', value: '$t' },
        },
        allowed_reads: { nodes: ['car.*', 'car.external_id'], relationships: [] },
      }),
    })
    const document = {
      nodes: ['car.external_id', 'car.property.value'],
      filter: { operator: '<>', attribute: 'car.external_id', value: '$p' },
    }
    await mcp.create('knowledge-queries', {
      name: 'values',
      status: 'ACTIVE',
      policy_id,
      query: JSON.stringify(document),
    })
    const called = resolverCalls.length
    await execute({ id: 'values', input_params: { p: marker('parameter of a resolver'), t: 'x' } })
    expect(resolverCalls.length).toBeGreaterThan(called)
    for (const input_params of [
      { p: hidden('parameter of a query'), t: hidden('parameter of a token filter') },
      { q: hidden('unknown parameter') },
      { car: hidden('parameter of a query'), price: marker('price that is not stored') },
    ]) {
      for (const id of ['values', 'my-car', 'price-car', 'unknown']) {
        const preprocess_params = { a: marker('preprocess parameter') }
        failures.push(await execute({ id, input_params, preprocess_params }))
        failures.push(await execute({ id, input_params }))
        await mcp.ask(user, 'tools/call', { name: 'ciq_execute', arguments: { id, input_params } })
      }
    }
    const written = await execute({
      id: 'price-car',
      input_params: { car: 'c1', price: marker('price', storedValues) },
    })
    expect(written.status, written.text).toBe(200)
    expect(written.body.data).toHaveLength(1)
  })

  test('in any byte that the receiver got, of all types that calls produce', async () => {
    const nodes = {
      nodes: [
        {
          type: 'Car',
          external_id: 'tagged',
          labels: ['Fast'],
          properties: [
            {
              type: 'wheels',
              value: marker('property value', storedValues),
              metadata: { source: marker('metadata value', storedValues) },
            },
          ],
        },
      ],
    }
    const owns = {
      source: { type: 'Person', external_id: 'ann' },
      target: { type: 'Car', external_id: 'tagged' },
      type: 'OWNS',
    }
    const capture = async (path: string, body: object): Promise<void> =>
      expect((await service.ask(`/capture/v1/${path}`, body)).status).toBe(200)
    const tagged = { type: 'Car', external_id: 'tagged' }
    await capture('nodes', nodes)
    await capture('nodes', { nodes: [{ ...tagged, labels: [] }] })
    await capture('relationships', { relationships: [owns] })
    await capture('relationships', {
      relationships: [{ ...owns, properties: [{ type: 'since', value: marker('property value', storedValues) }] }],
    })
    await capture('relationships/properties/delete', { relationships: [{ ...owns, property_types: ['since'] }] })
    await capture('nodes/properties/metadata/delete', {
      nodes: [{ ...tagged, property_type: 'wheels', metadata_fields: ['source'] }],
    })
    await capture('nodes/properties/delete', { nodes: [{ ...tagged, property_types: ['wheels'] }] })
    await capture('relationships/delete', { relationships: [owns] })
    await capture('nodes/delete', { nodes: [tagged] })
    await configure('DELETE', `application-agents/${(await service.addAgent('gone', ['CIQ'])).agentId}`)
    await service.app.settleEvents()
    const written = await service.app.eventStreams.withStreams(service.projectId, async (streams) =>
      streams.reduce((sum, { outbox, name }) => sum + (outbox.status(name)?.next ?? 1) - 1, 0),
    )
    const distinct = (): number =>
      new Set(receiver.accepted.filter(({ type }) => type !== 'svc.events.test').map(({ id }) => id)).size
    await receiver.until(() => distinct() >= written)

    const types = new Set(receiver.accepted.map(({ type }) => type))
    const deliverable = eventTypeNames.filter(
      (type) => !/^svc\.audit\.(operations|log|trust|entitymatching)\./.test(type),
    )
    expect(deliverable.filter((type) => !types.has(type))).toEqual(['svc.events.gap'])
    expect(failures.filter(({ status }) => status >= 400).length).toBeGreaterThan(10)
    // Requests failed, and the events of the failures have errors.
    const errors = new Set(
      receiver.accepted.map(({ type, data }) => `${type} ${(data.error as { kind: string })?.kind}`),
    )
    for (const operation of ['evaluation', 'evaluations', 'searchsubject', 'searchresource', 'whatauthorized'])
      expect(errors).toContain(`svc.audit.authorization.${operation} invalid`)
    for (const kind of ['invalid', 'not-found']) expect(errors).toContain(`svc.audit.ciq.execute ${kind}`)
    const found: string[] = []
    const search = (what: string, secret: string, text: string, type: string): void => {
      const forms = [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64url'),
        Buffer.from(secret).toString('hex'),
      ]
      if (forms.some((form) => text.includes(form))) found.push(`${what} in ${type}: ${text.slice(0, 400)}`)
    }
    for (const { type, text } of receiver.seen) {
      for (const [secret, what] of secrets) search(what, secret, text, type)
      if (!type.startsWith('svc.audit.cdc.'))
        for (const [secret, what] of storedValues) search(what, secret, text, type)
    }
    await service.app.sealAudit()
    const logs = join(service.dataDir, 'audit/logs')
    const files = readdirSync(logs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const entries = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n')
    for (const [secret, what] of [...secrets, ...storedValues])
      for (const line of entries.split('{"specversion"')) search(what, secret, line, 'the audit log')
    // Entries of all these types were searched.
    const logged = deliverable.filter((type) => !/^svc\.(audit\.cdc|events)\./.test(type))
    expect(logged.filter((type) => !entries.includes(`"${type}"`))).toEqual([])
    expect(found).toEqual([])
    // The search finds a value that is in the payloads.
    const all = receiver.seen.map(({ text }) => text).join('')
    for (const [secret] of storedValues) expect(all).toContain(secret)
    expect(secrets.size).toBeGreaterThan(80)
  })
})
