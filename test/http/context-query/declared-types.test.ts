// Knowledge queries that write, in a project with declared types: closed types refuse the call, open ones count the elements.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

const TYPES = `(:Person {name STRING}), (:Car {wheels INTEGER, sold DATE}), (:Note {text STRING NOT NULL}),
(:Person)-[:OWNS]->(:Car), (:Note)-[:ABOUT]->(:Car)`

const policy = {
  subject: { type: 'Person' },
  condition: {
    cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car)',
    filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
  },
  allowed_reads: { nodes: ['car.*', 'note.*'] },
  allowed_upserts: {
    nodes: { existing_nodes: ['car'], node_types: ['Note'] },
    relationships: { relationship_types: [{ type: 'ABOUT', source_node_label: 'Note', target_node_label: 'Car' }] },
  },
  allowed_deletes: { nodes: ['car.*'] },
}

let setup: ContextService
let ann: string
beforeEach(async () => {
  setup = await startContextService({ metricsAccess: 'public' })
  ann = await setup.tokenOf('ann', {})
  const person = { type: 'Person', external_id: 'ann', is_identity: true }
  const car = { type: 'Car', external_id: 'c1', properties: [{ type: 'wheels', value: 4 }] }
  await setup.capture('nodes', { nodes: [person, car] })
  const [source, target] = [person, car].map(({ type, external_id }) => ({ type, external_id }))
  await setup.capture('relationships', { relationships: [{ source, target, type: 'OWNS' }] })
})
afterEach(() => setup.stop())

async function declared(mode: string): Promise<void> {
  const body = { project_id: setup.service.projectId, name: 'model', model: `${mode} ${TYPES}` }
  const { status, text } = await setup.service.configure('POST', 'models', body)
  if (status !== 201) throw new Error(text)
}

const written = (value: string) => ({
  nodes: ['car.property.wheels', 'car.property.sold'],
  upsert_nodes: [
    {
      name: 'car',
      properties: [
        { type: 'wheels', value },
        { type: 'sold', value: '$sold' },
      ],
    },
  ],
})
const note = {
  nodes: ['note.external_id'],
  upsert_nodes: [{ name: 'note', type: 'Note', external_id: 'n1' }],
  upsert_relationships: [{ name: 'about', source: 'note', target: 'car', type: 'ABOUT' }],
}

test('closed types refuse a call whose elements do not fit, and write nothing', async () => {
  await declared('CLOSED')
  const run = async (name: string, query: object, params: object) => {
    const { status, text } = await setup.execute(
      await setup.addQuery(name, policy, query),
      { input_params: params },
      ann,
    )
    return [status, text]
  }
  expect(await run('many', written('$wheels'), { wheels: 'many', sold: '2026-01-02' })).toEqual([
    422,
    expect.stringContaining('expected `INTEGER`, found `STRING`'),
  ])
  expect(await run('note', note, {})).toEqual([422, expect.stringContaining('the model says NOT NULL')])
  expect((await run('four', written('$wheels'), { wheels: 6, sold: '2026-01-02' }))[0]).toBe(200)
})

test('open types count the elements', async () => {
  await declared('OPEN')
  const id = await setup.addQuery('note', policy, note)
  expect((await setup.execute(id, {}, ann)).status).toBe(200)
  expect((await setup.service.send('/metrics')).text.split('\n')).toContain('verdigraph_unfit_items_total 1')
})
