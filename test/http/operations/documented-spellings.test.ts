// Spellings that are accepted and not documented: each works, and the OpenAPI document does not contain it, so that generated
// clients have one name for one thing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { OpenApiDocument } from '../../../src/http/openapi/objects.ts'
import { contextDocument } from '../../../src/policy/context-document.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let document: OpenApiDocument

beforeAll(async () => {
  service = await startService()
  document = (await service.send('/openapi.json')).body as unknown as OpenApiDocument
})

afterAll(() => service?.stop())

/** A body of a configuration, and the members of the document read back that show what the spelling means. */
interface MemberAlias {
  readonly alias: string
  readonly kind: string
  body(): object
  readonly reads: object
}

const broker = { brokers: ['broker:9092'], topic: 'events' }
const route = (filter: object) => [
  { provider_id: 'main', event_type_key_values_filter: { event_type: '*', ...filter } },
]
const sink = (provider: object, filter: object = {}) => ({
  project_id: service.projectId,
  name: 'sink',
  providers: { main: provider },
  routes: route(filter),
})
const introspect = (members: object) => ({
  project_id: service.projectId,
  name: 'introspect',
  jwt_matcher: { issuer: 'https://accounts.example', audience: 'all' },
  offline_validation: {},
  ...members,
})
const contextPolicy = (members: object) => ({
  project_id: service.projectId,
  name: 'context',
  status: 'ACTIVE',
  policy: JSON.stringify({
    meta: { policy_version: '1.0-ciq' },
    subject: { type: 'Person' },
    condition: { cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car)' },
    allowed_reads: { nodes: ['car.external_id'] },
    ...members,
  }),
})

const memberAliases: readonly MemberAlias[] = [
  {
    alias: 'queue_or_topic_name',
    kind: 'event-sinks',
    body: () => sink({ queue_service: { queue_or_topic_name: 'audit', connectionString: 's' } }),
    reads: { providers: { main: { queue_service: { queueOrTopicName: 'audit' } } } },
  },
  {
    alias: 'connection_string',
    kind: 'event-sinks',
    body: () => sink({ queue_service: { queueOrTopicName: 'audit', connection_string: 's' } }),
    reads: { providers: { main: { queue_service: { queueOrTopicName: 'audit' } } } },
  },
  {
    alias: 'display_name',
    kind: 'event-sinks',
    body: () => sink({ streaming_broker: broker, display_name: 'Main' }),
    reads: { providers: { main: { streaming_broker: { ...broker, display_name: 'Main' } } } },
  },
  {
    alias: 'key_value_pairs',
    kind: 'event-sinks',
    body: () => sink({ streaming_broker: broker }, { key_value_pairs: [{ key: 'a', value: 'b' }] }),
    reads: { routes: route({ context_key_value: [{ key: 'a', value: 'b' }] }) },
  },
  {
    alias: 'sub_claim',
    kind: 'token-introspects',
    body: () => introspect({ sub_claim: { selector: 'email' } }),
    reads: { sub_claim: 'email' },
  },
  {
    alias: 'node_labels',
    kind: 'authorization-policies',
    body: () => contextPolicy({ allowed_upserts: { nodes: { node_labels: ['Car'] } } }),
    reads: { status: 'ACTIVE' },
  },
]

/** The names of the members, and of the members whose alternatives, are marked as aliases in a zod schema. */
function aliasesIn(schema: z.ZodType): Set<string> {
  const names = new Set<string>()
  const visit = (value: unknown, member: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ('alias' in value && typeof value.alias === 'string') names.add(member)
    const isList = Array.isArray(value)
    for (const [key, inner] of Object.entries(value)) visit(inner, isList || key === 'anyOf' ? member : key)
  }
  const converted = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Schemas of zod, which JSON cannot contain.
      delete jsonSchema.contentSchema
      delete jsonSchema.documentedAs
    },
  })
  visit(converted, '')
  return names
}

describe('a member with two spellings', () => {
  it.each(memberAliases)('accepts $alias in $kind', async ({ kind, body, reads }) => {
    const created = await service.configure('POST', kind, body())
    expect([created.status, created.text]).toEqual([201, expect.anything()])
    const path = `${kind}/${(created.body as { id: string }).id}`
    expect((await service.configure('GET', path)).body).toMatchObject(reads)
    expect((await service.configure('DELETE', path)).status).toBe(200)
  })

  it('is in the table above if a schema marks it', () => {
    const marked = service.app.routes.flatMap(({ request }) => (request === null ? [] : [...aliasesIn(request)]))
    const names = new Set([...marked, ...aliasesIn(contextDocument)])
    // In JSON, an integer of 64 bits is a number like any other.
    names.delete('Scalar')
    expect(names).toEqual(new Set(memberAliases.map(({ alias }) => alias)))
  })

  it('has one spelling in the OpenAPI document', () => {
    const text = JSON.stringify(document)
    const unique = ['queue_or_topic_name', 'connection_string', 'key_value_pairs', 'node_labels', 'policyVersion']
    expect(unique.filter((name) => text.includes(name))).toEqual([])
    const { SinkProvider, QueueService, TokenIntrospectConfigurationCreate } = document.components.schemas as Record<
      string,
      { properties: Record<string, object>; required?: string[] }
    >
    expect(Object.keys(SinkProvider?.properties ?? {})).not.toContain('display_name')
    // The server also accepts an alias, but a client has only this name.
    expect(QueueService?.required).toEqual(['queueOrTopicName'])
    expect(TokenIntrospectConfigurationCreate?.properties.sub_claim).toMatchObject({ type: ['string', 'null'] })
  })
})

describe('a value with two spellings', () => {
  it('accepts the retired permission `IKGRead`, which is not documented', async () => {
    const body = { application_id: service.applicationId, name: 'retired', api_permissions: ['Capture', 'IKGRead'] }
    const created = await service.configure('POST', 'application-agents', body)
    expect(created.status).toBe(201)
    const { id } = created.body as { id: string }
    expect((await service.configure('GET', `application-agents/${id}`)).body.api_permissions).toEqual(['Capture'])
    expect(document.components.schemas.ApiPermission?.enum).not.toContain('IKGRead')
    expect(JSON.stringify(document)).not.toContain('IKGRead')
  })

  it('accepts the policy version `1.0-svc` and `policyVersion`, which are not documented', async () => {
    const policy = JSON.stringify({
      meta: { policyVersion: '1.0-svc' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
    })
    const body = { project_id: service.projectId, name: 'old', policy, status: 'ACTIVE' }
    expect((await service.configure('POST', 'authorization-policies', body)).status).toBe(201)
    expect(document.components.schemas.DecisionPolicyVersion?.enum).not.toContain('1.0-svc')
  })
})

describe('an operation with two methods', () => {
  const nodes = { nodes: [{ type: 'Person', external_id: 'ann' }] }
  const relationships = {
    relationships: [
      {
        source: { type: 'Person', external_id: 'ann' },
        type: 'KNOWS',
        target: { type: 'Person', external_id: 'ann' },
      },
    ],
  }

  it.each([
    ['/capture/v1/nodes', nodes],
    ['/capture/v1/relationships', relationships],
  ])('accepts PUT %s, and documents POST', async (path, body) => {
    const headers = { 'x-svc-clientkey': service.key }
    const answer = await service.send(path, { method: 'PUT', headers, body })
    expect([answer.status, answer.text]).toEqual([200, (await service.ask(path, body)).text])
    expect(Object.keys(document.paths[path] ?? {})).toEqual(['post'])
  })

  it('is in the table above if a route is an alias', () => {
    const aliases = service.app.routes.filter(({ aliasOf }) => aliasOf !== undefined)
    const tile = '/audit/v1/tlog/{log}/{generation}/tile/{level}/{n1}/{n2}'
    expect(aliases.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /capture/v1/nodes',
      'PUT /capture/v1/relationships',
      // Tested with the verification of a long log.
      ...['', '/{n3}', '/{n3}/{n4}', '/{n3}/{n4}/{n5}'].map((rest) => `GET ${tile}${rest}`),
    ])
    const known = new Set(service.app.routes.map(({ operationId }) => operationId))
    expect(aliases.filter(({ aliasOf }) => !known.has(aliasOf ?? ''))).toEqual([])
  })
})
