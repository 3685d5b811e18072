// The commands that ask a graph, as a user runs them: over a project folder, over a data folder that is served, and over the service.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carProject, driveCypher, washCypher } from '../../support/car-project.ts'
import { type Finished, patientEnvironment, runCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const reachCypher = 'MATCH (subject) ((a)-[:LENDS]->(b WHERE b.wheels > 3)){1,2} (resource)'
const towCypher = `MATCH (subject), (resource) RETURN subject, resource
  NEXT WHEN resource.wheels > 3 THEN { MATCH (subject)-[:LENDS]->(resource) RETURN subject, resource }
  ELSE { MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource }`

let folder: string
let service: TestService
let asAgent: Record<string, string>
let asAccount: Record<string, string>

beforeAll(async () => {
  folder = join(carProject(), 'authz')
  for (const [action, cypher] of [
    ['reach', reachCypher],
    ['tow', towCypher],
  ] as const) {
    const text = `subject: Person\nactions: [${action}]\nresource: Car\ncypher: ${JSON.stringify(cypher)}\n`
    writeFileSync(join(folder, 'policies', `${action}.policy.yaml`), text)
  }
  service = await startService({}, { sync: false, log: () => undefined })
  const car = (external_id: string, wheels: number) => ({
    type: 'Car',
    external_id,
    properties: [{ type: 'wheels', value: wheels }],
  })
  const person = (external_id: string) => ({ type: 'Person', external_id, is_identity: true })
  const key = (type: string, external_id: string) => ({ type, external_id })
  await service.ask('/capture/v1/nodes', { nodes: [person('ann'), person('bob'), car('c1', 4), car('c:2', 3)] })
  const related = await service.ask('/capture/v1/relationships', {
    relationships: [
      { source: key('Person', 'ann'), target: key('Car', 'c1'), type: 'OWNS' },
      { source: key('Person', 'bob'), target: key('Car', 'c:2'), type: 'OWNS' },
      { source: key('Person', 'bob'), target: key('Car', 'c1'), type: 'LENDS' },
    ],
  })
  expect(related.status, related.text).toBe(200)
  await service.addPolicy({ name: 'drive', cypher: driveCypher, actions: ['drive'] })
  await service.addPolicy({ name: 'wash', cypher: washCypher, actions: ['wash'] })
  await service.addPolicy({ name: 'reach', cypher: reachCypher, actions: ['reach'] })
  await service.addPolicy({ name: 'tow', cypher: towCypher, actions: ['tow'] })
  const agent = await service.addAgent('asker', ['Authorization', 'ReadAuthZConfigs'])
  asAgent = { VERDIGRAPH_URL: service.url, VERDIGRAPH_AGENT_KEY: agent.key }
  asAccount = { VERDIGRAPH_URL: service.url, VERDIGRAPH_TOKEN: service.token }
})
afterAll(() => service.stop())

/** Without the user's own contexts. */
function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Finished> {
  return runCommand(args, { XDG_CONFIG_HOME: join(folder, '.config'), ...patientEnvironment, ...environment })
}

/** The targets with the same graph: each with its options and variables. */
const doors = {
  'a project folder': () => ({ options: ['--folder', folder], environment: {} }),
  'a data folder that is served': () => ({ options: ['--data', service.dataDir], environment: {} }),
  'a service, as a service account': () => ({ options: [], environment: asAccount }),
} as const
const doorNames = Object.keys(doors) as (keyof typeof doors)[]

describe.each(doorNames)('over %s', (name) => {
  const ask = (...args: string[]): Promise<Finished> => {
    const { options, environment } = doors[name]()
    return run([...args, ...options], environment)
  }

  test('check has the exit code 0 if it is granted, and 1 if it is denied', async () => {
    const granted = await ask('check', 'Person:ann', 'drive', 'Car:c1', '--param', 'min=4')
    expect(granted).toEqual({ exitCode: 0, stdout: '✓ granted  Person:ann drive Car:c1\n', stderr: '' })
    const denied = await ask('check', 'Person:bob', 'drive', 'Car:c:2', '--param', 'min=4')
    expect(denied).toEqual({ exitCode: 1, stdout: '✗ denied   Person:bob drive Car:c:2\n', stderr: '' })
    const json = await ask('check', 'Person:bob', 'wash', 'Car:c1', '--json')
    expect([json.exitCode, JSON.parse(json.stdout).decision]).toEqual([0, true])
  })

  test('why names the path that grants, and the values that stopped a policy', async () => {
    const granted = await ask('why', 'Person:ann', 'wash', 'Car:c1')
    expect([granted.exitCode, granted.stdout]).toEqual([
      0,
      '✓ granted  Person:ann wash Car:c1\n  policy wash grants: (Person:ann)-[:OWNS]->(Car:c1)\n',
    ])
    const denied = await ask('why', 'Person:bob', 'drive', 'Car:c:2', '--param', 'min=4')
    expect(denied.exitCode).toBe(1)
    expect(denied.stdout).toContain('stopped: the predicate is not true: resource.wheels >= $min')
    const json = await ask('why', 'Person:ann', 'wash', 'Car:c1', '--json')
    expect(JSON.parse(json.stdout).policies).toMatchObject([{ name: 'wash', outcome: 'granted' }])
  })

  test('check, why, who, what and query read patterns and clauses of GQL', async () => {
    const decided = async (...asked: string[]): Promise<number | null> => (await ask('check', ...asked)).exitCode
    expect(await decided('Person:bob', 'reach', 'Car:c1')).toBe(0)
    expect(await decided('Person:ann', 'reach', 'Car:c1')).toBe(1)
    expect(await decided('Person:bob', 'tow', 'Car:c1')).toBe(0)
    expect(await decided('Person:bob', 'tow', 'Car:c:2')).toBe(0)
    expect(await decided('Person:ann', 'tow', 'Car:c1')).toBe(1)
    expect((await ask('why', 'Person:bob', 'reach', 'Car:c1')).stdout).toBe(
      '✓ granted  Person:bob reach Car:c1\n  policy reach grants: (Person:bob)-[:LENDS]->(Car:c1)\n',
    )
    expect((await ask('why', 'Person:bob', 'tow', 'Car:c:2')).stdout).toContain('(Person:bob)-[:OWNS]->(Car:c:2)')
    expect((await ask('why', 'Person:ann', 'tow', 'Car:c1')).stdout).toContain(
      'stopped: no relationship matches (subject)-[:LENDS]->(resource)',
    )
    expect((await ask('why', 'Person:ann', 'reach', 'Car:c1')).stdout).toMatch(
      /stopped: no relationship matches .*LENDS/,
    )
    expect((await ask('who', 'tow', 'Car:c1')).stdout).toBe('Person:bob\n')
    expect((await ask('what', 'Person:bob', 'tow', '--type', 'Car')).stdout.split('\n').sort()).toEqual([
      '',
      'Car:c1',
      'Car:c:2',
    ])
    const cypher = `MATCH (p:Person) RETURN p ORDER BY p.external_id
      NEXT WHEN (p)-[:LENDS]->() THEN { MATCH (p) ((x)-[r:OWNS|LENDS]->(y)){1,2} () RETURN p.external_id AS id, size(r) AS n }
      ELSE { RETURN p.external_id AS id, 0 AS n }`
    const rows = await ask('query', cypher, '--format', 'csv')
    expect(rows.stdout.split('\n').sort(), rows.stderr).toEqual(['', 'ann,0', 'bob,1', 'bob,1', 'id,n'])
    const refused = await ask('query', 'MATCH (a)-->{1,$n}(b) RETURN a')
    expect([refused.exitCode === 0, refused.stderr]).toEqual([false, expect.stringContaining('unexpected `$n`')])
  })

  test('who, what and actions list what the policies grant, and have the exit code 1 for nothing', async () => {
    expect((await ask('who', 'wash', 'Car:c1')).stdout).toBe('Person:ann\nPerson:bob\n')
    expect((await ask('what', 'Person:bob', 'wash', '--type', 'Car')).stdout.split('\n').sort()).toEqual([
      '',
      'Car:c1',
      'Car:c:2',
    ])
    const first = await ask('what', 'Person:bob', 'wash', '--limit', '1', '--json')
    expect(JSON.parse(first.stdout)).toMatchObject({ results: [{ type: 'Car' }], truncated: true })
    expect((await ask('actions', 'Person:ann', 'Car:c1', '--param', 'min=4')).stdout).toBe('drive\nwash\n')
    const none = await ask('who', 'wash', 'Car:absent')
    expect(none).toEqual({ exitCode: 1, stdout: '', stderr: 'no subjects\n' })
  })

  test('query prints a table, JSON and CSV', async () => {
    const cypher = 'MATCH (p:Person)-[r:OWNS]->(c:Car) RETURN p.external_id AS owner, c.wheels AS wheels ORDER BY owner'
    const table = await ask('query', cypher)
    expect(table.stdout).toMatch(/^owner {2}wheels\n───── {2}──────\nann {4}4\nbob {4}3\n2 rows, [\d.]+ ms\n$/)
    expect((await ask('query', cypher, '--format', 'csv')).stdout).toBe('owner,wheels\nann,4\nbob,3\n')
    const json = await ask('query', cypher, '--json', '--limit', '1')
    expect(JSON.parse(json.stdout)).toMatchObject({ rows: [['ann', 4]], truncated: true, truncated_by: 'limit' })
    expect(json.stderr).toContain('there are more')
    const path = await ask('query', 'MATCH p=(c:Car)<-[:LENDS]-(o) RETURN p')
    expect(path.stdout).toContain('(Car:c1)<-[:LENDS]-(Person:bob)')
    const plan = await ask('query', 'MATCH (c:Car) WHERE c.wheels > $n RETURN c', '--plan')
    expect([plan.exitCode, plan.stdout]).toEqual([0, expect.stringContaining('Filter c.wheels > $n\n')])
    const profile = await ask('query', 'MATCH (c:Car) WHERE c.wheels > $n RETURN c', '--profile', '--param', 'n=3')
    expect(profile.stdout).toMatch(/OPERATOR +ROWS +READS +MS/)
  })

  test('policy list and policy show read the policies', async () => {
    const list = await ask('policy', 'list')
    expect(list.stdout).toMatch(/^drive +ACTIVE +Person +drive +Car/m)
    expect((await ask('policy', 'show', 'wash')).stdout).toContain(washCypher)
    const wrong = await ask('policy', 'show', 'wahs')
    expect(wrong).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: 'error: no policy is named `wahs`; did you mean `wash`?\n',
    })
  })

  test('what is misspelt is an error with the nearest name', async () => {
    const errorOf = async (...args: string[]): Promise<string> => {
      const { exitCode, stderr } = await ask(...args)
      expect([args, exitCode]).toEqual([args, 2])
      return stderr
    }
    expect(await errorOf('check', 'Persn:ann', 'wash', 'Car:c1')).toContain('the type `Persn`; did you mean `Person`?')
    expect(await errorOf('who', 'wash', 'Carr:c1')).toContain('the type `Carr`; did you mean `Car`?')
    expect(await errorOf('check', 'ann', 'wash', 'Car:c1')).toContain(
      'SUBJECT: expected TYPE:ID, such as Person:ann, found `ann`',
    )
    expect(await errorOf('check', 'Person:ann', 'drive', 'Car:c1')).toContain('pass --param min=VALUE')
    expect(await errorOf('query', 'MATCH (p:Persn)-[:OWN]->(c) RETURN c.weels')).toContain(
      'line 1, column 10: no node with the label `Persn` was ever captured; did you mean `(:Person)`?',
    )
    expect(await errorOf('query', 'MATCH (p:Person RETURN p')).toContain('line 1, column 17: unexpected `RETURN`')
    expect(await errorOf('query', 'MATCH (p:Person) SET p.age = 1 RETURN p')).toContain(
      'writing clause `SET` is not allowed',
    )
    const notice = await ask('check', 'Person:ann', 'wahs', 'Car:c1')
    expect([notice.exitCode, notice.stderr]).toEqual([1, 'no policy names the action `wahs`; did you mean `wash`?\n'])
  })
})

test('an application agent asks with its key, and may not read the graph', async () => {
  const granted = await run(['check', 'Person:ann', 'wash', 'Car:c1'], asAgent)
  expect(granted.exitCode, granted.stderr).toBe(0)
  const why = await run(['why', 'Person:ann', 'wash', 'Car:c1'], asAgent)
  expect(why.stdout).toContain('policy wash grants')
  const query = await run(['query', 'RETURN 1 AS one'], asAgent)
  expect([query.exitCode, query.stdout]).toEqual([2, ''])
  expect(query.stderr).toContain('this command needs a token of a service account (VERDIGRAPH_TOKEN')
  const who = await run(['who', 'wash', 'Car:c1', '--type', 'Person'], asAgent)
  expect(who.stdout).toBe('Person:ann\nPerson:bob\n')
})

test('claims are those of --token-claims in this process, and a service refuses them', async () => {
  const sign = (claims: string, ...more: string[]) =>
    run(['check', 'Person:ann', 'sign', 'Car:c1', '--token-claims', claims, ...more], {})
  expect((await sign('{"email":"ann@example.com"}', '--folder', folder)).exitCode).toBe(0)
  expect((await sign('{"email":"bob@example.com"}', '--folder', folder)).exitCode).toBe(1)
  const file = join(folder, 'claims.json')
  writeFileSync(file, '{"email":"ann@example.com"}')
  expect((await sign(`@${file}`, '--folder', folder)).exitCode).toBe(0)
  const refused = await run(['check', 'Person:ann', 'sign', 'Car:c1', '--token-claims', '{}'], asAgent)
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining('a service verifies the token of --token'),
  ])
})

describe('a graph that cannot be asked is an error with the exit code 2', () => {
  const check = ['check', 'Person:ann', 'wash', 'Car:c1']
  const failing = async (more: readonly string[], environment: Record<string, string> = {}): Promise<string> => {
    const { exitCode, stdout, stderr } = await run([...check, ...more], environment)
    expect([exitCode, stdout]).toEqual([2, ''])
    return stderr
  }

  test('because a folder does not exist, or is no data folder', async () => {
    expect(await failing(['--data', '/absent'])).toBe('error: /absent does not exist\n')
    expect(await failing(['--folder', '/absent'])).toContain('/absent does not exist')
    expect(await failing(['--data', temporaryFolder()])).toContain('is no data folder')
    expect(await failing(['--graph', '/absent.yaml'])).toContain('it does not exist')
    expect(await failing(['--data', join(temporaryFolder(), 'x'), '--graph', 'y'])).toContain(
      'expected either --data or --graph',
    )
  })

  test('because a file of the project folder is wrong', async () => {
    const wrong = join(carProject(), 'authz')
    writeFileSync(
      join(wrong, 'policies', 'drive.policy.yaml'),
      'subject: Person\nactons: [drive]\nresource: Car\ncypher: x\n',
    )
    expect(await failing(['--folder', wrong])).toMatch(/drive\.policy\.yaml:2:1: .*`actons`.*did you mean `actions`\?/)
  })

  test('because the service is away, or refuses the credential', async () => {
    const away = { VERDIGRAPH_AGENT_KEY: 'x', VERDIGRAPH_URL: 'http://127.0.0.1:1' }
    expect(await failing([], away)).toContain('http://127.0.0.1:1 cannot be reached')
    expect(await failing([], { ...asAgent, VERDIGRAPH_AGENT_KEY: 'wrong' })).toContain('refused the agent key')
    expect(await failing([], { ...asAccount, VERDIGRAPH_TOKEN: 'wrong' })).toContain('refused the token')
    expect(await failing(['--project', 'tets'], asAccount)).toContain(
      'no project is named `tets`; did you mean `test`?',
    )
    expect(await failing(['--url', 'https://authz.example.com'])).toContain(
      'no credential for https://authz.example.com',
    )
  })
})

describe('contexts', () => {
  test('name graphs with the rights of their owner only, and flags and variables take precedence', async () => {
    const home = temporaryFolder()
    const cli = (args: readonly string[], more: Record<string, string> = {}) =>
      runCommand(args, { XDG_CONFIG_HOME: home, ...more })
    const set = await cli(['context', 'set', 'cars', '--folder', folder])
    expect([set.exitCode, set.stderr]).toEqual([0, expect.stringContaining('is the current one')])
    const file = join(home, 'verdigraph', 'contexts.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await cli(['context', 'set', 'service', '--url', service.url, '--key', '${env:MY_KEY}', '--project', 'test'])
    const key = { MY_KEY: asAgent.VERDIGRAPH_AGENT_KEY ?? '' }

    const drive = ['check', 'Person:ann', 'drive', 'Car:c1', '--param', 'min=4']
    expect((await cli(drive)).exitCode).toBe(0)
    expect((await cli([...drive, '--context', 'service'], key)).exitCode).toBe(0)
    expect((await cli([...drive, '--context', 'service'])).stderr).toContain(
      'the key is ${env:MY_KEY}, which is not set',
    )
    expect((await cli([...drive, '--context', 'servce'])).stderr).toContain('did you mean `service`?')
    // The policy `sign` is in the folder only: which graph is asked shows.
    const policies = async (args: readonly string[], more: Record<string, string> = {}) =>
      (await cli(['policy', 'list', ...args], more)).stdout.includes('sign')
    const token = { VERDIGRAPH_TOKEN: service.token }
    expect(await policies([])).toBe(true)
    expect(await policies([], { ...token, VERDIGRAPH_CONTEXT: 'service' })).toBe(false)
    expect(await policies([], { ...token, VERDIGRAPH_URL: service.url })).toBe(false)
    expect(await policies(['--folder', folder], { ...token, VERDIGRAPH_CONTEXT: 'service' })).toBe(true)
    expect((await cli(['context', 'use', 'service'])).exitCode).toBe(0)
    expect(await policies([], token)).toBe(false)

    const withPassword = await cli(['context', 'set', 'open', '--url', 'http://user:secret@localhost:1'])
    expect([withPassword.exitCode, withPassword.stderr]).toEqual([
      2,
      expect.stringContaining('expected a URL without a user name and a password'),
    ])
    expect(withPassword.stderr).not.toContain('secret@')

    const list = await cli(['context', 'list', '--json'])
    expect(JSON.parse(list.stdout)).toMatchObject({ current: 'service', contexts: { cars: { folder } } })
    expect((await cli(['context', 'delete', 'service'])).exitCode).toBe(0)
    expect((await cli(['context', 'show'])).exitCode).toBe(2)
  })

  test('hold a secret only from the standard input, and never print it', async () => {
    const home = temporaryFolder()
    const given = await runCommand(['context', 'set', 'a', '--url', service.url, '--key', 'clear-text'], {
      XDG_CONFIG_HOME: home,
    })
    expect([given.exitCode, given.stderr]).toEqual([2, expect.stringContaining('--key-stdin')])
    expect(existsSync(join(home, 'verdigraph', 'contexts.json'))).toBe(false)
    const script = `printf '%s\\n' "$SECRET" | "$@"`
    const stored = await runCommand(
      ['context', 'set', 'a', '--url', service.url, '--key-stdin'],
      { XDG_CONFIG_HOME: home, SECRET: asAgent.VERDIGRAPH_AGENT_KEY ?? '' },
      ['sh', '-c', script, 'sh'],
    )
    expect(stored.exitCode, stored.stderr).toBe(0)
    expect(readFileSync(join(home, 'verdigraph', 'contexts.json'), 'utf8')).toContain(asAgent.VERDIGRAPH_AGENT_KEY)
    const used = await runCommand(['check', 'Person:ann', 'wash', 'Car:c1'], { XDG_CONFIG_HOME: home })
    expect(used.exitCode, used.stderr).toBe(0)
    for (const command of ['list', 'show']) {
      const { stdout } = await runCommand(['context', command], { XDG_CONFIG_HOME: home })
      expect(stdout).toContain('(stored)')
      expect(stdout).not.toContain(asAgent.VERDIGRAPH_AGENT_KEY)
    }
  })

  test('in a file of another form are refused with its path', async () => {
    const home = temporaryFolder()
    mkdirSync(join(home, 'verdigraph'))
    writeFileSync(join(home, 'verdigraph', 'contexts.json'), '{"current":null,"contexts":{"a":{"ulr":"x"}}}')
    const { exitCode, stderr } = await runCommand(['context', 'list'], { XDG_CONFIG_HOME: home })
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/contexts\.json: .*ulr/)])
  })
})

test('query ends without an error if the reader of the CSV has closed the pipe', async () => {
  const command = `node_modules/.bin/bun src/main.ts query 'UNWIND range(1, 1000) AS n RETURN n' --limit 1000 --format csv --folder ${folder}`
  const child = Bun.spawn(['bash', '-c', `set -o pipefail; ${command} | true`], { stdout: 'pipe', stderr: 'pipe' })
  const [status, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
