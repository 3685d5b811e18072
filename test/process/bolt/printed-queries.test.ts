// Printed queries answer on Neo4j as the engine answers over the embedded store. Needs Java and Maven.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JudgedGraph } from '../../judge/judge-graph.ts'
import { Neo4jConnection } from '../../judge/neo4j-side.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { judgeModels, judgeRandom, judgeScenarios, judgeValues, rowsCase } from '../../support/printed-campaign.ts'
import { openPrintedBench } from '../../support/printed-queries.ts'

let server: Neo4jServer | null = null
let connection: Neo4jConnection | null = null

beforeAll(async () => {
  try {
    server = await startNeo4j()
    connection = new Neo4jConnection(server.url)
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: printed queries on Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  await connection?.close()
  await server?.stop()
})

const onNeo4j = (name: string, run: (connection: Neo4jConnection) => Promise<void>): void => {
  test(name, async (context) => {
    if (connection === null) context.skip()
    else await run(connection)
  }, 300_000)
}

onNeo4j('checks and searches of all scenarios', async (connection) => {
  const { counts, policies } = await judgeScenarios(connection, false)
  expect(counts.differences).toEqual([])
  // The engine executes queries with these.
  const refused = [...counts.reasons.keys()].filter((reason) => !reason.startsWith('failed: '))
  expect(refused.sort()).toEqual([
    'REPEATABLE ELEMENTS',
    'SKIP or LIMIT without an order of all columns',
    'a bound list of relationships in a pattern',
    'a captured property with the name of an own field',
    'a test of a type',
    'an empty repetition',
    'the aggregate avg',
    'the function net.contains',
    'the path of a path selector',
  ])
  expect(policies.printable / (policies.printable + policies.other)).toBeGreaterThan(0.9)
  expect(counts.count('equal with rows')).toBeGreaterThan(2000)
})

onNeo4j('random queries on random graphs', async (connection) => {
  const counts = await judgeRandom(connection, { seed: 2_000, rounds: 12 })
  expect(counts.differences).toEqual([])
  expect(counts.count('equal with rows')).toBeGreaterThan(70)
})

onNeo4j('random definitions on random graphs', async (connection) => {
  const counts = await judgeModels(connection, { seed: 3_000, rounds: 2 })
  expect(counts.differences).toEqual([])
  const refused = [...counts.reasons.keys()].filter((reason) => !reason.startsWith('failed: '))
  expect(refused.filter((reason) => reason !== 'a walk with hops of several relationships')).toEqual([])
  expect(counts.count('equal with rows')).toBeGreaterThan(20)
})

onNeo4j('operators and functions on values of every kind', async (connection) => {
  const counts = await judgeValues(connection)
  expect(counts.differences).toEqual([])
  expect(counts.count('equal with rows')).toBeGreaterThan(8_000)
})

onNeo4j('hostile names of labels, types and properties', async (connection) => {
  const names = [
    'A`) DETACH DELETE n //',
    '`',
    "a' OR 1=1",
    'a"b',
    'a\nRETURN 1',
    'a\u2028b',
    '\u00b4\uff40\u02cb',
    '$p0',
  ]
  for (const name of names) {
    const node = (externalId: string): JudgedGraph['nodes'][number] => ({
      key: { type: 'Named', externalId },
      isIdentity: false,
      labels: ['Named'],
      properties: new Map([[name, externalId]]),
    })
    const graph = {
      nodes: [node('x'), node('y')],
      relationships: [{ source: 0, target: 1, type: 'LINK', properties: new Map() }],
    }
    const quoted = `\`${name.replaceAll('`', '``')}\``
    const bench = await openPrintedBench(graph, connection)
    const verdicts = await bench.judge([
      rowsCase(`MATCH (a:Named)-[r:LINK]->(b {${quoted}: 'y'}) RETURN a, r, b.${quoted} AS ${quoted}`),
      // A graph takes no such labels and types, and a query may name them.
      rowsCase(`MATCH (a:Named) WHERE NOT a:${quoted} OPTIONAL MATCH (a)-[r:${quoted}]->(b) RETURN a, r, b`),
      rowsCase(`MATCH (a) WHERE a.type <> $${quoted} RETURN a`, new Map([[name, name]])),
      rowsCase(`MATCH (a) RETURN count(a) AS n`),
    ])
    await bench.close()
    expect([name, ...verdicts]).toEqual([name, ...verdicts.map(() => ({ kind: 'equal', hasRows: true }))])
  }
})
