// `doctor` as a real process: on a sound folder, at rest and while it is served, and on folders that are broken in each way. It changes
// nothing. A folder of a newer program is refused by every command with a sentence.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { ConfigRepository } from '../../../src/config/repository.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { DocumentCopy } from '../../../src/store/documents/document-copy.ts'
import { GRAPH_DESCRIPTION, openMeta } from '../../../src/store/lmdb/databases.ts'
import { encodeLayout, graphLayout, LAYOUT_KEY } from '../../../src/store/lmdb/layout.ts'
import { LmdbFile } from '../../../src/store/lmdb/lmdb-file.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface DoctorAnswer {
  readonly sound: boolean
  readonly findings: readonly { check: string; status: string; found: string; mend: string | null }[]
}

/** A folder with the demo, which has projects, keys and an audit log. */
let sound: string

beforeAll(async () => {
  sound = join(temporaryFolder(), 'data')
  const server = await startServer(['--demo', '--data', sound])
  await server.kill('SIGTERM')
})
afterEach(killAll)

/** With port 0 nothing depends on what listens on this machine. */
const token = { VERDIGRAPH_METRICS_TOKEN: 'a-token-of-24-characters-x', VERDIGRAPH_PORT: '0' }

async function doctor(
  folder: string,
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<DoctorAnswer & { exitCode: number }> {
  const { exitCode, stdout, stderr } = await runCommand(
    ['doctor', '--data', folder, '--json'],
    { ...token, ...environment },
    through,
  )
  expect(stderr).toBe('')
  return { ...(JSON.parse(stdout) as DoctorAnswer), exitCode }
}

/** The results that are not ok, by check. */
function faults({ findings }: DoctorAnswer): Record<string, string> {
  return Object.fromEntries(
    findings.filter(({ status }) => status !== 'ok').map(({ check, status, found }) => [check, `${status}: ${found}`]),
  )
}

function copyOfSound(): string {
  const folder = join(temporaryFolder(), 'data')
  cpSync(sound, folder, { recursive: true, preserveTimestamps: true })
  chmodSync(folder, 0o700)
  return folder
}

/** The names, modes and contents of all files, but for the tables of readers, in which every reader registers. */
function stateOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [
        path,
        path.endsWith('lock.mdb') ? '' : createHash('sha256').update(readFileSync(path)).digest('hex'),
      ]),
  )
}

async function setLayoutVersion(folder: string, version: number): Promise<void> {
  const file = new LmdbFile(folder, {})
  try {
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    await file.transaction(() => {
      meta.raw.put(LAYOUT_KEY, encodeLayout({ ...graphLayout, version }))
    })
  } finally {
    await file.close()
  }
}

/** The first graph of the folder, as a path in it. */
function firstGraph(folder: string): string {
  const [project = ''] = readdirSync(join(folder, 'projects'))
  return join('projects', project, 'default')
}

describe('a sound folder', () => {
  it('passes every check, at rest and while it is served, and is not changed', async () => {
    const folder = copyOfSound()
    const before = stateOf(folder)
    const atRest = await doctor(folder)
    expect([atRest.exitCode, atRest.sound, faults(atRest)]).toEqual([0, true, {}])
    expect(stateOf(folder)).toEqual(before)
    expect(atRest.findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['folder', 'rights', 'disk', 'clock', 'layout', 'master key', 'agent keys', 'open files']),
    )
    const server = await startServer(['--data', folder])
    const served = await doctor(folder)
    expect([served.exitCode, faults(served)]).toEqual([0, {}])
    expect(served.findings[0]?.found).toContain('served by a process')
    expect(await server.kill('SIGTERM')).toBe(0)
  })

  it('is printed with signs, and with the mend of what is found', async () => {
    const { exitCode, stdout } = await runCommand(['doctor', '--data', copyOfSound()])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^✓ folder +\/.*, not served$/m)
    expect(stdout).toMatch(/^! settings +Prometheus has no credential that does not expire\n +→ set `metrics_token`/m)
  })
})

describe('a configuration', () => {
  const shared = { VERDIGRAPH_CONFIG_STORE: 'bolt://db.example:7687' }
  const finding = ({ findings }: DoctorAnswer) => findings.find(({ check }) => check === 'configuration')

  it('of the folder is moved by the next start of an instance', async () => {
    const folder = copyOfSound()
    expect(finding(await doctor(folder))).toBeUndefined()
    expect(finding(await doctor(folder, shared))).toMatchObject({
      status: 'warning',
      found: 'of this folder; the next start moves it to bolt://db.example:7687',
    })
  })

  it('that is a copy needs the setting, and tells the change that it contains', async () => {
    const folder = copyOfSound()
    const collections = openCollections(join(folder, 'config'), {})
    const copy = new DocumentCopy(collections, { isLast: () => false, writing: () => {}, written: () => {} })
    await copy.begin({ store: 'store', version: 7, commit: 'seven' })
    await collections.close()
    expect(finding(await doctor(folder, shared))).toMatchObject({
      status: 'ok',
      found: 'a copy of the one in bolt://db.example:7687, at change 7',
    })
    const without = await doctor(folder)
    expect([without.exitCode, finding(without)]).toMatchObject([
      1,
      {
        status: 'failed',
        found: 'a copy of a configuration that several instances share, without `config_store`',
        mend: 'set `config_store`, or start with an empty data folder',
      },
    ])
  })
})

describe('a folder', () => {
  it('that does not exist is a warning: the first start creates it', async () => {
    const answer = await doctor(join(temporaryFolder(), 'none', 'data'))
    expect([answer.exitCode, faults(answer).folder]).toEqual([0, expect.stringMatching(/^warning: .* does not exist$/)])
  })

  it('that is empty is a warning, and that is a file fails', async () => {
    expect(faults(await doctor(temporaryFolder())).folder).toMatch(/^warning: .* is empty$/)
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const answer = await doctor(file)
    expect([answer.exitCode, faults(answer).folder]).toEqual([1, `failed: ${file} is a file`])
  })

  it('that other users may enter is a warning with the command that mends it', async () => {
    const folder = copyOfSound()
    chmodSync(folder, 0o755)
    const { findings } = await doctor(folder)
    const rights = findings.find(({ check }) => check === 'rights')
    expect(rights?.status).toBe('warning')
    expect(rights?.found).toContain('has the mode 0755')
    expect(rights?.mend).toContain('chmod -R go=')
  })

  it.skipIf(process.getuid?.() !== 0 || Bun.which('setpriv') === null)(
    'that belongs to another user fails, with the mend',
    async () => {
      const folder = copyOfSound()
      chmodSync(join(folder, '..'), 0o755)
      const stranger = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
      const cannotRead = `failed: ${folder}, or a folder in it, cannot be read by this user`
      for (const mode of [0o700, 0o755]) {
        chmodSync(folder, mode)
        const answer = await doctor(folder, {}, stranger)
        expect([answer.exitCode, faults(answer).folder]).toEqual([1, cannotRead])
      }
      for (const { parentPath, name } of readdirSync(folder, { recursive: true, withFileTypes: true }))
        chmodSync(join(parentPath, name), 0o755)
      const readable = await doctor(folder, {}, stranger)
      expect([readable.exitCode, faults(readable).rights]).toEqual([
        1,
        `failed: ${folder} is not writable for this user`,
      ])
    },
  )

  it('whose clock is behind its last change fails', async () => {
    const folder = copyOfSound()
    const path = join(folder, 'config', 'data.mdb')
    const later = new Date(Date.now() + 3 * 3_600_000)
    utimesSync(path, later, later)
    const answer = await doctor(folder)
    expect([answer.exitCode, faults(answer).clock]).toEqual([
      1,
      expect.stringMatching(/^failed: .* is 3 h before the last change of the data folder$/),
    ])
  })

  it('with a master key that other users may read is a warning', async () => {
    const folder = copyOfSound()
    chmodSync(join(folder, 'master.key'), 0o644)
    expect(faults(await doctor(folder)).rights).toMatch(/^warning: other users may access .*master\.key/)
  })

  it('without its master key, and with another one, fails', async () => {
    const folder = copyOfSound()
    rmSync(join(folder, 'master.key'))
    expect(faults(await doctor(folder))['master key']).toMatch(/^failed: the data folder has no master.key/)
    writeFileSync(join(folder, 'master.key'), Buffer.alloc(32, 7).toString('base64url'), { mode: 0o600 })
    const answer = await doctor(folder)
    expect([answer.exitCode, faults(answer)['master key']]).toEqual([
      1,
      expect.stringMatching(/^failed: .*another master key/),
    ])
  })

  it('with an interrupted rotation of the master key is a warning', async () => {
    const folder = copyOfSound()
    const next = Buffer.alloc(32, 7).toString('base64url')
    writeFileSync(join(folder, 'master.key.next'), next, { mode: 0o600 })
    expect(faults(await doctor(folder))).toEqual({
      'master key': 'warning: a rotation of the master key was interrupted',
    })
  })

  it('with a damaged configuration fails, with the way to the damage', async () => {
    const folder = copyOfSound()
    writeFileSync(join(folder, 'config', 'data.mdb'), Buffer.alloc(8192, 1))
    const { exitCode, findings } = await doctor(folder)
    const layout = findings.find(({ check }) => check === 'layout')
    expect([exitCode, layout?.status, layout?.mend]).toEqual([
      1,
      'failed',
      'run `verdigraph verify`; if it finds damage, restore a backup',
    ])
  })

  it('with an interrupted migration fails, and migrate --check says so', async () => {
    const folder = copyOfSound()
    const graph = join(folder, firstGraph(folder))
    renameSync(graph, `${graph}.before`)
    const answer = await doctor(folder)
    expect([answer.exitCode, faults(answer).layout]).toEqual([
      1,
      expect.stringContaining('was interrupted; run `verdigraph migrate` to finish it'),
    ])
    const checked = await runCommand(['migrate', '--check', '--data', folder])
    expect([checked.exitCode, checked.stdout]).toEqual([1, expect.stringMatching(/^interrupted projects\//m)])
  })

  it('with an unfinished import fails', async () => {
    const folder = copyOfSound()
    const imported = join(temporaryFolder(), 'lines.ndjson')
    writeFileSync(imported, '{"broken')
    const marker = { file: imported, graphs: [] }
    writeFileSync(join(folder, 'import.unfinished'), `${JSON.stringify(marker)}\n`)
    const answer = await doctor(folder)
    expect([answer.exitCode, faults(answer).import]).toEqual([1, expect.stringContaining('was interrupted')])
  })
})

describe('limits, certificates and settings', () => {
  const limited = (limit: string) => ['sh', '-c', `ulimit ${limit} && exec "$@"`, 'sh']

  it('a low limit of open files fails', async () => {
    const answer = await doctor(sound, {}, limited('-n 200'))
    expect([answer.exitCode, faults(answer)]).toEqual([1, { 'open files': 'failed: 200 open files' }])
  })

  it('a limit of file sizes is a warning', async () => {
    const answer = await doctor(sound, {}, limited('-f 2000000'))
    expect([answer.exitCode, Object.keys(faults(answer))]).toEqual([0, ['file size']])
  })

  it('a missing certificate fails', async () => {
    const files = { VERDIGRAPH_TLS_CERTIFICATE: '/nowhere/c.pem', VERDIGRAPH_TLS_KEY: '/nowhere/k.pem' }
    const answer = await doctor(sound, files)
    expect([answer.exitCode, faults(answer).certificate]).toEqual([1, 'failed: /nowhere/c.pem cannot be read'])
  })

  it('a decision log without a folder fails', async () => {
    const answer = await doctor(sound, { VERDIGRAPH_DECISION_LOG: '/nowhere/decisions.ndjson' })
    expect([answer.exitCode, faults(answer)['decision log']]).toEqual([
      1,
      'failed: /nowhere/decisions.ndjson cannot be written',
    ])
  })

  it('an absent or empty file of a secret fails, and a private key that all users may read is a warning', async () => {
    const folder = temporaryFolder()
    const [empty, key] = [join(folder, 'empty'), join(folder, 'key')]
    writeFileSync(empty, '')
    writeFileSync(key, 'AGE-SECRET-KEY-1', { mode: 0o644 })
    const answer = await doctor(sound, { VERDIGRAPH_METRICS_TOKEN: '', VERDIGRAPH_METRICS_TOKEN_FILE: empty })
    expect([answer.exitCode, faults(answer)]).toEqual([1, { files: `failed: ${empty} is empty` }])
    const absent = await doctor(sound, { VERDIGRAPH_BACKUP_IDENTITY: '/nowhere/key.txt' })
    expect([absent.exitCode, faults(absent)]).toEqual([1, { files: 'failed: /nowhere/key.txt cannot be read' }])
    chmodSync(key, 0o644)
    const open = await doctor(sound, { VERDIGRAPH_BACKUP_IDENTITY: key })
    expect([open.exitCode, faults(open)]).toEqual([0, { files: `warning: all users may read the private key ${key}` }])
  })

  it('a service that does not ship, in spite of the setting, fails', async () => {
    const folder = copyOfSound()
    const server = await startServer(['--data', folder])
    const answer = await doctor(folder, { VERDIGRAPH_SHIP_TO: join(temporaryFolder(), 'place') })
    expect([answer.exitCode, faults(answer)]).toEqual([
      1,
      { shipping: 'failed: nothing was shipped: the service runs without `ship_to`' },
    ])
    await server.kill('SIGTERM')
  })

  it('an invalid setting is an error of usage: nothing is checked', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['doctor', '--data', sound], { VERDIGRAPH_PORT: 'x' })
    expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining('VERDIGRAPH_PORT: expected an integer')])
  })
})

describe('the port', () => {
  const at = (port: number, folder: string, more: Record<string, string> = {}) =>
    doctor(folder, { VERDIGRAPH_PORT: String(port), ...more })
  const portOf = ({ findings }: DoctorAnswer) => findings.find(({ check }) => check === 'port')

  it('that is free passes, and that of the service of this folder too, also with workers', async () => {
    // Other tests listen on 127.0.0.1 only.
    const host = `127.${process.pid % 250}.77.7`
    const free = Bun.listen({ hostname: host, port: 0, socket: { data: () => undefined } })
    const { port } = free
    free.stop(true)
    expect(portOf(await at(port, sound, { VERDIGRAPH_HOST: host }))).toMatchObject({
      status: 'ok',
      found: `${host}:${port} is free`,
    })
    const folder = copyOfSound()
    for (const workers of ['1', '2']) {
      const server = await startServer(['--data', folder, '--workers', workers])
      const own = Number(new URL(server.url).port)
      const served = await at(own, folder)
      expect([served.exitCode, portOf(served)]).toEqual([
        0,
        { check: 'port', status: 'ok', found: `the service listens on port ${own}`, mend: null },
      ])
      // The same port is used by another program for another folder.
      const other = await at(own, sound)
      expect([other.exitCode, portOf(other)]).toMatchObject([
        1,
        {
          status: 'failed',
          found: expect.stringMatching(
            new RegExp(`^127\\.0\\.0\\.1:${own} is used by process \\d+ \\((?:bun|verdigraph)`),
          ),
          mend: 'stop that program, or set another `port`',
        },
      ])
      await server.kill('SIGTERM')
    }
  })

  it('that another program uses fails, also while the folder is served on another one', async () => {
    const folder = copyOfSound()
    const program = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
    try {
      for (const isServed of [false, true]) {
        const server = isServed ? await startServer(['--data', folder]) : null
        const answer = await at(program.port, folder)
        expect([answer.exitCode, portOf(answer)?.found]).toEqual([
          1,
          expect.stringContaining(`127.0.0.1:${program.port} is used by process ${process.pid} (`),
        ])
        await server?.kill('SIGTERM')
      }
    } finally {
      program.stop(true)
    }
  })

  it('of an address that the machine does not have fails', async () => {
    const answer = await at(8080, sound, { VERDIGRAPH_HOST: '203.0.113.7' })
    expect([answer.exitCode, portOf(answer)]).toMatchObject([
      1,
      { found: '203.0.113.7 is no address of this machine', mend: 'correct `host`' },
    ])
  })
})

describe('places of backups', () => {
  const placesOf = ({ findings }: DoctorAnswer) => findings.filter(({ check }) => check === 'places')
  const access = {
    AWS_ACCESS_KEY_ID: 'key',
    AWS_SECRET_ACCESS_KEY: 'the-secret-key',
    AWS_REGION: 'eu-west-1',
  }

  it('pass if the first run can create the folder, and nothing is created', async () => {
    const folder = join(temporaryFolder(), 'not', 'there')
    const answer = await doctor(sound, { VERDIGRAPH_BACKUP_TO: folder, VERDIGRAPH_SHIP_TO: temporaryFolder() })
    expect([answer.exitCode, placesOf(answer).map(({ found }) => found)]).toEqual([
      0,
      [
        `backup_to: ${folder} does not exist; the first run creates it`,
        expect.stringMatching(/^ship_to: .* is writable$/),
      ],
    ])
    expect(existsSync(folder)).toBe(false)
  })

  it('fail if the folder is a file, is below a file, or is not writable', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const answer = await doctor(sound, { VERDIGRAPH_BACKUP_TO: file, VERDIGRAPH_SHIP_TO: join(file, 'a', 'b') })
    expect([answer.exitCode, placesOf(answer)]).toMatchObject([
      1,
      [
        { status: 'failed', found: `backup_to: ${file} is a file`, mend: 'name a folder with `backup_to`' },
        { status: 'failed', found: `ship_to: ${file}/a/b cannot be created: ${file} is a file` },
      ],
    ])
  })

  it.skipIf(process.getuid?.() !== 0 || Bun.which('setpriv') === null)('fail without the right to write', async () => {
    const parent = temporaryFolder()
    chmodSync(parent, 0o755)
    const stranger = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    const closed = join(temporaryFolder(), 'data')
    const answer = await doctor(
      closed,
      { VERDIGRAPH_BACKUP_TO: parent, VERDIGRAPH_SHIP_TO: join(parent, 'new') },
      stranger,
    )
    expect(placesOf(answer).map(({ status, found }) => [status, found])).toEqual([
      ['failed', `backup_to: ${parent} is not writable for this user`],
      ['failed', `ship_to: ${parent}/new cannot be created in ${parent}`],
    ])
    expect(faults(answer).folder).toBe(`failed: ${closed} cannot be reached by this user`)
  })

  it('ask a bucket: it answers, refuses the key, or does not exist', async () => {
    const answers: Readonly<Record<string, readonly [status: number, body: string]>> = {
      good: [200, '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'],
      closed: [403, '<Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>'],
      none: [404, '<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>'],
    }
    const methods: string[] = []
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        methods.push(request.method)
        const [status, body] = answers[new URL(request.url).pathname.split('/')[1] ?? ''] ?? [500, '']
        return new Response(body, { status })
      },
    })
    try {
      const environment = { ...access, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${server.port}` }
      for (const [bucket, expected] of [
        ['good', { status: 'ok', mend: null }],
        ['closed', { status: 'failed', mend: expect.stringContaining('correct AWS_ACCESS_KEY_ID') }],
        ['none', { status: 'failed', mend: expect.stringContaining('create the bucket') }],
      ] as const) {
        const answer = await doctor(sound, { ...environment, VERDIGRAPH_SHIP_TO: `s3://${bucket}/prefix` })
        expect([placesOf(answer), answer.exitCode]).toMatchObject([[expected], bucket === 'good' ? 0 : 1])
        expect(JSON.stringify(answer)).not.toContain('the-secret-key')
      }
      expect(new Set(methods)).toEqual(new Set(['GET']))
    } finally {
      await server.stop(true)
    }
  })

  it('fail if the server cannot be reached, or credentials are missing', async () => {
    const away = { ...access, AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1', VERDIGRAPH_BACKUP_TO: 's3://bucket' }
    expect(placesOf(await doctor(sound, away))).toMatchObject([
      { status: 'failed', mend: expect.stringContaining('AWS_ENDPOINT_URL_S3') },
    ])
    const without = { VERDIGRAPH_BACKUP_TO: 's3://bucket', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    expect(placesOf(await doctor(sound, without))).toMatchObject([
      { status: 'failed', found: expect.stringContaining('needs credentials: set AWS_ACCESS_KEY_ID') },
    ])
  })

  it('fail after a time limit if the server accepts connections and never answers', async () => {
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
    try {
      const environment = { ...access, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${silent.port}` }
      const answer = await doctor(sound, { ...environment, VERDIGRAPH_SHIP_TO: 's3://bucket' })
      expect(placesOf(answer)).toMatchObject([{ found: expect.stringContaining('no answer within 10 s') }])
    } finally {
      silent.stop(true)
    }
  })
})

describe('background work', () => {
  it('a pipeline and a trust score profile whose last run failed are warnings with the cause', async () => {
    const folder = copyOfSound()
    const collections = openCollections(join(folder, 'config'), {})
    try {
      const documents = new ConfigRepository(collections)
      const [project] = documents.all('projects')
      const document = (kind: string, fields: object): StoredDocument =>
        ({ ...project, id: `gid:${kind}`, kind, name: `a-${kind}`, project_id: project?.id, fields }) as StoredDocument
      await documents.write((draft) => {
        draft.put(
          document('entity-matching-pipelines', {
            entity_matching_status: 'ERROR',
            entity_matching_message: 'the disk is full',
            property_mapping_status: 'SUCCESS',
            property_mapping_message: '',
          }),
        )
        draft.put(
          document('trust-score-profiles', { schedule: 'UPDATE_FREQUENCY_DAILY', last_error: 'a value is no date' }),
        )
      })
    } finally {
      await collections.close()
    }
    const answer = await doctor(folder)
    expect([answer.exitCode, faults(answer)]).toEqual([
      0,
      {
        matching:
          'warning: the last run of a-entity-matching-pipelines (gid:entity-matching-pipelines) failed: the disk is full',
        schedules:
          'warning: the last pass of a-trust-score-profiles (gid:trust-score-profiles) failed: a value is no date',
      },
    ])
  })
})

describe('a folder of a newer program', () => {
  it('is refused by serve, migrate and verify with a sentence, and doctor has the mend', async () => {
    const folder = copyOfSound()
    const graph = firstGraph(folder)
    await setLayoutVersion(join(folder, graph), 99)
    const sentence = `the folder contains a graph in layout version 99, written by a newer program; this program reads version ${graphLayout.version}`
    const { exitCode, findings } = await doctor(folder)
    const layout = findings.find(({ check }) => check === 'layout')
    expect([exitCode, layout?.found]).toEqual([1, `${graph}: ${sentence}`])
    expect(layout?.mend).toContain('use the program that wrote the folder')
    const checked = await runCommand(['migrate', '--check', '--data', folder, '--json'])
    expect(checked.exitCode).toBe(1)
    expect(JSON.parse(checked.stdout).layouts).toContainEqual({ folder: graph, state: 'newer', message: sentence })
    const migrated = await runCommand(['migrate', '--data', folder])
    expect([migrated.exitCode, migrated.stderr]).toEqual([1, expect.stringContaining(sentence)])
    const verified = await runCommand(['verify', '--data', folder])
    expect([verified.exitCode, verified.stdout]).toEqual([2, expect.stringContaining(sentence)])
    expect(existsSync(join(folder, `${graph}.migrated`))).toBe(false)
  })

  it('whose configuration is newer is not served', async () => {
    const folder = copyOfSound()
    const file = new LmdbFile(join(folder, 'config'), {})
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    await file.transaction(() => {
      meta.raw.put(LAYOUT_KEY, encodeLayout({ kind: 2, version: 99 }))
    })
    await file.close()
    const { exitCode, stderr } = await runCommand(['serve', '--port', '0', '--data', folder])
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('layout version 99, written by a newer program')])
  })
})

it('migrate --check of a folder of the present version changes nothing and succeeds, also while it is served', async () => {
  const folder = copyOfSound()
  const server = await startServer(['--data', folder])
  const { exitCode, stdout } = await runCommand(['migrate', '--check', '--data', folder])
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^current {5}config: documents, layout version \d+$/m)])
  expect(await server.kill('SIGTERM')).toBe(0)
})
