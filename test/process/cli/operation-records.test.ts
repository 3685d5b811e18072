// The audit trail has one record of each command that reads or changes a data folder as a whole, and of starts and stops. Each command
// states its record, or why it has none, in its declaration.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CliCommand } from '../../../src/cli/commands/cli-command.ts'
import { program } from '../../../src/cli/program.ts'
import { envelopesOf } from '../../../src/events/envelope.ts'
import { payloadSchema } from '../../../src/events/event-types.ts'
import { auditOwnerOf } from '../../../src/kernel/folder/audit-stream.ts'
import { EventsFolder } from '../../../src/store/outbox/events-folder.ts'
import { runCommand, startServer } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

interface RecordedOperation {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

const OPERATION = 'svc.audit.operations.'

/** The records of operations in a folder that is not served: those that wait, after those that are sealed. */
async function operationsIn(dataDir: string): Promise<RecordedOperation[]> {
  const sealed = globSync('audit/logs/*/*/tile/entries/**', { cwd: dataDir, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => entriesOf(readFileSync(join(entry.parentPath, entry.name))))
  const waiting = existsSync(join(dataDir, 'events')) ? await waitingIn(join(dataDir, 'events')) : []
  const unique = new Map([...sealed, ...waiting].map((entry) => [`${entry.source} ${entry.id}`, entry]))
  const found = [...unique.values()].filter(({ type }) => type.startsWith(OPERATION))
  return found
    .sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time))
    .map(({ type, data }) => {
      payloadSchema(type as Parameters<typeof payloadSchema>[0]).parse(data)
      return { type: type.replace(OPERATION, ''), data }
    })
}

interface SealedOperation extends RecordedOperation {
  readonly id: string
  readonly source: string
  readonly time: string
}

/** Each entry of a bundle has its length before it, as 16 bits. */
function entriesOf(bundle: Buffer): SealedOperation[] {
  const entries: SealedOperation[] = []
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + bundle.readUInt16BE(at)
    entries.push(JSON.parse(bundle.toString('utf8', at + 2, end)))
    at = end
  }
  return entries
}

async function waitingIn(path: string): Promise<SealedOperation[]> {
  const folder = new EventsFolder(path, { readOnly: true })
  try {
    return folder.outbox.streams().flatMap((name) => {
      const organizationId = auditOwnerOf(name)
      if (organizationId === null) return []
      const stream = { projectId: '', organizationId, source: 'activity', isAudit: true } as const
      return folder.outbox.read(name, 0, { events: 10_000, bytes: 1 << 30 }).flatMap((record) =>
        envelopesOf(record, stream).map(({ attributes, data }) => ({
          ...(attributes as unknown as SealedOperation),
          data: JSON.parse(Buffer.from(data).toString('utf8')),
        })),
      )
    })
  } finally {
    await folder.close()
  }
}

let base: string
let data: string

beforeAll(async () => {
  base = temporaryFolder()
  data = join(base, 'data')
})
afterAll(removeTemporaryFolders)

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(args)
  expect(exitCode, stderr).toBe(0)
  return stdout
}

/** The records of the operations that `run` makes. */
async function newIn(dataDir: string, run: () => Promise<unknown>): Promise<RecordedOperation[]> {
  const before = (await operationsIn(dataDir)).length
  await run()
  return (await operationsIn(dataDir)).slice(before)
}

const actor = () => ({
  type: 'operating-system-user',
  id: String(process.getuid?.()),
  name: userInfo().username,
  host: hostname(),
})
const ok = { outcome: 'ok' }

describe('the record of a command', () => {
  test('is stated in the declaration of every command, or of its group', () => {
    const unstated = (command: CliCommand): string[] => {
      if (command.recordText !== '') return []
      const visible = command.createHelp().visibleCommands(command)
      const below = command.commands.filter((one) => visible.includes(one) && one.name() !== 'help')
      return below.length === 0 ? [command.path] : below.flatMap(unstated)
    }
    expect(unstated(program())).toEqual([])
  })
})

describe('a command has a record', () => {
  test('init and token, before they print the token', async () => {
    const seen = await newIn(data, async () => {
      await succeed('init', '--data', data)
      await succeed('token', '--data', data, '--lifetime', '600')
    })
    const subject = expect.stringMatching(/^gid:/)
    expect(seen).toMatchObject([
      { type: 'token.issue', data: { ...ok, subject, lifetimeS: 86_400, actor: actor() } },
      { type: 'token.issue', data: { ...ok, subject, lifetimeS: 600, actor: actor() } },
    ])
  })

  test('serve, also after a kill', async () => {
    const seen = await newIn(data, async () => {
      expect(await (await startServer(['--data', data])).kill('SIGTERM')).toBe(0)
      await (await startServer(['--data', data])).kill('SIGKILL')
      expect(await (await startServer(['--data', data, '--workers', '2'])).kill('SIGTERM')).toBe(0)
    })
    expect(seen.map(({ type, data }) => [type, data.isAfterCrash, data.workers])).toEqual([
      ['service.start', false, 1],
      ['service.stop', undefined, undefined],
      ['service.start', false, 1],
      ['service.start', true, 2],
      ['service.stop', undefined, undefined],
    ])
  })

  test('starts have the settings of the audit log; with `audit` `off`, operations are recorded if there is a log', async () => {
    const settings = { VERDIGRAPH_AUDIT_DECISIONS: 'sampled', VERDIGRAPH_CLIENT_ADDRESS_HEADER: 'X-Forwarded-For' }
    const seen = await newIn(data, async () => {
      expect(await (await startServer(['--data', data], settings)).kill('SIGTERM')).toBe(0)
      expect(await (await startServer(['--data', data], { VERDIGRAPH_AUDIT: 'off' })).kill('SIGTERM')).toBe(0)
      expect((await runCommand(['token', '--data', data], { VERDIGRAPH_AUDIT: 'off' })).exitCode).toBe(0)
    })
    expect(seen.map(({ type }) => type)).toEqual([
      'service.start',
      'service.stop',
      'service.start',
      'service.stop',
      'token.issue',
    ])
    const defaults = { decisions: 'none', isStrict: false, keyRotationDays: 90, retentionDays: 0 }
    expect([seen[0]?.data.audit, seen[2]?.data.audit]).toEqual([
      {
        ...defaults,
        recording: 'on',
        decisions: 'sampled',
        sampleRate: 100,
        clientAddressHeader: 'x-forwarded-for',
      },
      { ...defaults, recording: 'off' },
    ])
  })

  test('backup and export, also if they fail', async () => {
    const [backup, lines] = [join(base, 'one.vgbackup'), join(base, 'lines.ndjson')]
    const seen = await newIn(data, async () => {
      await succeed('backup', '--data', data, '--out', backup)
      expect((await runCommand(['backup', '--data', data, '--out', backup])).exitCode).not.toBe(0)
      await succeed('export', '--data', data, '--out', lines)
    })
    expect(seen).toMatchObject([
      { type: 'backup', data: { ...ok, file: backup, projects: 0, bytes: expect.any(Number), actor: actor() } },
      { type: 'backup', data: { outcome: 'failed', file: backup, error: expect.stringContaining('already exists') } },
      { type: 'export', data: { ...ok, file: lines, configuration: expect.any(Number), nodes: 0 } },
    ])
  })

  test('restore and import, in the folder that they write', async () => {
    const [restored, imported] = [join(base, 'restored'), join(base, 'imported')]
    await succeed('restore', '--data', restored, '--in', join(base, 'one.vgbackup'))
    const [restore] = (await operationsIn(restored)).slice(-1)
    expect(restore).toMatchObject({
      type: 'restore',
      data: { file: join(base, 'one.vgbackup'), madeAt: expect.any(String) },
    })
    // Without the key of its organization the folder cannot be opened.
    mkdirSync(imported)
    writeFileSync(join(imported, 'master.key'), readFileSync(join(data, 'master.key')), { mode: 0o600 })
    await succeed('import', '--data', imported, '--in', join(base, 'lines.ndjson'))
    const wrong = join(base, 'wrong.ndjson')
    writeFileSync(wrong, 'nonsense\n')
    expect((await runCommand(['import', '--data', imported, '--in', wrong])).exitCode).not.toBe(0)
    expect(await operationsIn(imported)).toMatchObject([
      { type: 'import', data: { ...ok, nodes: 0 } },
      { type: 'import', data: { outcome: 'failed', file: wrong } },
    ])
    const dry = join(base, 'dry')
    await succeed('import', '--data', dry, '--in', join(base, 'lines.ndjson'), '--dry-run')
    expect(existsSync(dry)).toBe(false)
  })

  test('copy, here one that fails', async () => {
    const to = 'bolt://127.0.0.1:9'
    const seen = await newIn(data, () => runCommand(['copy', '--from', data, '--to', to, '--project', 'absent']))
    const error = expect.stringContaining('has no project')
    expect(seen).toMatchObject([
      { type: 'copy', data: { outcome: 'failed', from: data, to, project: 'absent', error, actor: actor() } },
    ])
  })

  test('migrate and rotate-master-key', async () => {
    const seen = await newIn(data, async () => {
      await succeed('migrate', '--data', data)
      await succeed('rotate-master-key', '--data', data)
    })
    expect(seen).toMatchObject([
      { type: 'migrate', data: { ...ok, migrated: [], actor: actor() } },
      { type: 'masterkey.rotate', data: { ...ok, resealed: expect.any(Number) } },
    ])
  })

  test('trust run, also one that fails', async () => {
    const profile = 'gid:00000000000000000000000000'
    const seen = await newIn(data, () => runCommand(['trust', 'run', '--data', data, '--profile', profile]))
    const error = expect.stringContaining(`has no trust score profile \`${profile}\``)
    expect(seen).toMatchObject([{ type: 'trust.run', data: { outcome: 'failed', profile, error, actor: actor() } }])
  })

  test('match run and match decide, also those that fail', async () => {
    const pipeline = 'gid:00000000000000000000000000'
    const error = expect.stringContaining(`no entity matching pipeline \`${pipeline}\``)
    const ran = await newIn(data, () => runCommand(['match', 'run', '--data', data, '--pipeline', pipeline]))
    expect(ran.find(({ type }) => type === 'match.run')).toMatchObject({
      data: { outcome: 'failed', pipeline, error, actor: actor() },
    })
    const pair = ['--source', 'p1', '--target', 'c1', '--not-same']
    const decided = await newIn(data, () =>
      runCommand(['match', 'decide', '--data', data, '--pipeline', pipeline, ...pair]),
    )
    expect(decided.find(({ type }) => type === 'match.decide')).toMatchObject({
      data: { outcome: 'failed', pipeline, source: 'p1', target: 'c1', decision: 'NOT_SAME', error, actor: actor() },
    })
  })

  test('apply if it changes something or fails, and pull never', async () => {
    const folder = join(base, 'folder')
    mkdirSync(join(folder, 'policies'), { recursive: true })
    writeFileSync(join(folder, 'verdigraph.yaml'), 'name: recorded\n')
    const drive = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive)
    const apply = ['apply', folder, '--data', data]
    const seen = await newIn(data, () => succeed(...apply, '--create'))
    expect(seen).toMatchObject([
      { type: 'project.apply', data: { ...ok, created: 2, updated: 0, deleted: 0, actor: actor() } },
    ])
    const quiet = await newIn(data, async () => {
      await succeed(...apply)
      await succeed('pull', join(base, 'pulled'), '--data', data, '--project', 'recorded')
    })
    expect(quiet).toEqual([])
    writeFileSync(join(folder, 'policies/drive.policy.yaml'), drive.replace('(subject)', '(subject'))
    const failed = await newIn(data, () => runCommand(apply))
    expect(failed).toMatchObject([{ type: 'project.apply', data: { outcome: 'failed', project: 'recorded' } }])
  })

  test('demo-token', async () => {
    const demo = join(base, 'demo')
    expect(await (await startServer(['--data', demo, '--demo'])).kill('SIGTERM')).toBe(0)
    const seen = await newIn(demo, () => succeed('demo-token', '--data', demo))
    expect(seen).toMatchObject([{ type: 'token.issue', data: { ...ok, subject: 'dara' } }])
  })

  test('but not without an audit log', async () => {
    const silent = join(base, 'silent')
    const { exitCode, stderr } = await runCommand(['init', '--data', silent], { VERDIGRAPH_AUDIT: 'off' })
    expect(exitCode, stderr).toBe(0)
    expect(await (await startServer(['--data', silent], { VERDIGRAPH_AUDIT: 'off' })).kill('SIGTERM')).toBe(0)
    expect(await operationsIn(silent)).toEqual([])
  })

  test('and does not succeed if it cannot be written', async () => {
    const blocked = join(base, 'blocked')
    await succeed('init', '--data', blocked)
    rmSync(join(blocked, 'events'), { recursive: true, force: true })
    writeFileSync(join(blocked, 'events'), '')
    const { exitCode, stdout, stderr } = await runCommand(['token', '--data', blocked])
    expect(exitCode).not.toBe(0)
    expect(stdout).toBe('')
    expect(stderr).toContain('the record of the operation cannot be written to the audit log')
  })
})
