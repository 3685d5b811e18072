// Sealing through the HTTP interface: recorded events are in signed logs, once and in order.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { isConsistent } from '../../../src/audit/log/merkle.ts'
import { TileFolder } from '../../../src/audit/log/tile-folder.ts'
import { auditLogFindings } from '../../../src/audit/seal/check-log-files.ts'
import { hashKeyPath } from '../../../src/audit/seal/log-sealer.ts'
import { PlatformKeys } from '../../../src/audit/seal/platform-keys.ts'
import { backup } from '../../../src/backup/backup.ts'
import { restore, restoredLogs } from '../../../src/backup/restore.ts'
import { rotateAuditKey } from '../../../src/cli/audit/rotate-audit-key.ts'
import { lossName, lostLogFindings, lostLogs } from '../../../src/cli/folder/lost-audit-logs.ts'
import { rotate } from '../../../src/cli/folder/rotate-master-key.ts'
import { openSealer } from '../../../src/identity/folder-keys.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { AuditIndex } from '../../../src/store/audit/audit-index.ts'
import { verifyFolder } from '../../../src/store/integrity/verify-folder.ts'
import { projectFolderName } from '../../../src/store/tenancy/project-folders.ts'
import { type ReadLog, readAuditLogs } from '../../support/audit-logs.ts'
import { runCommand } from '../../support/cli-process.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

const DAY_MS = 86_400_000

type ServiceSettings = NonNullable<Parameters<typeof startService>[0]>
type Overrides = NonNullable<Parameters<typeof startService>[1]>

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-sealing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'data')
}

async function withService<T>(
  work: (service: TestService) => Promise<T>,
  settings: ServiceSettings = {},
  overrides: Overrides = {},
): Promise<T> {
  const service = await startService(settings, { sync: false, ...overrides })
  try {
    return await work(service)
  } finally {
    await service.stop()
  }
}

/** A project of a data folder that is opened several times. */
interface Fleet {
  readonly dataDir: string
  readonly projectId: string
  readonly key: string
  /** The key of an agent that may read the log. */
  readonly auditKey: string
}

async function newFleet(settings: ServiceSettings = {}, overrides: Overrides = {}): Promise<Fleet> {
  const dataDir = newFolder()
  return withService(
    async ({ projectId, key, addAgent }) => {
      const { key: auditKey } = await addAgent('auditor', ['Audit'])
      return { dataDir, projectId, key, auditKey }
    },
    { ...settings, dataDir },
    overrides,
  )
}

/** Opens the folder, captures nodes, and seals them unless `isSealed` is false. */
async function captureIn(
  { dataDir, key }: Fleet,
  names: readonly string[],
  {
    isSealed = true,
    settings = {},
    overrides = {},
  }: { isSealed?: boolean; settings?: Partial<typeof defaultSettings>; overrides?: Overrides } = {},
): Promise<void> {
  const app = await createApp({ ...defaultSettings, port: 0, ...settings, dataDir }, { sync: false, ...overrides })
  try {
    const { url } = await app.listen()
    if (names.length > 0) {
      const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
      const body = JSON.stringify({ nodes: names.map(car) })
      const { status } = await fetch(`${url}/capture/v1/nodes`, { method: 'POST', headers, body })
      expect(status).toBe(200)
    }
    if (isSealed) await app.sealAudit()
  } finally {
    await app.close()
  }
}

const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

const car = (external_id: string) => ({ external_id, type: 'Car' })

async function capture({ ask }: TestService, ...names: string[]): Promise<void> {
  const { status, text } = await ask('/capture/v1/nodes', { nodes: names.map(car) })
  expect([status, text]).toEqual([200, text])
}

/** The captured nodes in a log. */
function captured(log: ReadLog | undefined): readonly string[] {
  const found = log?.entries.filter(({ type }) => type === 'svc.audit.capture.upsert.node') ?? []
  return found.map(({ subject }) => subject.slice('nodes/Car/'.length))
}

async function soundLogs(dataDir: string): Promise<ReadonlyMap<string, ReadLog>> {
  const logs = await readAuditLogs(dataDir)
  expect([...logs].flatMap(([owner, { problems }]) => problems.map((problem) => `${owner}: ${problem}`))).toEqual([])
  expect(await auditLogFindings(join(dataDir, 'audit'))).toEqual([])
  return logs
}

describe('sealing', () => {
  test('puts each change into the log of its project or of the organization once, signed and chained', async () => {
    await withService(async (service) => {
      const { app, dataDir, projectId } = service
      await capture(service, 'a', 'b')
      await app.sealAudit()
      expect([...(await soundLogs(dataDir)).keys()].sort()).toEqual([app.organizationId, projectId].sort())
      await capture(service, 'c')
      await app.sealAudit()
      await app.sealAudit()
      const logs = await soundLogs(dataDir)
      for (const { entries, batches } of logs.values()) {
        expect(entries[0]?.type).toBe('svc.audit.log.opened')
        expect(entries[0]?.data.previous).toBeNull()
        expect(batches.length).toBeGreaterThan(0)
        expect(new Set(entries.map(({ id, source }) => `${source} ${id}`)).size).toBe(entries.length)
      }
      expect(captured(logs.get(projectId))).toEqual(['a', 'b', 'c'])
      const created = logs.get(app.organizationId)?.entries.filter(({ type }) => type === 'svc.audit.config.create')
      expect(created?.map(({ subject }) => subject)).toContain(`projects/${projectId}`)
    })
  })

  test('makes batches of at most 256 entries that can be found by type, actor, resource and time', async () => {
    await withService(async (service) => {
      const { app, dataDir, projectId, agentId } = service
      const names = Array.from({ length: 600 }, (_, i) => `car${i}`)
      for (let at = 0; at < names.length; at += 200) await capture(service, ...names.slice(at, at + 200))
      await app.sealAudit()
      const log = (await soundLogs(dataDir)).get(projectId) as ReadLog
      expect(captured(log)).toEqual(names)
      expect(Math.max(...log.batches.map(({ from, to }) => to - from))).toBe(256)
      const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
      const id = projectFolderName(projectId)
      const place = log.entries.findIndex(({ subject }) => subject === 'nodes/Car/car555')
      const found = index.find(
        id,
        { types: ['svc.audit.capture.upsert.node'], actors: [agentId], resources: ['car555'] },
        null,
        10,
      )
      expect(found.map(({ bundle }) => bundle)).toEqual([Math.floor(place / 256)])
      expect(index.find(id, { resources: ['car600'] }, null, 10)).toEqual([])
      expect(index.find(id, { types: ['svc.audit.config.delete'] }, null, 10)).toEqual([])
      expect(index.find(id, { toMs: Date.now() - DAY_MS }, null, 10)).toEqual([])
      await index.close()
    })
  })

  test('stores payloads that are too long for an entry next to the log', async () => {
    await withService(async (service) => {
      const { app, dataDir, projectId } = service
      const cypher = `MATCH (subject:Person)-[:DRIVES]->(resource:Car) WHERE '${'x'.repeat(90_000)}' <> ''`
      await service.addPolicy({ name: 'long', cypher })
      await app.sealAudit()
      const log = (await soundLogs(dataDir)).get(projectId) as ReadLog
      const long = log.entries.filter(({ dataref }) => dataref !== undefined)
      expect(long.length).toBeGreaterThan(0)
      const { name } = log.log.generations[0] as { name: string }
      const body = readFileSync(join(dataDir, 'audit/logs', log.log.id, name, long[0]?.dataref ?? ''), 'utf8')
      expect(JSON.parse(body).eventType).toBe(long[0]?.type)
    })
  })
})

describe('a process that was killed', () => {
  /** The folders and files that the process had written at the moment of the kill; the others are of the state before. */
  const moments: readonly (readonly [when: string, written: readonly string[]])[] = [
    ['before it wrote files', []],
    ['after the files and before the index', ['audit/logs']],
    ['after the index and before the checkpoint was published', ['audit/logs', 'audit/index']],
    ['after the checkpoint and before the outbox was trimmed', ['audit/logs', 'audit/index', 'published']],
  ]
  test.each(moments)('%s loses and repeats nothing', async (_, written) => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const before = `${dataDir}-before`
    await captureIn(fleet, numbered('a', 100))
    await captureIn(fleet, numbered('b', 200), { isSealed: false })
    cpSync(dataDir, before, { recursive: true })
    await captureIn(fleet, [])
    const log = (await readAuditLogs(dataDir)).get(projectId) as ReadLog
    const { name } = log.log.generations[0] as { name: string }
    const checkpoint = join('audit/logs', log.log.id, name, 'checkpoint')
    const after = `${dataDir}-after`
    cpSync(before, after, { recursive: true })
    for (const folder of written.filter((each) => each !== 'published')) {
      // Partial tiles are removed when the checkpoint is published, and not before.
      if (folder !== 'audit/logs' || written.includes('published')) rmSync(join(after, folder), { recursive: true })
      cpSync(join(dataDir, folder), join(after, folder), { recursive: true })
    }
    if (!written.includes('published')) writeFileSync(join(after, checkpoint), readFileSync(join(before, checkpoint)))
    await captureIn({ ...fleet, dataDir: after }, ['c'])
    const names = [...numbered('a', 100), ...numbered('b', 200), 'c']
    expect(captured((await soundLogs(after)).get(projectId))).toEqual(names)
  })
})

describe('the platform key', () => {
  test('is replaced after its time and by command: the checkpoint at the change has both signatures, and the old key is deleted', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const fleet = await newFleet({}, { clock })
    const { dataDir } = fleet
    const settings = { auditKeyRotationDays: 30 }
    const run = (day: number) => captureIn(fleet, [`day${day}`], { settings, overrides: { clock } })
    await run(0)
    clock.advance(29 * DAY_MS)
    await run(29)
    const [only, ...others] = keysOf(dataDir)
    expect(others).toEqual([])
    clock.advance(2 * DAY_MS)
    await run(31)
    await rotateAuditKey({ ...defaultSettings, dataDir }, true)
    await run(32)
    const keys = keysOf(dataDir)
    expect(keys.map(({ kid }) => kid).indexOf(only?.kid ?? '')).toBe(0)
    expect(keys.map(({ retiredMs }) => retiredMs === null)).toEqual([false, false, true])
    expect(keys.map(({ sealedPrivate }) => sealedPrivate === '')).toEqual([true, true, false])
    const rotations = [...(await readAuditLogs(dataDir)).values()].flatMap(({ entries }) =>
      entries.filter(({ type }) => type === 'svc.audit.operations.auditkey.rotate').map(({ data }) => data.keyId),
    )
    expect(rotations).toEqual(keys.slice(1).map(({ kid }) => kid))
    for (const { checkpoints } of (await soundLogs(dataDir)).values()) {
      const changes = checkpoints.filter(({ kid }, at) => at > 0 && kid !== checkpoints[at - 1]?.kid)
      expect(changes).toHaveLength(2)
      for (const { note } of changes) expect(note.match(/^— /gm)).toHaveLength(2)
    }
  })

  test('and the keys of hashes are encrypted with the new master key after its rotation', async () => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    await captureIn(fleet, ['a'])
    const { unopened } = await rotate({ dataDir })
    expect(unopened).toEqual([])
    expect((await rotate({ dataDir })).unopened).toEqual([])
    expect(keysOf(dataDir)).toHaveLength(1)
    const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
    for (const { id, hashKey } of index.logs())
      expect(Buffer.from(openSealer(dataDir).open(hashKey, hashKeyPath(id)), 'base64')).toHaveLength(32)
    await index.close()
    await captureIn(fleet, ['b'])
    expect(captured((await soundLogs(dataDir)).get(projectId))).toContain('b')
  })
})

function keysOf(dataDir: string) {
  const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
  const keys = index.keys()
  void index.close()
  return keys
}

describe('retention', () => {
  test('removes bundles whose entries are all too old; the log records it and can be verified', async () => {
    const dataDir = newFolder()
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const settings = { dataDir, auditRetentionDays: 10 }
    const names = Array.from({ length: 250 }, (_, i) => `old${i}`)
    const projectId = await withService(
      async (service) => {
        await capture(service, ...names)
        await capture(service, ...names)
        await service.app.sealAudit()
        clock.advance(9 * DAY_MS)
        await service.app.sealAudit()
        expect(captured((await soundLogs(dataDir)).get(service.projectId)).length).toBeGreaterThan(250)
        clock.advance(2 * DAY_MS)
        await capture(service, 'new')
        await service.app.sealAudit()
        return service.projectId
      },
      settings,
      { clock },
    )
    const log = (await soundLogs(dataDir)).get(projectId) as ReadLog
    expect(log.log.generations[0]?.prunedTo).toBe(256)
    const pruned = log.entries.filter(({ type }) => type === 'svc.audit.log.pruned')
    expect(pruned.map(({ data }) => data.firstIndex)).toEqual([256])
    expect(captured(log)).toContain('new')
    const folder = join(dataDir, 'audit/logs', log.log.id, log.log.generations[0]?.name ?? '', 'tile')
    expect([existsSync(join(folder, 'entries/000')), existsSync(join(folder, '0/000'))]).toEqual([false, true])
    const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
    expect(index.find(log.log.id, { resources: ['old3'] }, null, 10).every(({ bundle }) => bundle > 0)).toBe(true)
    await index.close()
  })

  test('keeps one checkpoint per hour after a week, and those of a change of keys; proofs and the index stay complete', async () => {
    const dataDir = newFolder()
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 10))
    await withService(
      async (service) => {
        const { key } = await service.addAgent('auditor', ['Audit'])
        const seal = async (name: string): Promise<void> => {
          await capture(service, name)
          await service.app.sealAudit()
        }
        for (const name of ['a', 'b', 'c']) await seal(name)
        const keys = new AuditIndex(join(dataDir, 'audit/index'), { sync: false })
        await new PlatformKeys(keys, openSealer(dataDir), clock).rotate()
        await keys.close()
        for (const name of ['d', 'e']) await seal(name)
        clock.advance(3_600_000)
        for (const name of ['f', 'g']) await seal(name)
        const before = (await soundLogs(dataDir)).get(service.projectId) as ReadLog
        clock.advance(7 * DAY_MS)
        await seal('h')
        await service.app.sealAudit()
        const { log, checkpoints } = (await soundLogs(dataDir)).get(service.projectId) as ReadLog
        const isKept = new Set(checkpoints.map(({ number }) => number))
        const gone = before.checkpoints.filter(({ number }) => !isKept.has(number))
        const hours = before.checkpoints.map(({ createdMs }) => new Date(createdMs).getUTCHours())
        expect(new Set(hours)).toEqual(new Set([10, 11]))
        expect(log.thinnedTo).toBe(hours.lastIndexOf(10) + 1)
        // In the hour that is old: the last one, and the one with the lines of both keys.
        const kept = before.checkpoints.filter(({ number }, at) => hours[at] === 10 && isKept.has(number))
        const lines = kept.map(({ note }) => note.match(/\n— /g)?.length)
        expect(lines).toEqual([2, 1])
        expect(gone).toHaveLength(hours.lastIndexOf(10) + 1 - kept.length)
        // Who has kept a note that is no longer in the list can still compare it.
        const read = async (path: string) => {
          return service.send(path, { headers: { 'x-svc-clientkey': key } })
        }
        const id = encodeURIComponent(service.projectId)
        const [first] = gone
        const newest = checkpoints.at(-1)
        const proven = await read(`/audit/v1/consistency?project_id=${id}&from=${first?.size}`)
        const hashes = (proven.body.proof as string[]).map((hash) => Buffer.from(hash, 'base64'))
        const [older, newer] = [first?.root, newest?.root].map((root = '') => Buffer.from(root, 'base64')) as Buffer[]
        expect(isConsistent(first?.size ?? 0, newest?.size ?? 0, older as Buffer, newer as Buffer, hashes)).toBe(true)
        for (const { size } of checkpoints)
          expect((await read(`/audit/v1/records/0/proof?project_id=${id}&size=${size}`)).status).toBe(200)
        const refused = await read(`/audit/v1/records/0/proof?project_id=${id}&size=${first?.size}`)
        expect([refused.status, refused.body.errors]).toEqual([400, [expect.stringContaining('size of a checkpoint')]])
        const paged: number[] = []
        for (let cursor = ''; ; ) {
          const { body } = await read(`/audit/v1/checkpoints?project_id=${id}&pagesize=2${cursor}`)
          paged.push(...(body.items as { size: number }[]).map(({ size }) => size))
          if (body.next_cursor === null) break
          cursor = `&cursor=${String(body.next_cursor)}`
        }
        expect(paged).toEqual(checkpoints.map(({ size }) => size).toReversed())
      },
      { dataDir },
      { clock },
    )
    expect(await verifyFolder(join(dataDir, 'audit/index'), () => {})).toEqual([])
  })

  test('keeps the log of a deleted project until its entries are too old', async () => {
    const dataDir = newFolder()
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    await withService(
      async (service) => {
        const { app, projectId } = service
        await capture(service, 'last')
        expect((await service.configure('DELETE', `projects/${projectId}`)).status).toBe(200)
        expect(existsSync(join(dataDir, 'projects', projectFolderName(projectId)))).toBe(false)
        await app.sealAudit()
        expect(captured((await soundLogs(dataDir)).get(projectId))).toEqual(['last'])
        clock.advance(9 * DAY_MS)
        await app.sealAudit()
        expect((await soundLogs(dataDir)).has(projectId)).toBe(true)
        clock.advance(2 * DAY_MS)
        await app.sealAudit()
        expect([...(await soundLogs(dataDir)).keys()]).toEqual([app.organizationId])
        expect(existsSync(join(dataDir, 'audit/logs', projectFolderName(projectId)))).toBe(false)
      },
      { dataDir, auditRetentionDays: 10 },
      { clock },
    )
  })
})

describe('a log without its published checkpoint', () => {
  test('is damaged, unless its first one was to be published when the process was killed', async () => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const findings = (): Promise<string[]> => auditLogFindings(join(dataDir, 'audit'))
    const remove = async (): Promise<number> => {
      const { log } = (await soundLogs(dataDir)).get(projectId) as ReadLog
      rmSync(join(dataDir, 'audit/logs', log.id, log.generations[0]?.name ?? '', 'checkpoint'))
      return log.checkpoint
    }
    await captureIn(fleet, ['first'])
    expect(await remove()).toBe(1)
    expect(await findings()).toEqual([])
    // The next start publishes it again.
    await captureIn(fleet, ['second'])
    expect(await remove()).toBeGreaterThan(1)
    expect(await findings()).toEqual([expect.stringContaining('`checkpoint` does not exist')])
  })
})

describe('a log whose files do not agree with the index', () => {
  /** Changes the data folder of a log of 101 entries, which has its right edge in partial tiles. `older`: of 51 entries. */
  const changes: readonly (readonly [
    what: string,
    change: (folder: string, dataDir: string, older: string) => void,
  ])[] = [
    [
      'because an entry was changed',
      (folder) => {
        const path = join(folder, 'tile/entries', lastPartial(folder))
        const bytes = readFileSync(path)
        bytes.writeUInt8(bytes.readUInt8(300) ^ 1, 300)
        writeFileSync(path, bytes)
      },
    ],
    ['because its folder was removed', (folder) => rmSync(folder, { recursive: true })],
    [
      'because the index was replaced by an older one',
      (_, dataDir, older) => {
        rmSync(join(dataDir, 'audit/index'), { recursive: true })
        cpSync(join(older, 'audit/index'), join(dataDir, 'audit/index'), { recursive: true })
      },
    ],
    [
      'because an older index and older tiles replaced them',
      (folder, dataDir, older) => {
        const checkpoint = readFileSync(join(folder, 'checkpoint'))
        rmSync(join(dataDir, 'audit'), { recursive: true })
        cpSync(join(older, 'audit'), join(dataDir, 'audit'), { recursive: true })
        writeFileSync(join(folder, 'checkpoint'), checkpoint)
      },
    ],
  ]

  test.each(changes)('%s continues under another origin, which names the damaged one', async (_, change) => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const older = `${dataDir}-older`
    await captureIn(fleet, numbered('a', 50))
    cpSync(dataDir, older, { recursive: true })
    await captureIn(fleet, numbered('b', 50))
    const kept = ((await soundLogs(dataDir)).get(projectId) as ReadLog).log
    const folder = join(dataDir, 'audit/logs', kept.id, kept.generations[0]?.name ?? '')
    change(folder, dataDir, older)
    const damaged = existsSync(folder) ? readFileSync(join(folder, 'checkpoint'), 'utf8') : null
    await captureIn(fleet, ['after'])
    await captureIn(fleet, ['later'])
    const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
    const log = index.state(kept.id)
    await index.close()
    expect(log?.generations).toHaveLength(2)
    expect([log?.mustReopen, log?.isDamaged]).toEqual([false, undefined])
    // The files of the damaged one stay as they are.
    if (damaged !== null) expect(readFileSync(join(folder, 'checkpoint'), 'utf8')).toBe(damaged)
    const [before, after] = log?.generations ?? []
    const entries = await new TileFolder(join(dataDir, 'audit/logs', kept.id, after?.name ?? '')).entries(
      0,
      after?.size ?? 0,
    )
    const texts = entries.map((entry) => JSON.parse(Buffer.from(entry).toString('utf8')))
    const previous = { origin: before?.origin, size: before?.size, root: before?.root }
    expect(texts[0]).toMatchObject({ type: 'svc.audit.log.opened', data: { reason: 'damaged', previous } })
    expect(texts.map(({ subject }) => subject)).toEqual(expect.arrayContaining(['nodes/Car/after', 'nodes/Car/later']))
  })

  test('continues under another origin, which names the published one, when the index is lost', async () => {
    const errors: unknown[] = []
    const log: Overrides['log'] = (entry) => void (entry.level === 'error' && errors.push(entry))
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const published: { origin: string; size: number; root: string; name: string }[] = []
    for (const nodes of [numbered('a', 50), ['b'], ['c']]) {
      if (published.length > 0) rmSync(join(dataDir, 'audit/index'), { recursive: true })
      await captureIn(fleet, nodes, { overrides: { log } })
      const { log: state, entries } = (await soundLogs(dataDir)).get(projectId) as ReadLog
      const [{ name, origin, size, root } = { name: '', origin: '', size: 0, root: '' }, ...others] = state.generations
      expect(others).toEqual([])
      const { name: _, ...previous } = published.at(-1) ?? { name: '' }
      const data = published.length === 0 ? { reason: 'new', previous: null } : { reason: 'damaged', previous }
      expect(entries[0]).toMatchObject({ type: 'svc.audit.log.opened', data })
      expect(captured((await soundLogs(dataDir)).get(projectId))).toEqual(nodes)
      published.push({ name, origin, size, root })
    }
    for (const { name } of published)
      expect(existsSync(join(dataDir, 'audit/logs', projectFolderName(projectId), name, 'checkpoint'))).toBe(true)
    const message = expect.stringContaining('its entries are in its folder')
    for (const [at, { origin: before, size }] of published.slice(0, -1).entries())
      expect(errors).toContainEqual(
        expect.objectContaining({ message, project: projectId, before, size, origin: published[at + 1]?.origin }),
      )
  })
})

describe('the audit folder of a stopped service', () => {
  const losses: readonly (readonly [what: string, change: (dataDir: string, older: string) => void])[] = [
    // Renamed, because this process has had it open.
    ['is removed', (dataDir) => renameSync(join(dataDir, 'audit'), `${dataDir}-removed`)],
    [
      'is replaced by an older one',
      (dataDir, older) => {
        renameSync(join(dataDir, 'audit'), `${dataDir}-removed`)
        cpSync(join(older, 'audit'), join(dataDir, 'audit'), { recursive: true })
      },
    ],
  ]

  test.each(losses)(
    '%s: the gap is named in the log of the service, in each audit log and by the checks',
    async (_, change) => {
      const errors: Record<string, unknown>[] = []
      const log: Overrides['log'] = (entry) => void (entry.level === 'error' && errors.push(entry))
      const fleet = await newFleet()
      const { dataDir, projectId } = fleet
      const older = `${dataDir}-older`
      await captureIn(fleet, numbered('a', 50))
      cpSync(dataDir, older, { recursive: true })
      await captureIn(fleet, numbered('b', 50))
      const kept = await soundLogs(dataDir)
      expect((await lostLogFindings(dataDir)).findings).toEqual([])
      change(dataDir, older)
      const lost = (await lostLogFindings(dataDir)).findings
      const losers = [...kept].filter(
        ([
          ,
          {
            log: { id },
          },
        ]) => lost.some((finding) => finding.startsWith(id)),
      )
      expect(lost).toHaveLength(losers.length)
      expect(losers.map(([owner]) => owner)).toContain(projectId)
      // The log of the organization has got no entry since the older state.
      expect(losers).toHaveLength(existsSync(join(dataDir, 'audit')) ? 1 : kept.size)
      const configuration = `${dataDir}-configuration`
      cpSync(join(dataDir, 'config'), configuration, { recursive: true })
      // Nothing is captured: a log does not wait for its next record.
      await captureIn(fleet, [], { overrides: { log } })
      const index = new AuditIndex(join(dataDir, 'audit/index'), { readOnly: true })
      for (const [owner, { log: before }] of losers) {
        const { origin, size, root } = before.generations.at(-1) as (typeof before.generations)[number]
        const after = index.state(before.id)
        const opened = after?.generations.at(-1)
        const files = new TileFolder(join(dataDir, 'audit/logs', before.id, opened?.name ?? ''))
        const [first = new Uint8Array()] = await files.entries(0, 1)
        const previous = { origin, size, root }
        expect(JSON.parse(Buffer.from(first).toString())).toMatchObject({
          type: 'svc.audit.log.opened',
          data: { reason: 'damaged', previous },
        })
        const message = expect.stringContaining('entries of the audit log were lost')
        expect(errors).toContainEqual(
          expect.objectContaining({ message, before: origin, size, origin: opened?.origin }),
        )
        // No number of a batch or a checkpoint is used twice.
        expect(index.batch(before.id, before.sequence + 1)?.prevHash).toBe(before.headHash)
        expect(index.newestCheckpoint(before.id)?.number).toBeGreaterThan(before.checkpoint)
        const finding = (await lostLogFindings(dataDir)).findings.find((each) => each.startsWith(before.id))
        expect(finding).toContain(`entries of ${origin} are missing, of which ${size} were sealed`)
        expect(errors.filter((each) => each[before.kind] === owner)).toHaveLength(1)
      }
      await index.close()
      // The index states which numbers it does not have.
      expect(await verifyFolder(join(dataDir, 'audit/index'), () => {})).toEqual([])
      // It happens once.
      errors.length = 0
      await captureIn(fleet, ['after'], { overrides: { log } })
      expect(errors).toEqual([])
      // Also if the process was killed before it wrote the heads of the logs that continue.
      renameSync(join(dataDir, 'config'), `${dataDir}-replaced`)
      cpSync(configuration, join(dataDir, 'config'), { recursive: true })
      const findings = (await lostLogFindings(dataDir)).findings
      expect(findings.map((each) => each.split('/')[0])).toEqual(losers.map(([, { log: each }]) => each.id))
      await captureIn(fleet, [], { overrides: { log } })
      expect(errors).toEqual([])
      expect((await lostLogFindings(dataDir)).findings).toEqual(findings)
      expect(await verifyFolder(join(dataDir, 'audit/index'), () => {})).toEqual([])
    },
  )

  test('is intact in a restored backup, and in a folder of which a process was killed before it wrote the heads', async () => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const [out, restored] = [`${dataDir}.backup`, `${dataDir}-restored`]
    await captureIn(fleet, numbered('a', 30))
    const before = `${dataDir}-before`
    cpSync(join(dataDir, 'config'), before, { recursive: true })
    await captureIn(fleet, numbered('b', 30))
    for (const projects of [{}, { projectId }]) {
      await backup({ dataDir, out, madeBy: 'test', nowMs: 0, progress: () => undefined, ...projects })
      await restore({ from: out, dataDir: restored, progress: () => undefined })
      expect((await lostLogFindings(restored)).findings).toEqual([])
      rmSync(out)
      rmSync(restored, { recursive: true })
    }
    rmSync(join(dataDir, 'config'), { recursive: true })
    cpSync(before, join(dataDir, 'config'), { recursive: true })
    expect((await lostLogFindings(dataDir)).findings).toEqual([])
    await captureIn(fleet, ['c'])
    expect(((await soundLogs(dataDir)).get(projectId) as ReadLog).log.generations).toHaveLength(1)
    expect((await lostLogFindings(dataDir)).findings).toEqual([])
  })
})

describe('several faults of the audit trail', () => {
  type Change = (data: string, older: string, newer: string) => void

  let moved = 0
  /** Replaces a folder. It is renamed, because this process has had it open. */
  function put(data: string, name: string, by: string | null): void {
    moved += 1
    if (existsSync(join(data, name))) renameSync(join(data, name), `${data}-moved-${moved}`)
    if (by !== null) cpSync(join(by, name), join(data, name), { recursive: true })
  }

  /** `older` and `newer` are copies of the folder before and after the entries that are lost. Null: the service runs. */
  const changes = {
    'folder removed': (data) => put(data, 'audit', null),
    'folder older': (data, older) => put(data, 'audit', older),
    'index lost': (data) => put(data, 'audit/index', null),
    'index older': (data, older) => put(data, 'audit/index', older),
    'tiles lost': (data) => {
      for (const name of readdirSync(join(data, 'audit/logs'), { recursive: true }).map(String))
        if (name.endsWith('/tile')) rmSync(join(data, 'audit/logs', name), { recursive: true })
    },
    'configuration older': (data, older) => put(data, 'config', older),
    'configuration restored': (data, _, newer) => put(data, 'config', newer),
    start: null,
  } as const satisfies Record<string, Change | null>
  type Fault = keyof typeof changes

  const orders: readonly Fault[][] = [
    ...(['index lost', 'index older'] as const).flatMap((fault): Fault[][] => [
      ['folder removed', 'start', fault, 'start'],
      ['folder removed', 'start', fault, 'configuration restored', 'start'],
      ['folder removed', 'start', fault, 'configuration older', 'start'],
      ['folder older', 'start', fault, 'start'],
      ['folder older', 'start', fault, 'configuration restored', 'start'],
      ['folder older', fault, 'configuration restored', 'start'],
    ]),
    ['folder removed', 'start', 'tiles lost', 'start'],
    ['folder removed', 'start', 'tiles lost', 'configuration restored', 'start'],
    ['folder removed', 'start', 'tiles lost', 'configuration older', 'start'],
    ['folder removed', 'configuration older', 'start', 'configuration restored', 'start'],
    ['folder removed', 'start', 'folder older', 'start', 'configuration restored', 'start'],
  ]

  test.each(orders.map((order) => [order.join(', '), order] as const))(
    '%s: a check reports the loss once, and until it is acknowledged',
    async (_, order) => {
      const fleet = await newFleet()
      const { dataDir, projectId } = fleet
      const [older, newer] = [`${dataDir}-older`, `${dataDir}-newer`]
      await captureIn(fleet, numbered('a', 20))
      cpSync(dataDir, older, { recursive: true })
      await captureIn(fleet, numbered('b', 20))
      cpSync(dataDir, newer, { recursive: true })
      const [lost] = (await readAuditLogs(newer)).get(projectId)?.log.generations ?? []
      const name = `${projectFolderName(projectId)}/${lost?.name}`
      for (const fault of order) {
        const change: Change | null = changes[fault]
        if (change === null) await captureIn(fleet, ['x'], { overrides: { log: () => undefined } })
        else change(dataDir, older, newer)
        expect([fault, (await named(dataDir)).filter((each) => each === name)]).toEqual([fault, [name]])
      }
      const flags = ['--data', dataDir, '--reason', 'a disk was replaced']
      for (const loss of (await lostLogs(dataDir)).filter(({ isMissing }) => isMissing))
        expect(await runCommand(['audit', 'acknowledge-loss', lossName(loss), ...flags])).toMatchObject({ exitCode: 0 })
      expect(await named(dataDir)).not.toContain(name)
      expect((await lostLogFindings(dataDir)).acknowledged).toContainEqual(expect.stringContaining(name))
    },
  )

  test('an acknowledged loss is an entry of the log of the organization, and no failure of verify and doctor', async () => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const quiet = { overrides: { log: () => undefined } }
    await captureIn(fleet, numbered('a', 20))
    put(dataDir, 'audit', null)
    await captureIn(fleet, ['b'], quiet)
    const data = ['--data', dataDir]
    const names = (await lostLogs(dataDir)).map(lossName)
    expect(names).toHaveLength(2)
    const acknowledge = (...args: string[]) => runCommand(['audit', 'acknowledge-loss', ...args, ...data])
    const unknown = await acknowledge('elsewhere/abc', '--reason', 'x')
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining(names.join(', '))])
    expect((await acknowledge(...names, '--reason', ' ')).exitCode).toBe(2)
    expect((await runCommand(['verify', ...data])).exitCode).toBe(1)
    const reason = 'the disk of the folder was replaced'
    expect(await acknowledge(...names, '--reason', reason)).toMatchObject({ exitCode: 0, stderr: '' })
    const again = await acknowledge(...names, '--reason', reason)
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('was acknowledged by')])
    const { username } = userInfo()
    const verified = await runCommand(['verify', ...data])
    expect(verified.exitCode).toBe(0)
    for (const name of names)
      expect(verified.stdout).toMatch(
        new RegExp(
          `notice +audit/logs: ${name}: entries of .* are missing.*; acknowledged by ${username} on .*: ${reason}`,
        ),
      )
    const { findings } = JSON.parse((await runCommand(['doctor', '--json', ...data])).stdout)
    const ofLogs = findings.filter(({ check }: { check: string }) => check === 'audit log')
    expect(ofLogs.map(({ status }: { status: string }) => status)).toEqual(['ok', 'ok'])
    await captureIn(fleet, ['c'], quiet)
    const logs = await soundLogs(dataDir)
    const acknowledged = [...logs.values()].flatMap(({ log, entries }) =>
      entries.flatMap(({ type, data }) =>
        type === 'svc.audit.operations.auditloss.acknowledge' ? [{ kind: log.kind, data }] : [],
      ),
    )
    expect(acknowledged.map(({ data }) => data.log)).toEqual(names)
    for (const { kind, data } of acknowledged) {
      expect(kind).toBe('organization')
      expect(data).toMatchObject({ outcome: 'ok', reason, actor: { type: 'operating-system-user', name: username } })
    }
    // The gap itself stays in the log.
    expect(logs.get(projectId)?.entries[0]?.data).toMatchObject({
      reason: 'damaged',
      previous: { size: expect.any(Number) },
    })
    // A new loss is another one.
    put(dataDir, 'audit', null)
    expect((await lostLogFindings(dataDir)).findings).toHaveLength(2)
  })

  test('an acknowledged loss does not cover entries that were left then', async () => {
    const fleet = await newFleet()
    const { dataDir } = fleet
    await captureIn(fleet, numbered('a', 20))
    const older = `${dataDir}-older`
    cpSync(join(dataDir, 'audit'), older, { recursive: true })
    await captureIn(fleet, numbered('b', 20))
    put(dataDir, 'audit', null)
    cpSync(older, join(dataDir, 'audit'), { recursive: true })
    await captureIn(fleet, ['c'], { overrides: { log: () => undefined } })
    const losses = await lostLogs(dataDir)
    expect(losses.map(({ left }) => left > 0)).toContain(true)
    const data = ['--reason', 'an older folder was copied', '--data', dataDir]
    expect(await runCommand(['audit', 'acknowledge-loss', ...losses.map(lossName), ...data])).toMatchObject({
      exitCode: 0,
    })
    expect((await lostLogFindings(dataDir)).findings).toEqual([])
    const [partly] = losses.filter(({ left }) => left > 0)
    rmSync(join(dataDir, 'audit/logs', lossName(partly!)), { recursive: true })
    expect((await lostLogFindings(dataDir)).findings).toEqual([expect.stringContaining(lossName(partly!))])
  })

  /** The generations of the findings of `verify`. */
  async function named(dataDir: string): Promise<string[]> {
    const { findings, missing } = await lostLogFindings(dataDir)
    const hasIndex = existsSync(join(dataDir, 'audit/index'))
    const others = hasIndex ? await auditLogFindings(join(dataDir, 'audit'), missing) : []
    return [...findings, ...others].map((finding) => finding.split(':')[0] ?? '')
  }
})

/** The path of the partial bundle of a log, below the folder of bundles. */
function lastPartial(folder: string): string {
  const names = readdirSync(join(folder, 'tile/entries'), { recursive: true }).map(String)
  const partial = names.filter((name) => /\.p\/\d+$/.test(name))
  expect(partial).toHaveLength(1)
  return partial[0] as string
}

describe('a restored backup', () => {
  test('continues each log under a new origin that names the old one, and both can be verified', async () => {
    const fleet = await newFleet()
    const { dataDir, projectId } = fleet
    const out = `${dataDir}.backup`
    const restored = `${dataDir}-restored`
    await captureIn(fleet, numbered('a', 30))
    await captureIn(fleet, ['unsealed'], { isSealed: false })
    const kept = (await soundLogs(dataDir)).get(projectId) as ReadLog
    await backup({ dataDir, out, madeBy: 'test', nowMs: 0, progress: () => undefined })
    await captureIn(fleet, ['lost'])
    await restore({ from: out, dataDir: restored, progress: () => undefined })
    expect((await restoredLogs(restored)).find(({ owner }) => owner === projectId)?.size).toBe(
      kept.log.generations[0]?.size,
    )
    expect(await auditLogFindings(join(restored, 'audit'))).toEqual([])
    cpSync(join(dataDir, 'master.key'), join(restored, 'master.key'))
    await captureIn({ ...fleet, dataDir: restored }, ['other'])
    const log = (await soundLogs(restored)).get(projectId) as ReadLog
    const [before, after] = log.log.generations
    expect(log.log.generations).toHaveLength(2)
    expect(before).toEqual(kept.log.generations[0])
    const opened = log.entries.filter(({ type }) => type === 'svc.audit.log.opened')
    expect(opened.map(({ data }) => data.previous)).toEqual([
      null,
      { origin: before?.origin, size: before?.size, root: before?.root },
    ])
    expect(after?.origin).not.toBe(before?.origin)
    expect(log.entries.filter(({ subject }) => subject === 'nodes/Car/unsealed')).toHaveLength(1)
    expect(captured(log)).not.toContain('lost')
    // The original folder has another history.
    expect(captured((await soundLogs(dataDir)).get(projectId))).toContain('lost')
  })

  test('loses entries of the old log that are too old, and both can still be verified', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const fleet = await newFleet({}, { clock })
    const { dataDir, projectId } = fleet
    const out = `${dataDir}.backup`
    const restored = `${dataDir}-restored`
    await captureIn(fleet, numbered('a', 250), { overrides: { clock } })
    await captureIn(fleet, numbered('b', 240), { overrides: { clock } })
    await backup({ dataDir, out, madeBy: 'test', nowMs: 0, progress: () => undefined })
    await restore({ from: out, dataDir: restored, progress: () => undefined })
    cpSync(join(dataDir, 'master.key'), join(restored, 'master.key'))
    const settings = { auditRetentionDays: 10 }
    await captureIn({ ...fleet, dataDir: restored }, ['c'], { overrides: { clock } })
    clock.advance(11 * DAY_MS)
    await captureIn({ ...fleet, dataDir: restored }, ['d'], { settings, overrides: { clock } })
    const log = (await soundLogs(restored)).get(projectId) as ReadLog
    expect(log.log.generations.map(({ prunedTo }) => prunedTo)).toEqual([log.log.generations[0]?.size, 0])
    const pruned = log.entries.filter(({ type }) => type === 'svc.audit.log.pruned').map(({ data }) => data.previous)
    const [before] = log.log.generations
    // The replaced log does not grow, so its last bundle is removed although it is partial.
    const size = before?.size ?? 0
    expect(size % 256).toBeGreaterThan(0)
    expect(pruned).toEqual([{ origin: before?.origin, firstIndex: size }])
    expect(readdirSync(join(restored, 'audit/logs', log.log.id, before?.name ?? '', 'tile/entries'))).toEqual([])
    // The batches whose entries were all removed are gone from the start of the chain; the others continue it.
    const { firstSequence = 1 } = log.log
    expect(log.batches[0]?.sequence).toBe(firstSequence)
    expect(firstSequence).toBeGreaterThan(1)
    expect(await verifyFolder(join(restored, 'audit/index'), () => {})).toEqual([])
    // An auditor with the URL of the replaced log sees the same as one with its folder.
    const app = await createApp({ ...defaultSettings, port: 0, dataDir: restored }, { sync: false, clock })
    try {
      const { url } = await app.listen()
      const service = ['--url', url, '--project', projectId, '--generation', before?.name ?? '']
      const environment = { VERDIGRAPH_TOKEN: fleet.auditKey }
      const { stdout: keys } = await runCommand(['audit', 'keys', ...service], environment)
      const path = `/audit/v1/tlog/${log.log.id}/${before?.name}`
      const verified = await runCommand(['audit', 'verify', `${url}${path}`, '--key', keys.trim()], environment)
      expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^sound: /), stderr: '' })
      expect(verified.stdout).toContain(`the entries before ${size} were removed by retention`)
    } finally {
      await app.close()
    }
    // A backup keeps the note that a verifier needs.
    const second = { from: `${out}2`, dataDir: `${restored}2` }
    await backup({ dataDir: restored, out: second.from, madeBy: 'test', nowMs: 0, progress: () => undefined })
    await restore({ ...second, progress: () => undefined })
    expect(captured((await soundLogs(second.dataDir)).get(projectId))).toContain('d')
  })
})
