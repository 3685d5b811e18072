// A database server that accepts connections and does not answer is away, as one that refuses them: 503, and no denial. Needs Java and
// Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BoltProxy } from '../../support/bolt-proxy.ts'
import { createRemoteProject, type StartedServers, startServers } from '../../support/remote-projects.ts'
import { startService } from '../../support/service.ts'

let servers: StartedServers | null = null

beforeAll(async () => {
  servers = await startServers(1, 'a database server that does not answer')
}, 600_000)
afterAll(() => servers?.stop())

/** Long enough for one answer of the server, also on a busy machine. */
const SHORT_MS = 4_000

test('requests to a server that does not answer are 503, and it serves again when it answers', async (context) => {
  if (servers === null) return context.skip()
  const proxy = new BoltProxy(Number(new URL(servers.urls[0]!).port))
  const log: string[] = []
  const service = await startService(
    {
      decisionTimeMs: SHORT_MS,
      executeTimeMs: SHORT_MS,
      databaseTimeMs: SHORT_MS,
      databaseConnectTimeMs: SHORT_MS,
      databaseRetryMs: 0,
      upstreamAllow: '127.0.0.1',
      lanes: 0,
    },
    { log: ({ message }) => log.push(message) },
  )
  try {
    const remote = await createRemoteProject(service, { url: await proxy.listen() })
    await remote.capture(['Person:ann', 'Car:c1', 'Person:ann OWNS Car:c1'])
    const owns = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
    await remote.addPolicy({ name: 'pushed', cypher: owns })
    // The engine executes the operator ^ itself.
    await remote.addPolicy({ name: 'engine', cypher: `${owns} WHERE 1 ^ 2 > 0`, actions: ['park'] })
    const cypher = 'MATCH (subject:_Application {external_id: $_appId}) MATCH (car:Car)'
    const policy = { subject: { type: '_Application' }, condition: { cypher } }
    const nodes = ['car.external_id']
    const reads = await remote.addQuery('reads', { ...policy, allowed_reads: { nodes } }, { nodes })
    const writes = await remote.addQuery(
      'writes',
      { ...policy, allowed_reads: { nodes }, allowed_upserts: { nodes: { existing_nodes: ['car'] } } },
      { nodes, upsert_nodes: [{ name: 'car', properties: [{ type: 'seen', value: true }] }] },
    )
    const subject = { type: 'Person', id: 'ann' }
    const resource = { type: 'Car', id: 'c1' }
    const asked = (name: string) => ({ subject, action: { name }, resource })
    const requests: readonly (readonly [path: string, body: object])[] = [
      ['/access/v1/evaluation', asked('drive')],
      ['/access/v1/evaluation', asked('park')],
      ['/access/v1/search/resource', { ...asked('drive'), resource: { type: 'Car' } }],
      ['/access/v1/search/subject', { ...asked('park'), subject: { type: 'Person' } }],
      ['/contx-iq/v1/execute', { id: reads, page_size: 10 }],
      ['/contx-iq/v1/execute', { id: writes, page_size: 10 }],
      ['/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'bob' }] }],
    ]
    for (const [path, body] of requests) {
      const statusOf = async () => (await remote.ask(path, body)).status
      await expect.poll(statusOf, { timeout: 60_000 }).toBe(200)
      proxy.stop()
      const { status, text } = await remote.ask(path, body)
      expect([path, body, status, text]).toEqual([path, body, 503, expect.stringContaining('cannot be reached')])
      proxy.resume()
    }
    const batch = () => remote.ask('/access/v1/evaluations', { evaluations: [asked('drive'), asked('park')] })
    const granted = { evaluations: [{ decision: true }, { decision: true }] }
    const body = async () => (await batch()).body
    await expect.poll(body, { timeout: 60_000 }).toEqual(granted)
    proxy.stop()
    const silent = await batch()
    proxy.resume()
    await expect.poll(body, { timeout: 60_000 }).toEqual(granted)
    proxy.refuse()
    const dead = await batch()
    expect([silent.status, silent.text]).toEqual([dead.status, dead.text])
    expect(silent.text).toContain('cannot be reached')
    expect(log).toContainEqual(expect.stringContaining('does not answer'))
  } finally {
    proxy.accept()
    proxy.resume()
    await service.stop()
    proxy.close()
  }
}, 300_000)
