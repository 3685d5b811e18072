// Trust scores over MCP: knowledge queries that read and filter by them, and decisions.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'

let setup: McpService
let ann: string
let profile: string

beforeAll(async () => {
  setup = await startMcpService()
  ann = await setup.tokenOf('ann')
  const cars = { c1: '2025-01-01', c2: '2999-01-01' }
  await setup.service.ask('/capture/v1/nodes', {
    nodes: Object.entries(cars).map(([external_id, value]) => ({
      type: 'Car',
      external_id,
      properties: [{ type: 'issued_on', value }],
    })),
  })
  profile = await setup.create('trust-score-profiles', {
    name: 'cars',
    node_classification: 'Car',
    schedule: 'DAILY',
    dimensions: [
      { name: 'VALIDITY', weight: 1 },
      { name: 'ORIGIN', weight: 0 },
    ],
  })
  const policy_id = await setup.create('authorization-policies', {
    name: 'scored-cars',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
        filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
      },
      allowed_reads: { nodes: ['car.external_id', 'car.trust_score._final_score', 'car.trust_score.origin'] },
    }),
  })
  const query = (name: string, document: object): Promise<string> =>
    setup.create('knowledge-queries', { name, status: 'ACTIVE', policy_id, query: JSON.stringify(document) })
  const nodes = ['car.external_id', 'car.trust_score._final_score', 'car.trust_score.origin']
  await query('scores', { nodes })
  await query('trusted', {
    nodes,
    filter: { operator: '>', attribute: 'car.trust_score._final_score', value: 0.66 },
  })
  await setup.service.addPolicy({
    name: 'trusted-cars',
    actions: ['sell'],
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource._final_score > 0.66',
  })
})
afterAll(() => setup?.stop())

interface ScoreToolResult {
  readonly structuredContent: {
    readonly data?: readonly { nodes: Record<string, unknown> }[]
    readonly results?: unknown
  }
}

async function call(name: string, args: object): Promise<ScoreToolResult['structuredContent']> {
  const { body, text } = await setup.ask(ann, 'tools/call', { name, arguments: args })
  if (body.result === undefined) throw new Error(text)
  return (body.result as ScoreToolResult).structuredContent
}

async function rowsOf(id: string): Promise<unknown[]> {
  const { data } = await call('ciq_execute', { id })
  return data!.map(({ nodes }) => Object.values(nodes)).sort()
}

const salable = async (): Promise<unknown> =>
  (
    await call('authzen_search_resource', {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'sell' },
      resource: { type: 'Car' },
    })
  ).results

it('are null before the first pass, and are read, filtered by and decided by after it', async () => {
  expect([await rowsOf('scores'), await rowsOf('trusted'), await salable()]).toEqual([
    [
      ['c1', null, null],
      ['c2', null, null],
    ],
    [],
    [],
  ])
  await setup.service.app.scoreTrustOf(profile, 'operator')
  expect([await rowsOf('scores'), await rowsOf('trusted'), await salable()]).toEqual([
    [
      ['c1', 1, 0],
      ['c2', 0, 0],
    ],
    [['c1', 1, 0]],
    [{ type: 'Car', id: 'c1' }],
  ])
})
