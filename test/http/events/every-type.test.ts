// For each event type, the request that produces it and the payload with which it arrives at a receiver. A type without a row does
// not compile, and fails.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EventTypeName, eventTypeNames, payloadSchema } from '../../../src/events/event-types.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import {
  type AcceptedEvent,
  type EventReceiver,
  receiverProvider,
  startReceiver,
} from '../../support/event-receiver.ts'
import { addSink, envelopeFaults } from '../../support/events.ts'
import type { TestResponse, TestService } from '../../support/service.ts'

let context: ContextService
let service: TestService
let receiver: EventReceiver
let sink: string
let policy: string

const car = (external_id: string, more: object = {}): object => ({ type: 'Car', external_id, ...more })
const owns = (external_id: string, more: object = {}): object => ({
  source: { type: 'Person', external_id: 'ann' },
  target: { type: 'Car', external_id },
  type: 'OWNS',
  ...more,
})
const wheels = { properties: [{ type: 'wheels', value: 4 }] }
const since = { properties: [{ type: 'since', value: 2020 }] }
const drive = { action: { name: 'drive' } }
const ann = { subject: { type: 'Person', id: 'ann' } }
const owned = { resource: { type: 'Car', id: 'owned' } }

const ok = (answered: TestResponse): Record<string, unknown> => {
  expect([200, 201, 202], answered.text).toContain(answered.status)
  return answered.body
}
const capture = async (path: string, body: object): Promise<unknown> =>
  ok(await service.ask(`/capture/v1/${path}`, body))
const decide = async (path: string, body: object): Promise<unknown> => ok(await service.ask(`/access/v1/${path}`, body))
const configure = async (method: string, path: string, body?: object): Promise<string> =>
  ok(await service.configure(method, path, body)).id as string
const nodes = (...each: readonly object[]): Promise<unknown> => capture('nodes', { nodes: each })
const relationships = (...each: readonly object[]): Promise<unknown> =>
  capture('relationships', { relationships: each })
const agent = (name: string): Promise<string> =>
  configure('POST', 'application-agents', {
    application_id: service.applicationId,
    name,
    api_permissions: ['Capture'],
  })
const application = (name: string): Promise<string> =>
  configure('POST', 'applications', { project_id: service.projectId, name })

let pipeline = ''
let decision = ''
const match = async (path: string, body?: object, method?: string): Promise<Record<string, unknown>> =>
  ok(
    await service.send(`/entity-matching/v1/pipelines/${pipeline}/${path}`, {
      headers: { authorization: `Bearer ${service.token}`, 'x-request-id': 'a-run-of-trams' },
      body,
      ...(method !== undefined && { method }),
    }),
  )
const trams = (): object => ({ pipelineId: pipeline, sourceNodeType: 'Tram', targetNodeType: 'Tram' })

interface Row {
  /** Sends the requests, the last of which produces the event. Resolves with what `payload` needs. */
  produce(): Promise<unknown>
  /** Members of the payload. */
  payload(produced: unknown): object
}

const row = <T>(produce: () => Promise<T>, payload: (produced: T) => object): Row => ({
  produce,
  payload: payload as (produced: unknown) => object,
})

const end = (externalId: string): object => ({ externalId, type: 'Car' })
const ownsKey = (externalId: string): object => ({
  type: 'OWNS',
  source: { externalId: 'ann', type: 'Person' },
  target: end(externalId),
})
const question = {
  subject: { type: 'Person', externalId: 'ann' },
  resources: [{ type: 'Car', externalId: 'owned', actions: ['drive'] }],
}
const allowed = { decisions: { Car: { owned: { drive: { allow: true } } } } }
const policiesFound = (): object[] => [{ id: policy, name: 'owners' }]

/** The others belong to the organization or to the audit log itself, which have no event sink. */
type DeliveredTypeName = Exclude<EventTypeName, `svc.audit.${'operations' | 'log'}.${string}`>

const delivered = eventTypeNames.filter(
  (type): type is DeliveredTypeName => !/^svc\.audit\.(operations|log)\./.test(type),
)

const rows: Readonly<Record<DeliveredTypeName, Row>> = {
  'svc.audit.capture.upsert.node': row(
    () => nodes(car('upserted', wheels)),
    () => ({ nodes: [{ ...end('upserted'), isIdentity: false }], actor: { type: 'agent', id: service.agentId } }),
  ),
  'svc.audit.capture.upsert.relationship': row(
    () => nodes(car('linked')).then(() => relationships(owns('linked'))),
    () => ({ relationships: [ownsKey('linked')] }),
  ),
  'svc.audit.capture.delete.node': row(
    () => nodes(car('deleted')).then(() => capture('nodes/delete', { nodes: [car('deleted')] })),
    () => ({ nodes: [end('deleted')] }),
  ),
  'svc.audit.capture.delete.relationship': row(
    async () => {
      await nodes(car('unlinked'))
      await relationships(owns('unlinked'))
      await capture('relationships/delete', { relationships: [owns('unlinked')] })
    },
    () => ({ relationships: [ownsKey('unlinked')] }),
  ),
  'svc.audit.capture.delete.node.property': row(
    async () => {
      await nodes(car('stripped', wheels))
      await capture('nodes/properties/delete', { nodes: [car('stripped', { property_types: ['wheels'] })] })
    },
    () => ({ nodeProperties: [{ match: end('stripped'), propertyType: 'wheels' }] }),
  ),
  'svc.audit.capture.delete.relationship.property': row(
    async () => {
      await nodes(car('dated'))
      await relationships(owns('dated', since))
      const deletion = { relationships: [owns('dated', { property_types: ['since'] })] }
      await capture('relationships/properties/delete', deletion)
    },
    () => ({ relationshipProperties: [{ ...ownsKey('dated'), propertyType: 'since' }] }),
  ),
  'svc.audit.capture.delete.node.tag': row(
    () => nodes(car('tagged', { labels: ['Fast', 'Red'] })).then(() => nodes(car('tagged', { tags: ['Red'] }))),
    () => ({ nodeTags: [{ match: end('tagged'), tagType: 'Fast' }] }),
  ),
  'svc.audit.capture.delete.node.property.metadata': row(
    async () => {
      await nodes(car('vouched', { properties: [{ type: 'wheels', value: 4, metadata: { source: 'papers' } }] }))
      const deletion = { nodes: [car('vouched', { property_type: 'wheels', metadata_fields: ['source'] })] }
      await capture('nodes/properties/metadata/delete', deletion)
    },
    () => ({ nodeProperties: [{ match: end('vouched'), propertyType: 'wheels', metadataFields: ['source'] }] }),
  ),
  'svc.audit.config.create': row(
    () => application('created'),
    (id) => ({
      id,
      type: 'applications',
      location: { id: service.projectId, type: 'projects' },
      detail: { name: 'created', version: 1 },
      actor: { type: 'service-account', role: 'all_editor' },
    }),
  ),
  'svc.audit.config.read': row(
    () => configure('GET', `applications/${service.applicationId}`),
    (id) => ({ identifier: { id }, type: 'applications', ids: [id] }),
  ),
  'svc.audit.config.update': row(
    async () => {
      const id = await application('updated')
      return configure('PUT', `applications/${id}`, { display_name: 'Later' })
    },
    (id) => ({ id, type: 'applications', before: { display_name: 'updated' }, after: { display_name: 'Later' } }),
  ),
  'svc.audit.config.delete': row(
    async () => configure('DELETE', `applications/${await application('removed')}`),
    (id) => ({ id, type: 'applications', containersPath: { projectId: service.projectId } }),
  ),
  'svc.audit.config.permission.assign': row(
    () => agent('assigned'),
    (id) => ({ targetIdentifier: id, targetType: 'application-agents', role: 'Capture', objectId: service.projectId }),
  ),
  'svc.audit.config.permission.revoke': row(
    async () => configure('DELETE', `application-agents/${await agent('revoked')}`),
    (id) => ({ targetIdentifier: id, targetType: 'application-agents', role: 'Capture', objectId: service.projectId }),
  ),
  'svc.audit.credentials.token.introspected': row(
    async () => {
      const headers = { 'x-svc-clientkey': context.key, authorization: `Bearer ${await context.tokenOf('ann')}` }
      ok(await service.send('/contx-iq/v1/whoami', { headers }))
    },
    () => ({ active: true, subject: { type: 'Person', externalId: 'ann' } }),
  ),
  'svc.audit.credentials.authentication.failed': row(
    async () => {
      const wrong = `${context.key.slice(0, -1)}${context.key.endsWith('A') ? 'E' : 'A'}`
      expect((await service.send('/contx-iq/v1/whoami', { headers: { 'x-svc-clientkey': wrong } })).status).toBe(401)
    },
    () => ({ kind: 'agent-key', reason: 'the secret of the key is wrong', operation: 'whoami' }),
  ),
  'svc.audit.request.answered': row(
    async () => ok(await service.send('/data-schema/v1', { headers: { 'x-svc-clientkey': context.key } })),
    () => ({
      operation: 'getDataSchema',
      method: 'GET',
      path: '/data-schema/v1',
      status: 200,
      actor: { type: 'agent', keyId: expect.stringMatching(/^gid:/) },
    }),
  ),
  'svc.audit.request.refused': row(
    () => service.configure('PUT', `applications/${service.applicationId}`, { project_id: 'other' }),
    () => ({
      operation: 'updateApplication',
      method: 'PUT',
      path: `/configs/v1/applications/${service.applicationId}`,
      status: 422,
      error: 'invalid',
    }),
  ),
  'svc.audit.authorization.evaluation': row(
    () => decide('evaluation', { ...ann, ...drive, ...owned }),
    () => ({ request: question, response: allowed, policiesFound: policiesFound() }),
  ),
  'svc.audit.authorization.evaluations': row(
    () => decide('evaluations', { ...ann, ...drive, evaluations: [owned] }),
    () => ({ item: 0, request: question, response: allowed, policiesFound: policiesFound() }),
  ),
  'svc.audit.authorization.searchsubject': row(
    () => decide('search/subject', { subject: { type: 'Person' }, ...drive, ...owned }),
    () => ({
      request: { ...question, subject: { type: 'Person' } },
      response: { results: 1 },
      policiesFound: policiesFound(),
    }),
  ),
  'svc.audit.authorization.searchresource': row(
    () => decide('search/resource', { ...ann, ...drive, resource: { type: 'Car' } }),
    () => ({
      request: { subject: question.subject, resources: [{ type: 'Car', actions: ['drive'] }] },
      response: { results: expect.any(Number) },
      policiesFound: policiesFound(),
    }),
  ),
  'svc.audit.authorization.searchaction': row(
    () => decide('search/action', { ...ann, ...owned }),
    () => ({
      request: { subject: question.subject, resources: [{ type: 'Car', externalId: 'owned' }] },
      response: { results: 1 },
    }),
  ),
  'svc.audit.authorization.whatauthorized': row(
    () => decide('what-authorized', { ...ann, evaluations: [{ ...drive, resource: { type: 'Car' } }] }),
    () => ({
      request: { subject: question.subject, resources: [{ type: 'Car', actions: ['drive'] }] },
      response: { results: expect.any(Number) },
      policiesFound: policiesFound(),
    }),
  ),
  'svc.audit.authorization.whoauthorized': row(
    () => decide('who-authorized', { evaluations: [{ ...drive, ...owned }] }),
    () => ({ request: { resources: question.resources }, response: { results: 1 }, policiesFound: policiesFound() }),
  ),
  'svc.audit.ciq.execute': row(
    async () => ok(await context.execute('read-cars', {}, await context.tokenOf('ann'))),
    () => ({
      request: { id: 'read-cars' },
      query: { name: 'read-cars' },
      policy: { name: 'read-cars-policy' },
      identity: { type: 'Person', externalId: 'ann' },
      response: { records: expect.any(Number), isWrite: false },
    }),
  ),
  'svc.audit.graph.query': row(
    async () => {
      const query = 'MATCH (p:Person {external_id: $id}) RETURN p.external_id AS id'
      const body = { query, parameters: { id: 'ann' } }
      const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
      return ok(await service.send('/graph/v1/query', { headers, body }))
    },
    () => ({
      request: {
        query: 'MATCH (p:Person {external_id: $id}) RETURN p.external_id AS id',
        parameters: ['id'],
        mode: 'rows',
      },
      response: { rows: 1, truncated: false },
      evaluationTimeMs: expect.any(Number),
    }),
  ),
  'svc.audit.trust.run.started': row(
    async () => {
      await nodes({ type: 'Bus', external_id: 'b1', ...wheels })
      const profile = await configure('POST', 'trust-score-profiles', {
        project_id: service.projectId,
        name: 'buses',
        node_classification: 'Bus',
        dimensions: [{ name: 'FRESHNESS', weight: 1 }],
        schedule: 'DAILY',
      })
      await service.app.scoreTrustOf(profile, 'operator')
      return profile
    },
    (profileId) => ({ profileId, nodeType: 'Bus', requestedBy: 'operator', actor: { type: 'service' } }),
  ),
  'svc.audit.trust.run.ended': row(
    async () => {
      const [profile] = (await service.configure('GET', `trust-score-profiles?project_id=${service.projectId}`)).body
        .data as { id: string }[]
      await service.app.scoreTrustOf(profile!.id, 'operator')
    },
    () => ({ nodeType: 'Bus', outcome: 'ok', nodesScored: 1, scoresWritten: 0, scoresRemoved: 0 }),
  ),
  'svc.audit.entitymatching.run.started': row(
    async () => {
      const twin = (external_id: string): object => ({
        type: 'Tram',
        external_id,
        properties: ['line', 'depot'].map((name) => ({ type: name, value: name })),
      })
      await nodes(twin('t1'), twin('t2'))
      pipeline = await configure('POST', 'entity-matching-pipelines', {
        project_id: service.projectId,
        name: 'trams',
        node_filter: { source_node_types: ['Tram'], target_node_types: ['Tram'] },
        similarity_score_cutoff: 0.5,
      })
      await match('runs', {
        similarity_score_cutoff: 0.5,
        custom_property_mappings: [{ source_node_property: 'line', target_node_property: 'line' }],
      })
      await service.app.matchEntities()
    },
    () => ({
      ...trams(),
      similarityScoreCutoff: 0.5,
      runId: expect.any(String),
      requestedBy: expect.any(String),
      requestId: 'a-run-of-trams',
    }),
  ),
  'svc.audit.entitymatching.run.ended': row(
    async () => {
      await match('runs', {
        similarity_score_cutoff: 0.5,
        custom_property_mappings: [{ source_node_property: 'line', target_node_property: 'line' }],
      })
      await service.app.matchEntities()
    },
    () => ({ ...trams(), outcome: 'ok', matchedPairs: expect.any(Number), relationshipsRemoved: 0 }),
  ),
  'svc.audit.entitymatching.decision.made': row(
    async () => {
      const decided = await match('decisions', {
        source_external_id: 't2',
        target_external_id: 't1',
        decision: 'NOT_SAME',
      })
      decision = decided.id as string
    },
    () => ({
      ...trams(),
      sourceExternalId: 't1',
      targetExternalId: 't2',
      decision: 'NOT_SAME',
      actor: { type: 'service-account', role: 'all_editor' },
    }),
  ),
  'svc.audit.entitymatching.decision.deleted': row(
    () => match(`decisions/${decision}`, undefined, 'DELETE'),
    () => ({ ...trams(), sourceExternalId: 't1', targetExternalId: 't2' }),
  ),
  'svc.audit.cdc.node.create': row(
    () => nodes(car('new', wheels)),
    () => ({ before: null, after: { ...end('new'), labels: ['Car'], properties: { wheels: { value: 4 } } } }),
  ),
  'svc.audit.cdc.node.update': row(
    () => nodes(car('changed')).then(() => nodes(car('changed', wheels))),
    () => ({
      before: { ...end('changed'), properties: {} },
      after: { ...end('changed'), properties: { wheels: { value: 4 } } },
    }),
  ),
  'svc.audit.cdc.node.delete': row(
    () => nodes(car('old')).then(() => capture('nodes/delete', { nodes: [car('old')] })),
    () => ({ before: end('old'), after: null }),
  ),
  'svc.audit.cdc.relationship.create': row(
    () => nodes(car('joined')).then(() => relationships(owns('joined', since))),
    () => ({ before: null, after: { ...ownsKey('joined'), properties: { since: { value: 2020 } } } }),
  ),
  'svc.audit.cdc.relationship.update': row(
    async () => {
      await nodes(car('rejoined'))
      await relationships(owns('rejoined'))
      await relationships(owns('rejoined', since))
    },
    () => ({
      before: { ...ownsKey('rejoined'), properties: {} },
      after: { ...ownsKey('rejoined'), properties: { since: { value: 2020 } } },
    }),
  ),
  'svc.audit.cdc.relationship.delete': row(
    async () => {
      await nodes(car('parted'))
      await relationships(owns('parted'))
      await capture('relationships/delete', { relationships: [owns('parted')] })
    },
    () => ({ before: ownsKey('parted'), after: null }),
  ),
  'svc.events.gap': row(
    async () => {
      await receiver.stop()
      for (let at = 0; at < 12; at++)
        await nodes(...Array.from({ length: 250 }, (_, i) => car(`lost${at}-${i}`, { labels: ['Old'] })))
      const until = performance.now() + 60_000
      while (!(await skipped())) {
        if (performance.now() > until) throw new Error('nothing was dropped')
        await Bun.sleep(20)
      }
      receiver.start()
    },
    () => ({ from: expect.any(Number), to: expect.any(Number), events: expect.any(Number) }),
  ),
  'svc.events.test': row(
    async () => {
      const event = { type: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Car' } }
      ok(await service.configure('POST', `event-sinks/${sink}/test`, { event, send: true }))
    },
    () => ({ tested: { eventType: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Car' } } }),
  ),
}

async function skipped(): Promise<boolean> {
  const { providers } = ok(await service.configure('GET', `event-sinks/${sink}`)) as {
    providers: Record<string, { delivery: { skipped: number } }>
  }
  return (providers.main?.delivery.skipped ?? 0) > 0
}

const readPolicy = {
  subject: { type: 'Person' },
  condition: {
    cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
    filter: [{ operator: 'AND', operands: [{ attribute: 'subject.external_id', operator: '=', value: '$token.sub' }] }],
  },
  allowed_reads: { nodes: ['car.*'], relationships: [] },
}

beforeAll(async () => {
  receiver = startReceiver()
  context = await startContextService(
    // Only the row of the gap has a backlog as large as this.
    { upstreamAllow: '127.0.0.1', eventBacklogBytesMax: 100_000 },
    { sync: false, log: () => undefined, eventDelivery: { random: () => 0.001 } },
  )
  service = context.service
  await nodes({ type: 'Person', external_id: 'ann', is_identity: true }, car('owned'))
  await relationships(owns('owned'))
  policy = await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  await context.addQuery('read-cars', readPolicy, { nodes: ['car.external_id'] })
  sink = await addSink(service, [{ type: 'svc.*' }], { main: receiverProvider(receiver, { include_cdc_events: true }) })
})

afterAll(async () => {
  await context?.stop()
  await receiver?.stop()
})

function isLike(data: object, expected: object): boolean {
  try {
    expect(data).toMatchObject(expected)
    return true
  } catch {
    return false
  }
}

describe('every event type is produced and delivered with its payload', () => {
  test('and has a row', () => {
    expect(Object.keys(rows).sort()).toEqual([...delivered].sort())
  })

  test.each(delivered)('%s', async (type) => {
    const { produce, payload } = rows[type]
    const first = receiver.accepted.length
    const expected = { eventType: type, version: 1, ...payload(await produce()) }
    const arrived = (): AcceptedEvent[] => receiver.accepted.slice(first).filter((event) => event.type === type)
    // Events of the rows before may still arrive.
    await receiver.until(() => arrived().some(({ data }) => isLike(data, expected))).catch(() => undefined)
    const found = (arrived().find(({ data }) => isLike(data, expected)) ?? arrived().at(-1)) as AcceptedEvent
    expect(found?.data).toMatchObject(expected)
    payloadSchema(type).parse(found.data)
    const { data: _, text, ...attributes } = found
    expect(envelopeFaults(attributes as unknown as Record<string, string>)).toEqual([])
    expect(JSON.parse(text)).toMatchObject({ projectid: service.projectId, datacontenttype: 'application/json' })
  })
})
