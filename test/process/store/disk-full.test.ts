// A disk that is really full: a small in-memory file system, which only root can mount. And a file size limit of the
// process, which any user can set.
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StorageWriteError } from '../../../src/kernel/errors.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { GRAPH_STREAM } from '../../../src/store/graph/write-batch.ts'
import { checkGraph } from '../../../src/store/integrity/check-graph.ts'
import { diskFullReason } from '../../../src/store/lmdb/disk-full.ts'
import { lockFile } from '../../../src/store/process/file-lock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const disk = join(temporaryFolder(), 'disk')
const ballast = join(disk, 'ballast')

mkdirSync(disk)
const isMounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)

beforeAll(() => {
  process.on('unhandledRejection', note)
})

afterAll(() => {
  process.off('unhandledRejection', note)
  // Lazily: a process that another test file is starting may hold a descriptor until it runs.
  if (isMounted) expect(Bun.spawnSync(['umount', '--lazy', disk]).exitCode).toBe(0)
})

function nodesIn(environment: LmdbEnvironment): number {
  const snapshot = environment.snapshot()
  const count = snapshot.nodeCount(null)
  snapshot.close()
  return count
}

const errorOf = (fault: unknown) => (fault instanceof StorageWriteError ? fault.error.kind : fault)

/** Runs a separate process with a file size limit in KiB; returns its output, or the signal that ended it. */
function limited(kilobytes: number, script: string): string {
  const source = join(import.meta.dirname, '..', '..', '..', 'src')
  const line = `ulimit -f ${kilobytes}; exec "$0" -e "$1"`
  const child = Bun.spawnSync(['bash', '-c', line, process.execPath, script.replaceAll('SRC', source)])
  return String(child.signalCode ?? child.stdout)
}

describe('with a file size limit', () => {
  const folder = join(temporaryFolder(), 'graph')
  const open = `
    const { openEnvironment } = await import('SRC/store/graph/environment.ts')
    const open = () => openEnvironment('${folder}', { clock: { now: Date.now } })`

  test('no store is created, and the process continues', () => {
    const output = limited(40, `${open}; try { open() } catch (fault) { console.log(fault.message) }`)
    expect(output).toBe(
      `not enough disk space for a store in ${folder}: the file size limit is reached (\`ulimit -f\`)\n`,
    )
    expect(readdirSync(folder)).toEqual(['open.lock'])
  })

  test('a batch or a load is refused as a whole as on a full disk, and existing data can be read', async () => {
    const output = limited(
      2000,
      `${open}
      const environment = open()
      const node = (name) => ({ type: 'Item', externalId: name, properties: [{ name: 'text', value: 'x'.repeat(2000) }] })
      const fill = (name) => (batch) => {
        for (let i = 0; i < 300; i++) batch.upsertNode(node(name + i), {})
      }
      const told = []
      for (const [how, name] of [['write', 'a'], ['write', 'b'], ['bulkLoad', 'c'], ['write', 'd']])
        await environment[how](fill(name)).then(() => told.push('stored'), (fault) => told.push(fault.error?.kind ?? fault))
      const snapshot = environment.snapshot()
      console.log(...told, snapshot.nodeCount(null))
      snapshot.close()
      await environment.close()`,
    )
    const full = 'insufficient-storage'
    expect(output).toBe(`stored ${full} ${full} ${full} 300\n`)
    const environment = openEnvironment(folder, { clock: systemClock })
    expect(checkGraph(environment)).toEqual([])
    await environment.write((batch) => batch.upsertNode({ type: 'Item', externalId: 'after' }))
    expect(nodesIn(environment)).toBe(301)
    await environment.close()
    expect(readdirSync(folder).filter((name) => !/^(data|lock)\.mdb$|\.lock$/.test(name))).toEqual([])
  })
})

test('an exceeded quota is reported by its code, and other errors are not reported as a full disk', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'data.mdb')
  writeFileSync(file, '')
  const { EDQUOT, EIO } = constants.errno
  const output = [EDQUOT, 'EDQUOT', EIO].map((code) => diskFullReason({ code }, folder, file))
  expect(output).toEqual([expect.stringContaining('quota'), output[0], null])
  expect(readdirSync(folder)).toEqual(['data.mdb'])
})

describe.skipIf(!isMounted)('on a full disk', () => {
  test('a batch is refused as a whole, existing data can be read, and writing continues when there is space', async () => {
    writeFileSync(ballast, Buffer.alloc(2 << 20))
    const environment = openEnvironment(join(disk, 'graph'), { clock: systemClock })
    const write = (name: string) =>
      environment.write((batch) => {
        for (let i = 0; i < 50; i++) {
          const properties = [{ name: 'text', value: 'x'.repeat(2000) }]
          batch.upsertNode({ type: 'Item', externalId: `${name}-${i}`, properties })
        }
        batch.appendEvents(Buffer.from(name), 1)
      })
    let stored = 0
    const refused: unknown[] = []
    for (let n = 0; refused.length < 3; n++) {
      await write(`first ${n}`).then(
        () => {
          stored += 1
        },
        (fault: unknown) => void refused.push(errorOf(fault)),
      )
    }
    expect(refused).toEqual(['insufficient-storage', 'insufficient-storage', 'insufficient-storage'])
    // Writes that share a commit share its outcome.
    const together = await Promise.allSettled(['a', 'b', 'c'].map(write))
    expect(together.map((one) => (one.status === 'rejected' ? errorOf(one.reason) : 'stored'))).toEqual(refused)
    expect(nodesIn(environment)).toBe(stored * 50)
    expect(checkGraph(environment)).toEqual([])

    rmSync(ballast)
    await write('after')
    expect(nodesIn(environment)).toBe(stored * 50 + 50)
    // The refused events have no sequence.
    const records = environment.outbox.read(GRAPH_STREAM, 0, { events: 1000, bytes: 1_000_000 })
    expect(records.map(({ sequence }) => sequence)).toEqual(Array.from({ length: stored + 1 }, (_, at) => at + 1))
    expect(String(records.at(-1)?.bytes)).toBe(String(new TextEncoder().encode('after')))
    expect(checkGraph(environment)).toEqual([])
    await environment.close()
    rmSync(join(disk, 'graph'), { recursive: true })
    expect(unhandled).toEqual([])
  })

  test('and so is a change of the configuration', async () => {
    const documents = openCollections(join(disk, 'config'), {})
    const put = (key: string) =>
      documents.transact((changes) => changes.put('things', key, { key, text: 'x'.repeat(20_000) }))
    await put('first')
    writeFileSync(ballast, Buffer.alloc(3 << 20))
    let refused: unknown = null
    const stored = ['first']
    for (let n = 0; refused === null; n++) {
      await put(`${n}`).then(
        () => void stored.push(`${n}`),
        (fault: unknown) => {
          refused = errorOf(fault)
        },
      )
    }
    expect(refused).toBe('insufficient-storage')
    expect(documents.all('things').map(([key]) => key)).toEqual(stored.sort())
    rmSync(ballast)
    await put('last')
    expect(documents.get('things', 'last')).toMatchObject({ key: 'last' })
    await documents.close()
    expect(unhandled).toEqual([])
  })

  test('no store is created without space for its first pages, and a lock needs none', async () => {
    const room = Bun.spawnSync(['df', '--output=avail', '-B1', disk]).stdout.toString().split('\n')[1]
    const file = join(disk, 'all of it')
    writeFileSync(file, Buffer.alloc(Number(room) - 300_000))
    expect(() => openEnvironment(join(disk, 'other'), { clock: systemClock })).toThrow(
      `not enough disk space for a store in ${join(disk, 'other')}`,
    )
    expect(readdirSync(join(disk, 'other'))).toEqual(['open.lock'])
    const { path, more } = { path: join(disk, 'one.lock'), more: join(disk, 'more') }
    writeFileSync(path, '')
    expect(() => writeFileSync(more, Buffer.alloc(1 << 20))).toThrow('no space left')
    const lock = lockFile(path, 'exclusive')
    expect(lock).not.toBeNull()
    lock?.release()
    rmSync(file)
    rmSync(more)
    await openEnvironment(join(disk, 'other'), { clock: systemClock }).close()
  })

  test('a shared counter reserves its space when it is created, and is refused without it', () => {
    writeFileSync(ballast, '')
    expect(() => appendFileSync(ballast, Buffer.alloc(8 << 20))).toThrow('no space left')
    // In a separate process, which the system would kill.
    const source = join(import.meta.dirname, '..', '..', '..', 'src', 'store', 'process', 'shared-counter.ts')
    const script = `const { openSharedCounter } = await import('${source}'); openSharedCounter('${disk}/number').increment()`
    const child = Bun.spawnSync([process.execPath, '-e', script])
    rmSync(ballast)
    expect([child.signalCode ?? null, child.stderr.toString()]).toEqual([null, expect.stringContaining('ENOSPC')])
  })
})
