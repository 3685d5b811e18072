// External ids of 1,024 characters through the public doors: captures, decisions, searches page by page, queries, paths and deletions.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

const LENGTH = 1024
const ids = ['x', 'é', '日', '𝒳', '/', '%', ' '].map((unit) => unit.repeat(LENGTH))

let setup: ContextService
const agent = (path: string, body: object) =>
  setup.service.send(path, { headers: { 'x-svc-clientkey': setup.key }, body })

beforeAll(async () => {
  setup = await startContextService()
  const nodes = ids.flatMap((external_id) => [
    { type: 'Person', external_id },
    { type: 'Doc', external_id },
  ])
  const captured = await setup.capture('nodes', { nodes })
  expect([captured.status, captured.text]).toEqual([200, expect.any(String)])
  const relationships = ids.flatMap((one) =>
    ids.map((other) => ({
      source: { type: 'Person', external_id: one },
      target: { type: 'Doc', external_id: other },
      type: 'OWNS',
    })),
  )
  const linked = await setup.capture('relationships', { relationships })
  expect([linked.status, linked.text]).toEqual([200, expect.any(String)])
  const stored = await setup.service.configure('POST', 'authorization-policies', {
    project_id: setup.service.projectId,
    name: 'owners',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['read'],
      resource: { type: 'Doc' },
      condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)' },
    }),
  })
  expect([stored.status, stored.text]).toEqual([201, expect.any(String)])
})
afterAll(() => setup.stop())

it('decides about them, and not about ids that differ in the last character or are one longer', async () => {
  for (const id of ids) {
    const asked = (subject: string, resource: string) =>
      agent('/access/v1/evaluation', {
        subject: { type: 'Person', id: subject },
        action: { name: 'read' },
        resource: { type: 'Doc', id: resource },
      })
    expect((await asked(id, ids[0]!)).body).toMatchObject({ decision: true })
    const shorter = [...id].slice(1).join('')
    for (const other of [shorter, `${shorter}z`, `${id}z`])
      expect((await asked(other, id)).body).toMatchObject({ decision: false })
  }
})

it.each([
  ['resource', { subject: { type: 'Person', id: ids[3]! }, resource: { type: 'Doc' } }],
  ['subject', { subject: { type: 'Person' }, resource: { type: 'Doc', id: ids[2]! } }],
])('a %s search lists them page by page', async (kind, question) => {
  const found: string[] = []
  for (let token = ''; ; ) {
    const page = token === '' ? { limit: 1 } : { token, limit: 1 }
    const answer = await agent(`/access/v1/search/${kind}`, { ...question, action: { name: 'read' }, page })
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String)])
    for (const one of answer.body.results as { id: string }[]) found.push(one.id)
    token = (answer.body.page as { next_token?: string } | undefined)?.next_token ?? ''
    if (token === '') break
  }
  expect(found.sort()).toEqual([...ids].sort())
})

it('queries find them by their external ids, and captures merge them', async () => {
  const read = async () => {
    const answer = await setup.service.send('/graph/v1/query', {
      headers: { authorization: `Bearer ${setup.service.token}`, 'x-project-id': setup.service.projectId },
      body: {
        query: 'UNWIND $ids AS id MATCH (n:Doc {external_id: id}) RETURN n.external_id, n.level',
        parameters: { ids },
      },
    })
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.any(String)])
    return answer.body.rows as unknown[][]
  }
  expect(await read()).toEqual(ids.map((id) => [id, null]))
  const merged = await setup.capture('nodes', {
    nodes: ids.map((external_id) => ({ type: 'Doc', external_id, properties: [{ type: 'level', value: 1 }] })),
  })
  expect(merged.status).toBe(200)
  expect(await read()).toEqual(ids.map((id) => [id, 1]))
})

it('a knowledge query writes a node with one, and a path names and a deletion removes it', async () => {
  const id = await setup.addQuery(
    'written',
    {
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application)' },
      allowed_reads: { nodes: ['made.external_id'] },
      allowed_upserts: { nodes: { node_types: ['Made'] } },
    },
    { nodes: ['made.external_id'], upsert_nodes: [{ name: 'made', type: 'Made', external_id: '$id' }] },
  )
  const [made] = ids.slice(3)
  const written = await setup.execute(id, { input_params: { id: made } })
  expect([written.status, written.body.data]).toEqual([200, [{ nodes: { 'made.external_id': made } }]])
  const long = await setup.execute(id, { input_params: { id: `${made}𝒳` } })
  expect([long.status, long.text]).toEqual([422, expect.stringContaining('a string of 1 to 1024 characters')])
  const put = await setup.service.send(`/capture/v1/nodes/${encodeURIComponent(`Made:${ids[0]}`)}`, {
    method: 'PUT',
    headers: { 'x-svc-clientkey': setup.key },
    body: { properties: [{ type: 'p', value: 1 }] },
  })
  expect([put.status, put.text.slice(0, 200)]).toEqual([200, expect.any(String)])
  const gone = await setup.capture('nodes/delete', {
    nodes: [made, ids[0]].map((external_id) => ({ type: 'Made', external_id })),
  })
  expect([gone.status, (gone.body.results as unknown[]).length]).toEqual([200, 2])
})

it('one character more is refused by every capture', async () => {
  const external_id = '𝒳'.repeat(LENGTH + 1)
  const node = await setup.capture('nodes', { nodes: [{ type: 'Doc', external_id }] })
  expect([node.status, node.text]).toEqual([400, expect.stringContaining('expected at most 1024 characters')])
})
