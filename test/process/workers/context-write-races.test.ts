import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { killAll } from '../../support/cli-process.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import {
  bodyOf,
  connectionsTo,
  type HttpConnection,
  makeProject,
  startWorkers,
  type WorkerFixture,
} from '../../support/worker-fixture.ts'

interface RaceReply {
  readonly status: number
  readonly data: readonly { readonly nodes: Readonly<Record<string, unknown>> }[]
}

/** A client on one of several connections, possibly to one of several processes. */
interface WorkerClient {
  run(query: string, params: object): Promise<RaceReply>
  capture(body: object): Promise<void>
}

const seats = {
  subject: { type: '_Application' },
  condition: {
    cypher: 'MATCH (subject:_Application {external_id: $_appId}), (seat:Seat {external_id: $seat})',
  },
  allowed_reads: { nodes: ['seat.*', 'claim.*'] },
  allowed_upserts: {
    nodes: { existing_nodes: ['seat'], node_types: ['Claim'] },
    relationships: {
      relationship_types: [{ type: 'OF', source_node_label: 'Claim', target_node_label: 'Seat' }],
    },
  },
}

const queries = {
  claim: {
    nodes: ['seat.property.holder', 'claim.external_id'],
    filter: { operator: 'IS NULL', attribute: 'seat.property.holder' },
    upsert_nodes: [
      { name: 'seat', properties: [{ type: 'holder', value: '$who' }] },
      { name: 'claim', type: 'Claim', external_id: '$who' },
    ],
    upsert_relationships: [{ name: 'of', source: 'claim', target: 'seat', type: 'OF' }],
  },
  count: {
    nodes: ['seat.property.count'],
    filter: { operator: '=', attribute: 'seat.property.count', value: '$from' },
    upsert_nodes: [{ name: 'seat', properties: [{ type: 'count', value: '$to' }] }],
  },
  look: { nodes: ['seat.property.count', 'seat.property.holder'] },
}

const claims = {
  ...seats,
  condition: { cypher: `${seats.condition.cypher} MATCH (claim:Claim)-[:OF]->(seat)` },
  allowed_upserts: {},
}

async function claimsOnce(askers: readonly WorkerClient[], tag: string): Promise<void> {
  const [first] = askers as [WorkerClient]
  for (let round = 0; round < 4; round++) {
    const seat = `${tag}-${round}`
    await first.capture({ nodes: [{ type: 'Seat', external_id: seat }] })
    // Others write to the same graph concurrently, including new names.
    let isOver = false
    const noise = (async () => {
      for (let i = 0; !isOver; i++) {
        const properties = [{ type: `name${i % 5}of${seat.replaceAll('-', '')}`, value: i }]
        await first.capture({ nodes: [{ type: 'Noise', external_id: `${seat}-${i}`, properties }] })
      }
    })()
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        askers[i % askers.length]!.run('claim', { seat, who: `${seat}-claimant-${i}` }),
      ),
    )
    isOver = true
    await noise
    expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(200))
    const winners = replies.flatMap(({ data }, i) => (data.length === 0 ? [] : [`${seat}-claimant-${i}`]))
    expect(winners).toHaveLength(1)
    const [winner] = winners
    for (const asker of askers) {
      const looked = await asker.run('look', { seat })
      expect(looked.data[0]?.nodes['seat.property.holder']).toBe(winner)
      const kept = await asker.run('claims', { seat })
      expect(kept.data.map(({ nodes }) => nodes['claim.external_id'])).toEqual([winner])
    }
  }
}

/** Each increments the value that it last read, and reads again if another client was faster. */
async function countsUp(askers: readonly WorkerClient[], seat: string): Promise<void> {
  const [first] = askers as [WorkerClient]
  const own = 10
  const workers = 6
  const properties = [{ type: 'count', value: 0 }]
  await first.capture({ nodes: [{ type: 'Seat', external_id: seat, properties }] })
  const seen = new Set<unknown>()
  await Promise.all(
    Array.from({ length: workers }, async (_, at) => {
      const asker = askers[at % askers.length]!
      for (let done = 0; done < own; ) {
        const from = (await asker.run('look', { seat })).data[0]?.nodes['seat.property.count'] as number
        const { status, data } = await asker.run('count', { seat, from, to: from + 1 })
        expect(status).toBe(200)
        if (data.length === 0) continue
        done += 1
        expect(data[0]?.nodes['seat.property.count']).toBe(from + 1)
        expect(seen.has(from)).toBe(false)
        seen.add(from)
      }
    }),
  )
  const { data } = await first.run('look', { seat })
  expect(data[0]?.nodes['seat.property.count']).toBe(own * workers)
}

describe('concurrent writing calls, in one process', () => {
  let setup: ContextService
  let asker: WorkerClient
  beforeAll(async () => {
    setup = await startContextService()
    for (const [name, query] of Object.entries(queries)) await setup.addQuery(name, seats, query)
    await setup.addQuery('claims', claims, { nodes: ['claim.external_id'] })
    asker = {
      async run(query, input_params) {
        const { status, body } = await setup.execute(query, { input_params })
        return { status, data: (body.data ?? []) as RaceReply['data'] }
      },
      async capture(body) {
        expect((await setup.capture('nodes', body)).status).toBe(200)
      },
    }
  })
  afterAll(() => setup.stop())

  it('let one of fifty claim the free seat, with other concurrent writers', () => claimsOnce([asker], 'seat'))

  it('lose no update', () => countsUp([asker], 'counter'))

  it('share a transaction if they do not conflict, and each sees its own writes', async () => {
    await asker.capture({ nodes: Array.from({ length: 40 }, (_, i) => ({ type: 'Seat', external_id: `own-${i}` })) })
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => asker.run('claim', { seat: `own-${i}`, who: `one-${i}` })),
    )
    expect(replies.map(({ data }) => data.map(({ nodes }) => nodes))).toEqual(
      Array.from({ length: 40 }, (_, i) => [{ 'seat.property.holder': `one-${i}`, 'claim.external_id': `one-${i}` }]),
    )
  })
})

describe('concurrent writing calls, in two processes', () => {
  let folder: string
  let fixture: WorkerFixture
  let askers: readonly WorkerClient[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-writes-'))
    fixture = await startWorkers(join(folder, 'data'), 2)
    const lines = (await connectionsTo(fixture.server.url, 2, 3)).flat()
    const [line] = lines as [HttpConnection]
    const project = await makeProject(fixture, line, 'races')
    const create = async (kind: string, body: object): Promise<Record<string, string>> =>
      bodyOf(await line.request('POST', `/configs/v1/${kind}`, fixture.admin, body), 201)
    const agent = await create('application-agents', {
      application_id: project.application,
      name: 'racer',
      api_permissions: ['CIQ', 'Capture'],
    })
    const { api_key } = await create('application-agent-credentials', { application_agent_id: agent.id })
    const addQuery = async (name: string, policy: object, query: object): Promise<void> => {
      const { id } = await create('authorization-policies', {
        project_id: project.id,
        name,
        status: 'ACTIVE',
        policy: JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...policy }),
      })
      const body = { project_id: project.id, name, status: 'ACTIVE', policy_id: id, query: JSON.stringify(query) }
      await create('knowledge-queries', body)
    }
    for (const [name, query] of Object.entries(queries)) await addQuery(name, seats, query)
    await addQuery('claims', claims, { nodes: ['claim.external_id'] })
    const headers = { 'x-svc-clientkey': api_key as string }
    askers = lines.map((line) => ({
      async run(id, input_params) {
        const { status, body } = await line.request('POST', '/contx-iq/v1/execute', headers, { id, input_params })
        return { status, data: JSON.parse(body).data ?? [] }
      },
      async capture(body) {
        bodyOf(await line.request('POST', '/capture/v1/nodes', headers, body), 200)
      },
    }))
  })
  afterAll(async () => {
    await fixture?.close()
    await killAll()
    rmSync(folder, { recursive: true, force: true })
  })

  it('let one of fifty claim the free seat, with other concurrent writers, in all processes', () =>
    claimsOnce(askers, 'seat'))

  it('lose no update over all processes', () => countsUp(askers, 'counter'))
})
