// Entity matching in a composite project: nodes of one location are joined there, those of different locations in the global graph.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { GraphStore } from '../../../src/engine/store.ts'
import { nodesOf } from '../../support/matching-service.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.stop())

it('joins nodes of the same and of different locations', async () => {
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
  const agent = { application_id: application, name: 'agent', api_permissions: ['Capture', 'EntityMatching'] }
  const { id: application_agent_id } = await create('application-agents', agent)
  const { api_key } = await create('application-agent-credentials', { application_agent_id })
  const send = (path: string, body?: object, method?: string) =>
    service.send(path, { headers: { 'x-svc-clientkey': api_key! }, body, ...(method !== undefined && { method }) })
  const at = (location: string, nodes: readonly object[]) => nodes.map((node) => ({ ...node, location }))
  const nodes = [
    ...at('eu', nodesOf('Person', 'p', 0, 30)),
    ...at('eu', nodesOf('Customer', 'c', 0, 15)),
    ...at('us', nodesOf('Customer', 'c', 15, 30)),
  ]
  expect((await send('/capture/v1/nodes', { nodes })).status).toBe(200)
  const { id: pipeline } = await create('entity-matching-pipelines', {
    project_id: project,
    name: 'people',
    node_filter: { source_node_types: ['Person'], target_node_types: ['Customer'] },
    similarity_score_cutoff: 0.5,
  })
  const path = `/entity-matching/v1/pipelines/${pipeline}`
  await service.app.matchEntities()
  expect((await send(`${path}/runs`, { similarity_score_cutoff: 0.5 })).status).toBe(202)
  await service.app.matchEntities()

  const graphs = service.app.capture.graphsOf(project!)!
  const countIn = (graph: GraphStore): number => {
    const snapshot = graph.snapshot()
    try {
      return snapshot.relationshipCount(snapshot.symbol('type', '_SAME_AS'))
    } finally {
      snapshot.close()
    }
  }
  const counts = (): number[] => [graphs.at('eu')!, graphs.at('us')!, graphs.global!].map(countIn)
  expect(counts()).toEqual([15, 0, 15])
  const decided = (source: string, target: string, decision: string) =>
    send(`${path}/decisions`, { source_external_id: source, target_external_id: target, decision })
  expect((await decided('p3', 'c3', 'NOT_SAME')).status).toBe(200)
  expect((await decided('p20', 'c20', 'NOT_SAME')).status).toBe(200)
  expect((await decided('p3', 'c20', 'SAME')).status).toBe(200)
  expect(counts()).toEqual([14, 0, 15])
  expect((await send(`${path}/runs`, { similarity_score_cutoff: 0.5 })).status).toBe(202)
  await service.app.matchEntities()
  expect(counts()).toEqual([14, 0, 15])
  const { body } = await send(`${path}/report`)
  expect(body).toMatchObject({ matched_pairs: 29, relationships_written: 0, relationships_removed: 0 })
  await service.configure('DELETE', `entity-matching-pipelines/${pipeline}`)
  await service.app.matchEntities()
  expect(counts()).toEqual([0, 0, 0])
})
