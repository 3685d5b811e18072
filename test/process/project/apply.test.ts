// The commands apply and pull, as their users run them: on a folder that is not served, on one that is, and at a URL.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bin, type Finished, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const drive = `# Owners drive.
subject: Person
actions: [drive]
resource: Car
cypher: |
  MATCH (subject)-[:OWNS]->(resource)
`
const files: Readonly<Record<string, string>> = {
  'verdigraph.yaml': 'name: cars\ndescription: The cars of a team.\n',
  'policies/drive.policy.yaml': drive,
  'policies/see.cypher': `---
version: 1.0-ciq # what people see of their cars
subject: Person
allowed_reads: {nodes: [car.external_id]}
---
MATCH (subject)-[:OWNS]->(car:Car)
`,
  'queries/my-cars.query.yaml': 'policy: see\nnodes: [car.external_id]\n',
  'resolvers/price.resolver.yaml': `url: https://example.org/price
method: GET
headers: {Authorization: "Bearer \${env:TOKEN}"}
request_content_type: JSON
response_content_type: JSON
response_selector: .price
`,
}

let base: string
let data: string
let token: string
let organization: string
let numbered = 0

beforeAll(async () => {
  base = temporaryFolder()
  data = join(base, 'data')
  const made = await runCommand(['init', '--data', data, '--json'])
  ;({ token, organization_id: organization } = JSON.parse(made.stdout))
})
afterAll(removeTemporaryFolders)

/** A project folder of its own, with the name of its project. */
function folderOf(name: string, changes: Readonly<Record<string, string | null>> = {}): string {
  numbered += 1
  const folder = join(base, `folder-${numbered}`)
  const own = { ...files, 'verdigraph.yaml': `name: ${name}\n`, ...changes }
  for (const [path, text] of Object.entries(own)) {
    if (text === null) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const secrets = { TOKEN: 'hidden-1' }

function run(command: string, folder: string, ...args: string[]): Promise<Finished> {
  return runCommand([command, folder, '--data', data, ...args], secrets)
}

async function succeed(command: string, folder: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command, folder, ...args)
  expect(exitCode, stderr).toBe(0)
  return stdout
}

/** Runs a command on a terminal, and answers its question. */
async function answering(answer: string, ...args: string[]): Promise<{ exitCode: number; output: string }> {
  let output = ''
  const decoder = new TextDecoder()
  const child = Bun.spawn([bin, ...args], {
    env: { PATH: process.env.PATH ?? '', ...secrets },
    terminal: {
      data(terminal, bytes) {
        const before = output
        output += decoder.decode(bytes, { stream: true })
        if (output.includes('[y/N]') && !before.includes('[y/N]')) terminal.write(`${answer}\r`)
      },
    },
  })
  const exitCode = await child.exited
  child.terminal?.close()
  return { exitCode, output }
}

const lines = (text: string): string[] => text.trim().split('\n')

describe('apply', () => {
  test('creates a project, then changes nothing, then exactly what differs', async () => {
    const folder = folderOf('steps')
    const absent = await run('apply', folder)
    expect([absent.exitCode, absent.stderr]).toEqual([
      1,
      `error: ${data} has no project \`steps\`; --create creates it\n`,
    ])
    expect(lines(await succeed('apply', folder, '--create')).at(-1)).toBe(
      '5 created, 0 updated, 0 deleted, 0 unchanged',
    )
    expect(lines(await succeed('apply', folder))).toEqual(['0 created, 0 updated, 0 deleted, 5 unchanged'])
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive.replace('OWNS', 'DRIVES'))
    const change = [
      '~ authorization policy drive (policies/drive.policy.yaml)',
      '    cypher:',
      '      - MATCH (subject)-[:OWNS]->(resource)',
      '      + MATCH (subject)-[:DRIVES]->(resource)',
    ]
    expect(lines(await succeed('apply', folder, '--dry-run'))).toEqual([
      ...change,
      '0 to create, 1 to update, 0 to delete, 4 unchanged',
    ])
    expect(lines(await succeed('apply', folder))).toEqual([...change, '0 created, 1 updated, 0 deleted, 4 unchanged'])
    const json = JSON.parse(await succeed('apply', folder, '--json'))
    expect(json.documents.map(({ action }: { action: string }) => action)).toEqual(Array(5).fill('unchanged'))
    const rotated = await runCommand(['apply', folder, '--data', data], { TOKEN: 'hidden-2' })
    expect(lines(rotated.stdout)).toEqual([
      '~ external data resolver price (resolvers/price.resolver.yaml)',
      '    secrets differ',
      '0 created, 1 updated, 0 deleted, 4 unchanged',
    ])
  })

  test('writes nothing to the data folder if nothing differs', async () => {
    const folder = folderOf('idle')
    await succeed('apply', folder, '--create')
    // Configuration, and the records of events and of the audit log that are not sealed.
    const bytes = () =>
      ['config', 'events'].map((name) => readFileSync(join(data, name, 'data.mdb')).toString('base64'))
    const before = bytes()
    await succeed('apply', folder)
    await succeed('apply', folder, '--dry-run')
    expect(bytes()[0] === before[0] && bytes()[1] === before[1]).toBe(true)
  })

  test('reports the errors of all files with their places, and stores nothing', async () => {
    const folder = folderOf('broken', {
      'policies/drive.policy.yaml': drive.replace('actions', 'action'),
      'policies/sub/drive.policy.yaml': drive,
      'queries/my-cars.query.yaml': 'policy: sea\nnodes: [car.external_id]\n',
      'polices/other.policy.yaml': drive,
    })
    const { exitCode, stderr } = await run('apply', folder, '--create')
    expect(exitCode).toBe(2)
    expect(lines(stderr)).toEqual([
      'error: polices/other.policy.yaml:1:1: the folder `polices` is not read; did you mean `policies`?',
      'error: policies/drive.policy.yaml:2:1: actions: expected array, found nothing',
      'error: policies/drive.policy.yaml:3:1: unknown member `action`; did you mean `actions`?',
      'error: queries/my-cars.query.yaml:1:9: no authorization policy is named `sea`; did you mean `see`?',
    ])
    const twice = folderOf('broken', { 'policies/sub/drive.policy.yaml': drive })
    expect((await run('apply', twice, '--create')).stderr).toBe(
      'error: policies/sub/drive.policy.yaml:1:1: the name `drive` is taken by policies/drive.policy.yaml\n',
    )
    const compiled = folderOf('broken', { 'policies/drive.policy.yaml': drive.replace('-[:OWNS', '-[:OWNS:') })
    const refused = await run('apply', compiled, '--create')
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toMatch(/^error: policies\/drive\.policy\.yaml:6:\d+: /)
    expect((await run('apply', compiled, '--create', '--dry-run')).stderr).toBe(refused.stderr)
    const tokenless = await runCommand(['apply', folderOf('broken'), '--data', data, '--create'])
    expect([tokenless.exitCode, tokenless.stderr]).toEqual([
      1,
      'error: resolvers/price.resolver.yaml:3:26: headers.Authorization: the secret `${env:TOKEN}` is not set\n',
    ])
    expect((await run('pull', join(base, 'broken-out'), '--project', 'broken')).stderr).toContain(
      'has no project `broken`',
    )
  })

  test('keeps documents without a file unless --prune deletes them, which asks', async () => {
    const folder = folderOf('pruned')
    await succeed('apply', folder, '--create')
    rmSync(join(folder, 'queries/my-cars.query.yaml'))
    rmSync(join(folder, 'policies/see.cypher'))
    const kept = 'without a file, kept: knowledge query my-cars, authorization policy see; --prune deletes them'
    expect(lines(await succeed('apply', folder))).toEqual([kept, '0 created, 0 updated, 0 deleted, 3 unchanged'])
    const refused = await run('apply', folder, '--prune')
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      'error: --prune: expected --yes, because there is no terminal to ask\n',
    ])
    expect(lines(await succeed('apply', folder, '--prune', '--dry-run'))).toEqual([
      '- knowledge query my-cars',
      '- authorization policy see',
      '0 to create, 0 to update, 2 to delete, 3 unchanged',
    ])
    expect(lines(await succeed('apply', folder, '--prune', '--yes')).at(-1)).toBe(
      '0 created, 0 updated, 2 deleted, 3 unchanged',
    )
    expect(lines(await succeed('apply', folder, '--prune', '--yes'))).toEqual([
      '0 created, 0 updated, 0 deleted, 3 unchanged',
    ])
  })

  test('asks on a terminal before it deletes', async () => {
    const folder = folderOf('asked')
    await succeed('apply', folder, '--create')
    rmSync(join(folder, 'queries/my-cars.query.yaml'))
    const refused = await answering('n', 'apply', folder, '--data', data, '--prune')
    expect([refused.exitCode, refused.output]).toEqual([1, expect.stringContaining('delete this document? [y/N]')])
    expect(refused.output).toContain('stopped: nothing was changed')
    const kept = 'without a file, kept: knowledge query my-cars; --prune deletes them'
    expect(lines(await succeed('apply', folder))[0]).toBe(kept)
    const agreed = await answering('y', 'apply', folder, '--data', data, '--prune')
    expect([agreed.exitCode, agreed.output]).toEqual([0, expect.stringContaining('0 created, 0 updated, 1 deleted')])
  })

  test('gives one folder to several projects, and suggests the nearest name', async () => {
    const folder = folderOf('fleet')
    await succeed('apply', folder, '--create', '--project', 'fleet-test')
    await succeed('apply', folder, '--create', '--project', 'fleet-live')
    expect((await run('apply', folder, '--project', 'fleet-life')).stderr).toBe(
      `error: ${data} has no project \`fleet-life\`; did you mean \`fleet-live\`? --create creates it\n`,
    )
    expect((await run('apply', folder, '--create', '--project', 'gid:00000000000000000000000000')).exitCode).toBe(2)
    const other = folderOf('fleet', { 'verdigraph.yaml': 'name: fleet\nregion: elsewhere\n' })
    expect((await run('apply', other, '--project', 'fleet-live')).stderr).toBe(
      'error: verdigraph.yaml:2:9: region: cannot be changed after creation\n',
    )
  })

  test('refuses an empty name of a project, and one that no project can have', async () => {
    const folder = folderOf('cars')
    const invalid = await run('apply', folder, '--project', '../../x', '--create', '--dry-run')
    expect([invalid.exitCode, invalid.stdout]).toEqual([2, ''])
    expect(invalid.stderr).toContain('error: --project: expected a lower-case letter')
    const empty = await run('apply', folder, '--project', '', '--create', '--dry-run')
    expect([empty.exitCode, empty.stdout]).toEqual([2, ''])
    expect(empty.stderr).toContain('expected the id or name of a project, found an empty text')
  })

  test('needs a data folder with an organization', async () => {
    const empty = join(base, 'empty')
    const { exitCode, stderr } = await runCommand(['apply', folderOf('cars'), '--data', empty, '--create'])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('has no organization')
    expect(existsSync(empty)).toBe(false)
  })
})

describe('pull', () => {
  test('writes a project so that apply finds no difference, and a copy has the same files', async () => {
    const folder = folderOf('pulled')
    await succeed('apply', folder, '--create')
    const out = join(base, 'pulled-out')
    expect(lines(await succeed('pull', out, '--project', 'pulled'))).toEqual([
      'verdigraph.yaml',
      'resolvers/price.resolver.yaml',
      'policies/drive.policy.yaml',
      'policies/see.policy.yaml',
      'queries/my-cars.query.yaml',
      '5 files, 5 written, 0 removed',
      'secrets are not written; set these before `apply`:',
      '  ${env:PRICE_HEADERS_AUTHORIZATION}  price headers.Authorization',
    ])
    const set = { PRICE_HEADERS_AUTHORIZATION: 'Bearer hidden-1' }
    const applied = await runCommand(['apply', out, '--data', data], set)
    expect(lines(applied.stdout)).toEqual(['0 created, 0 updated, 0 deleted, 5 unchanged'])
    const otherData = join(base, 'other-data')
    await runCommand(['init', '--data', otherData])
    await runCommand(['apply', out, '--data', otherData, '--create'], set)
    const copy = join(base, 'pulled-copy')
    await runCommand(['pull', copy, '--data', otherData, '--project', 'pulled'])
    for (const path of [
      'verdigraph.yaml',
      'resolvers/price.resolver.yaml',
      'policies/drive.policy.yaml',
      'policies/see.policy.yaml',
      'queries/my-cars.query.yaml',
    ])
      expect(readFileSync(join(copy, path), 'utf8'), path).toBe(readFileSync(join(out, path), 'utf8'))
  })

  test('refuses a folder with files unless --force, which keeps comments, spelling and references to secrets', async () => {
    const folder = folderOf('forced')
    await succeed('apply', folder, '--create')
    const edited = join(base, 'forced-edited')
    cpSync(folder, edited, { recursive: true })
    writeFileSync(join(edited, 'policies/drive.policy.yaml'), drive.replace('OWNS', 'DRIVES'))
    writeFileSync(
      join(edited, 'policies/see.cypher'),
      files['policies/see.cypher']?.replace('-[:OWNS]', '-[:RENTS]') ?? '',
    )
    writeFileSync(join(edited, 'policies/more.policy.yaml'), drive.replace('drive', 'sell'))
    rmSync(join(edited, 'queries/my-cars.query.yaml'))
    await succeed('apply', edited, '--prune', '--yes')
    const refused = await run('pull', folder)
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      `error: ${folder} is not empty; --force updates the files of a project folder\n`,
    ])
    writeFileSync(join(folder, 'README.md'), 'for people')
    expect(lines(await succeed('pull', folder, '--force')).slice(0, 5)).toEqual([
      'policies/drive.policy.yaml',
      'policies/more.policy.yaml',
      'policies/see.cypher',
      'queries/my-cars.query.yaml removed',
      '5 files, 3 written, 1 removed',
    ])
    for (const path of ['policies/drive.policy.yaml', 'policies/see.cypher', 'resolvers/price.resolver.yaml'])
      expect(readFileSync(join(folder, path), 'utf8'), path).toBe(readFileSync(join(edited, path), 'utf8'))
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('for people')
    const other = join(base, 'no-project')
    mkdirSync(other)
    writeFileSync(join(other, 'notes.txt'), '')
    expect((await run('pull', other, '--force', '--project', 'forced')).stderr).toBe(
      `error: ${other} has no verdigraph.yaml: it is no project folder\n`,
    )
    expect((await run('pull', join(base, 'new'))).exitCode).toBe(2)
  })
})

describe('files with the line breaks of Windows', () => {
  const windows = (text: string): string => text.replaceAll('\n', '\r\n')

  test('are those with other line breaks: no difference after an apply, a plan and a pull, and an update keeps them', async () => {
    const many = `${files['policies/see.cypher']}WHERE car.name = 'a' // one\n  AND car.size > 1\n`
    const texts = { ...files, 'policies/see.cypher': many, 'verdigraph.yaml': 'name: windows\n' }
    const unix = folderOf('windows', texts)
    const folder = folderOf(
      'windows',
      Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, windows(text)])),
    )
    await succeed('apply', unix, '--create')
    expect(await succeed('plan', folder)).toContain('0 to create, 0 to update, 0 to delete')
    expect(await succeed('apply', folder)).toContain('0 created, 0 updated, 0 deleted')
    expect(await succeed('pull', folder, '--force')).toContain('5 files, 0 written, 0 removed')

    const edited = folderOf('windows', { ...texts, 'policies/see.cypher': many.replace('size > 1', 'size > 2') })
    writeFileSync(join(edited, 'policies/drive.policy.yaml'), `${drive}description: Owners.\n`)
    await succeed('apply', edited)
    await succeed('pull', folder, '--force')
    expect(readFileSync(join(folder, 'policies/see.cypher'), 'utf8')).toBe(
      windows(many.replace('size > 1', 'size > 2')),
    )
    expect(readFileSync(join(folder, 'policies/drive.policy.yaml'), 'utf8')).toBe(
      windows(`${drive}description: Owners.\n`),
    )
    expect(await succeed('apply', folder)).toContain('0 updated')
  })

  test('in stored Cypher make a pull write YAML, which keeps them', async () => {
    const folder = folderOf('returns', {
      'policies/sell.policy.yaml':
        'subject: Person\nactions: [sell]\nresource: Car\ncypher: "MATCH (subject)-[:OWNS]->(resource)\\r\\nWHERE true"\n',
    })
    await succeed('apply', folder, '--create')
    rmSync(join(folder, 'policies/sell.policy.yaml'))
    const sell =
      '---\nsubject: Person\nactions: [sell]\nresource: Car\n---\nMATCH (subject)-[:OWNS]->(resource)\nWHERE true\n'
    writeFileSync(join(folder, 'policies/sell.cypher'), sell)
    const printed = lines(await succeed('pull', folder, '--force'))
    expect(printed).toEqual(expect.arrayContaining(['policies/sell.policy.yaml', 'policies/sell.cypher removed']))
    expect(await succeed('plan', folder)).toContain('0 to create, 0 to update, 0 to delete')
  })
})

describe('a served data folder', () => {
  let server: Server
  let port: string
  beforeAll(async () => {
    server = await startServer(['--data', data])
    port = new URL(server.url).port
  })
  afterAll(() => server.kill('SIGTERM'))

  const call = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${server.url}/configs/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return (await response.json()) as Record<string, unknown>
  }

  test('is changed through its service, found by the settings or by --url', async () => {
    const folder = folderOf('served')
    expect(lines(await succeed('apply', folder, '--create', '--port', port)).at(-1)).toContain('5 created')
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive.replace('OWNS', 'DRIVES'))
    const at = ['--url', server.url]
    const applied = await runCommand(['apply', folder, ...at], { ...secrets, VERDIGRAPH_TOKEN: token })
    expect(lines(applied.stdout).at(-1), applied.stderr).toBe('0 created, 1 updated, 0 deleted, 4 unchanged')
    const out = join(base, 'served-out')
    const pulled = await runCommand(['pull', out, ...at, '--project', 'served'], { VERDIGRAPH_TOKEN: token })
    expect(pulled.exitCode, pulled.stderr).toBe(0)
    const again = await runCommand(['apply', out, ...at], {
      PRICE_HEADERS_AUTHORIZATION: 'Bearer hidden-1',
      VERDIGRAPH_TOKEN: token,
    })
    expect(lines(again.stdout)).toEqual(['0 created, 0 updated, 0 deleted, 5 unchanged'])
  })

  test('is not changed with a token that may only read, which may pull', async () => {
    const account = { organization_id: organization, name: 'reader', role: 'all_viewer' }
    const { id } = await call('POST', 'service-accounts', account)
    const made = await call('POST', 'service-account-credentials', { service_account_id: id })
    const { token: reading } = made.service_account_config as { token: string }
    const folder = folderOf('readable')
    await succeed('apply', folder, '--create', '--port', port)
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive.replace('OWNS', 'DRIVES'))
    const environment = { ...secrets, VERDIGRAPH_TOKEN: reading }
    const refused = await runCommand(['apply', folder, '--url', server.url], environment)
    expect([refused.exitCode, lines(refused.stderr).at(-1)]).toEqual([
      1,
      'error: the role `all_viewer` may not change projects',
    ])
    const planned = await runCommand(['apply', folder, '--url', server.url, '--dry-run'], environment)
    expect(lines(planned.stdout).at(-1)).toBe('0 to create, 1 to update, 0 to delete, 4 unchanged')
    const out = join(base, 'read-only')
    const pulled = await runCommand(['pull', out, '--url', server.url, '--project', 'readable'], environment)
    expect(pulled.exitCode, pulled.stderr).toBe(0)
    const withoutToken = await runCommand(['apply', folder, '--url', server.url], {
      ...secrets,
      VERDIGRAPH_TOKEN: 'nonsense',
    })
    expect(withoutToken.exitCode).toBe(1)
    const nowhere = await runCommand(['apply', folder, '--url', 'http://127.0.0.1:1'], environment)
    expect(nowhere.stderr).toContain('cannot be reached')
  })

  test('is named by a context, as for the commands that ask', async () => {
    const folder = folderOf('contexts')
    await succeed('apply', folder, '--create', '--port', port)
    const home = { ...secrets, XDG_CONFIG_HOME: temporaryFolder(), PROD_TOKEN: token }
    const command = (args: readonly string[], more: object = {}) => runCommand(args, { ...home, ...more })
    const context = (name: string, ...args: string[]) => command(['context', 'set', name, ...args])
    await context('prod', '--url', server.url, '--token', '${env:PROD_TOKEN}')
    await context('other', '--url', server.url, '--token', '${env:PROD_TOKEN}', '--project', 'served')
    await context('memory', '--folder', folder)
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive.replace('OWNS', 'LEASES'))
    const changed = '~ authorization policy drive (policies/drive.policy.yaml)'
    for (const verb of ['plan', 'apply']) {
      const done = await command([verb, folder, '--context', 'prod'])
      expect([done.exitCode, done.stdout], done.stderr).toEqual([0, expect.stringContaining(changed)])
    }
    const out = join(base, 'of-a-context')
    const pulled = await command(['pull', out, '--project', 'contexts'], { VERDIGRAPH_CONTEXT: 'prod' })
    expect(pulled.exitCode, pulled.stderr).toBe(0)
    expect(readFileSync(join(out, 'policies/drive.policy.yaml'), 'utf8')).toContain('LEASES')
    await command(['context', 'use', 'prod'])
    const current = await command(['apply', folder])
    expect([current.exitCode, lines(current.stdout).at(-1)]).toEqual([
      0,
      '0 created, 0 updated, 0 deleted, 5 unchanged',
    ])

    const messages: readonly (readonly [args: readonly string[], message: string])[] = [
      [['--context', 'prd'], 'no context is named `prd`; did you mean `prod`?'],
      [['--context', 'prod', '--url', server.url], 'expected either --context or --url'],
      [['--context', 'memory'], 'this command needs a service or a data folder'],
      [
        ['--context', 'other'],
        'the context names the project `served`, and verdigraph.yaml `contexts`: pass --project',
      ],
    ]
    for (const [args, message] of messages) {
      for (const verb of ['apply', 'plan']) {
        const refused = await command([verb, folder, ...args])
        expect([refused.exitCode, refused.stderr], verb).toEqual([2, expect.stringContaining(message)])
      }
    }
    const chosen = await command(['plan', folder, '--context', 'other', '--project', 'contexts'])
    expect(chosen.exitCode, chosen.stderr).toBe(0)
    // A token of the data folder goes only to the address of the settings.
    await context('foreign', '--url', 'http://127.0.0.1:1', '--data', data)
    const foreign = await command(['apply', folder, '--context', 'foreign'])
    expect([foreign.exitCode, foreign.stderr]).toEqual([2, expect.stringContaining('gets no token of the data folder')])
  })

  test('has the same documents after eight applies at the same time: each is stored as a whole or not at all', async () => {
    const variants = Array.from({ length: 8 }, (_, i) =>
      folderOf('crowded', {
        'policies/drive.policy.yaml': drive.replace('OWNS', `OWNS_${i}`),
        'policies/sell.policy.yaml': drive.replace('OWNS', `OWNS_${i}`).replace('drive', 'sell'),
        'resolvers/price.resolver.yaml': null,
      }),
    )
    await succeed('apply', variants[0] as string, '--create', '--port', port)
    const results = await Promise.all(variants.map((folder) => run('apply', folder, '--port', port)))
    for (const { exitCode, stderr } of results)
      if (exitCode !== 0) expect(stderr).toContain('nothing was stored: run the command again')
    const { documents } = await call('GET', 'projects/crowded/documents')
    const kinds = (documents as { name: string; body: { policy: string } }[]).filter(({ name }) =>
      /drive|sell/.test(name),
    )
    const used = kinds.map(({ body }) => /OWNS_\d/.exec(body.policy)?.[0])
    expect(used).toHaveLength(2)
    expect(new Set(used).size).toBe(1)
  })
})
