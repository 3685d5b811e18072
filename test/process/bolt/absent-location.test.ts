// A composite project in three servers: relationships of a node that another tool has written stay when it is captured, and a batch
// answers the items that do not need the server of a location that is away. Needs Java and Maven.
import neo4j from 'neo4j-driver-lite'
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

test('a node of another tool keeps its relationships to other locations when it is captured', async (context) => {
  if (servers === null || lost === null) return context.skip()
  const [main, joined] = servers.urls as [string, string]
  const driver = neo4j.driver(lost.url, noLogin)
  const service = await startService({ upstreamAllow: '127.0.0.1' })
  try {
    await driver.executeQuery("CREATE (:Person {external_id: 'bob', name: 'Bob'}), (:Person {external_id: 'cho'})")
    const db_connection = {
      url: main,
      name: main,
      composite_db_name: joined,
      alias_mapping: `home=${main}&eu=${lost.url}&all=${joined}`,
    }
    const project = await createRemoteProject(service, db_connection, 'composite')
    const cypher = "USE graph.byName('all') MATCH (subject:Person)-[:OWNS]->(resource:Car)"
    await project.addPolicy({ name: 'across', cypher, actions: ['drive'] })
    await project.capture(['Car:c9'])
    const relationships = ['bob', 'cho'].map((external_id) => ({
      source: { type: 'Person', external_id, location: 'eu' },
      type: 'OWNS',
      target: { type: 'Car', external_id: 'c9' },
    }))
    const captured = await project.ask('/capture/v1/relationships', { relationships, use_global_db: true })
    expect([captured.status, captured.text]).toEqual([200, expect.any(String)])
    const drives = async (id: string): Promise<unknown> =>
      (
        await project.ask('/access/v1/evaluation', {
          ...asked('drive'),
          subject: { type: 'Person', id },
          resource: { type: 'Car', id: 'c9' },
        })
      ).body
    expect(await drives('bob')).toEqual({ decision: true })
    await project.capture(['Person:bob'], { location: 'eu' })
    expect(await drives('bob')).toEqual({ decision: true })
    // Once more: the node has a global id now, and its proxy the same one.
    await project.capture(['Person:bob'], { location: 'eu' })
    expect(await drives('bob')).toEqual({ decision: true })
    // A node that is captured after another tool has deleted one with its key is another node.
    await driver.executeQuery("MATCH (n {external_id: 'cho'}) DELETE n")
    expect(await drives('cho')).toEqual({ decision: true })
    await project.capture(['Person:cho'], { location: 'eu' })
    expect(await drives('cho')).toEqual({ decision: false })
  } finally {
    await driver.close()
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
