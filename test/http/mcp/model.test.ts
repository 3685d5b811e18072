// The MCP server of a project with a model: its tools decide and search by definitions, and name the model.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'

let setup: McpService
let ann: string

beforeAll(async () => {
  setup = await startMcpService()
  ann = await setup.tokenOf('ann')
  await setup.create('models', {
    name: 'model',
    model:
      '(:Person), (:Car {price INTEGER}), (:Person)-[:OWNS]->(:Car)\nDEFINE (p:Person)-[:may_sell]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) WHERE c.price > 1000 }',
  })
  await setup.service.addPolicy({
    name: 'sell',
    cypher: 'MATCH (subject:Person)-[:may_sell]->(resource:Car)',
    actions: ['sell'],
  })
})
afterAll(() => setup?.stop())

async function call(name: string, args: object): Promise<Record<string, unknown>> {
  const { body } = await setup.ask(ann, 'tools/call', { name, arguments: args })
  return body.result as Record<string, unknown>
}

const sell = { subject_type: 'Person', subject_id: 'ann', action_name: 'sell', resource_type: 'Car' }

test('decisions and searches use the definition', async () => {
  const decided = await Promise.all(
    ['c1', 'c2', 'c3'].map((resource_id) => call('authzen_evaluate', { ...sell, resource_id })),
  )
  expect(decided.map(({ structuredContent }) => structuredContent)).toMatchObject([
    { decision: false },
    { decision: true },
    { decision: false },
  ])
  const found = await call('authzen_search_resource', sell)
  expect(found.structuredContent).toMatchObject({ results: [{ type: 'Car', id: 'c2' }] })
})

test('an answer has the revision of the model, and a call that expects another one is refused', async () => {
  const told = await call('authzen_evaluate', { ...sell, resource_id: 'c2', context: { model_revision: 0 } })
  expect(told.structuredContent).toEqual({ decision: true, context: { model_revision: 1 } })
  const refused = await call('authzen_evaluate', { ...sell, resource_id: 'c2', context: { model_revision: 2 } })
  expect([refused.isError, JSON.stringify(refused.content)]).toEqual([
    true,
    expect.stringContaining('the model of the project has revision 1'),
  ])
})
