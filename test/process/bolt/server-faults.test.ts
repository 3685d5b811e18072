// A database server that was killed leaves an index without its constraint; an answer that was lost leaves a commit that may have
// happened. The service mends both. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BoltServer } from '../../../src/bolt/bolt-server.ts'
import { PushedPlans } from '../../../src/bolt/pushed-queries.ts'
import { RemoteGraph } from '../../../src/bolt/remote-graph.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { BoltProxy } from '../../support/bolt-proxy.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { addSink, eventsOf } from '../../support/events.ts'
import { clearServer, runOnServer } from '../../support/graph-servers.ts'
import { patientBoltLimits } from '../../support/remote-projects.ts'
import { startService } from '../../support/service.ts'

let neo4j: Neo4jServer | null = null
let proxy: BoltProxy | null = null
let proxyUrl = ''

beforeAll(async () => {
  try {
    neo4j = await startNeo4j()
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: faults of a database server: ${failure.message}`)
    return
  }
  proxy = new BoltProxy(Number(new URL(neo4j.url).port))
  proxyUrl = await proxy.listen()
}, 600_000)
afterAll(async () => {
  proxy?.close()
  await neo4j?.stop()
})

async function constraintsOf(url: string): Promise<readonly unknown[]> {
  return (await runOnServer(url, 'SHOW CONSTRAINTS YIELD name')).map(({ name }) => name).sort()
}

test('an index that a killed server has left without its constraint is replaced, others are kept', async (context) => {
  if (neo4j === null) return context.skip()
  const { url } = neo4j
  await clearServer(url)
  await runOnServer(url, 'CREATE INDEX verdigraph_state FOR (s:_VerdigraphState) ON (s.key)')
  await runOnServer(url, 'CREATE INDEX verdigraph_external_id_Person FOR (n:Person) ON (n.external_id)')
  await runOnServer(url, 'CREATE INDEX of_the_customer FOR (n:Car) ON (n.external_id)')
  const server = new BoltServer({ url, username: null, password: null }, { limits: patientBoltLimits })
  const graph = new RemoteGraph({
    server,
    database: null,
    clock: systemClock,
    commits: null,
    plans: new PushedPlans(),
  })
  const write = (type: string) => graph.write((batch) => batch.upsertNode({ type, externalId: 'a' }).created)
  try {
    await graph.provision()
    expect(await write('Person')).toBe(true)
    expect(await constraintsOf(url)).toEqual(['verdigraph_external_id_Person', 'verdigraph_state'])
    // The message is for the log; a client can only try again.
    await expect(write('Car')).rejects.toMatchObject({
      error: { kind: 'unavailable' },
      message: expect.stringContaining('the constraint of the node type Car cannot be created'),
    })
    expect(await runOnServer(url, "SHOW INDEXES YIELD name WHERE name = 'of_the_customer'")).toHaveLength(1)
  } finally {
    await server.close()
    await clearServer(url)
    await runOnServer(url, 'DROP INDEX of_the_customer')
  }
})

test('events of a commit whose answer was lost are recorded in order when the server is back', async (context) => {
  if (neo4j === null || proxy === null) return context.skip()
  await clearServer(neo4j.url)
  const service = await startService(
    { databaseRetryMs: 500, upstreamAllow: '127.0.0.1' },
    { log: () => undefined },
    {
      fields: { db_connection: { url: proxyUrl } },
      of: (connection) => Promise.resolve(connection),
      release: () => undefined,
    },
  )
  const capture = async (id: string): Promise<number> =>
    (await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: id }] })).status
  const captured = async (): Promise<readonly string[]> =>
    (await eventsOf(service)).map(({ subject }) => subject).filter((subject) => subject.startsWith('nodes/Person/'))
  try {
    await addSink(service, [{ type: 'svc.audit.capture.*' }])
    expect(await capture('one')).toBe(200)
    const lost = capture('two')
    expect(await proxy.atCommit('answered', 60_000)).toBe(true)
    proxy.refuse()
    expect(await lost).toBe(503)
    expect(await captured()).toEqual(['nodes/Person/one'])
    proxy.accept()
    await expect.poll(captured, { timeout: 60_000 }).toEqual(['nodes/Person/one', 'nodes/Person/two'])

    const next = capture('three')
    expect(await proxy.atCommit('unsent', 60_000)).toBe(true)
    proxy.refuse()
    expect(await next).toBe(503)
    proxy.accept()
    await expect.poll(() => capture('four'), { timeout: 60_000 }).toBe(200)
    const people = (await runOnServer(neo4j.url, 'MATCH (n:Person) RETURN n.external_id AS id')).map(({ id }) => id)
    expect(people.sort()).toEqual(['four', 'one', 'two'])
    expect(await captured()).toEqual(['one', 'two', 'four'].map((id) => `nodes/Person/${id}`))
  } finally {
    await service.stop()
  }
})
