import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { ByteWriter } from '../../../../src/store/format/bytes.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { GRAPH_STREAM } from '../../../../src/store/graph/write-batch.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { openDatabases, openMeta } from '../../../../src/store/lmdb/databases.ts'
import { LmdbFile } from '../../../../src/store/lmdb/lmdb-file.ts'
import { EventsFolder } from '../../../../src/store/outbox/events-folder.ts'
import { type EventOutbox, FOLLOW_KEEP_MS, type OutboxAppend } from '../../../../src/store/outbox/outbox.ts'
import { missedEvents, type OutboxRecord } from '../../../../src/store/outbox/outbox-format.ts'
import { headKey, recordKey } from '../../../../src/store/outbox/outbox-keys.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { sync: false }
const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (record: OutboxRecord): string => new TextDecoder().decode(record.bytes)
const noGap = { gap: null }
const originOf = (outbox: EventOutbox, stream: string): string => outbox.status(stream)?.origin ?? ''

function openGraph(folder = temporaryFolder()): LmdbEnvironment {
  return openEnvironment(folder, { ...options, clock: new ManualClock(1000) })
}

/** A folder of events with the number of its commits. */
function countedFolder(): { outbox: EventOutbox; commits: () => number; close: () => Promise<void> } {
  let commits = 0
  const increment = (): void => {
    commits += 1
  }
  const commitCounter = { load: () => commits, increment }
  const folder = new EventsFolder(temporaryFolder(), { ...options, commitCounter })
  return { outbox: folder.outbox, commits: () => commits, close: () => folder.close() }
}

async function unsound(folder: string): Promise<string[]> {
  return verifyFolder(folder, () => {})
}

describe('events of a graph', () => {
  test('are stored exactly if their batch is, in sequence, with the time and one origin', async () => {
    const folder = temporaryFolder()
    const graph = openGraph(folder)
    const first = graph.write((batch) => {
      batch.upsertNode({ type: 'Car', externalId: 'a' })
      return [batch.appendEvents(bytes('one'), 3), batch.appendEvents(bytes('two'), 1)]
    })
    const failed = graph.write((batch) => {
      batch.appendEvents(bytes('lost'), 5)
      throw new Error('abandoned')
    })
    const second = graph.write((batch) => batch.appendEvents(bytes('three'), 2))
    expect(await first).toEqual([1, 4])
    await expect(failed).rejects.toThrow('abandoned')
    expect(await second).toBe(5)
    const records = graph.outbox.read(GRAPH_STREAM, 0, all)
    expect(records.map((record) => [record.sequence, record.count, record.timeMs, textOf(record)])).toEqual([
      [1, 3, 1000, 'one'],
      [4, 1, 1000, 'two'],
      [5, 2, 1000, 'three'],
    ])
    expect(new Set(records.map(({ origin }) => origin)).size).toBe(1)
    await graph.close()
    expect(await unsound(folder)).toEqual([])
    const again = openGraph(folder)
    expect(again.outbox.read(GRAPH_STREAM, 2, all).map(textOf)).toEqual(['one', 'two', 'three'])
    expect(again.outbox.read(GRAPH_STREAM, 4, all).map(textOf)).toEqual(['two', 'three'])
    expect(again.outbox.status(GRAPH_STREAM)).toMatchObject({ next: 7, oldest: { sequence: 1 } })
    await again.close()
  })

  test('are not counted as a change of the graph when they are delivered', async () => {
    const graph = openGraph()
    await graph.write((batch) => batch.appendEvents(bytes('one'), 1))
    const version = (): object => {
      const snapshot = graph.snapshot()
      snapshot.close()
      return snapshot.version
    }
    const before = version()
    await graph.outbox.commit(GRAPH_STREAM, {
      origin: originOf(graph.outbox, GRAPH_STREAM),
      provider: 'p',
      providers: ['p'],
      next: 2,
      ...noGap,
    })
    expect(version()).toEqual(before)
    await graph.close()
  })

  test('have an outbox in an environment that was written without one, which a reader opens unchanged', async () => {
    const folder = temporaryFolder()
    await openGraph(folder).close()
    const file = new LmdbFile(folder, options)
    const root = (file as unknown as { root: { openDB(name: string): { drop(): Promise<void> } } }).root
    await root.openDB('outbox').drop()
    await file.close()
    const reader = openEnvironment(folder, { clock: new ManualClock(0), readOnly: true })
    expect([reader.outbox.streams(), reader.outbox.read(GRAPH_STREAM, 0, all)]).toEqual([[], []])
    await reader.close()
    expect(await unsound(folder)).toEqual([])
    const graph = openGraph(folder)
    expect(await graph.write((batch) => batch.appendEvents(bytes('one'), 1))).toBe(1)
    await graph.close()
  })
})

describe('an outbox', () => {
  test('drops a large stream in transactions of bounded size, and stops when the stream has a new owner', async () => {
    const { outbox, commits, close } = countedFolder()
    const count = 12_000
    const record = { stream: 's', bytes: bytes('old'), count: 1, timeMs: 1 }
    await outbox.append(Array.from({ length: count }, () => record))
    const deadLetters = Array.from({ length: count }, (_, at) => ({ sequence: at + 1, bytes: bytes('x') }))
    const origin = originOf(outbox, 's')
    await outbox.commit('s', { origin, provider: 'p', providers: ['p', 'q'], next: 2, ...noGap, deadLetters })
    await outbox.deadLetters.request('s', 'p', 1)
    const counts = (): unknown[] => [outbox.deadLetters.list('s', count).length, outbox.cursors('s').size, stored()]
    const stored = (): number => outbox.read('s', 0, all).length

    // As after a kill: the cursor stays as long as a dead letter.
    let parts = 0
    await outbox.drop('s', () => parts++ < 2)
    expect([counts(), outbox.deadLetters.hasRequests('s')]).toEqual([[2000, 1, count], false])
    await outbox.append([{ ...record, bytes: bytes('new') }])
    await outbox.drop('s', () => parts++ < 5)
    expect(counts()).toEqual([0, 0, 4002])
    expect(outbox.read('s', 0, all).at(-1)?.sequence).toBe(count + 1)

    const before = commits()
    await outbox.drop('s')
    expect([outbox.status('s'), outbox.streams(), stored()]).toEqual([null, [], 0])
    expect(commits() - before).toBe(1)
    await close()
  })

  test('counts the dead letters of a provider, and removes the first beyond a bound', async () => {
    const { outbox, commits, close } = countedFolder()
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 9000, timeMs: 7 }])
    const origin = originOf(outbox, 's')
    const commit = (provider: string, from: number, count: number): Promise<boolean> => {
      const deadLetters = Array.from({ length: count }, (_, at) => ({
        sequence: from + at,
        bytes: bytes('0123456789'),
      }))
      return outbox.commit('s', { origin, provider, providers: ['p', 'q'], next: from + count, ...noGap, deadLetters })
    }
    const totals = (provider = 'p'): object => outbox.deadLetters.totals('s', provider)
    await commit('p', 1, 2000)
    await commit('q', 1, 5)
    expect([totals(), totals('q')]).toEqual([
      { count: 2000, bytes: 20_000 },
      { count: 5, bytes: 50 },
    ])
    await outbox.deadLetters.replace('s', { provider: 'p', sequence: 7, bytes: bytes('01234567890123456789') })
    await outbox.deadLetters.remove('s', 'p', 8)
    expect(totals()).toEqual({ count: 1999, bytes: 20_000 })
    await outbox.deadLetters.request('s', 'p', 1)
    expect(await outbox.deadLetters.bound('s', 'p', 20_000)).toBe(0)
    const before = commits()
    expect(await outbox.deadLetters.bound('s', 'p', 10_000)).toBe(1099)
    // At most 500 in a transaction.
    expect(commits() - before).toBe(3)
    expect([totals(), totals('q')]).toEqual([
      { count: 900, bytes: 9000 },
      { count: 5, bytes: 50 },
    ])
    expect([outbox.deadLetters.list('s', 1)[0]?.sequence, outbox.deadLetters.hasRequests('s')]).toEqual([1101, false])
    await outbox.deadLetters.removeAll('s', 'p')
    await outbox.removeOtherProviders('s', () => ['p'])
    expect([totals(), totals('q')]).toEqual([
      { count: 0, bytes: 0 },
      { count: 0, bytes: 0 },
    ])
    await close()
  })

  test('stays below its bound while no provider reads it, and remembers what was removed until all have passed it', async () => {
    const folder = temporaryFolder()
    const events = new EventsFolder(folder, { ...options, outboxBytesMax: 5000 })
    const { outbox } = events
    const record = (at: number): OutboxAppend => ({ stream: 's', bytes: bytes('x'.repeat(66)), count: 2, timeMs: at })
    await outbox.append([record(0), { ...record(0), stream: 't' }])
    const origin = originOf(outbox, 's')
    await outbox.commit('s', { origin, provider: 'fast', providers: ['fast', 'slow'], next: 3, ...noGap })
    expect(outbox.status('s')?.loss).toBe(null)
    for (let at = 1; at < 200; at++) {
      await outbox.append([record(at), record(at)])
      expect(outbox.status('s')?.pendingBytes).toBeLessThanOrEqual(5000)
    }
    // 399 records of 100 bytes and 2 events.
    const loss = { from: 1, to: 699, firstMs: 0, lastMs: 174 }
    expect(outbox.status('s')).toMatchObject({ next: 799, pendingBytes: 5000, oldest: { sequence: 699 }, loss })
    expect(outbox.status('t')).toMatchObject({ pendingBytes: 100, loss: null })
    expect([missedEvents(loss, 3), missedEvents(loss, 699), missedEvents({ ...loss, from: 9 }, 3)]).toEqual([
      696, 0, 690,
    ])
    await outbox.commit('s', { origin, provider: 'slow', providers: ['fast', 'slow'], next: 699, ...noGap })
    expect(outbox.status('s')?.loss).toEqual(loss)
    await outbox.commit('s', { origin, provider: 'fast', providers: ['fast', 'slow'], next: 799, ...noGap })
    expect(outbox.status('s')?.loss).toBe(null)
    await events.close()
    expect(await unsound(folder)).toEqual([])

    // Records of a time without bound are removed in parts.
    const unbounded = new EventsFolder(folder, options)
    await unbounded.outbox.append(Array.from({ length: 12_000 }, (_, at) => record(at)))
    await unbounded.close()
    const again = new EventsFolder(folder, { ...options, outboxBytesMax: 5000 })
    for (const records of [7051, 2052, 50, 50]) {
      await again.outbox.append([record(1)])
      expect(again.outbox.readHeads('s', 0, 20_000)).toHaveLength(records)
    }
    await again.close()
    expect(await unsound(folder)).toEqual([])
  })

  test('of a graph stays below its bound, which fails no batch', async () => {
    const graph = openEnvironment(temporaryFolder(), { ...options, clock: new ManualClock(1000), outboxBytesMax: 1000 })
    for (let at = 0; at < 100; at++) {
      await graph.write((batch) => {
        batch.upsertNode({ type: 'Car', externalId: `c${at}` })
        batch.appendEvents(bytes('x'.repeat(66)), 1)
      })
    }
    expect(graph.outbox.status(GRAPH_STREAM)).toMatchObject({
      next: 101,
      pendingBytes: 1000,
      loss: { from: 1, to: 91 },
    })
    // One record that alone exceeds the bound is stored.
    await graph.write((batch) => batch.appendEvents(bytes('x'.repeat(5000)), 1))
    expect(graph.outbox.readHeads(GRAPH_STREAM, 0, 9)).toHaveLength(1)
    await graph.close()
  })

  test('removes what belongs to removed providers in transactions of bounded size, the cursor last', async () => {
    const { outbox, commits, close } = countedFolder()
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 20_000, timeMs: 7 }])
    const origin = originOf(outbox, 's')
    const deadLetters = Array.from({ length: 12_000 }, (_, at) => ({ sequence: at + 1, bytes: bytes('x') }))
    for (const provider of ['old', 'p'])
      await outbox.commit('s', { origin, provider, providers: ['old', 'p'], next: 20_000, ...noGap, deadLetters })
    expect(await outbox.deadLetters.requestAll('s', 'old')).toBe(12_000)
    const lettersOf = (name: string): number =>
      outbox.deadLetters.list('s', 30_000).filter(({ provider }) => provider === name).length
    expect(await outbox.removeOtherProviders('s', () => null)).toBe(false)
    expect(await outbox.removeOtherProviders('s', () => ['old', 'p'])).toBe(false)
    // As after a kill.
    let parts = 0
    await outbox.removeOtherProviders('s', () => (parts++ < 1 ? ['p'] : null))
    expect([lettersOf('old'), outbox.deadLetters.requested('s', 'old', 1).length, outbox.cursors('s').size]).toEqual([
      7000, 1, 2,
    ])
    const before = commits()
    expect(await outbox.removeOtherProviders('s', () => ['p'])).toBe(true)
    // The last of them only reads that the provider `p` stays.
    expect(commits() - before).toBe(3)
    expect([lettersOf('old'), lettersOf('p'), [...outbox.cursors('s').keys()]]).toEqual([0, 12_000, ['p']])
    await close()
  })

  test('has the records and cursors of a model, and keeps what the slowest provider has not passed', async () => {
    const provider = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(
      fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 5 }), text: fc.string() }),
      fc.record({ kind: fc.constant('commit' as const), provider, ahead: fc.integer({ min: 0, max: 7 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const folder = temporaryFolder()
        const events = new EventsFolder(folder, options)
        const { outbox } = events
        let records: { sequence: number; count: number; text: string }[] = []
        const cursors = new Map<string, number>()
        let next = 1
        for (const one of steps) {
          if (one.kind === 'append') {
            await outbox.append([{ stream: 's', bytes: bytes(one.text), count: one.count, timeMs: 0 }])
            records.push({ sequence: next, count: one.count, text: one.text })
            next += one.count
          } else if (next > 1) {
            const to = Math.min(next, (cursors.get(one.provider) ?? 1) + one.ahead)
            cursors.set(one.provider, to)
            const origin = originOf(outbox, 's')
            await outbox.commit('s', { origin, provider: one.provider, providers: ['a', 'b', 'c'], next: to, ...noGap })
            const slowest = Math.min(...['a', 'b', 'c'].map((each) => cursors.get(each) ?? 0))
            records = records.filter(({ sequence, count }) => sequence + count > slowest)
          }
          const stored = outbox.read('s', 0, all)
          expect(stored.map((record) => [record.sequence, record.count, textOf(record)])).toEqual(
            records.map(({ sequence, count, text }) => [sequence, count, new TextDecoder().decode(bytes(text))]),
          )
          expect(outbox.readHeads('s', 0, 100).map(({ sequence }) => sequence)).toEqual(
            records.map(({ sequence }) => sequence),
          )
          expect(new Map([...outbox.cursors('s')].map(([name, cursor]) => [name, cursor.next]))).toEqual(cursors)
          const pending = stored.reduce((sum, record) => sum + record.bytes.length + 34, 0)
          expect(outbox.status('s')?.pendingBytes ?? 0).toBe(pending)
        }
        await events.close()
        expect(await unsound(folder)).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  test('continues its streams, whichever process has written, removed or renewed them before', async () => {
    const stream = fc.constantFrom('s', 't')
    const writer = fc.constantFrom(0, 0, 0, 1)
    const step = fc.oneof(
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('append' as const),
          writer,
          streams: fc.array(stream, { minLength: 1 }),
        }),
      },
      fc.record({
        kind: fc.constantFrom('trim' as const, 'drop' as const, 'drop' as const, 'renew' as const),
        writer,
        stream,
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const folder = temporaryFolder()
        // As two processes: each has its own transactions.
        const writers = [new EventsFolder(folder, options), new EventsFolder(folder, options)]
        const ends = new Map<string, { next: number; bytes: number }>()
        const changes: Promise<unknown>[] = []
        for (const one of steps) {
          const { outbox } = writers[one.writer]!
          // The changes of the first writer in one turn of the event loop share a transaction.
          const isShared = one.writer === 0 && (one.kind === 'append' || one.kind === 'drop')
          if (!isShared) await Promise.all(changes.splice(0))
          if (one.kind === 'append') {
            const record = { bytes: bytes('x'), count: 3, timeMs: 0 }
            changes.push(outbox.append(one.streams.map((name) => ({ stream: name, ...record }))))
            for (const name of one.streams) {
              const { next, bytes: before } = ends.get(name) ?? { next: 1, bytes: 0 }
              ends.set(name, { next: next + 3, bytes: before + 35 })
            }
          } else if (one.kind === 'drop') {
            changes.push(outbox.drop(one.stream))
            ends.delete(one.stream)
          } else if (one.kind === 'renew') changes.push(outbox.renewOrigins())
          else {
            const { next, origin = '' } = outbox.status(one.stream) ?? { next: 1 }
            changes.push(outbox.commit(one.stream, { origin, provider: 'p', providers: ['p'], next, ...noGap }))
          }
          if (!isShared) await Promise.all(changes.splice(0))
          if (changes.length > 0) continue
          for (const { outbox: each } of writers) {
            expect([...each.heads()].map(([name, { next, bytes: end }]) => [name, { next, bytes: end }])).toEqual(
              [...ends].sort(([a], [b]) => (a < b ? -1 : 1)),
            )
          }
        }
        await Promise.all(changes)
        for (const { outbox } of writers) {
          for (const [name, end] of ends) expect(outbox.status(name)).toMatchObject(end)
          for (const name of ends.keys()) {
            const records = outbox.read(name, 0, all)
            expect(records.map(({ sequence }) => sequence)).toEqual(
              records.map((_, at) => ends.get(name)!.next - 3 * (records.length - at)),
            )
          }
        }
        for (const each of writers) await each.close()
        expect(await unsound(folder)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  test('reads within bounds, at least one record', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const append = (text: string, count: number) => ({ stream: 's', bytes: bytes(text), count, timeMs: 0 })
    await events.outbox.append([append('aaaa', 10), append('bbbb', 10), append('cccc', 10)])
    const read = (from: number, limits: { events: number; bytes: number }): string[] =>
      events.outbox.read('s', from, limits).map(textOf)
    expect(read(1, { events: 1, bytes: 1 })).toEqual(['aaaa'])
    expect(read(1, { events: 11, bytes: 100 })).toEqual(['aaaa', 'bbbb'])
    expect(read(10, { events: 2, bytes: 100 })).toEqual(['aaaa', 'bbbb'])
    expect(read(11, { events: 100, bytes: 5 })).toEqual(['bbbb', 'cccc'])
    expect(read(31, all)).toEqual([])
    await events.close()
  })

  test('keeps streams apart, whose names may be prefixes of each other', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    for (const stream of ['a', 'ab', 'b']) await outbox.append([{ stream, bytes: bytes(stream), count: 1, timeMs: 0 }])
    expect(outbox.streams()).toEqual(['a', 'ab', 'b'])
    const origin = originOf(outbox, 'ab')
    await outbox.commit('ab', {
      origin,
      provider: 'p',
      providers: ['p'],
      next: 1,
      gap: null,
      deadLetters: [{ sequence: 1, bytes: bytes('x') }],
    })
    await outbox.drop('a')
    expect([outbox.streams(), outbox.read('a', 0, all)]).toEqual([['ab', 'b'], []])
    expect(outbox.read('ab', 0, all).map(textOf)).toEqual(['ab'])
    expect(outbox.deadLetters.list('ab', 10).map(({ sequence }) => sequence)).toEqual([1])
    await outbox.drop('ab')
    expect([outbox.cursors('ab').size, outbox.deadLetters.list('ab', 10)]).toEqual([0, []])
    // Of a stream that was dropped since it was read, and then of one that has begun again.
    const late = { origin, provider: 'p', providers: ['p'], next: 2, ...noGap }
    expect(await outbox.commit('ab', late)).toBe(false)
    await outbox.append([{ stream: 'ab', bytes: bytes('again'), count: 1, timeMs: 0 }])
    expect(await outbox.commit('ab', late)).toBe(false)
    expect([outbox.cursors('ab').size, outbox.status('ab')?.next]).toEqual([0, 2])
    await events.close()
  })

  test('stores a gap with the cursor, and dead letters until they are removed', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 100, timeMs: 7 }])
    const gap = { from: 1, to: 50, events: 49, firstMs: 7, lastMs: 7 }
    const origin = originOf(outbox, 's')
    const deadLetters = [60, 61, 62].map((sequence) => ({ sequence, bytes: bytes(`letter ${sequence}`) }))
    await outbox.commit('s', { origin, provider: 'p', providers: ['p'], next: 50, gap, deadLetters })
    expect([...outbox.cursors('s')]).toEqual([['p', { next: 50, gap }]])
    const found = outbox.deadLetters.list('s', 2)
    expect(found.map(({ provider, sequence }) => [provider, sequence])).toEqual([
      ['p', 60],
      ['p', 61],
    ])
    expect(outbox.deadLetters.list('s', 2, found[1]).map((letter) => new TextDecoder().decode(letter.bytes))).toEqual([
      'letter 62',
    ])
    expect(await outbox.deadLetters.remove('s', 'p', 61)).toBe(true)
    expect(await outbox.deadLetters.remove('s', 'p', 61)).toBe(false)
    expect([outbox.deadLetters.get('s', 'p', 61), outbox.deadLetters.get('s', 'p', 60)?.sequence]).toEqual([null, 60])
    await expect(outbox.commit('s', { origin, provider: 'p', providers: ['p'], next: 49, ...noGap })).rejects.toThrow(
      'a cursor only moves forward',
    )
    await events.close()
  })

  test('begins a stream once, so that it has an origin before its first event', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    await outbox.begin('s')
    const begun = outbox.status('s')
    expect(begun).toMatchObject({ next: 1, bytes: 0, pendingBytes: 0, oldest: null })
    await outbox.begin('s')
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 1, timeMs: 0 }])
    expect(outbox.read('s', 0, all)[0]?.origin).toBe(begun?.origin)
    await events.close()
  })

  test('stores requests to send dead letters again, until they are sent or removed', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 9, timeMs: 7 }])
    const origin = originOf(outbox, 's')
    const deadLetters = [3, 4, 5].map((sequence) => ({ sequence, bytes: bytes(`letter ${sequence}`) }))
    for (const provider of ['a', 'ab'])
      await outbox.commit('s', { origin, provider, providers: ['a', 'ab'], next: 9, ...noGap, deadLetters })
    expect(await outbox.deadLetters.request('s', 'a', 6)).toBe(false)
    expect(outbox.deadLetters.hasRequests('s')).toBe(false)
    for (const sequence of [5, 3, 4]) expect(await outbox.deadLetters.request('s', 'a', sequence)).toBe(true)
    const requested = (provider: string): unknown[] =>
      outbox.deadLetters.requested('s', provider, 2).map((letter) => new TextDecoder().decode(letter.bytes))
    expect([requested('a'), requested('ab')]).toEqual([['letter 3', 'letter 4'], []])
    expect([outbox.deadLetters.hasRequests('s'), outbox.deadLetters.hasRequests('other')]).toEqual([true, false])
    await outbox.deadLetters.remove('s', 'a', 3)
    await outbox.deadLetters.replace('s', { provider: 'a', sequence: 4, bytes: bytes('refused again') })
    expect(requested('a')).toEqual(['letter 5'])
    expect(new TextDecoder().decode(outbox.deadLetters.get('s', 'a', 4)?.bytes)).toBe('refused again')
    await outbox.deadLetters.replace('s', { provider: 'a', sequence: 3, bytes: bytes('removed before') })
    expect(outbox.deadLetters.get('s', 'a', 3)).toBe(null)
    await events.close()
  })

  test('keeps delivered events of the last seconds while a client follows the stream, also from before its first event', async () => {
    const folder = temporaryFolder()
    const events = new EventsFolder(folder, options)
    const { outbox } = events
    const deliver = (next: number): Promise<boolean> =>
      outbox.commit('s', { origin: originOf(outbox, 's'), provider: 'p', providers: ['p'], next, ...noGap })
    const append = (text: string, timeMs: number): Promise<void> =>
      outbox.append([{ stream: 's', bytes: bytes(text), count: 1, timeMs }])
    const stored = (): string[] => outbox.read('s', 0, all).map(textOf)
    const expired = Date.now() - FOLLOW_KEEP_MS - 1000
    await outbox.follow('s', Date.now())
    expect([outbox.streams(), outbox.status('s')]).toEqual([[], null])
    await append('old', expired)
    await append('new', Date.now())
    await deliver(3)
    expect(stored()).toEqual(['new'])
    // It is followed longer already.
    await outbox.follow('s', expired)
    await append('newer', Date.now())
    await deliver(4)
    expect(stored()).toEqual(['new', 'newer'])
    await outbox.drop('s')
    await append('new', Date.now())
    await deliver(2)
    expect(stored()).toEqual([])
    await outbox.follow('s', expired)
    await append('newer', Date.now())
    await deliver(3)
    expect(stored()).toEqual([])
    await outbox.follow('t', Date.now())
    await events.close()
    expect(await unsound(folder)).toEqual([])
  })

  test('requests and removes all dead letters of a provider, in several transactions', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    const letters = Array.from({ length: 1201 }, (_, at) => ({ sequence: at + 1, bytes: bytes(`letter ${at + 1}`) }))
    await outbox.append([{ stream: 's', bytes: bytes('x'), count: 2000, timeMs: 7 }])
    const origin = originOf(outbox, 's')
    for (const provider of ['p', 'q', 'r']) {
      const deadLetters = provider === 'q' ? letters : letters.slice(0, 3)
      await outbox.commit('s', { origin, provider, providers: ['p', 'q', 'r'], next: 2000, ...noGap, deadLetters })
    }
    const counts = (): number[] =>
      ['p', 'q', 'r'].map(
        (name) => outbox.deadLetters.list('s', 9999).filter(({ provider }) => provider === name).length,
      )
    await outbox.deadLetters.request('s', 'p', 2)
    expect(await outbox.deadLetters.requestAll('s', 'q')).toBe(1201)
    expect(outbox.deadLetters.requested('s', 'q', 9999)).toHaveLength(1201)
    const requested = [1, 2].map((sequence) => outbox.deadLetters.isRequested('s', 'p', sequence))
    expect(requested).toEqual([false, true])
    expect(await outbox.deadLetters.removeAll('s', 'q')).toBe(1201)
    expect([counts(), outbox.deadLetters.requested('s', 'q', 9999)]).toEqual([[3, 0, 3], []])
    expect(await outbox.deadLetters.removeAll('s', 'q')).toBe(0)
    expect(await outbox.deadLetters.requestAll('none', 'q')).toBe(0)
    expect(outbox.deadLetters.requested('s', 'p', 9)).toHaveLength(1)
    await events.close()
  })

  test('names events of another origin after a restore', async () => {
    const events = new EventsFolder(temporaryFolder(), options)
    const { outbox } = events
    const record = { stream: 's', bytes: bytes('x'), count: 1, timeMs: 0 }
    await outbox.append([record])
    await outbox.renewOrigins()
    await outbox.append([record])
    const [before, after] = outbox.read('s', 0, all)
    expect(before?.origin).not.toBe(after?.origin)
    expect([before?.sequence, after?.sequence]).toEqual([1, 2])
    await events.close()
  })
})

describe('verification', () => {
  test('finds a missing record, a wrong head and a changed value', async () => {
    const damaged = async (damage: (file: LmdbFile) => void): Promise<string[]> => {
      const folder = temporaryFolder()
      const graph = openGraph(folder)
      for (const text of ['one', 'two', 'three']) await graph.write((batch) => batch.appendEvents(bytes(text), 2))
      const origin = originOf(graph.outbox, GRAPH_STREAM)
      await graph.outbox.commit(GRAPH_STREAM, { origin, provider: 'p', providers: ['p'], next: 1, ...noGap })
      await graph.close()
      const file = new LmdbFile(folder, options)
      damage(file)
      await file.close()
      return unsound(folder)
    }
    const outboxOf = (file: LmdbFile) => openDatabases(file, openMeta(file, 'test')).outbox!
    expect(await damaged((file) => file.transactionSync(() => outboxOf(file).remove(recordKey('graph', 3))))).toEqual([
      expect.stringContaining('records before it are missing'),
    ])
    expect(await damaged((file) => file.transactionSync(() => outboxOf(file).remove(recordKey('graph', 5))))).toEqual([
      'outbox stream "graph" ends before its stored end',
    ])
    expect(await damaged((file) => file.transactionSync(() => outboxOf(file).remove(headKey('graph'))))).toHaveLength(4)
    const changed = await damaged((file) =>
      file.transactionSync(() => {
        const database = outboxOf(file)
        const writer = new ByteWriter()
        writer.raw(bytes('not sealed as it should be.'))
        database.raw.put(recordKey('graph', 5), writer.written())
      }),
    )
    expect(changed.join()).toContain('has a wrong checksum')
  })

  test('includes the configuration and the folder of events', async () => {
    const folder = temporaryFolder()
    const collections = openCollections(join(folder, 'config'), options)
    await collections.transact((tx) => {
      tx.put('a', 'b', 1)
      tx.appendEvents('gid:project', bytes('one'), 1, 5)
    })
    const abandoned = collections.transact((tx) => {
      tx.appendEvents('gid:project', bytes('lost'), 1, 5)
      throw new Error('abandoned')
    })
    await expect(abandoned).rejects.toThrow('abandoned')
    expect(collections.outbox.read('gid:project', 0, all).map(textOf)).toEqual(['one'])
    await collections.transact((tx) => tx.appendEvents('gid:project', bytes('two'), 1, 5))
    expect(collections.outbox.status('gid:project')?.next).toBe(3)
    await collections.outbox.drop('gid:project')
    expect(collections.outbox.streams()).toEqual([])
    await collections.close()
    const events = new EventsFolder(join(folder, 'events'), options)
    await events.outbox.append([{ stream: 's', bytes: bytes('x'), count: 1, timeMs: 0 }])
    await events.close()
    expect([await unsound(join(folder, 'config')), await unsound(join(folder, 'events'))]).toEqual([[], []])
  })
})
