// `verdigraph copy` with a running Neo4j: both directions with everything that a graph stores, a copy that is killed and continued, and
// differences that the comparison finds. Needs Java and Maven.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import neo4j, { type Driver } from 'neo4j-driver-lite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BoltServer } from '../../../src/bolt/bolt-server.ts'
import { GraphSchema } from '../../../src/bolt/graph-schema.ts'
import type { WriteBatch } from '../../../src/engine/store.ts'
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../../src/engine/value/temporal/temporal.ts'
import type { PropertyValue } from '../../../src/engine/value/value.ts'
import { Float } from '../../../src/kernel/float.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { ByteWriter } from '../../../src/store/format/bytes.ts'
import { writeNode } from '../../../src/store/format/records.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { bin, killAll, ownEnvironment, runCommand, startServer } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { setNeo4jPassword } from '../../support/counterparts/neo4j-password.ts'
import { type HeldProxy, startHeldProxy } from '../../support/held-proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const PASSWORD = 'a-long-password'
const credentials = { NEO4J_PASSWORD: PASSWORD }
let server: Neo4jServer | null = null
let driver: Driver | null = null

const login = (password: string) => ({ scheme: 'basic', principal: 'neo4j', credentials: password })

beforeAll(async () => {
  try {
    server = await startNeo4j({ hasPasswords: true })
    await setNeo4jPassword(server.url, 'neo4j', PASSWORD)
    driver = neo4j.driver(server.url, login(PASSWORD), { disableLosslessIntegers: true })
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: the copy to Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  await driver?.close()
  await server?.stop()
  await killAll()
})
beforeEach(async () => {
  if (driver !== null) await run('MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS')
})

async function run(query: string, parameters: object = {}): Promise<unknown[][]> {
  const session = driver!.session()
  try {
    const { records } = await session.run(query, parameters)
    return records.map((record) => [...record.values()])
  } finally {
    await session.close()
  }
}

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(args, credentials)
  expect(exitCode, stderr).toBe(0)
  return stdout
}

interface TestedProject {
  readonly data: string
  /** The folder of its graph. */
  readonly graph: string
}

/** A data folder with an empty project. `model`: the text of its model. */
async function newProject(name = 'cars', description = '', model: string | null = null): Promise<TestedProject> {
  const base = temporaryFolder()
  const data = join(base, 'data')
  await succeed('init', '--data', data)
  await addProject(data, name, description, model)
  const [project] = readdirSync(join(data, 'projects'))
  return { data, graph: join(data, 'projects', String(project), 'default') }
}

async function addProject(data: string, name: string, more = '', model: string | null = null): Promise<void> {
  const folder = join(temporaryFolder(), name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'verdigraph.yaml'), `name: ${name}\n${more}`)
  if (model !== null) writeFileSync(join(folder, 'model.gql'), model)
  const applied = await runCommand(['apply', folder, '--data', data, '--create'], {
    VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.0/8',
  })
  expect(applied.exitCode, applied.stderr).toBe(0)
}

/** Opens the graph, which is not served, for one batch. */
async function write({ graph }: TestedProject, change: (batch: WriteBatch) => void): Promise<void> {
  const environment = openEnvironment(graph, { clock: systemClock })
  await environment.write(change)
  await environment.close()
}

const ann = { type: 'Person', externalId: 'ann' }
const car = { type: 'Car', externalId: 'c-1' }

/** Everything that a graph can store. */
function writeAll(project: TestedProject): Promise<void> {
  return write(project, (batch) => {
    const verified = {
      source: 'registry',
      assuranceLevel: 2,
      verifiedTime: '2026-01-02T03:04:05Z',
      custom: { a: [1, null] },
    }
    batch.upsertNode({
      ...ann,
      labels: ['Employee', 'Ünter_1'],
      isIdentity: true,
      properties: [
        { name: 'name', value: 'Ann ☂ 🚗 " \\ `' },
        { name: 'empty', value: '' },
        { name: 'active', value: true },
        { name: 'whole', value: new Float(1) },
        { name: 'negative zero', value: new Float(-0) },
        { name: 'not a number', value: new Float(Number.NaN) },
        { name: 'large', value: 9_007_199_254_740_993n },
        { name: 'integer', value: 1 },
        { name: 'email', value: 'ann@example.com', metadata: verified },
        { name: 'score', externalValue: 'scores', metadata: { source: 'elsewhere' } },
        { name: 'mixed', value: [1, new Float(2.5)] },
        { name: 'tags', value: ['a', 'b'] },
        { name: 'none', value: [] },
        { name: 'day', value: new DateValue(20_000) },
        { name: 'days', value: [new DateValue(1), new DateValue(-1)] },
        { name: 'at', value: new LocalTimeValue(86_399_999_999_999) },
        { name: 'zoned time', value: new TimeValue(1, 3600) },
        { name: 'local', value: new LocalDateTimeValue(20_000, 5) },
        { name: 'moment', value: new DateTimeValue(20_000, 5, -7200, null) },
        { name: 'in Berlin', value: new DateTimeValue(20_000, 5, 7200, 'Europe/Berlin') },
        { name: 'span', value: new DurationValue(1, -2, 3_000_000_004n) },
      ],
    })
    batch.upsertNode({ ...car, properties: [{ name: 'wheels', value: 4 }] })
    // The same external id with another type, which the first has as a label too.
    batch.upsertNode({ type: 'Company', externalId: 'ann' })
    const target = { type: 'Company', externalId: 'ann' }
    batch.upsertRelationship({
      source: ann,
      type: 'OWNS',
      target: car,
      properties: [{ name: 'since', value: new DateValue(1) }],
    })
    batch.upsertRelationship({ source: ann, type: 'WORKS_FOR', target })
    batch.upsertRelationship({
      source: ann,
      type: 'KNOWS',
      target: ann,
      properties: [{ name: 'rate', externalValue: 'rates' }],
    })
  })
}

const copy = (from: string, to: string, ...options: string[]) =>
  runCommand(['copy', '--from', from, '--to', to, ...options], credentials)

const equal = (nodes: number, relationships: number) =>
  new RegExp(`^equal: ${nodes} nodes and ${relationships} relationships, hash ([0-9a-f]{32})\n$`)

/** The hash of a successful copy. */
async function copied(from: string, to: string, nodes: number, relationships: number, ...options: string[]) {
  const { exitCode, stdout, stderr } = await copy(from, to, ...options)
  expect([exitCode, stdout], stderr).toEqual([0, expect.stringMatching(equal(nodes, relationships))])
  return { hash: equal(nodes, relationships).exec(stdout)![1], stderr }
}

test('everything is copied to a server and back, and is equal', async (context) => {
  if (server === null) return context.skip()
  const from = await newProject()
  await writeAll(from)
  const { hash } = await copied(from.data, server.url, 3, 3)
  // Other tools read it naturally.
  expect(
    await run(
      "MATCH (p:Person:Employee {external_id: 'ann'})-[r:OWNS]->(c:Car {external_id: 'c-1'}) RETURN p.integer, p.mixed, p.score, c.wheels, toString(r.since)",
    ),
  ).toEqual([[1, [1, 2.5], null, 4, '1970-01-02']])
  expect(await run('MATCH (s:_VerdigraphState) RETURN s.copy, s.external_names')).toEqual([[null, ['score', 'rate']]])
  const to = await newProject()
  expect((await copied(server.url, to.data, 3, 3)).hash).toBe(hash)
  expect((await copied(to.data, server.url, 3, 3, '--compare')).hash).toBe(hash)
  const connection = join(temporaryFolder(), 'connection.json')
  writeFileSync(connection, JSON.stringify({ url: server.url, username: 'neo4j', password: PASSWORD, name: null }))
  const compared = await runCommand(['copy', '--connection', connection, '--to', to.data, '--compare', '--json'])
  expect([compared.exitCode, compared.stderr, JSON.parse(compared.stdout)]).toEqual([
    0,
    '',
    expect.objectContaining({ nodes: 3, relationships: 3, equal: true, hash, differences: [] }),
  ])
  expect(existsSync(join(to.data, 'import.unfinished'))).toBe(false)
  await succeed('verify', '--data', to.data)
  const started = await startServer(['--data', to.data])
  expect(await started.kill('SIGTERM')).toBe(0)
}, 300_000)

test('nodes and relationships of other tools get ids and times, and compare as equal', async (context) => {
  if (server === null) return context.skip()
  await run(
    "CREATE (a:Person:Boss {external_id: 'ann', age: 36})-[:OWNS {since: date('2020-01-01')}]->(:Car {external_id: 'c-1'}), (a)-[:SOLD]->(a)",
  )
  const to = await newProject()
  const { hash } = await copied(server.url, to.data, 2, 2)
  expect((await copied(server.url, to.data, 2, 2, '--compare')).hash).toBe(hash)
  await run('CREATE (:Person {name: $name})', { name: 'without id' })
  const target = await newProject()
  const refused = await copy(server.url, target.data)
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /the node \d+ with the labels Person cannot be copied: a data folder needs a label and the property `external_id`/,
    ),
  ])
  expect(existsSync(join(target.data, 'import.unfinished'))).toBe(false)
  await run('MATCH (n:Person {name: $name}) SET n.external_id = "x", n.at = point({x: 1, y: 2})', {
    name: 'without id',
  })
  const point = await copy(server.url, target.data)
  expect([point.exitCode, point.stderr]).toEqual([
    1,
    expect.stringContaining('has a value that a data folder cannot hold'),
  ])
}, 300_000)

test('a difference made on the server is found and named', async (context) => {
  if (server === null) return context.skip()
  const { data, ...project } = await newProject()
  await writeAll({ data, ...project })
  await copied(data, server.url, 3, 3)
  const differences = async (): Promise<string> => {
    const { exitCode, stdout, stderr } = await copy(data, server!.url, '--compare')
    expect([exitCode, stdout]).toEqual([1, ''])
    return stderr
  }
  await run("MATCH (c:Car {external_id: 'c-1'}) SET c.wheels = 5")
  expect(await differences()).toContain('  node Car c-1: different `wheels`\n')
  await run("MATCH (c:Car {external_id: 'c-1'}) SET c.wheels = 4.0")
  expect(await differences()).toContain('  node Car c-1: different `wheels`\n')
  await run("MATCH (c:Car {external_id: 'c-1'}) SET c.wheels = 4, c:Red")
  expect(await differences()).toContain('  node Car c-1: different labels\n')
  await run("MATCH (c:Car {external_id: 'c-1'}) REMOVE c:Red")
  await copied(data, server.url, 3, 3, '--compare')
  await run("CREATE (:Car {external_id: 'c-2'})")
  const added = await differences()
  expect(added).toContain(`  nodes of the type Car: 1 in ${data}, 2 in ${server.url}\n`)
  expect(added).toContain(`  node Car c-2: only in ${server.url}\n`)
  await run("MATCH (c:Car {external_id: 'c-2'}) DELETE c")
  await run('MATCH ()-[r:OWNS]->() DELETE r')
  expect(await differences()).toContain(`  relationship (Person ann)-[OWNS]->(Car c-1): only in ${data}\n`)
}, 300_000)

const PEOPLE = 4_000
const EACH = 10

function writeMany(project: TestedProject): Promise<void> {
  return write(project, (batch) => {
    const person = (i: number) => ({ type: 'Person', externalId: `p${i}` })
    for (let i = 0; i < PEOPLE; i++) batch.upsertNode({ ...person(i), properties: [{ name: 'number', value: i }] })
    for (let i = 0; i < PEOPLE; i++)
      for (let j = 1; j <= EACH; j++)
        batch.upsertRelationship({ source: person(i), type: 'KNOWS', target: person((i + j * j) % PEOPLE) })
  })
}

/** Replaces the value of the only property of the only node by a list that earlier versions stored and no batch writes now. */
async function storeMixedList({ graph }: TestedProject): Promise<void> {
  const environment = openEnvironment(graph, { clock: systemClock })
  const value = ['a', 1] as unknown as PropertyValue
  const writer = new ByteWriter()
  writeNode(writer, {
    type: 1,
    gid: mintGid(3),
    createdMs: 3,
    updatedMs: 4,
    externalId: car.externalId,
    labels: [1],
    isIdentity: false,
    location: null,
    properties: new Map([[1, { value, externalValue: null, updatedMs: 5, metadata: null }]]),
  })
  // Code in a batch shares its transaction, and the batch itself adds nothing here.
  await environment.write(() => {
    environment.databases.nodes.put(1, writer.bytes.slice(0, writer.length))
  })
  await environment.close()
}

/** Resolves when the server runs no transaction of a killed program any more. */
const isQuiet = () => expect.poll(() => run('SHOW TRANSACTIONS YIELD transactionId')).toHaveLength(1)

/** Starts a copy through a proxy, and kills it when the proxy holds it. */
async function killed(proxy: HeldProxy, from: string, to: string, ...options: string[]): Promise<void> {
  const child = Bun.spawn([bin, 'copy', '--from', from, '--to', to, ...options], {
    env: { ...ownEnvironment, ...credentials },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const ended = child.stderr.text()
  await Promise.race([proxy.held, ended])
  child.kill('SIGKILL')
  await child.exited
  expect(child.signalCode, await ended).toBe('SIGKILL')
  proxy.release()
  await isQuiet()
}

test('a copy that was killed continues, in both directions', async (context) => {
  if (server === null) return context.skip()
  const { url } = server
  const from = await newProject()
  await writeMany(from)
  const relationships = PEOPLE * EACH
  const count = async (): Promise<number> => Number((await run('MATCH ()-[r]->() RETURN count(r)'))[0]![0])
  const writing = await startHeldProxy(url, async () => (await count()) > 0)
  await killed(writing, from.data, writing.url)
  writing.close()
  const part = await count()
  expect([part > 0, part < relationships]).toEqual([true, true])
  // Neither a service nor a copy of another graph uses the unfinished one.
  const other = await newProject()
  await writeAll(other)
  expect(await copy(other.data, url)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the database has an unfinished copy of another project'),
  })
  const { data: empty } = await newProject()
  for (const args of [
    ['--from', url, '--to', empty],
    ['--from', from.data, '--to', url, '--compare', '--switch'],
  ]) {
    const { exitCode, stderr } = await runCommand(['copy', ...args], credentials)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('the database has an unfinished copy: finish it')])
  }
  const bolt = new BoltServer({ url, username: 'neo4j', password: PASSWORD })
  await expect(new GraphSchema(bolt, null).prepare()).rejects.toThrow('the database has an unfinished copy')
  const continued = await copied(from.data, url, PEOPLE, relationships)
  await new GraphSchema(bolt, null).prepare()
  await bolt.close()
  expect(continued.stderr).toContain('an interrupted copy was continued')
  expect(continued.stderr).toContain(`copied 0 nodes and ${relationships - part} relationships`)

  const to = await newProject()
  const marker = join(to.data, 'import.unfinished')
  let isDue = async (): Promise<boolean> => existsSync(marker)
  const reading = await startHeldProxy(url, () => isDue())
  await killed(reading, reading.url, to.data, '--key', 'Ship=name', '--key', 'Boat=name')
  const refused = await runCommand(['serve', '--port', '0', '--data', to.data])
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`was interrupted: finish it with \`verdigraph copy\``),
  ])
  // Data that a service writes while the graphs are compared belongs to none of them. Here it writes before each request of the copy.
  isDue = async () => {
    await run("MATCH (s:_VerdigraphState {key: 'state'}) SET s.version = s.version + 1")
    return false
  }
  // The same keys in another order are the same copy.
  const keys = ['--key', 'Boat=name', '--key', 'Ship=name']
  expect(await copy(reading.url, to.data, '--json', ...keys)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('a service has written to the database during the copy'),
  })
  isDue = () => Promise.resolve(false)
  expect(existsSync(marker)).toBe(true)
  const back = await copied(reading.url, to.data, PEOPLE, relationships, ...keys)
  reading.close()
  expect(back.hash).toBe(continued.hash)
  expect(existsSync(marker)).toBe(false)
  await succeed('verify', '--data', to.data)
}, 300_000)

test('a copied project is connected to the database with --switch, and decides there', async (context) => {
  if (server === null) return context.skip()
  const project = await newProject()
  await writeAll(project)
  const wrong = await runCommand(['copy', '--from', server.url, '--to', project.data, '--switch'], credentials)
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('--switch: only a project of a data folder'),
  ])
  const printed = await succeed('copy', '--from', project.data, '--to', server.url, '--switch')
  expect(printed).toContain('the project is connected to the database from its next start on')
  const shown = await succeed('export', '--data', project.data, '--out', '-')
  expect(shown).toContain(`"url":"${server.url}"`)
  expect(shown).not.toContain(PASSWORD)
  const again = await runCommand(['copy', '--from', project.data, '--to', server.url], credentials)
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('in a database server already')])
  const served = await startServer(['--data', project.data], { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' })
  const [, token] = /^token +(\S+)/m.exec(await succeed('token', '--data', project.data)) ?? []
  const asked = await runCommand(['query', 'MATCH (n:Person) RETURN n.external_id', '--url', served.url], {
    VERDIGRAPH_TOKEN: token ?? '',
  })
  expect([asked.exitCode, asked.stdout, asked.stderr]).toEqual([0, expect.stringContaining('ann'), ''])
  await served.kill('SIGTERM')
}, 120_000)

test('a project with a model answers alike before and after a copy, in both directions', async (context) => {
  if (server === null) return context.skip()
  const model = `DEFINE (p:Person)-[:drives]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) UNION MATCH (p)-[:KNOWS]->(q:Person) WHERE (q)-[:drives]->(c) }\n`
  const from = await newProject('cars', '', model)
  await writeAll(from)
  const drivers = async (data: string): Promise<string> => {
    const served = await startServer(['--data', data], { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' })
    const [, token] = /^token +(\S+)/m.exec(await succeed('token', '--data', data)) ?? []
    const query = 'MATCH (p:Person)-[:drives]->(c:Car) RETURN p.external_id, c.external_id'
    const asked = await runCommand(['query', query, '--url', served.url], { VERDIGRAPH_TOKEN: token ?? '' })
    expect([asked.exitCode, asked.stderr]).toEqual([0, ''])
    await served.kill('SIGTERM')
    // The last line has the time of the query.
    return asked.stdout.replace(/\n\d+ row.*\n$/, '')
  }
  const before = await drivers(from.data)
  expect(before).toMatch(/ann.*c-1/)
  // The model is configuration: it stays with the project, which is connected to the copy.
  await succeed('copy', '--from', from.data, '--to', server.url, '--switch')
  expect(await drivers(from.data)).toBe(before)
  // Into another project only the graph is copied: its own model names the definitions.
  const to = await newProject('cars', '', model)
  await copied(server.url, to.data, 3, 3)
  expect(await drivers(to.data)).toBe(before)
}, 300_000)

test('a graph that has changed is not continued with', async (context) => {
  if (server === null) return context.skip()
  const from = await newProject()
  await writeMany(from)
  const count = async (): Promise<number> => Number((await run('MATCH (n:Person) RETURN count(n)'))[0]![0])
  const proxy = await startHeldProxy(server.url, async () => (await count()) > 0)
  await killed(proxy, from.data, proxy.url)
  proxy.close()
  await write(from, (batch) => batch.upsertNode(car))
  expect(await copy(from.data, server.url)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the graph has changed since the unfinished copy in this database was begun'),
  })
}, 300_000)

test('a target that is not empty, a served folder, and a wrong password are refused', async (context) => {
  if (server === null) return context.skip()
  const { url } = server
  const { data, graph } = await newProject()
  await writeAll({ data, graph })
  const failure = async (...args: Parameters<typeof copy>): Promise<string> => {
    const { exitCode, stdout, stderr } = await copy(...args)
    expect([exitCode, stdout], stderr).toEqual([1, ''])
    expect(stderr).not.toContain(PASSWORD)
    return stderr
  }
  await run('CREATE (:Mine)')
  expect(await failure(data, url)).toContain('the database has nodes: the target of a copy must be empty')
  expect(await run('MATCH (n:Mine) RETURN count(n)')).toEqual([[1]])
  await run('MATCH (n:Mine) DELETE n')
  expect(await failure(url, data)).toContain('has 3 nodes: the target of a copy must be empty')
  expect(await failure(data, `${url}/absent`)).toContain('absent')
  const wrong = await runCommand(['copy', '--from', data, '--to', url], { NEO4J_PASSWORD: 'wrong-secret' })
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringMatching(/unauthorized|authentication/i)])
  expect(wrong.stderr).not.toContain('wrong-secret')
  const served = await startServer(['--data', data])
  expect(await failure(data, url)).toContain(`the folder ${data} is served by`)
  expect(await served.kill('SIGTERM')).toBe(0)
  const file = join(temporaryFolder(), 'password')
  writeFileSync(file, `${PASSWORD}\n`)
  const { exitCode } = await runCommand(['copy', '--from', data, '--to', url, '--password-file', file, '--json'])
  expect(exitCode).toBe(0)
}, 300_000)

test('a property that the database cannot hold is named, and the database stays empty', async (context) => {
  if (server === null) return context.skip()
  const from = await newProject()
  await write(from, (batch) => batch.upsertNode({ ...car, properties: [{ name: 'odd', value: ['a'] }] }))
  await storeMixedList(from)
  expect(await copy(from.data, server.url)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      'the node Car c-1 cannot be copied to a database server: the property `odd` is a list of several types',
    ),
  })
  // Nothing was written, so the database takes the copy of another project.
  const other = await newProject()
  await writeAll(other)
  await copied(other.data, server.url, 3, 3)
}, 300_000)

test('several projects, composite projects without a connection and projects in a database are refused with their names', async () => {
  const { data } = await newProject()
  await addProject(data, 'boats')
  const { exitCode, stderr } = await copy(data, 'bolt://127.0.0.1:9')
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/several projects: name one of \w+, \w+ with --project/),
  ])
  const unknown = await copy(data, 'bolt://127.0.0.1:9', '--project', 'planes')
  expect(unknown.stderr).toContain(`the folder ${data} has no project planes: it has `)
  const known = await copy(data, 'bolt://127.0.0.1:9', '--project', 'boats')
  expect([known.exitCode, known.stderr]).toEqual([1, expect.stringContaining('bolt://127.0.0.1:9: ')])
  const connection =
    'db_connection:\n  url: "lmdb:"\n  name: home\n  composite_db_name: all\n  alias_mapping: eu=europe\n'
  const composite = await newProject('world', connection)
  expect((await copy(composite.data, 'bolt://127.0.0.1:9')).stderr).toContain(
    'the project world is composite: name the databases of its locations in a file, with --connection',
  )
  const file = join(temporaryFolder(), 'connection.json')
  const several = { url: 'bolt://127.0.0.1:9', composite_db_name: 'all', alias_mapping: 'eu=europe' }
  writeFileSync(file, JSON.stringify(several))
  const single = await runCommand(['copy', '--from', data, '--project', 'boats', '--connection', file])
  expect([single.exitCode, single.stderr]).toEqual([
    1,
    expect.stringContaining('the project boats is not composite, and the connection has `composite_db_name`'),
  ])
  const remote = await newProject('far', 'db_connection:\n  url: "bolt://127.0.0.1:9"\n')
  expect((await copy(remote.data, 'bolt://127.0.0.1:9')).stderr).toContain(
    'the project far has its graph in a database server already',
  )
}, 300_000)

test.each([
  ['data', 'http://127.0.0.1:7474', '--to: expected a URL such as `bolt://host:7687`'],
  [
    'bolt://neo4j:secret-1@127.0.0.1:7687',
    'data',
    '--from: put the credentials into NEO4J_USERNAME and NEO4J_PASSWORD',
  ],
  ['data', 'other', '--from and --to: expected one data folder and one URL'],
  ['bolt://127.0.0.1:7687', 'bolt://127.0.0.1:7688', '--from and --to: expected one data folder and one URL'],
])('from %s to %s is refused', async (from, to, message) => {
  const { exitCode, stdout, stderr } = await copy(from, to)
  expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)])
  expect(stderr).not.toContain('secret-1')
})

test('a folder that does not exist stays absent', async () => {
  const absent = join(temporaryFolder(), 'absent')
  const { exitCode, stderr } = await copy(absent, 'bolt://127.0.0.1:9')
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`the folder ${absent} has no organization`)])
  expect(existsSync(absent)).toBe(false)
  rmSync(absent, { force: true })
})

test('the external ids of nodes of other tools can be in other properties', async (context) => {
  if (server === null) return context.skip()
  const { url } = server
  await run(
    "CREATE (a:Boss:Person {email: 'ann@example.org', age: 36})-[:OWNS {since: 2020}]->(c:Car {`plate no`: 'B-1', type: 'van'}), (a)-[:KNOWS]->(a), (:Town {external_id: 'berlin'})",
  )
  const keys = ['--key', 'Person=email', '--key', 'Car=plate no']
  const refusal = async (...options: string[]): Promise<string> => {
    const to = await newProject()
    const { exitCode, stdout, stderr } = await copy(url, to.data, ...options)
    expect([exitCode, stdout], stderr).toEqual([1, ''])
    return stderr
  }
  expect(await refusal()).toMatch(
    /the node \d+ with the labels Boss, Person cannot be copied: a data folder needs a label and the property `external_id`, a string\. `--key Boss=property` takes the external id from another property/,
  )
  const to = await newProject()
  const { hash } = await copied(url, to.data, 3, 2, ...keys)
  expect((await copied(url, to.data, 3, 2, '--compare', ...keys)).hash).toBe(hash)
  const exported = join(temporaryFolder(), 'lines')
  await succeed('export', '--data', to.data, '--out', exported, '--no-audit-logs')
  const lines = readFileSync(exported, 'utf8')
    .split('\n')
    .filter((line) => /^\{"(?:node|relationship)"/.test(line))
    .map((line) => JSON.parse(line))
  // The label of the key is the type, and the property stays.
  expect(lines).toEqual(
    expect.arrayContaining([
      {
        node: expect.objectContaining({
          type: 'Person',
          external_id: 'ann@example.org',
          labels: expect.arrayContaining(['Boss']),
          properties: expect.arrayContaining([expect.objectContaining({ type: 'email', value: 'ann@example.org' })]),
        }),
      },
      {
        node: expect.objectContaining({
          type: 'Car',
          external_id: 'B-1',
          properties: expect.arrayContaining([expect.objectContaining({ type: 'type', value: 'van' })]),
        }),
      },
      { node: expect.objectContaining({ type: 'Town', external_id: 'berlin' }) },
      {
        relationship: expect.objectContaining({
          type: 'OWNS',
          source: { type: 'Person', external_id: 'ann@example.org' },
          target: { type: 'Car', external_id: 'B-1' },
        }),
      },
    ]),
  )
  const named = String.raw`the node \d+ with the labels Boss, Person cannot be copied: `
  expect(await refusal('--key', 'Person=name')).toMatch(
    new RegExp(`${named}its property \`name\`, the external id of \`--key\`, is missing`),
  )
  expect(await refusal('--key', 'Person=age')).toMatch(
    new RegExp(`${named}its property \`age\`, the external id of \`--key\`, is not a string`),
  )
  expect(await refusal('--key', 'Person=email', '--key', 'Boss=email')).toMatch(
    new RegExp(`${named}--key names its labels \`Boss\` and \`Person\`, and a node has one type: name one of them`),
  )
  await run("MATCH (n:Person) SET n.external_id = 'another'")
  expect(await refusal(...keys)).toMatch(
    new RegExp(
      `${named}its property \`email\`, the external id of \`--key\`, differs from its property \`external_id\``,
    ),
  )
  await run("MATCH (n:Person) REMOVE n.external_id CREATE (:Person {email: 'ann@example.org'})")
  expect(await refusal(...keys)).toContain('two nodes Person have the external id ann@example.org')
}, 300_000)

test('--key is refused where nothing reads it, and in another form', async () => {
  const refused = async (...args: string[]): Promise<string> => {
    const { exitCode, stderr } = await runCommand(['copy', ...args])
    expect(exitCode, stderr).toBe(2)
    return stderr
  }
  const fromServer = ['--from', 'bolt://127.0.0.1:1', '--to', 'data']
  expect(await refused('--from', 'data', '--to', 'bolt://127.0.0.1:1', '--key', 'A=b')).toContain(
    '--key: nodes of a data folder have external ids',
  )
  for (const wrong of ['Person', '=email', 'Person='])
    expect(await refused(...fromServer, '--key', wrong)).toContain(
      `--key: expected \`Type=property\`, such as \`Person=email\`, found \`${wrong}\``,
    )
  expect(await refused(...fromServer, '--key', 'A=b', '--key', 'A=c')).toContain('--key: `A` is given twice')
})

test('two relationships of one type between the same nodes are refused by name', async (context) => {
  if (server === null) return context.skip()
  await run(
    "CREATE (a:Person {external_id: 'ann'}), (c:Car {external_id: 'c-1'}), (a)-[:OWNS {since: 1}]->(c), (a)-[:OWNS {since: 2}]->(c), (c)-[:OWNS]->(a)",
  )
  const to = await newProject()
  const { exitCode, stdout, stderr } = await copy(server.url, to.data)
  expect([exitCode, stdout]).toEqual([1, ''])
  expect(stderr).toContain(
    'the source has two relationships OWNS from Person `ann` to Car `c-1`, and a data folder holds one.',
  )
  expect(stderr).toContain('docs/how-to/several-relationships.md')
}, 300_000)
