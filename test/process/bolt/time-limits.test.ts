// Decisions and knowledge queries that the engine executes over a graph in Neo4j, many round trips each, end at the time limit that
// they have on an embedded graph. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Settings } from '../../../src/settings.ts'
import { BoltProxy } from '../../support/bolt-proxy.ts'
import {
  createRemoteProject,
  type RemoteTestProject,
  type StartedServers,
  startServers,
} from '../../support/remote-projects.ts'
import { startService } from '../../support/service.ts'

let servers: StartedServers | null = null

beforeAll(async () => {
  servers = await startServers(1, 'time limits on Neo4j')
}, 600_000)
afterAll(() => servers?.stop())

/** Each step along the chain is a round trip. */
const CHAIN = 800
/** With it, the round trips along the chain take ten times SHORT_MS, on any machine. */
const ROUND_TRIP_MS = 50
/** Long enough for one decision near by, also on a busy machine. */
const SHORT_MS = 4_000
/** The server cannot compute the operator ^ as the engine does, so the engine executes this condition. */
const far = 'MATCH (subject:Person)-[:NEXT*1..]->(resource:Car) WHERE resource.number ^ 2 > 0'
const near = 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.number ^ 2 > 0'

const project = (
  url: string,
  settings: Partial<Settings>,
  use: (proxy: BoltProxy, remote: RemoteTestProject) => Promise<void>,
) =>
  (async () => {
    await servers!.clear()
    const proxy = new BoltProxy(Number(new URL(url).port))
    const service = await startService({ ...settings, upstreamAllow: '127.0.0.1' })
    try {
      const remote = await createRemoteProject(service, { url: await proxy.listen() })
      await use(proxy, remote)
    } finally {
      proxy.slowDown(0)
      await service.stop()
      proxy.close()
    }
  })()

async function captureChain(remote: RemoteTestProject): Promise<void> {
  const step = (at: number): string => (at === 0 ? 'Person:ann' : at === CHAIN ? 'Car:far' : `Step:${at}`)
  const steps = Array.from({ length: CHAIN + 1 }, (_, at) => step(at))
  await remote.capture(['Car:near', ...steps, 'Person:ann OWNS Car:near'], {
    properties: [{ type: 'number', value: 3 }],
  })
  await remote.capture(steps.slice(1).map((to, at) => `${step(at)} NEXT ${to}`))
}

const asked = (action: string, id: string) => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: action },
  resource: { type: 'Car', id },
})

/** The server plans a query when it first runs, which may take longer than the limit. */
const decide = async (remote: RemoteTestProject, action: string, id: string): Promise<unknown> =>
  (await remote.ask('/access/v1/evaluation', asked(action, id))).body.decision

test('a decision and a batch end at the limit of a decision', async (context) => {
  if (servers === null) return context.skip()
  await project(servers.urls[0]!, { decisionTimeMs: SHORT_MS, lanes: 0 }, async (proxy, remote) => {
    await captureChain(remote)
    await remote.addPolicy({ name: 'far', cypher: far, actions: ['reach'] })
    await remote.addPolicy({ name: 'near', cypher: near, actions: ['drive'] })
    proxy.slowDown(ROUND_TRIP_MS)
    await expect.poll(() => decide(remote, 'drive', 'near'), { timeout: 60_000 }).toBe(true)
    expect(await decide(remote, 'reach', 'far')).toBe(false)
    const evaluations = [asked('drive', 'near'), asked('reach', 'far'), asked('drive', 'near'), asked('reach', 'far')]
    const batch = await remote.ask('/access/v1/evaluations', { evaluations })
    expect((batch.body.evaluations as { decision: boolean }[]).map(({ decision }) => decision)).toEqual([
      true,
      false,
      true,
      false,
    ])
    const search = await remote.ask('/access/v1/search/resource', {
      ...asked('reach', ''),
      resource: { type: 'Car' },
    })
    expect([search.status, search.text]).toEqual([
      422,
      expect.stringContaining(`the time limit of ${SHORT_MS} ms is reached`),
    ])
  })
}, 300_000)

test('a batch ends at its own limit, and what it has decided before stays', async (context) => {
  if (servers === null) return context.skip()
  await project(servers.urls[0]!, { batchTimeMs: 2 * SHORT_MS, lanes: 0 }, async (proxy, remote) => {
    await captureChain(remote)
    await remote.addPolicy({ name: 'far', cypher: far, actions: ['reach'] })
    await remote.addPolicy({ name: 'near', cypher: near, actions: ['drive'] })
    proxy.slowDown(ROUND_TRIP_MS)
    await expect.poll(() => decide(remote, 'drive', 'near'), { timeout: 60_000 }).toBe(true)
    const evaluations = [asked('drive', 'near'), asked('reach', 'far'), asked('drive', 'near')]
    const { body } = await remote.ask('/access/v1/evaluations', { evaluations })
    const late = { decision: false, context: { reason: 'resource_exhausted: the time limit of the batch is reached' } }
    expect(body).toEqual({ evaluations: [{ decision: true }, late, late] })
  })
}, 300_000)

test('with enough time, the same conditions grant', async (context) => {
  if (servers === null) return context.skip()
  await project(servers.urls[0]!, { lanes: 0 }, async (_, remote) => {
    await captureChain(remote)
    await remote.addPolicy({ name: 'far', cypher: far, actions: ['reach'] })
    expect((await remote.ask('/access/v1/evaluation', asked('reach', 'far'))).body).toEqual({ decision: true })
    for (const id of await addQueries(remote)) {
      const { status, body } = await remote.ask('/contx-iq/v1/execute', { id, page_size: 10 })
      expect([status, body]).toEqual([200, { data: [{ nodes: { 'car.external_id': 'far' } }] }])
    }
  })
}, 300_000)

test('a knowledge query that reads or writes ends at its limit', async (context) => {
  if (servers === null) return context.skip()
  await project(servers.urls[0]!, { executeTimeMs: 300, lanes: 0 }, async (proxy, remote) => {
    await captureChain(remote)
    proxy.slowDown(ROUND_TRIP_MS)
    const late = [408, expect.stringContaining('the time limit of 300 ms is reached')]
    for (const id of await addQueries(remote)) {
      const { status, text } = await remote.ask('/contx-iq/v1/execute', { id, page_size: 10 })
      expect([status, text]).toEqual(late)
    }
  })
}, 300_000)

/** Adds a query that reads the car at the end of the chain, and one that writes it. */
async function addQueries(remote: RemoteTestProject): Promise<readonly string[]> {
  const cypher = `MATCH (subject:_Application {external_id: $_appId}) MATCH (person:Person)-[:NEXT*1..${CHAIN}]->(car:Car) WHERE car.number ^ 2 > 0`
  const allowed_reads = { nodes: ['car.external_id'] }
  const policy = { subject: { type: '_Application' }, condition: { cypher }, allowed_reads }
  const nodes = ['car.external_id']
  return [
    await remote.addQuery('reads', policy, { nodes }),
    await remote.addQuery(
      'writes',
      { ...policy, allowed_upserts: { nodes: { existing_nodes: ['car'] } } },
      { nodes, upsert_nodes: [{ name: 'car', properties: [{ type: 'seen', value: true }] }] },
    ),
  ]
}
