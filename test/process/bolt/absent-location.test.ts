// A composite project in three servers: the relationships of a node that another tool has written are those of this node, and
// a batch answers the items that do not need the server of a location that is away. Needs Java and Maven.
import neo4j, { type Driver } from 'neo4j-driver-lite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { createRemoteProject, type StartedServers, startServers } from '../../support/remote-projects.ts'
import { startService } from '../../support/service.ts'

let servers: StartedServers | null = null
let lost: Neo4jServer | null = null

beforeAll(async () => {
  servers = await startServers(2, 'an absent location in Neo4j')
  if (servers !== null) lost = await startNeo4j()
}, 600_000)
afterAll(async () => {
  await lost?.stop()
  await servers?.stop()
})

const noLogin = { scheme: 'none', principal: '', credentials: '' }

/** The global ids of the nodes with a key in a database. */
async function idsOf(driver: Driver, id: string): Promise<unknown[]> {
  const { records } = await driver.executeQuery('MATCH (n {external_id: $id}) RETURN n._verdigraph_id AS id', { id })
  return records.map((record) => record.get('id'))
}

async function emptied(url: string): Promise<void> {
  const driver = neo4j.driver(url, noLogin)
  await driver.executeQuery('MATCH (n) DETACH DELETE n')
  await driver.close()
}

const asked = (action: string) => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: action },
  resource: { type: 'Car', id: 'c1' },
})
const unavailable = {
  decision: false,
  context: { reason: 'unavailable: the graph database of this project cannot be reached' },
}

test('a node of another tool keeps its relationships to other locations, and another node with its key gets none', async (context) => {
  if (servers === null || lost === null) return context.skip()
  const [main, joined] = servers.urls as [string, string]
  const drivers = [main, lost.url, joined].map((url) => neo4j.driver(url, noLogin))
  const [home, eu, whole] = drivers as [Driver, Driver, Driver]
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    await eu.executeQuery("UNWIND ['bob', 'cho', 'dan'] AS id CREATE (:Person {external_id: id, name: id})")
    await home.executeQuery("UNWIND ['dan', 'eve'] AS id CREATE (:Person {external_id: id})")
    const db_connection = {
      url: main,
      name: main,
      composite_db_name: joined,
      alias_mapping: `home=${main}&eu=${lost.url}&all=${joined}`,
    }
    const project = await createRemoteProject(service, db_connection, 'composite')
    const cypher = "USE graph.byName('all') MATCH (subject:Person)-[:OWNS]->(resource:Car)"
    await project.addPolicy({ name: 'across', cypher, actions: ['drive'] })
    await project.capture(['Car:c9'], { location: 'eu' })
    await project.capture(['Car:c8'])
    const owns = async (external_id: string, location: string, car: object): Promise<void> => {
      const relationship = { source: { type: 'Person', external_id, location }, type: 'OWNS', target: car }
      const body = { relationships: [relationship], use_global_db: true }
      const { status, text } = await project.ask('/capture/v1/relationships', body)
      expect([status, text]).toEqual([200, expect.any(String)])
    }
    const drives = async (id: string, car = 'c8'): Promise<unknown> => {
      const question = { ...asked('drive'), subject: { type: 'Person', id }, resource: { type: 'Car', id: car } }
      return (await project.ask('/access/v1/evaluation', question)).body.decision
    }

    for (const id of ['bob', 'cho', 'dan']) await owns(id, 'eu', { type: 'Car', external_id: 'c8' })
    expect(await drives('bob')).toBe(true)
    for (let time = 0; time < 2; time++) {
      await project.capture(['Person:bob'], { location: 'eu' })
      expect(await drives('bob')).toBe(true)
    }

    // A node that is captured after another tool has deleted one with its key is another node.
    await eu.executeQuery("MATCH (n {external_id: 'cho'}) DELETE n")
    expect(await drives('cho')).toBe(true)
    await project.capture(['Person:cho'], { location: 'eu' })
    expect(await drives('cho')).toBe(false)

    // Two locations have a node of the same key: the proxy is that of one of them.
    expect(await drives('dan')).toBe(true)
    const [proxy] = await idsOf(whole, 'dan')
    const location = (await idsOf(home, 'dan'))[0] === proxy ? 'home' : 'eu'
    expect(await idsOf(location === 'home' ? home : eu, 'dan')).toEqual([proxy])
    const nodes = [{ type: 'Person', external_id: 'dan', location }]
    expect((await project.ask('/capture/v1/nodes/delete', { nodes })).status).toBe(200)
    expect(await drives('dan')).toBe(false)

    // A query that also creates a node runs twice.
    await owns('eve', 'home', { type: 'Car', external_id: 'c9', location: 'eu' })
    expect(await drives('eve', 'c9')).toBe(true)
    await home.executeQuery("CREATE (:Person {external_id: 'fay'})")
    const policy = {
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application), (person:Person)' },
      allowed_reads: { nodes: ['person.property.seen'] },
      allowed_upserts: { nodes: { existing_nodes: ['person'], node_types: ['Note'] } },
    }
    const id = await project.addQuery('note', policy, {
      nodes: ['person.property.seen'],
      filter: { operator: '=', attribute: 'person.external_id', value: 'fay' },
      upsert_nodes: [
        { name: 'person', properties: [{ type: 'seen', value: true }] },
        { name: 'note', type: 'Note', external_id: 'n1' },
      ],
    })
    const run = await project.ask('/contx-iq/v1/execute', { id })
    expect([run.status, run.text]).toEqual([200, expect.stringContaining('seen')])
    expect(await idsOf(home, 'fay')).toEqual([expect.stringMatching(/^gid:/)])
    expect(await idsOf(whole, 'fay')).toEqual(await idsOf(home, 'fay'))
  } finally {
    for (const driver of drivers) await driver.close()
    await service.stop()
    for (const url of [main, joined, lost.url]) await emptied(url)
  }
}, 300_000)

test('an absent location fails only the items that need it', async (context) => {
  if (servers === null || lost === null) return context.skip()
  const [main, joined] = servers.urls as [string, string]
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    const project = await createRemoteProject(service, {
      url: main,
      name: main,
      composite_db_name: joined,
      alias_mapping: `home=${main}&eu=${lost.url}`,
    })
    const owned = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
    await project.addPolicy({ name: 'near', cypher: owned, actions: ['drive'] })
    await project.addPolicy({ name: 'far', cypher: `USE graph.byName('eu') ${owned}`, actions: ['ship'] })
    // The engine executes the operator ^.
    await project.addPolicy({
      name: 'computed',
      cypher: `USE graph.byName('eu') MATCH (subject:Person)-[r:OWNS]->(resource:Car) WHERE size(subject.external_id) ^ 2 > 0`,
      actions: ['compute'],
    })
    const lines = ['Person:ann', 'Car:c1', 'Person:ann OWNS Car:c1']
    await project.capture(lines)
    await project.capture(lines, { location: 'eu' })
    const evaluations = ['drive', 'ship', 'compute', 'drive'].map(asked)
    const batch = async () => {
      const { status, body } = await project.ask('/access/v1/evaluations', { evaluations })
      return [status, body.evaluations]
    }
    const granted = { decision: true }
    expect(await batch()).toEqual([200, [granted, granted, granted, granted]])
    await lost.stop()
    expect(await batch()).toEqual([200, [granted, unavailable, unavailable, granted]])
    expect((await project.ask('/access/v1/evaluation', asked('ship'))).status).toBe(503)
    expect((await project.ask('/access/v1/evaluation', asked('drive'))).body).toEqual(granted)
  } finally {
    await service.stop()
  }
}, 300_000)
