// Changes that are shipped to a folder, and restored from it: each moment has the state that the source had, and objects that are
// damaged, missing or out of order are refused.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FolderPlace } from '../../../src/backup/places/folder-place.ts'
import { PlaceError } from '../../../src/backup/places/place.ts'
import { listShipped, restorablePeriods } from '../../../src/backup/shipping/moments.ts'
import { restoreShipped } from '../../../src/backup/shipping/restore-shipped.ts'
import type { Shipper } from '../../../src/backup/shipping/shipper.ts'
import type { ShippingNote } from '../../../src/backup/shipping/shipping-failures.ts'
import { openShippingFigures } from '../../../src/backup/shipping/shipping-figures.ts'
import type { Collections } from '../../../src/store/documents/collections.ts'
import { testSeed } from '../../generate/random.ts'
import { differenceRounds, shippingMoments } from '../../stress/shipping.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { openStore } from '../../support/open-collections.ts'
import { shipperOf } from '../../support/shipped-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const START = Date.parse('2026-11-23T03:00:00Z')

let folder: string
let data: string
let place: FolderPlace
let clock: ManualClock
let documents: Collections
let shipper: Shipper
let entries: ShippingNote[]

beforeEach(async () => {
  folder = temporaryFolder()
  data = join(folder, 'data')
  place = new FolderPlace(join(folder, 'place'))
  clock = new ManualClock(START)
  documents = openStore(data)
  await write(0)
  entries = []
  shipper = shipperOf(data, clock, { entries })
})

afterEach(async () => {
  await shipper.close()
  await documents.close()
})

async function write(value: number, key = 'counter'): Promise<void> {
  await documents.transact((changes) => changes.put('configuration', key, { value, text: 'x'.repeat(value % 9000) }))
}

/** Ships each value one second after the one before. */
async function shipValues(values: readonly number[]): Promise<void> {
  await shipper.round()
  for (const value of values) {
    await write(value)
    clock.advance(1000)
    await shipper.round()
  }
}

let restores = 0

async function restored(at: string | null): Promise<unknown> {
  restores += 1
  const target = join(folder, `restored-${restores}`)
  const atMs = at === null ? null : Date.parse(at)
  await restoreShipped({ place, dataDir: target, atMs, decrypt: null, progress: () => {} })
  const store = openStore(target)
  try {
    return (store.get('configuration', 'counter') as { value: number }).value
  } finally {
    await store.close()
  }
}

function objects(): string[] {
  const generations = join(folder, 'place', 'shipped')
  return readdirSync(generations, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.zst'))
    .map((name) => join(generations, name))
    .sort()
}

describe('a moment', () => {
  test('has the state of the last object that is not later', async () => {
    await shipValues([1, 8999, 3])
    expect(await restored('2026-11-23T03:00:00Z')).toBe(0)
    expect(await restored('2026-11-23T03:00:01Z')).toBe(1)
    expect(await restored('2026-11-23T03:00:02.999Z')).toBe(8999)
    expect(await restored('2026-11-23T03:00:03Z')).toBe(3)
    expect(await restored(null)).toBe(3)
  })

  test('before the first or after the last one is refused', async () => {
    await shipValues([1])
    await expect(restored('2026-11-23T02:59:59Z')).rejects.toThrow(
      '2026-11-23T02:59:59.000Z is before the first moment that can be restored, 2026-11-23T03:00:00.000Z',
    )
    await expect(restored('2026-11-23T03:00:02Z')).rejects.toThrow(
      '2026-11-23T03:00:02.000Z is after the last moment that can be restored, 2026-11-23T03:00:01.000Z',
    )
  })

  test('in a gap is refused with both ends of the gap', async () => {
    await shipValues([1])
    clock.advance(60_000)
    await write(2)
    await shipper.round()
    await expect(restored('2026-11-23T03:00:30Z')).rejects.toThrow(
      'nothing was shipped between 2026-11-23T03:00:01.000Z and 2026-11-23T03:01:01.000Z',
    )
    expect(await restored('2026-11-23T03:01:01Z')).toBe(2)
    expect(
      restorablePeriods(await listShipped(place)).map(({ fromMs, toMs }) => [fromMs - START, toMs - START]),
    ).toEqual([
      [0, 1000],
      [61_000, 61_000],
    ])
  })

  test('in an idle time has the state before it', async () => {
    await shipValues([1])
    for (let second = 0; second < 40; second += 10) {
      clock.advance(10_000)
      await shipper.round()
    }
    await write(2)
    clock.advance(1000)
    await shipper.round()
    // The base, a change, the end of 30 idle seconds, a change.
    expect(objects()).toHaveLength(4)
    expect(await restored('2026-11-23T03:00:25Z')).toBe(1)
    expect(await restored('2026-11-23T03:00:40Z')).toBe(1)
  })

  test('of a place without shipped changes is refused', async () => {
    mkdirSync(join(folder, 'place'))
    await expect(restored(null)).rejects.toThrow('contains no shipped changes')
  })
})

test('a place with the changes of another organization is refused', async () => {
  await shipper.resume()
  await shipValues([1])
  const other = shipperOf(data, clock, { place, organizationId: 'gid:other' })
  await expect(other.resume()).rejects.toThrow(
    'another organization ships to the place, see shipped/owner-organization-1: each service needs',
  )
  await other.close()
  const same = shipperOf(data, clock)
  await same.resume()
  await same.close()
})

describe('an object that is', () => {
  const LATEST = null
  beforeEach(() => shipValues([1, 2, 3, 4]))

  test('cut off is refused, at any length', async () => {
    const [, , object = ''] = objects()
    const whole = readFileSync(object)
    for (const part of [0, 0.2, 0.5, 0.9]) {
      writeFileSync(object, whole.subarray(0, Math.floor(whole.length * part)))
      await expect(restored(LATEST)).rejects.toThrow(/the object shipped\/.*00000002-.* (is incomplete|is damaged)/)
    }
  })

  test('changed in one byte is refused, at any place', async () => {
    const [, object = ''] = objects()
    const whole = readFileSync(object)
    for (let at = 8; at < whole.length; at += Math.ceil(whole.length / 12)) {
      const changed = Buffer.from(whole)
      changed[at] = changed[at]! ^ 0x10
      writeFileSync(object, changed)
      await expect(restored(LATEST)).rejects.toThrow(/the object shipped\//)
    }
  })

  test('missing ends what can be restored', async () => {
    rmSync(objects()[2] as string)
    await expect(restored(LATEST)).rejects.toThrow(
      /the newest state cannot be restored: the object 2 of the generation .* is missing; .* is 2026-11-23T03:00:01.000Z/,
    )
    expect(await restored('2026-11-23T03:00:01Z')).toBe(1)
    await expect(restored('2026-11-23T03:00:04Z')).rejects.toThrow(/the object 2 of the generation .* is missing/)
  })

  test('renamed to another sequence is refused', async () => {
    const [, , second = '', third = ''] = objects()
    copyFileSync(third, join(folder, 'kept'))
    renameSync(second, third.replace(/0000000\d-/, '00000003-'))
    copyFileSync(join(folder, 'kept'), second)
    await expect(restored(LATEST)).rejects.toThrow('has the content of another object: it was renamed')
  })

  test('there twice is refused', async () => {
    const [, , second = ''] = objects()
    copyFileSync(second, second.replace('T030002.000Z-', 'T030002.500Z-'))
    await expect(restored(LATEST)).rejects.toThrow(/the object 3 of the generation .* is there twice/)
    await expect(restored('2026-11-23T03:00:04Z')).rejects.toThrow(/the object 3 of the generation .* is there twice/)
  })

  test('of another history is refused', async () => {
    const other = objects()[3] as string
    const kept = readFileSync(other)
    rmSync(join(data, 'shipping'), { recursive: true })
    await shipper.close()
    shipper = shipperOf(data, clock)
    await shipper.resume()
    await shipValues([11, 12, 13])
    const fresh = objects().filter((object) => !object.includes(other.split('/').at(-2) as string))
    writeFileSync(fresh[3] as string, kept)
    await expect(restored(LATEST)).rejects.toThrow('has the content of another object')
  })
})

const lossOf = (sequence: number) =>
  expect.objectContaining({
    level: 'error',
    message: 'a shipped object is lost: a new generation begins',
    reason: expect.stringMatching(
      new RegExp(`^the object ${sequence} of the generation 20261123T030000.000Z-\\w+ is missing: no object after it`),
    ),
  })

describe('while it ships', () => {
  test('a lost object is noticed within an hour, and a new generation begins at once', async () => {
    await shipper.resume()
    await shipValues([1, 2, 3])
    rmSync(objects()[2] as string)
    const { failures } = openShippingFigures(data)
    // Later objects are useless, and only a check can notice it.
    clock.advance(3_590_000)
    await shipValues([4])
    expect(entries).toEqual([])
    await expect(restored(null)).rejects.toThrow('is missing')
    clock.advance(10_000)
    await shipValues([5])
    expect(entries).toEqual([lossOf(2)])
    expect(openShippingFigures(data).failures).toBe(failures + 1)
    expect(objects().filter((name) => name.includes('.base.'))).toHaveLength(2)
    expect(await restored(null)).toBe(5)
    // The new generation is complete.
    clock.advance(3_600_000)
    await shipValues([6])
    expect(entries).toHaveLength(1)
    expect(await restored(null)).toBe(6)
  })

  test('a place that has lost everything belongs to its organization again', async () => {
    await shipper.resume()
    await shipValues([1])
    rmSync(join(folder, 'place'), { recursive: true })
    clock.advance(3_600_000)
    await shipValues([2])
    expect(entries).toEqual([lossOf(0)])
    expect(await restored(null)).toBe(2)
    expect(readdirSync(join(folder, 'place', 'shipped'))).toContain('owner-organization-1')
  })

  test('a place that cannot be listed still takes objects, and is checked a minute later', async () => {
    let isListed = true
    const place = new (class extends FolderPlace {
      override async *list(prefix: string): ReturnType<FolderPlace['list']> {
        if (!isListed) throw new PlaceError('refused', 'no right to list')
        yield* super.list(prefix)
      }
    })(join(folder, 'place'))
    await shipper.close()
    shipper = shipperOf(data, clock, { entries, place })
    await shipper.resume()
    await shipValues([1])
    rmSync(objects()[1] as string)
    isListed = false
    clock.advance(3_600_000)
    await shipValues([2, 3])
    expect(entries.map(({ message, reason }) => [message, reason])).toEqual([
      ['the shipped objects could not be checked', 'no right to list'],
    ])
    expect(objects()).toHaveLength(4)
    isListed = true
    clock.advance(60_000)
    await shipValues([4])
    expect(entries.slice(1)).toEqual([
      expect.objectContaining({ level: 'info', message: 'the shipped objects were checked' }),
      lossOf(1),
    ])
    expect(await restored(null)).toBe(4)
  })

  test('a failure that repeats is one line per minute with a count, and a line when it has ended', async () => {
    let isAway = false
    const away = new (class extends FolderPlace {
      override put(...object: Parameters<FolderPlace['put']>): Promise<void> {
        return isAway ? Promise.reject(new PlaceError('unreachable', 'no answer')) : super.put(...object)
      }
    })(join(folder, 'place'))
    await shipper.close()
    shipper = shipperOf(data, clock, { entries, place: away, intervalMs: 5 })
    await shipper.resume()
    await shipper.round()
    isAway = true
    await write(1)
    clock.advance(1000)
    shipper.start()
    const failures = () => openShippingFigures(data).failures
    await expect.poll(failures).toBeGreaterThan(5)
    const failed = { level: 'error', message: 'changes could not be shipped', place: away.address, reason: 'no answer' }
    expect(entries).toEqual([failed])
    clock.advance(60_000)
    await expect.poll(() => entries.length).toBe(2)
    const { times } = entries[1] as ShippingNote
    expect(entries[1]).toEqual({ ...failed, times })
    expect(times).toBeGreaterThan(4)
    const before = failures()
    await expect.poll(failures).toBeGreaterThan(before + 3)
    isAway = false
    await expect.poll(() => entries.length).toBe(3)
    expect(entries[2]).toEqual({ level: 'info', message: 'changes are shipped again', place: away.address })
    expect(await restored(null)).toBe(1)
  })

  test('bases that fail leave no folder', async () => {
    await shipper.resume()
    const generations = join(folder, 'place', 'shipped')
    const broken = new (class extends FolderPlace {
      override put(name: string): Promise<void> {
        const body = new ReadableStream<Uint8Array>({ pull: () => Promise.reject(new Error('the disk is full')) })
        return super.put(name, body)
      }
    })(join(folder, 'place'))
    await shipper.close()
    shipper = shipperOf(data, clock, { entries, place: broken })
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(shipper.round()).rejects.toThrow('the disk is full')
      clock.advance(10_000)
    }
    expect(readdirSync(generations)).toEqual(['owner-organization-1'])
  })
})

describe('a shipper that starts again', () => {
  async function restart(options: Parameters<typeof shipperOf>[2] = {}): Promise<void> {
    await shipper.close()
    shipper = shipperOf(data, clock, { entries, ...options })
    await shipper.resume()
  }

  test('continues its generation', async () => {
    await shipValues([1])
    await restart()
    await shipValues([2, 3])
    expect(objects().map((name) => /\.(base|segment)\./.exec(name)?.[1])).toEqual([
      'base',
      'segment',
      'segment',
      'segment',
    ])
    expect(await restored(null)).toBe(3)
  })

  test('begins a generation when the place has other objects', async () => {
    await shipValues([1, 2])
    const newest = objects().at(-1) as string
    copyFileSync(newest, newest.replace('/00000002-', '/00000003-'))
    await restart()
    await shipValues([5])
    expect(entries.map(({ message }) => message)).toEqual([
      'the shipped objects are not those of this data folder: a new generation begins',
    ])
    expect(objects().filter((name) => name.includes('.base.'))).toHaveLength(2)
    expect(await restored(null)).toBe(5)
  })

  test.for([0, 2, 4])('begins a generation, and names the object, when object %i is lost', async (lost) => {
    await shipValues([1, 2, 3, 4])
    rmSync(objects()[lost] as string)
    await restart()
    expect(entries).toEqual([lossOf(lost)])
    // The figure is the newest moment that can be restored; it has no fraction of a second.
    expect(openShippingFigures(data).momentS).toBe(lost === 0 ? 0 : START / 1000 + lost - 1)
    await shipValues([5])
    expect(objects().filter((name) => name.includes('.base.'))).toHaveLength(lost === 0 ? 1 : 2)
    expect(await restored(null)).toBe(5)
  })

  test('begins a generation in another place, and an empty one is no loss', async () => {
    await shipValues([1])
    await restart({ place: new FolderPlace(join(folder, 'other')) })
    await shipValues([2])
    expect(entries.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'the place is another one than before: a new generation begins'],
    ])
    place = new FolderPlace(join(folder, 'other'))
    expect(await restored(null)).toBe(2)
  })

  test('logs nothing about an empty place at its first start', async () => {
    await restart()
    await shipValues([1])
    expect(entries).toEqual([])
  })

  test('sends the object again that the place did not take', async () => {
    await shipValues([1])
    let isAway = false
    const away = new (class extends FolderPlace {
      override put(...object: Parameters<FolderPlace['put']>): Promise<void> {
        return isAway ? Promise.reject(new PlaceError('unreachable', 'no answer')) : super.put(...object)
      }
    })(join(folder, 'place'))
    await restart({ place: away })
    isAway = true
    await write(2)
    clock.advance(1000)
    await expect(shipper.round()).rejects.toThrow('no answer')
    await write(3)
    clock.advance(1000)
    await expect(shipper.round()).rejects.toThrow('no answer')
    // The process is killed here.
    const killed = shipper
    shipper = shipperOf(data, clock, { entries })
    await shipper.resume()
    isAway = false
    clock.advance(1000)
    await shipper.round()
    await killed.close()
    expect(await restored('2026-11-23T03:00:02Z')).toBe(2)
    expect(await restored(null)).toBe(3)
  })
})

test('each difference of random pages gives the content of the source', { timeout: 120_000 }, async () => {
  const outcome = await differenceRounds(30, testSeed())
  expect(outcome.faults, `seed ${outcome.seed}`).toEqual([])
  expect(outcome.pagesPerRound).toBeGreaterThan(1)
})

test('moments of a folder that another process writes to are consistent', { timeout: 120_000 }, async () => {
  const outcome = await shippingMoments(4, testSeed())
  expect(outcome.faults, `seed ${outcome.seed}`).toEqual([])
  expect(outcome.objects).toBeGreaterThan(4)
})

test('generations follow each other, and old ones are removed', async () => {
  await shipper.close()
  shipper = shipperOf(data, clock, { entries, generationMs: 3000, keepMs: 5000 })
  for (let value = 1; value < 20; value++) {
    await write(value)
    clock.advance(1000)
    await shipper.round()
    // A base is made while segments of the generation before are shipped.
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await expect.poll(() => objects().filter((name) => name.includes('.base.')).length).toBeGreaterThan(1)
  await expect.poll(() => objects().some((name) => name.includes('T030001.000Z'))).toBe(false)
  for (let second = 14; second < 20; second++)
    expect(await restored(`2026-11-23T03:00:${second}Z`), `second ${second}`).toBe(second)
})
