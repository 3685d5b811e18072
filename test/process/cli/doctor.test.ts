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

const token = { VERDIGRAPH_METRICS_TOKEN: 'a-token-of-24-characters-x' }

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

/** What is not ok, by check. */
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
      meta.raw.put(LAYOUT_KEY, encodeLayout({ kind: 2, contents: 'documents', version: 99 }))
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
