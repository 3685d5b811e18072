// A project in Neo4j keeps its databases while they hold data: a change of its connection that names others is refused, and one that
// changes only how they are reached is not. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runOnServer } from '../../support/graph-servers.ts'
import { createRemoteProject, type StartedServers, startServers } from '../../support/remote-projects.ts'
import { startService } from '../../support/service.ts'

let servers: StartedServers | null = null

beforeAll(async () => {
  servers = await startServers(2, 'changes of connections on Neo4j')
}, 600_000)
afterAll(() => servers?.stop())

const asked = { subject: { type: 'Person', id: 'ann' }, action: { name: 'drive' }, resource: { type: 'Car', id: 'c1' } }

test('another database is refused, other credentials are not', async (context) => {
  if (servers === null) return context.skip()
  const [one, two] = servers.urls as [string, string]
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    const project = await createRemoteProject(service, { url: one })
    await project.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    await project.capture(['Person:ann', 'Car:c1', 'Person:ann OWNS Car:c1'])
    const change = (db_connection: object) => project.configure('PUT', { db_connection })
    const refused = await change({ url: two })
    const reason =
      'db_connection.url: the database of the nodes without a location holds data, and a change of the connection does not move them'
    expect([refused.status, refused.body.errors]).toEqual([422, [reason]])
    const other = await change({ url: one, name: 'other' })
    expect([other.status, other.body.errors]).toEqual([422, [reason.replace('url', 'name')]])
    expect((await change({ url: one, username: 'neo4j', password: 'new' })).status).toBe(200)
    expect((await project.ask('/access/v1/evaluation', asked)).body).toEqual({ decision: true })
    await servers.clear()
    expect((await change({ url: two, username: 'neo4j', password: 'new' })).status).toBe(200)
  } finally {
    await service.stop()
  }
}, 300_000)

/** Copies the nodes of a server, as its own tools do. */
async function copyNodes(from: string, to: string): Promise<void> {
  for (const { labels, all } of await runOnServer(from, 'MATCH (n) RETURN labels(n) AS labels, properties(n) AS all')) {
    const names = (labels as readonly string[]).map((label) => `:\`${label}\``).join('')
    await runOnServer(to, `CREATE (n${names}) SET n = $all`, { all })
  }
}

test('a copy of the database is accepted if nothing was written since', async (context) => {
  if (servers === null) return context.skip()
  await servers.clear()
  const [one, two] = servers.urls as [string, string]
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    const project = await createRemoteProject(service, { url: one })
    await project.addPolicy({ name: 'see', cypher: "MATCH (subject:Person {name: 'ann'}), (resource:Car)" })
    const properties = [{ type: 'name', value: 'ann' }]
    await project.capture(['Person:ann', 'Car:c1'], { properties })
    await copyNodes(one, two)
    const change = () => project.configure('PUT', { db_connection: { url: two } })
    await project.capture(['Car:c2'])
    expect((await change()).status).toBe(422)
    await runOnServer(two, 'MATCH (n) DETACH DELETE n')
    await copyNodes(one, two)
    expect((await change()).status).toBe(200)
    await runOnServer(one, 'MATCH (n) DETACH DELETE n')
    expect((await project.ask('/access/v1/evaluation', asked)).body).toEqual({ decision: true })
    await project.capture(['Car:c3'])
    expect(await runOnServer(two, 'MATCH (n:Car) RETURN count(n) AS count')).toEqual([{ count: 3n }])
  } finally {
    await service.stop()
  }
}, 300_000)

test('a project that has never reached its server gets another one', async (context) => {
  if (servers === null) return context.skip()
  await servers.clear()
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    const fields = { organization_id: service.app.organizationId, name: 'lost', region: 'local' }
    const created = await service.configure('POST', 'projects', {
      ...fields,
      db_connection: { url: 'bolt://127.0.0.1:1' },
    })
    const path = `projects/${created.body.id}`
    const status = async (): Promise<unknown> => (await service.configure('GET', path)).body.ikg_status
    await expect.poll(status, { timeout: 60_000 }).toBe('FAILED')
    const mended = await service.configure('PUT', path, { db_connection: { url: servers.urls[0] } })
    expect(mended.status).toBe(200)
    await expect.poll(status, { timeout: 60_000 }).toBe('ACTIVE')
  } finally {
    await service.stop()
  }
}, 300_000)
