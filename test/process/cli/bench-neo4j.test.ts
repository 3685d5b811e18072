// `bench --compare neo4j=URL` with a running Neo4j: the same graph and questions, answers that are checked, and a database that is left as it
// was found. Needs Java and Maven.
import neo4j, { type Driver } from 'neo4j-driver-lite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'

let server: Neo4jServer | null = null
let driver: Driver | null = null

beforeAll(async () => {
  try {
    server = await startNeo4j()
    driver = neo4j.driver(
      server.url,
      { scheme: 'none', principal: '', credentials: '' },
      { disableLosslessIntegers: true },
    )
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: the comparison with Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  await driver?.close()
  await server?.stop()
  await killAll()
})

const compare = (url: string, ...options: string[]) =>
  runCommand([
    'bench',
    '--generated',
    '--nodes',
    '200',
    '--seed',
    '7',
    '--actions',
    'open,read,clear',
    '--connections',
    '2',
    '--duration',
    '1',
    '--warm-up',
    '0',
    '--compare',
    `neo4j=${url}`,
    ...options,
  ])

async function run(query: string): Promise<unknown[][]> {
  const { records } = await driver!.executeQuery(query)
  return records.map((record) => [...record.values()])
}

const content = async () => [
  await run('MATCH (n) RETURN count(n)'),
  await run('MATCH ()-[r]->() RETURN count(r)'),
  await run('SHOW CONSTRAINTS YIELD name'),
]
const EMPTY = [[[0]], [[0]], []]

test('Neo4j gets the graph and the questions, answers them right, and is empty again', async (context) => {
  if (server === null) return context.skip()
  const { exitCode, stdout, stderr } = await compare(server.url, '--json')
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('error')])
  const { sides } = JSON.parse(stdout) as {
    readonly sides: readonly { readonly name: string; readonly version: string; readonly result: object }[]
  }
  expect(sides.map(({ name }) => name)).toEqual(['verdigraph', 'neo4j'])
  expect(sides[1]).toMatchObject({
    version: expect.stringMatching(/^5\.26\.\d+ community$/),
    result: { wrong: 0, errors: 0, checked: expect.any(Number) },
  })
  expect((sides[1]!.result as { readonly checked: number }).checked).toBeGreaterThan(0)
  expect(await content()).toEqual(EMPTY)
}, 300_000)

test.each([
  ['nodes', 'CREATE (:Person {external_id: "mine"})', 'MATCH (n) DETACH DELETE n'],
  ['a constraint (mine)', 'CREATE CONSTRAINT mine FOR (n:Person) REQUIRE n.name IS UNIQUE', 'DROP CONSTRAINT mine'],
])(
  'a database with %s is refused, and left as it is',
  async (found, make, remove) => {
    if (server === null) return
    await run(make)
    const before = await content()
    const { exitCode, stderr } = await compare(server.url)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`the database has ${found}. A bench loads its graph into an empty database only`)
    expect(await content()).toEqual(before)
    await run(remove)
    expect(await content()).toEqual(EMPTY)
  },
  300_000,
)

test('a server that does not answer is an error with its address, and exit code 2', async () => {
  const { exitCode, stderr } = await compare('bolt://127.0.0.1:9')
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('bolt://127.0.0.1:9: ')])
}, 300_000)

test.each([
  ['http://127.0.0.1:7474', 'neo4j: expected a URL such as bolt://127.0.0.1:7687'],
  ['7687', 'neo4j: expected a URL such as bolt://127.0.0.1:7687'],
  ['bolt://neo4j:secret-1@127.0.0.1:7687', 'neo4j: put the credentials into NEO4J_USERNAME and NEO4J_PASSWORD'],
])('the address %s is refused', async (url, message) => {
  const { exitCode, stderr } = await compare(url)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  expect(stderr).not.toContain('secret-1')
})
