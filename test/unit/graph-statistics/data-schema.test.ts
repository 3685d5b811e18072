import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

let setup: ContextService
beforeAll(async () => {
  setup = await startContextService()
})
afterAll(() => setup.stop())

const read = (key = setup.key) => setup.service.send('/data-schema/v1/', { headers: { 'x-svc-clientkey': key } })

it('returns 404 before any capture, although the service has nodes of its own', async () => {
  const { status, body } = await read()
  expect([status, body.message]).toEqual([404, 'nothing has been captured in this project yet'])
})

it('counts types, properties with their types and metadata, labels and edges', async () => {
  const metadata = { source: 'desk', assurance_level: 2, custom_metadata: { by: 'ann' } }
  await setup.capture('nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann', is_identity: true, labels: ['Member'] },
      { type: 'Person', external_id: 'bob', properties: [{ type: 'age', value: 5 }] },
      { type: 'Car', external_id: 'c1', properties: [{ type: 'price', value: 1.5, metadata }] },
      { type: 'Car', external_id: 'c2', properties: [{ type: 'price', external_value: 'prices' }] },
      ...Array.from({ length: 200 }, (_, i) => ({ type: 'Note', external_id: `n${i}` })),
    ],
  })
  const own = (external_id: string) => ({
    source: { type: 'Person', external_id: 'ann' },
    target: { type: 'Car', external_id },
    type: 'OWNS',
    properties: [{ type: 'tags', value: ['a'] }],
  })
  await setup.capture('relationships', {
    relationships: [
      own('c1'),
      own('c2'),
      {
        source: { type: '_Application', external_id: setup.service.applicationId },
        target: { type: 'Car', external_id: 'c1' },
        type: 'HOLDS',
      },
    ],
  })
  const { status, body } = await read()
  expect(status).toBe(200)
  const { graph } = body as {
    graph: { nodes: Record<string, unknown>; edges: unknown[]; metadata: Record<string, string> }
  }
  expect(Object.keys(graph.nodes).sort()).toEqual(['Car', 'Note', 'Person'])
  expect(graph.nodes.Person).toEqual({
    metadata: {
      node_count: 2,
      properties: { age: { count: 1, types: [{ type: 'integer', count: 1 }], metadata: {} } },
      system_labels: [{ name: 'identity', count: 1 }],
      user_defined_labels: [{ name: 'Member', count: 1 }],
    },
  })
  expect(graph.nodes.Car).toMatchObject({
    metadata: {
      node_count: 2,
      properties: {
        price: {
          count: 2,
          types: [
            { type: 'number', count: 1 },
            { type: 'external', count: 1 },
          ],
          metadata: {
            source: { count: 1, types: [{ type: 'string', count: 1 }] },
            assurance_level: { count: 1, types: [{ type: 'integer', count: 1 }] },
            by: { count: 1, types: [{ type: 'string', count: 1 }] },
          },
        },
      },
    },
  })
  expect(graph.nodes.Note).toMatchObject({ metadata: { node_count: 200 } })
  expect(graph.edges).toEqual([
    {
      source: 'Person',
      target: 'Car',
      relation: 'OWNS',
      directed: true,
      metadata: {
        count: 2,
        properties: { tags: { count: 2, types: [{ type: 'array of string', count: 2 }], metadata: {} } },
      },
    },
  ])
  expect(graph.metadata.created_at! <= graph.metadata.updated_at!).toBe(true)
})

it('requires its permission', async () => {
  const { status, body } = await read(setup.service.key)
  expect([status, body.message]).toEqual([401, 'insufficient API access level for appAgent'])
})

it('needs no rebuild: the request of existing clients is confirmed', async () => {
  const { service } = setup
  const rebuild = (body: unknown, token = service.token) =>
    service.send('/configs/v1/data-schema/rebuild', { headers: { authorization: `Bearer ${token}` }, body })
  await setup.capture('nodes', { nodes: [{ type: 'Fresh', external_id: 'f1' }] })
  const rebuilt = await rebuild({ project_id: service.projectId })
  expect([rebuilt.status, rebuilt.body]).toEqual([200, { status: 'UP_TO_DATE' }])
  const { graph } = (await read()).body as { graph: { nodes: Record<string, unknown> } }
  expect(graph.nodes.Fresh).toMatchObject({ metadata: { node_count: 1 } })

  const errors = async (body: unknown) => {
    const { status, body: answer } = await rebuild(body)
    return [status, ...(answer.errors as string[])]
  }
  expect(await errors({})).toEqual([422, 'project_id: expected string, found nothing'])
  expect(await errors({ project_id: service.projectId, full: true })).toEqual([422, 'body: unknown member `full`'])
  expect(await errors({ project_id: 'gid:else' })).toEqual([422, 'project_id: no project `gid:else`'])
  expect((await rebuild({ project_id: service.projectId }, service.key)).status).toBe(401)
  const organization_id = service.app.organizationId
  const account = await service.configure('POST', 'service-accounts', {
    organization_id,
    name: 'viewer',
    role: 'all_viewer',
  })
  const credential = await service.configure('POST', 'service-account-credentials', {
    service_account_id: account.body.id,
  })
  const { token } = credential.body.service_account_config as { token: string }
  const refused = await rebuild({ project_id: service.projectId }, token)
  expect([refused.status, refused.body.message]).toEqual([403, 'the role `all_viewer` may not rebuild data schemas'])
})
