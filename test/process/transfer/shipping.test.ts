// A service that ships its changes: after a disaster that destroys its folder, the shipped changes restore every write that was
// acknowledged before the last shipped moment, and no part of a batch.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FolderPlace } from '../../../src/backup/places/folder-place.ts'
import { listShipped, restorablePeriods } from '../../../src/backup/shipping/moments.ts'
import { generationName, shipmentName } from '../../../src/backup/shipping/shipment-name.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import {
  captured,
  connectionsTo,
  HttpConnection,
  makeProject,
  startWorkers,
  type WorkerFixture,
  type WorkerProject,
} from '../../support/worker-fixture.ts'

const INTERVAL_MS = 300

let folder: string
let data: string
let place: string
let environment: Record<string, string>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-shipping-'))
  data = join(folder, 'data')
  place = join(folder, 'place')
  environment = { VERDIGRAPH_SHIP_TO: place, VERDIGRAPH_SHIP_INTERVAL_MS: String(INTERVAL_MS), VERDIGRAPH_LANES: '0' }
})

afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

interface CapturedBatch {
  readonly name: string
  /** Null: not acknowledged. */
  acknowledgedMs: number | null
}

/** Captures batches of three nodes, one after the other, until it is stopped or the connection breaks. */
class Writer {
  readonly batches: CapturedBatch[] = []
  private isStopped = false
  private readonly done: Promise<void>

  constructor(line: HttpConnection, project: WorkerProject, name: string) {
    this.done = this.run(line, project, name).catch(() => {})
  }

  private async run(line: HttpConnection, project: WorkerProject, name: string): Promise<void> {
    for (let number = 0; !this.isStopped; number++) {
      const batch: CapturedBatch = { name: `${name}-${number}`, acknowledgedMs: null }
      this.batches.push(batch)
      const nodes = [0, 1, 2].map((part) => ({ type: 'Page', external_id: `${batch.name}-${part}` }))
      await captured(line, project, 'nodes', { nodes })
      batch.acknowledgedMs = Date.now()
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.done
  }
}

interface Moment {
  readonly from: string
  readonly to: string
  readonly generation: string
}

/** As `backups moments` prints them, which one test compares. */
async function moments(): Promise<Moment[]> {
  return restorablePeriods(await listShipped(new FolderPlace(place))).map(({ generation, fromMs, toMs }) => ({
    generation,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
  }))
}

let markers = 0

/** Resolves when everything until now is shipped. Without a change nothing would be shipped. */
async function shipped(line: HttpConnection, project: WorkerProject): Promise<void> {
  const sinceMs = Date.now()
  markers += 1
  await captured(line, project, 'nodes', { nodes: [{ type: 'Marker', external_id: `${markers}` }] })
  const newest = async (): Promise<number> => Date.parse((await moments()).at(-1)?.to ?? '')
  await expect.poll(newest, { timeout: 120_000 }).toBeGreaterThan(sinceMs)
}

/** Empty objects with these sequences, of a generation that begins at this time, a second after each other. */
function putObjects(address: string, startMs: number, sequences: readonly number[]): void {
  const generation = generationName(startMs, '0123abcd')
  mkdirSync(join(address, 'shipped', generation), { recursive: true })
  for (const sequence of sequences) {
    const timeMs = startMs + sequence * 1000
    const kind = sequence === 0 ? 'base' : 'segment'
    const { name } = shipmentName({ generation, sequence, kind, timeMs, unchangedUntilMs: timeMs, isEncrypted: false })
    writeFileSync(join(address, name), '')
  }
}

async function restore(at: string, ...more: string[]): Promise<string> {
  const target = join(folder, `restored-${readdirSync(folder).length}`)
  const { exitCode, stderr } = await runCommand(['restore', '--from', place, '--at', at, '--data', target, ...more])
  if (exitCode !== 0) throw new Error(stderr)
  return target
}

/** The number of nodes of each batch. */
async function partsOf(restored: string, project: WorkerProject, names: readonly string[]): Promise<number[]> {
  const catalog = openCatalog(restored, { clock: systemClock })
  const snapshot = catalog.graph(project.id, 'default')!.snapshot()
  try {
    const page = snapshot.symbol('label', 'Page')
    return names.map((name) => [0, 1, 2].filter((part) => snapshot.findNode(page, `${name}-${part}`) !== 0).length)
  } finally {
    snapshot.close()
    await catalog.close()
  }
}

/** Kills the process and all that it has started, at once. */
async function killEverything(server: Server): Promise<void> {
  const below = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child.pid, ...below(child.pid)])
  const pids = below(server.pid)
  const killed = server.kill('SIGKILL')
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended with its parent.
    }
  }
  await killed
  const isGone = (): boolean => pids.every((pid) => !existsSync(`/proc/${pid}`))
  await expect.poll(isGone, { timeout: 30_000 }).toBe(true)
}

async function startShipping(workers: number): Promise<{
  fixture: WorkerFixture
  project: WorkerProject
  lines: HttpConnection[]
}> {
  const fixture = await startWorkers(data, workers, environment)
  const { url } = fixture.server
  const lines = workers === 1 ? [await HttpConnection.to(url)] : (await connectionsTo(url, workers, 2)).flat()
  const project = await makeProject(fixture, lines[0] as HttpConnection, 'shipped')
  return { fixture, project, lines }
}

describe.skipIf(!existsSync('/proc/self/stat'))('after a disaster', () => {
  test('every write acknowledged before the last shipped moment is restored, and no part of a batch', {
    timeout: 300_000,
  }, async () => {
    environment.VERDIGRAPH_LANES = '2'
    const { fixture, project, lines } = await startShipping(2)
    const [line, ...others] = lines as [HttpConnection, ...HttpConnection[]]
    const writers = others.map((other, at) => new Writer(other, project, `w${at}`))
    // A batch that is too large for the event loop runs in a lane, while the writers write.
    const many = Array.from({ length: 250 }, (_, at) => ({
      type: 'Bulk',
      external_id: `bulk-${at}`,
      properties: [{ type: 'text', value: 'x'.repeat(3000) }],
    }))
    await captured(line, project, 'nodes', { nodes: many })
    // Everything between two moments is shipped while the writers write.
    for (let time = 0; time < 2; time++) {
      const sinceMs = Date.now()
      const newest = async (): Promise<number> => Date.parse((await moments()).at(-1)?.to ?? '')
      await expect.poll(newest, { timeout: 120_000 }).toBeGreaterThan(sinceMs)
    }
    await killEverything(fixture.server)
    for (const writer of writers) await writer.stop()
    rmSync(data, { recursive: true })

    const last = (await moments()).at(-1)!
    const batches = writers.flatMap((writer) => writer.batches)
    const due = batches.filter(({ acknowledgedMs }) => acknowledgedMs !== null && acknowledgedMs < Date.parse(last.to))
    expect(due.length).toBeGreaterThan(0)
    const restored = await restore('latest')
    const found = await partsOf(
      restored,
      project,
      batches.map(({ name }) => name),
    )
    const partial = batches.filter((_, at) => found[at] !== 0 && found[at] !== 3)
    expect(partial).toEqual([])
    const lost = due.filter((batch) => found[batches.indexOf(batch)] !== 3)
    expect(lost).toEqual([])
    const verified = await runCommand(['verify', '--data', restored])
    expect(verified, verified.stdout + verified.stderr).toMatchObject({ exitCode: 0 })
  })

  test('the restored folder serves with the master key, and ships to a generation of its own', {
    timeout: 300_000,
  }, async () => {
    const { fixture, project, lines } = await startShipping(1)
    await captured(lines[0] as HttpConnection, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'first' }] })
    await shipped(lines[0] as HttpConnection, project)
    renameSync(join(data, 'master.key'), join(folder, 'master.key'))
    await killEverything(fixture.server)
    rmSync(data, { recursive: true })
    const restored = await restore('latest', '--master-key', join(folder, 'master.key'))
    const server = await startServer(['--data', restored], environment)
    const line = await HttpConnection.to(server.url)
    await captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'second' }] })
    await expect
      .poll(async () => new Set((await moments()).map(({ generation }) => generation)).size, { timeout: 120_000 })
      .toBe(2)
    await shipped(line, project)
    expect(await server.kill('SIGTERM')).toBe(0)
    const again = await restore('latest')
    const catalog = openCatalog(again, { clock: systemClock })
    const snapshot = catalog.graph(project.id, 'default')!.snapshot()
    const page = snapshot.symbol('label', 'Page')
    expect(['first', 'second'].map((name) => snapshot.findNode(page, name) !== 0)).toEqual([true, true])
    snapshot.close()
    await catalog.close()
  })
})

test('a moment between two writes has the first one only', { timeout: 300_000 }, async () => {
  const { fixture, project, lines } = await startShipping(1)
  const line = lines[0] as HttpConnection
  const page = async (name: string): Promise<void> =>
    captured(line, project, 'nodes', {
      nodes: [0, 1, 2].map((part) => ({ type: 'Page', external_id: `${name}-${part}` })),
    })
  await page('first')
  await shipped(line, project)
  const between = (await moments()).at(-1)!.to
  const printed = await runCommand(['backups', 'moments', '--from', place, '--json'])
  expect(JSON.parse(printed.stdout).moments.at(-1)).toMatchObject({ generation: (await moments()).at(-1)!.generation })
  await page('second')
  await shipped(line, project)
  expect(await fixture.server.kill('SIGTERM')).toBe(0)
  expect(await partsOf(await restore(between), project, ['first', 'second'])).toEqual([3, 0])
  expect(await partsOf(await restore('latest'), project, ['first', 'second'])).toEqual([3, 3])
})

test('the last changes before a stop are shipped', { timeout: 300_000 }, async () => {
  environment.VERDIGRAPH_SHIP_INTERVAL_MS = '10000'
  const { fixture, project, lines } = await startShipping(1)
  await expect.poll(async () => (await moments()).length, { timeout: 120_000 }).toBe(1)
  const nodes = [0, 1, 2].map((part) => ({ type: 'Page', external_id: `last-${part}` }))
  await captured(lines[0] as HttpConnection, project, 'nodes', { nodes })
  expect(await fixture.server.kill('SIGTERM')).toBe(0)
  expect(await partsOf(await restore('latest'), project, ['last'])).toEqual([3])
})

test('a killed service ships all changes when it runs again', { timeout: 300_000 }, async () => {
  const { fixture, project, lines } = await startShipping(2)
  const [line, ...others] = lines as [HttpConnection, ...HttpConnection[]]
  const writers = others.map((other, at) => new Writer(other, project, `w${at}`))
  await shipped(line, project)
  await killEverything(fixture.server)
  for (const writer of writers) await writer.stop()
  const server = await startServer(['--data', data, '--workers', '2'], environment)
  const again = await HttpConnection.to(server.url)
  await shipped(again, project)
  const acknowledged = writers.flatMap(({ batches }) => batches).filter(({ acknowledgedMs }) => acknowledgedMs !== null)
  expect(await server.kill('SIGTERM')).toBe(0)
  // It continues its generation, or begins another one if it was killed between an object and the state that knows it.
  expect(new Set((await moments()).map(({ generation }) => generation)).size).toBeLessThanOrEqual(2)
  const found = await partsOf(
    await restore('latest'),
    project,
    acknowledged.map(({ name }) => name),
  )
  expect(found.filter((parts) => parts !== 3)).toEqual([])
})

test('a place that is away for a while gets all changes afterwards, and the failures are metrics', {
  timeout: 300_000,
}, async () => {
  // The place is replaced in one step: otherwise the service may create it between its removal and what stands for it.
  const present = `${place}-present`
  const away = `${place}-away`
  const pointTo = (target: string): void => {
    symlinkSync(target, `${place}-next`)
    renameSync(`${place}-next`, place)
  }
  mkdirSync(present)
  pointTo(present)
  const { fixture, project, lines } = await startShipping(1)
  const line = lines[0] as HttpConnection
  const metric = async (name: string): Promise<number> => {
    const reply = await line.request('GET', '/metrics', fixture.admin)
    return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(reply.body)?.[1] ?? Number.NaN)
  }
  await shipped(line, project)
  expect(await metric('verdigraph_shipping_failures_total'), fixture.server.notices()).toBe(0)
  // With a file under its name, the folder can be neither read nor written.
  writeFileSync(away, '')
  pointTo(away)
  const nodes = (name: string) => [0, 1, 2].map((part) => ({ type: 'Page', external_id: `${name}-${part}` }))
  for (const name of ['a', 'b', 'c']) {
    const before = await metric('verdigraph_shipping_failures_total')
    await captured(line, project, 'nodes', { nodes: nodes(name) })
    await expect.poll(() => metric('verdigraph_shipping_failures_total'), { timeout: 120_000 }).toBeGreaterThan(before)
  }
  await expect.poll(() => fixture.server.notices()).toContain('changes could not be shipped')
  pointTo(present)
  await shipped(line, project)
  await expect.poll(() => metric('verdigraph_shipping_objects_total')).toBeGreaterThan(1)
  expect(await metric('verdigraph_shipping_bytes_total')).toBeGreaterThan(1000)
  expect(await metric('verdigraph_shipping_lag_seconds')).toBeLessThan(60)
  expect(await fixture.server.kill('SIGTERM')).toBe(0)
  expect(await partsOf(await restore('latest'), project, ['a', 'b', 'c'])).toEqual([3, 3, 3])
})

test('a lost object is a failed check of `doctor`, until a restart begins a new generation', {
  timeout: 300_000,
}, async () => {
  const { fixture, project, lines } = await startShipping(1)
  const line = lines[0] as HttpConnection
  const doctor = async (shipTo = place) => {
    const settings = { ...environment, VERDIGRAPH_PORT: '0', VERDIGRAPH_SHIP_TO: shipTo }
    const { stdout, stderr } = await runCommand(['doctor', '--data', data, '--json'], settings)
    expect(stdout, stderr).not.toBe('')
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; found: string }[] }
    return findings.filter(({ check }) => check === 'shipping')
  }
  const objects = () => readdirSync(join(place, 'shipped'), { recursive: true, encoding: 'utf8' }).filter(isObject)
  const isObject = (name: string): boolean => name.includes('.zst')
  await shipped(line, project)
  await shipped(line, project)
  expect(await doctor()).toMatchObject([{ status: 'ok', found: expect.stringContaining('the newest shipped moment') }])
  // Other places: an empty one, one whose objects are all old, and one with a lost object before the present generation.
  const [empty, old, mended] = ['empty', 'old', 'mended'].map((name) => join(folder, name)) as [string, string, string]
  const nowMs = Date.now()
  putObjects(old, nowMs - 600_000, [0, 1])
  putObjects(mended, nowMs - 600_000, [0, 1, 3])
  putObjects(mended, nowMs, [0])
  expect(await doctor(empty)).toMatchObject([
    { status: 'failed', found: `${empty} has no shipped changes, although they were shipped` },
  ])
  expect(await doctor(old)).toMatchObject([
    { status: 'failed', found: expect.stringMatching(/^nothing after .* can be restored from /) },
  ])
  expect(await doctor(mended)).toMatchObject([
    {
      status: 'warning',
      found: expect.stringMatching(/^nothing between .* can be restored: the object 2 of .* is missing/),
    },
  ])
  const lost = objects().sort().at(-1) as string
  const sequence = Number(/\/(\d{8})-/.exec(lost)?.[1])
  rmSync(join(place, 'shipped', lost))
  await captured(line, project, 'nodes', { nodes: [{ type: 'Page', external_id: 'after-0' }] })
  await expect.poll(() => objects().some((name) => name > lost), { timeout: 120_000 }).toBe(true)
  expect(await doctor()).toMatchObject([
    {
      status: 'failed',
      found: expect.stringMatching(
        new RegExp(`^nothing after .*Z can be restored: the object ${sequence} of the generation .* is missing: `),
      ),
    },
  ])
  expect(await fixture.server.kill('SIGTERM')).toBe(0)

  const server = await startServer(['--data', data], environment)
  await shipped(await HttpConnection.to(server.url), project)
  await expect.poll(() => server.notices()).toMatch(/a shipped object is lost: a new generation begins/)
  expect((await doctor()).map(({ status }) => status)).not.toContain('failed')
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(await partsOf(await restore('latest'), project, ['after'])).toEqual([1])
})

test('encrypted changes are restored with the identity only, and the audit logs with them', {
  timeout: 300_000,
}, async () => {
  const identity = await generateIdentity()
  environment.VERDIGRAPH_BACKUP_RECIPIENTS = await identityToRecipient(identity)
  writeFileSync(join(folder, 'identity'), `# kept apart\n${identity}\n`)
  const { fixture, project, lines } = await startShipping(1)
  const line = lines[0] as HttpConnection
  for (const name of ['a', 'b'])
    await captured(line, project, 'nodes', {
      nodes: [0, 1, 2].map((part) => ({ type: 'Page', external_id: `${name}-${part}` })),
    })
  const sealed = async (): Promise<number> => {
    const reply = await line.request('GET', '/metrics', fixture.admin)
    return Number(/^verdigraph_audit_sealed_records_total(?:{[^}]*})? (\S+)$/m.exec(reply.body)?.[1])
  }
  await expect.poll(sealed, { timeout: 120_000 }).toBeGreaterThan(0)
  await shipped(line, project)
  await killEverything(fixture.server)
  rmSync(data, { recursive: true })
  await expect(restore('latest')).rejects.toThrow(/are encrypted: name a file with the age identity/)
  const other = join(folder, 'other')
  writeFileSync(other, `${await generateIdentity()}\n`)
  await expect(restore('latest', '--identity', other)).rejects.toThrow('the identity does not fit')
  const restored = await restore('latest', '--identity', join(folder, 'identity'))
  expect(await partsOf(restored, project, ['a', 'b'])).toEqual([3, 3])
  const verified = await runCommand(['verify', '--data', restored])
  expect(verified.exitCode, verified.stdout + verified.stderr).toBe(0)
  expect(verified.stdout).toMatch(/sound\s+audit\/logs/)
})

describe('a wrong use', () => {
  test('of the commands is refused', async () => {
    mkdirSync(place)
    const failing = async (...args: string[]) => (await runCommand(args)).stderr
    const target = join(folder, 'target')
    expect(await failing('restore', '--from', place, '--at', 'yesterday', '--data', target)).toContain(
      'restore: `yesterday` is not a moment: expected a time such as 2026-11-23T03:00:00Z, or `latest`',
    )
    expect(await failing('restore', '--in', 'a.tar', '--at', 'latest', '--data', target)).toContain(
      '`--at` is for shipped changes',
    )
    expect(await failing('restore', '--at', 'latest', '--data', target)).toContain('or set `ship_to`')
    expect(await failing('restore', '--from', place, '--at', 'latest', '--data', target)).toContain(
      'contains no shipped changes',
    )
    expect(existsSync(target)).toBe(false)
    expect(await failing('backups', 'moments')).toContain('backups moments: name the place')
  })

  test('with a missing object shows the gap among the moments', async () => {
    const damaged = join(folder, 'damaged')
    const generation = '20261123T030000.000Z-0123abcd'
    mkdirSync(join(damaged, 'shipped', generation), { recursive: true })
    const names = [0, 10, 20, 30].map(
      (second, sequence) =>
        `0000000${sequence}-20261123T0300${String(second).padStart(2, '0')}.000Z-20261123T0300${String(second).padStart(2, '0')}.000Z.${sequence === 0 ? 'base' : 'segment'}.zst`,
    )
    for (const name of names)
      if (!name.startsWith('00000002')) writeFileSync(join(damaged, 'shipped', generation, name), '')
    const reason = `the object 2 of the generation ${generation} is missing: 1 object after it cannot be restored`
    const json = await runCommand(['backups', 'moments', '--from', damaged, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      moments: [{ from: '2026-11-23T03:00:00.000Z', to: '2026-11-23T03:00:10.000Z', objects: 2 }],
      gaps: [{ from: '2026-11-23T03:00:10.000Z', to: '2026-11-23T03:00:30.000Z', reason }],
    })
    const { exitCode, stdout } = await runCommand(['backups', 'moments', '--from', damaged])
    expect([exitCode, stdout.trim().split('\n').at(-1)]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^2026-11-23T03:00:10.000Z +2026-11-23T03:00:30.000Z +gap +${reason}$`)),
    ])
  })

  test('of the setting is refused at the start', async () => {
    await expect(startServer(['--data', data], { VERDIGRAPH_SHIP_TO: join(data, 'inside') })).rejects.toThrow(
      'ship_to: names a folder in the data folder; choose another one',
    )
    await expect(startServer(['--data', data], { VERDIGRAPH_SHIP_TO: 's3://bucket/prefix' })).rejects.toThrow(
      'needs credentials: set AWS_ACCESS_KEY_ID',
    )
  })
})
