// The pages of an execution: counted by `page`, by `page_token` as rows, and by `page_token` as pages where the project or the
// agent says so.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

const CARS = 250

let setup: ContextService
let key: string
let agentId: string
let whole: readonly string[]

beforeAll(async () => {
  setup = await startContextService()
  const { service } = setup
  const cars = Array.from({ length: CARS }, (_, i) => ({ type: 'Car', external_id: `c${i}` }))
  await setup.capture('nodes', { nodes: cars })
  await setup.addQuery(
    'cars',
    {
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId}) MATCH (car:Car)' },
      allowed_reads: { nodes: ['car.external_id'] },
      allowed_upserts: { nodes: { node_types: ['Note'] } },
    },
    { nodes: ['car.external_id'] },
  )
  const agent = await service.addAgent('library', ['CIQ'])
  key = agent.key
  agentId = agent.agentId
  whole = await rows({ page_size: 1000 })
  expect(new Set(whole).size).toBe(CARS)
})
afterAll(() => setup?.stop())

const send = (members: object, asking = key) =>
  setup.service.send('/contx-iq/v1/execute', {
    headers: { 'x-svc-clientkey': asking },
    body: { id: 'cars', ...members },
  })

async function rows(members: object, asking = key): Promise<string[]> {
  const { status, body, text } = await send(members, asking)
  if (status !== 200) throw new Error(text)
  return (body.data as { nodes: Record<string, string> }[]).map(({ nodes }) => nodes['car.external_id'] as string)
}

async function countBy(kind: 'projects' | 'application-agents', counts: string): Promise<void> {
  const id = kind === 'projects' ? setup.service.projectId : agentId
  const { status, text } = await setup.service.configure('PUT', `${kind}/${id}`, { page_token_counts: counts })
  if (status !== 200) throw new Error(text)
}

beforeEach(async () => {
  await countBy('projects', 'rows')
  await countBy('application-agents', '')
})

/** Reads as a client that counts pages does: from page 1 until a page is not full. */
async function byPages(member: 'page' | 'page_token', size: number): Promise<string[]> {
  const read: string[] = []
  for (let page = 1; ; page++) {
    const one = await rows({ [member]: page, page_size: size })
    read.push(...one)
    if (one.length < size) return read
  }
}

describe('the pages of a query', () => {
  it('are counted from 1 by `page`, whatever `page_token` counts', async () => {
    for (const counts of ['rows', 'pages']) {
      await countBy('projects', counts)
      for (const size of [1, 7, 100, 125, 250, 251]) {
        if (size === 1) expect(await rows({ page: 3, page_size: 1 })).toEqual(whole.slice(2, 3))
        else expect(await byPages('page', size), `${counts}, ${size}`).toEqual(whole)
      }
    }
    expect(await rows({ page: 1 })).toEqual(whole.slice(0, 100))
    expect(await rows({ page: 3 })).toEqual(whole.slice(200))
    for (const page of [4, Number.MAX_SAFE_INTEGER]) expect(await rows({ page })).toEqual([])
  })

  it('have the default size with `page_size` 0', async () => {
    expect(await rows({ page_size: 0 })).toEqual(whole.slice(0, 100))
    expect(await rows({ page_size: 0, page_token: 100 })).toEqual(whole.slice(100, 200))
    expect(await rows({ page_size: 0, page: 3 })).toEqual(whole.slice(200))
  })

  it('are counted in rows by `page_token`, unless the project counts pages', async () => {
    expect(await rows({ page_token: 2, page_size: 100 })).toEqual(whole.slice(2, 102))
    expect(await byPages('page_token', 100)).not.toEqual(whole)
    await countBy('projects', 'pages')
    for (const size of [7, 100, 125, 250]) expect(await byPages('page_token', size), `${size}`).toEqual(whole)
    expect(await rows({ page_token: 1, page_size: 1 })).toEqual(whole.slice(0, 1))
    expect(await rows({ page_token: 2, page_size: 1 })).toEqual(whole.slice(1, 2))
    for (const page_token of [-3, 0, 1]) {
      expect(await rows({ page_token, page_size: 3 })).toEqual(whole.slice(0, 3))
    }
    const { body } = await setup.service.configure('GET', `projects/${setup.service.projectId}`)
    expect(body.page_token_counts).toBe('pages')
  })

  it('are counted as the agent says, which wins over the project', async () => {
    const second = { page_token: 2, page_size: 100 }
    const [asRows, asPages] = [whole.slice(2, 102), whole.slice(100, 200)]
    await countBy('application-agents', 'pages')
    expect(await rows(second)).toEqual(asPages)
    // Another agent of the project keeps counting rows.
    expect(await rows(second, setup.key)).toEqual(asRows)
    await countBy('projects', 'pages')
    await countBy('application-agents', 'rows')
    expect(await rows(second)).toEqual(asRows)
    expect(await rows(second, setup.key)).toEqual(asPages)
    await countBy('application-agents', '')
    expect(await rows(second)).toEqual(asPages)
    const { body } = await setup.service.configure('GET', `application-agents/${agentId}`)
    expect(body).not.toHaveProperty('page_token_counts')
  })

  it('are asked for by one member: both are refused, and other values of the setting too', async () => {
    const both = 'page: `page_token` is given too; give `page`, which counts pages, or `page_token`'
    for (const members of [
      { page: 1, page_token: 1 },
      { page: 2, page_token: 0, page_size: 5 },
    ]) {
      const { status, body } = await send(members)
      expect([status, body.errors]).toEqual([400, [both]])
    }
    const refused = await setup.service.configure('PUT', `projects/${setup.service.projectId}`, {
      page_token_counts: 'items',
    })
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['page_token_counts: expected `rows` or `pages`, found `items`'],
    ])
  })

  it('is one if the query writes, also if pages are counted', async () => {
    const { policy_id } = (
      await setup.service.configure('GET', `knowledge-queries/cars?project_id=${setup.service.projectId}`)
    ).body
    await setup.service.configure('POST', 'knowledge-queries', {
      project_id: setup.service.projectId,
      name: 'note-cars',
      policy_id,
      query: JSON.stringify({ upsert_nodes: [{ name: 'note', type: 'Note', external_id: 'n1' }] }),
      status: 'ACTIVE',
    })
    for (const [members, issue] of [
      [{ page: 2 }, 'page: a query that writes has one page'],
      [{ page_token: 300, page_size: 300 }, 'page_token: a query that writes has one page'],
    ] as const) {
      const { status, body } = await send({ id: 'note-cars', ...members })
      expect([status, body.errors]).toEqual([422, [issue]])
    }
    expect((await send({ id: 'note-cars', page: 1, page_size: 300 })).status).toBe(200)
  })
})
