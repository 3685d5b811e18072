// `verdigraph copy` of a composite project with three running Neo4j: both directions, a copy that is killed and continued, differences,
// and the service on the copied graphs. Needs Java and Maven.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import neo4j, { type Driver } from 'neo4j-driver-lite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BoltServer } from '../../../src/bolt/bolt-server.ts'
import { GraphSchema } from '../../../src/bolt/graph-schema.ts'
import { parseLayout } from '../../../src/config/db-connection.ts'
import { DATA_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { constituentFolderName } from '../../../src/store/tenancy/project-folders.ts'
import { bin, killAll, ownEnvironment, runCommand, startServer } from '../../support/cli-process.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { type Neo4jServer, startNeo4j } from '../../support/counterparts/neo4j.ts'
import { setNeo4jPassword } from '../../support/counterparts/neo4j-password.ts'
import { type HeldProxy, startHeldProxy } from '../../support/held-proxy.ts'
import { startService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const PASSWORD = 'a-long-password'
const NAMES = ['main', 'whole', 'us'] as const
type ServerName = (typeof NAMES)[number]

/** `home` and nodes without location share a database, as do `us` and `mx`; `all` reads the global graph. */
const embedded = {
  url: 'lmdb:',
  name: 'main-db',
  composite_db_name: 'whole-db',
  alias_mapping: 'home=main-db&us=us-db&mx=us-db&all=whole-db',
}
const PEOPLE = 2_000
const EACH = 10

interface StartedNeo4j {
  readonly server: Neo4jServer
  readonly driver: Driver
}
let servers: Readonly<Record<ServerName, StartedNeo4j>> | null = null
/** The folder of the source, its project, and the key of an agent. */
let data: string
let project: string
let key: string

async function startOne(): Promise<StartedNeo4j> {
  const server = await startNeo4j({ hasPasswords: true })
  await setNeo4jPassword(server.url, 'neo4j', PASSWORD)
  const login = { scheme: 'basic', principal: 'neo4j', credentials: PASSWORD }
  return { server, driver: neo4j.driver(server.url, login, { disableLosslessIntegers: true }) }
}

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  await makeSource()
  try {
    const main = await startOne()
    const [whole, us] = await Promise.all([startOne(), startOne()])
    servers = { main, whole, us }
  } catch (failure) {
    if (!(failure instanceof CounterpartMissing)) throw failure
    console.log(`skipped: the copy of composite projects to Neo4j: ${failure.message}`)
  }
}, 600_000)
afterAll(async () => {
  for (const { server, driver } of Object.values(servers ?? {})) {
    await driver.close()
    await server.stop()
  }
  await killAll()
})

const at = (type: string, external_id: string, location?: string) => ({
  type,
  external_id,
  ...(location === undefined ? {} : { location }),
})

/** People of `us` with many relationships, cars, and a relationship between locations. */
async function makeSource(): Promise<void> {
  const service = await startService({ dataDir: data, audit: 'on' })
  const expectOk = async (asked: Promise<{ status: number; text: string }>): Promise<void> => {
    const { status, text } = await asked
    expect([status, text]).toEqual([200, text])
  }
  project = service.projectId
  key = service.key
  await expectOk(service.connect(embedded))
  const policy = "USE graph.byName('all') MATCH (subject:Person)-[:OWNS]->(resource:Car)"
  await service.addPolicy({ name: 'owners', cypher: policy })
  await expectOk(
    service.ask('/capture/v1/nodes', {
      nodes: [at('Person', 'ann'), at('Person', 'bob', 'home'), at('Car', 'c1', 'us'), at('Car', 'c2', 'mx')],
    }),
  )
  const owns = (source: string, target: string) => ({
    source: at('Person', source),
    type: 'OWNS',
    target: at('Car', target),
  })
  const relationships = [owns('ann', 'c1'), owns('bob', 'c2')]
  await expectOk(service.ask('/capture/v1/relationships', { relationships, use_global_db: true }))
  const knows = { source: at('Person', 'ann'), type: 'KNOWS', target: at('Person', 'bob') }
  await expectOk(service.ask('/capture/v1/relationships', { relationships: [knows] }))
  await service.stop()
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.graph(project, parseLayout({ db_connection: embedded }).locations.get('us')!)!.write((batch) => {
    const person = (i: number) => ({ type: 'Person', externalId: `p${i}` })
    for (let i = 0; i < PEOPLE; i++) batch.upsertNode({ ...person(i), location: 'us' })
    for (let i = 0; i < PEOPLE; i++)
      for (let j = 1; j <= EACH; j++)
        batch.upsertRelationship({ source: person(i), type: 'KNOWS', target: person((i + j * j) % PEOPLE) })
  })
  await catalog.close()
}

async function run(name: ServerName, query: string, parameters: object = {}): Promise<unknown[][]> {
  const session = servers![name].driver.session()
  try {
    const { records } = await session.run(query, parameters)
    return records.map((record) => [...record.values()])
  } finally {
    await session.close()
  }
}

const urlOf = (name: ServerName): string => servers![name].server.url

interface ConnectionFile {
  readonly url: string
  readonly username: string
  readonly password: string
  readonly name: string
  readonly composite_db_name: string
  readonly alias_mapping: string
}

/** The three servers. */
function connection(): ConnectionFile {
  const [main, whole, us] = NAMES.map(urlOf)
  const alias_mapping = `home=${main}&us=${us}&mx=${us}&all=${whole}`
  return {
    url: main!,
    username: 'neo4j',
    password: PASSWORD,
    name: main!,
    composite_db_name: whole!,
    alias_mapping,
  }
}

function written(content: object | string): string {
  const file = join(temporaryFolder(), 'connection.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const copyArguments = (direction: '--from' | '--to', folder: string, file: string) => [
  'copy',
  direction,
  folder,
  '--connection',
  file,
]

/** A folder with an empty project of the same locations, whose databases have other names. */
async function newTarget(): Promise<{ readonly folder: string; readonly us: string; readonly id: string }> {
  const base = temporaryFolder()
  const folder = join(base, 'data')
  const source = join(base, 'second')
  mkdirSync(source)
  writeFileSync(
    join(source, 'verdigraph.yaml'),
    'name: second\ndb_connection:\n  url: "lmdb:"\n  name: here\n  composite_db_name: joined\n  alias_mapping: mx=america&home=here&all=joined&us=america\n',
  )
  for (const args of [
    ['init', '--data', folder],
    ['apply', source, '--data', folder, '--create'],
  ]) {
    const { exitCode, stderr } = await runCommand(args)
    expect(exitCode, stderr).toBe(0)
  }
  const [name] = readdirSync(join(folder, 'projects'))
  const us = join(folder, 'projects', name!, constituentFolderName({ database: 'america' }))
  return { folder, us, id: `gid:${name}` }
}

/** The connection with a proxy of the server `us`. */
const through = (proxy: HeldProxy): string => written(JSON.stringify(connection()).replaceAll(urlOf('us'), proxy.url))

/** Starts a copy through a proxy, and kills it when the proxy holds it. */
async function killed(proxy: HeldProxy, args: readonly string[]): Promise<void> {
  const child = Bun.spawn([bin, ...args], { env: ownEnvironment, stdout: 'ignore', stderr: 'pipe' })
  const ended = child.stderr.text()
  await Promise.race([proxy.held, ended])
  child.kill('SIGKILL')
  await child.exited
  expect(child.signalCode, await ended).toBe('SIGKILL')
  proxy.release()
  // A transaction of the killed copy may end later.
  for (const name of NAMES) await expect.poll(() => run(name, 'SHOW TRANSACTIONS YIELD transactionId')).toHaveLength(1)
}

async function succeed(args: readonly string[]) {
  const finished = await runCommand(args)
  expect(finished.exitCode, finished.stderr).toBe(0)
  expect(finished.stdout + finished.stderr).not.toContain(PASSWORD)
  return finished
}

async function notes(): Promise<unknown[]> {
  const found = await Promise.all(NAMES.map((name) => run(name, 'MATCH (s:_VerdigraphState) RETURN s.copy')))
  return found.map((rows) => rows[0]?.[0] ?? null)
}

let hash = ''

test('a copy to three servers that was killed continues, and is equal', async (context) => {
  if (servers === null) return context.skip()
  const args = copyArguments('--from', data, written(connection()))
  const people = async (): Promise<number> => Number((await run('us', 'MATCH (n:Person) RETURN count(n)'))[0]![0])
  const proxy = await startHeldProxy(urlOf('us'), async () => (await people()) > 0)
  await killed(proxy, copyArguments('--from', data, through(proxy)))
  proxy.close()
  const begun = await notes()
  expect(begun).toEqual([expect.any(String), expect.any(String), expect.any(String)])
  // No service opens any of them, also those that have all elements.
  for (const name of NAMES) {
    const bolt = new BoltServer({ url: urlOf(name), username: 'neo4j', password: PASSWORD })
    await expect(new GraphSchema(bolt, null).prepare()).rejects.toThrow('the database has an unfinished copy')
    await bolt.close()
  }
  const swapped = {
    ...connection(),
    alias_mapping: `home=${urlOf('main')}&us=${urlOf('whole')}&mx=${urlOf('whole')}&all=${urlOf('us')}`,
    composite_db_name: urlOf('us'),
  }
  expect(await runCommand(copyArguments('--from', data, written(swapped)))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the database has an unfinished copy of another part of the project'),
  })
  const { stdout, stderr } = await succeed(args)
  expect(stderr).toContain('an interrupted copy was continued')
  expect(stderr).toContain('default: copied 0 nodes and 0 relationships')
  expect(stderr).toMatch(/us-db: copied 0 nodes and \d+ relationships/)
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toEqual([
    expect.stringMatching(/^default: equal: \d+ nodes and \d+ relationships, hash [0-9a-f]{32}$/),
    expect.stringMatching(/^global: equal: \d+ nodes and 2 relationships, hash/),
    expect.stringMatching(new RegExp(`^us-db: equal: ${PEOPLE + 2} nodes and ${PEOPLE * EACH} relationships, hash`)),
    expect.stringMatching(/^equal: \d+ nodes and \d+ relationships, hash [0-9a-f]{32} in 3 databases$/),
  ])
  hash = /hash (\w+) in 3/.exec(stdout)![1]!
  expect(await notes()).toEqual([null, null, null])
  // Killed before the last note was removed: the other databases are finished, and only compared.
  const done = JSON.stringify({ ...JSON.parse(String(begun[2])), nodes: null, relationships: null })
  await run('us', 'MATCH (s:_VerdigraphState) SET s.copy = $done', { done })
  const again = await succeed(args)
  expect(again.stderr).toContain('us-db: copied 0 nodes and 0 relationships')
  expect(again.stdout).toBe(stdout)
  expect(await notes()).toEqual([null, null, null])
  // Without a note the nodes are those of others.
  expect(await runCommand(args)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the database has nodes: the target of a copy must be empty'),
  })
}, 300_000)

test('a copy back into a folder that was killed continues, and is equal', async (context) => {
  if (servers === null) return context.skip()
  const { folder, us, id } = await newTarget()
  const marker = join(folder, 'import.unfinished')
  // As if no location had used it yet.
  rmSync(us, { recursive: true })
  let empty = Number.POSITIVE_INFINITY
  let isDue = async (): Promise<boolean> => {
    if (!existsSync(marker)) return false
    const { size } = statSync(join(us, DATA_FILE))
    empty = Math.min(empty, size)
    return size > empty
  }
  const proxy = await startHeldProxy(urlOf('us'), () => isDue())
  const args = copyArguments('--to', folder, through(proxy))
  await killed(proxy, args)
  isDue = () => Promise.resolve(false)
  expect(readFileSync(marker, 'utf8').trimEnd().split('\n')).toHaveLength(1)
  const refused = await runCommand(['serve', '--port', '0', '--data', folder])
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining('was interrupted: finish it with `verdigraph copy`'),
  ])
  const { stdout } = await succeed([...args, '--json'])
  const result = JSON.parse(stdout)
  expect(result).toMatchObject({ equal: true, hash })
  expect(result.databases).toMatchObject([
    { name: 'default', place: urlOf('main'), equal: true, resumed: true, written: { nodes: 0, relationships: 0 } },
    { name: 'global', place: urlOf('whole'), equal: true, relationships: 2, differences: [] },
    { name: 'america', place: proxy.url, equal: true, nodes: PEOPLE + 2 },
  ])
  expect(existsSync(marker)).toBe(false)
  await succeed(['verify', '--data', folder])
  const compared = await succeed([...copyArguments('--from', folder, written(connection())), '--compare'])
  expect(compared.stdout).toContain(`hash ${hash} in 3 databases\n`)
  const filled = await runCommand(args)
  proxy.close()
  expect([filled.exitCode, filled.stderr]).toEqual([1, expect.stringContaining('the target of a copy must be empty')])
  expect(existsSync(marker)).toBe(false)
  // Later writes maintain the proxies, also those of the graph that the copy has created.
  const catalog = openCatalog(folder, { clock: systemClock, sync: false })
  expect(catalog.check(id, 'global')).toEqual([])
  await catalog
    .graph(id, { database: 'america' })!
    .write((batch) => batch.upsertNode({ type: 'Car', externalId: 'c3', location: 'mx' }))
  expect(catalog.check(id, 'global')).toEqual([])
  await catalog.close()
}, 300_000)

test('a difference is named with its database, and nodes whose proxies are not complete are refused', async (context) => {
  if (servers === null) return context.skip()
  const args = [...copyArguments('--from', data, written(connection())), '--compare']
  await run('us', "MATCH (c:Car {external_id: 'c1'}) SET c.wheels = 4")
  const { exitCode, stdout, stderr } = await runCommand(args)
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(/^default: equal: .*\nglobal: equal: .*\n$/)
  expect(stderr).toContain('  us-db: node Car c1: different `wheels`\n')
  await run('us', "MATCH (c:Car {external_id: 'c1'}) REMOVE c.wheels")
  const { folder } = await newTarget()
  const back = async (): Promise<string> => {
    const copied = await runCommand(copyArguments('--to', folder, written(connection())))
    expect([copied.exitCode, copied.stdout]).toEqual([1, ''])
    return copied.stderr
  }
  await run('us', 'MATCH (s:_VerdigraphState) SET s.proxies_complete = null')
  expect(await back()).toContain(`${urlOf('us')}: the proxies of its nodes are not complete`)
  await run('us', 'MATCH (s:_VerdigraphState) SET s.proxies_complete = true')
  await run('main', "CREATE (:Car {external_id: 'of another tool'})")
  expect(await back()).toContain('the node Car of another tool of a composite project cannot be copied')
  expect(existsSync(join(folder, 'import.unfinished'))).toBe(false)
  await run('main', "MATCH (c:Car {external_id: 'of another tool'}) DELETE c")
  await succeed(args)
}, 300_000)

test('a connection with other locations is refused, and the location is named', async (context) => {
  if (servers === null) return context.skip()
  const [main, whole, us] = NAMES.map(urlOf)
  const refusals: readonly (readonly [Partial<ConnectionFile>, string])[] = [
    [{ alias_mapping: `home=${main}&us=${us}&all=${whole}` }, 'the location `mx` of the project test is missing'],
    [{ alias_mapping: `${connection().alias_mapping}&eu=${us}` }, 'the project test has no location `eu`'],
    [
      { alias_mapping: `home=${us}&us=${us}&mx=${us}&all=${whole}` },
      'the location `home` has the database of `default` in the project test, and another one in the connection',
    ],
    [
      { alias_mapping: `home=${main}&us=${main}&mx=${us}&all=${whole}` },
      'the location `us` has the database of the location `mx` in the project test, and another one in the connection',
    ],
    [
      { alias_mapping: `home=${main}&us=${main}&mx=${main}&all=${whole}` },
      'the database of `default` in the connection, and another one in the project test',
    ],
    [
      { alias_mapping: `home=${main}&us=${main}/neo4j&mx=${main}/neo4j&all=${whole}` },
      `${main}/neo4j: the same database as ${main}`,
    ],
  ]
  for (const [change, message] of refusals) {
    const file = written({ ...connection(), ...change })
    expect(await runCommand(copyArguments('--from', data, file)), message).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  }
}, 300_000)

test('a switched project decides over locations, and takes captures for them', async (context) => {
  if (servers === null) return context.skip()
  const file = written(connection())
  const { stdout } = await succeed([...copyArguments('--from', data, file), '--compare', '--switch'])
  expect(stdout).toContain('the project is connected to the databases from its next start on\n')
  const exported = (await succeed(['export', '--data', data, '--out', '-'])).stdout
  expect(exported).toContain(`"composite_db_name":"${urlOf('whole')}"`)
  const events = readFileSync(join(data, 'events', DATA_FILE))
  expect([events.includes(file), events.includes(PASSWORD)]).toEqual([true, false])
  const served = await startServer(['--data', data], {
    VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
    VERDIGRAPH_DECISION_TIME_MS: '60000',
  })
  const ask = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', 'x-svc-clientkey': key }
    const answer = await fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return [answer.status, await answer.json()]
  }
  const decide = (subject: string, resource: string) =>
    ask('/access/v1/evaluation', {
      subject: { type: 'Person', id: subject },
      action: { name: 'drive' },
      resource: { type: 'Car', id: resource },
    })
  expect(await decide('ann', 'c1')).toEqual([200, { decision: true }])
  expect(await decide('ann', 'c2')).toMatchObject([200, { decision: false }])
  expect(await ask('/capture/v1/nodes', { nodes: [at('Car', 'c3', 'mx')] })).toMatchObject([200, {}])
  const owns = { source: at('Person', 'ann'), type: 'OWNS', target: at('Car', 'c3') }
  const joined = { relationships: [owns], use_global_db: true }
  expect(await ask('/capture/v1/relationships', joined)).toMatchObject([200, {}])
  expect(await decide('ann', 'c3')).toEqual([200, { decision: true }])
  expect(await run('us', "MATCH (c:Car {external_id: 'c3'}) RETURN c._verdigraph_location")).toEqual([['mx']])
  await served.kill('SIGTERM')
}, 120_000)

test.each([
  [['--from', 'data', '--to', 'bolt://127.0.0.1:9'], '{}', 'expected one data folder, with --from or --to, and no URL'],
  [['--from', 'bolt://127.0.0.1:9'], '{}', 'expected one data folder, with --from or --to, and no URL'],
  [[], '{}', 'expected one data folder, with --from or --to, and no URL'],
  [['--from', 'data'], 'url: x', 'expected JSON'],
  [['--from', 'data'], '{"url": "bolt://127.0.0.1:9", "user": "ann"}', 'db_connection: unknown member `user`'],
  [['--from', 'data'], '{"url": "lmdb:"}', 'db_connection.url: expected the URL of a database server'],
  [['--to', 'data', '--switch'], '{"url": "bolt://127.0.0.1:9"}', '--switch: only a project of a data folder'],
  [
    ['--to', 'data', '--password-file', 'x'],
    '{"url": "bolt://127.0.0.1:9", "username": "neo4j", "password": "secret-1"}',
    '--password-file: the file of --connection has a password',
  ],
])('copy %j with the connection %s is refused', async (args, content, message) => {
  const { exitCode, stdout, stderr } = await runCommand(['copy', ...args, '--connection', written(content)])
  expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)])
  expect(stderr).not.toContain('secret-1')
})
