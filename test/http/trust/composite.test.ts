// Trust scoring in a composite project: each node has its score in its own database.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createChunk } from '../../../src/engine/store.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

it('scores the nodes of all locations', async () => {
  const create = async (kind: string, body: object): Promise<Record<string, string>> => {
    const { status, body: created, text } = await service.configure('POST', kind, body)
    if (status !== 201) throw new Error(text)
    return created as Record<string, string>
  }
  const { id: project } = await create('projects', {
    organization_id: service.app.organizationId,
    name: 'whole',
    region: 'local',
    db_connection: { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db-eu&us=db-us' },
  })
  await service.provisioned(project!)
  const { id: application } = await create('applications', { project_id: project, name: 'app' })
  const agent = { application_id: application, name: 'agent', api_permissions: ['Capture'] }
  const { id: application_agent_id } = await create('application-agents', agent)
  const { api_key } = await create('application-agent-credentials', { application_agent_id })
  const nodes = ['', 'eu', 'us'].map((location) => ({
    type: 'Car',
    external_id: `car-${location}`,
    properties: [{ type: 'valid_until', value: location === 'us' ? '2000-01-01' : '2999-01-01' }],
    ...(location !== '' && { location }),
  }))
  const captured = await service.send('/capture/v1/nodes', {
    headers: { 'x-svc-clientkey': api_key! },
    body: { nodes },
  })
  expect(captured.status).toBe(200)
  const { id: profile } = await create('trust-score-profiles', {
    project_id: project,
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    dimensions: [{ name: 'VALIDITY', weight: 1 }],
  })
  await service.app.scoreTrustOf(profile!, 'operator')
  const { body } = await service.configure('GET', `trust-score-profiles/${profile}/report`)
  expect(body).toMatchObject({ nodes: 3, mean_score: 2 / 3 })
  expect((body.worst_nodes as object[])[0]).toMatchObject({ external_id: 'car-us', location: 'us', final_score: 0 })

  const graphs = service.app.capture.graphsOf(project!)!
  for (const [location, graph] of [
    ['', graphs.default],
    ['eu', graphs.at('eu')!],
    ['us', graphs.at('us')!],
  ] as const) {
    const snapshot = graph.snapshot()
    try {
      const chunk = createChunk()
      const node = snapshot.findNode(snapshot.symbol('label', 'Car'), `car-${location}`)
      snapshot.neighbours(node, 'out', snapshot.symbol('type', '_HAS'), 0, chunk)
      expect([location, chunk.length]).toEqual([location, 1])
      expect(snapshot.nodeField(chunk.ids[0]!, 'location')).toBe(location === '' ? null : location)
    } finally {
      snapshot.close()
    }
  }
  await service.app.scoreTrustOf(profile!, 'operator')
  expect((await service.configure('DELETE', `trust-score-profiles/${profile}`)).status).toBeLessThan(300)
  await service.app.scoreTrust()
  const left = [graphs.default, graphs.at('eu')!, graphs.at('us')!].map((graph) => {
    const snapshot = graph.snapshot()
    const count = snapshot.nodeCount(snapshot.symbol('label', '_TrustScore'))
    snapshot.close()
    return count
  })
  expect(left).toEqual([0, 0, 0])
})
