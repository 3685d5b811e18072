// Connections to database servers that no project uses any more are closed when the running requests have ended. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BoltProxy } from '../../support/bolt-proxy.ts'
import { runOnServer } from '../../support/graph-servers.ts'
import { createRemoteProject, type StartedServers, startServers } from '../../support/remote-projects.ts'
import { startService, type TestService } from '../../support/service.ts'

let servers: StartedServers | null = null

beforeAll(async () => {
  servers = await startServers(2, 'stale connections to Neo4j')
}, 600_000)
afterAll(() => servers?.stop())

const CHAIN = 300

/** Connections of services to a server, as it counts them. */
async function connections(url: string): Promise<number> {
  const [record] = await runOnServer(
    url,
    "CALL dbms.listConnections() YIELD userAgent WHERE userAgent = 'verdigraph' RETURN count(*) AS count",
  )
  return Number(record!.count)
}

async function metric(service: TestService, name: string): Promise<number> {
  const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
  const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
  const matching = text.split('\n').filter((one) => one.startsWith(name) && !one.startsWith('#'))
  expect(line).toBeDefined()
  return matching.reduce((sum, one) => sum + Number(one.split(' ').at(-1)), 0)
}

const reachable = (service: TestService) => metric(service, 'verdigraph_database_servers{state="reachable"}')

test('the connections of a deleted project are closed, and counts stay', async (context) => {
  if (servers === null) return context.skip()
  const [one, two] = servers.urls as [string, string]
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    const kept = await createRemoteProject(service, { url: one }, 'kept')
    const deleted = await createRemoteProject(service, { url: two }, 'deleted')
    await deleted.capture(['Person:ann'])
    expect(await reachable(service)).toBe(2)
    expect(await connections(two)).toBeGreaterThan(0)
    const queries = await metric(service, 'verdigraph_database_queries_total')
    expect((await deleted.configure('DELETE')).status).toBe(200)
    await expect.poll(() => reachable(service)).toBe(1)
    await expect.poll(() => connections(two)).toBe(0)
    expect(await metric(service, 'verdigraph_database_queries_total')).toBeGreaterThanOrEqual(queries)
    await kept.capture(['Person:ann'])
    expect(await connections(one)).toBeGreaterThan(0)
  } finally {
    await service.stop()
  }
}, 300_000)

test('a request that runs keeps its connections until it ends', async (context) => {
  if (servers === null) return context.skip()
  await servers.clear()
  const proxy = new BoltProxy(Number(new URL(servers.urls[0]!).port))
  const url = await proxy.listen()
  const service = await startService({ upstreamAllow: '127.0.0.1', lanes: 0 })
  try {
    const project = await createRemoteProject(service, { url })
    const step = (at: number): string => (at === 0 ? 'Person:ann' : at === CHAIN ? 'Car:far' : `Step:${at}`)
    const steps = Array.from({ length: CHAIN + 1 }, (_, at) => step(at))
    await project.capture(steps)
    await project.capture(steps.slice(1).map((to, at) => `${step(at)} NEXT ${to}`))
    // The engine executes the operator ^, with a round trip for each step.
    const cypher = `MATCH (subject:Person)-[r:NEXT*1..${CHAIN}]->(resource:Car) WHERE size(r) ^ 2 > 0`
    await project.addPolicy({ name: 'reach', cypher, actions: ['reach'] })
    let isDecided = false
    const running = proxy.holdQuery('NEXT')
    const decision = project
      .ask('/access/v1/evaluation', {
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'reach' },
        resource: { type: 'Car', id: 'far' },
      })
      .finally(() => {
        isDecided = true
      })
    await running
    const changed = await project.configure('PUT', { db_connection: { url, username: 'neo4j', password: 'new' } })
    expect([changed.status, isDecided]).toEqual([200, false])
    proxy.resume()
    expect((await decision).body).toEqual({ decision: true })
    await expect.poll(() => reachable(service)).toBe(1)
  } finally {
    proxy.resume()
    await service.stop()
    proxy.close()
  }
}, 300_000)
