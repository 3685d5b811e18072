import { describe, expect, test } from 'vitest'
import { type ActivityEvent, ActivityLog, type ActivityRecord } from '../../../src/events/activity-log.ts'
import { decodeRecord } from '../../../src/events/event-record.ts'
import type { SinkRoutes } from '../../../src/events/sink-routes.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const routesOf = (projectId: string): SinkRoutes =>
  ({ projectId, sinkId: `${projectId}-sink`, revision: 1, providers: ['main'] }) as unknown as SinkRoutes

const routes = { p: routesOf('p'), q: routesOf('q') }

function event(number: number, project: keyof typeof routes = 'p'): ActivityEvent {
  return {
    routes: routes[project],
    type: 'svc.audit.authorization.evaluation',
    providers: 1,
    encode: () => ({ subject: `s/${number}`, timeMs: number, members: `"number":${number}` }),
  }
}

class Disk {
  readonly records: ActivityRecord[] = []
  isFull = false
  transactions = 0

  readonly append = async (records: readonly ActivityRecord[]): Promise<void> => {
    await Bun.sleep(1)
    if (this.isFull) throw new Error('the disk is full')
    this.transactions += 1
    this.records.push(...records)
  }

  numbers(project: string): number[] {
    return this.records
      .filter(({ projectId }) => projectId === project)
      .flatMap(({ bytes }) => decodeRecord(bytes).events.map(({ ready }) => ready!.timeMs))
  }
}

function open(): { log: ActivityLog; disk: Disk; reports: string[] } {
  const disk = new Disk()
  const reports: string[] = []
  const log = new ActivityLog({
    append: disk.append,
    clock: new ManualClock(5),
    report: (line) => void reports.push(line),
    isStrict: true,
  })
  return { log, disk, reports }
}

const range = (count: number, from = 0): number[] => Array.from({ length: count }, (_, at) => from + at)

describe('events without a transaction', () => {
  test('are written together, in order, one record for each project', async () => {
    const { log, disk } = open()
    for (const number of range(5)) {
      log.record(event(number))
      log.record(event(100 + number, 'q'))
    }
    expect(disk.records).toEqual([])
    await log.settled()
    expect([disk.numbers('p'), disk.numbers('q')]).toEqual([range(5), range(5, 100)])
    expect([disk.transactions, disk.records.length]).toEqual([1, 2])
    expect(log.settled()).toBeNull()
  })

  test('are written without a request for it', async () => {
    const { log, disk } = open()
    log.record(event(1))
    while (disk.records.length === 0) await Bun.sleep(5)
    log.record(event(2))
    while (disk.numbers('p').length < 2) await Bun.sleep(5)
    expect(disk.numbers('p')).toEqual([1, 2])
  })

  test('recorded during a write are part of the next one, which `settled` awaits', async () => {
    const { log, disk } = open()
    log.record(event(1))
    const first = log.settled()
    log.record(event(2))
    const second = log.settled()
    await first
    await second
    expect(disk.numbers('p')).toEqual([1, 2])
  })

  test('of a busy service are encoded in several turns of the event loop', async () => {
    const { log, disk } = open()
    for (const number of range(2000)) log.record(event(number))
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await log.settled()
    isDone = true
    expect(disk.numbers('p')).toEqual(range(2000))
    expect(turns).toBeGreaterThan(4)
    expect(Math.max(...disk.records.map((record) => record.count))).toBeLessThanOrEqual(256)
  })

  test('stay in memory while the disk refuses writes, are reported once, and are written later', async () => {
    const { log, disk, reports } = open()
    disk.isFull = true
    log.record(event(1))
    await expect(log.settled()).rejects.toThrow('the disk is full')
    log.record(event(2))
    await expect(log.settled()).rejects.toThrow('the disk is full')
    expect(reports).toEqual(['events of decisions and reads cannot be written: Error: the disk is full'])
    disk.isFull = false
    await log.settled()
    expect(disk.numbers('p')).toEqual([1, 2])
  })

  test('beyond the bound of memory are dropped and counted', async () => {
    const { log, disk } = open()
    disk.isFull = true
    const many = 100_010
    for (const number of range(many)) log.record(event(number))
    expect(log.dropped).toBe(10)
    await expect(log.settled()).rejects.toThrow()
    log.record(event(many))
    expect(log.dropped).toBe(11)
    disk.isFull = false
    await log.close()
    expect(disk.numbers('p')).toEqual(range(100_000))
  })

  test('with large payloads are dropped beyond the bound of bytes', async () => {
    const { log, disk } = open()
    disk.isFull = true
    const large = 'x'.repeat(1024 * 1024)
    const count = 64
    for (const number of range(count)) {
      log.record({ ...event(number), encode: () => ({ subject: 's', timeMs: number, members: `"large":"${large}"` }) })
    }
    await expect(log.settled()).rejects.toThrow()
    log.record(event(count))
    expect([log.dropped, log.count]).toEqual([1, count + 1])
    disk.isFull = false
    await log.settled()
    log.record(event(count + 1))
    await log.close()
    expect(disk.numbers('p')).toEqual([...range(count), count + 1])
  })

  test('that cannot be encoded are dropped, counted and reported once, and lose no other event', async () => {
    const { log, disk, reports } = open()
    const faulty = (number: number): ActivityEvent => ({
      ...event(number),
      encode() {
        throw new Error('no such policy')
      },
    })
    for (const number of range(3)) log.record(event(number))
    log.record(faulty(3))
    log.record(event(4))
    log.record(event(5, 'q'))
    log.record(faulty(6))
    await log.settled()
    log.record(event(7))
    await log.close()
    expect([disk.numbers('p'), disk.numbers('q')]).toEqual([[0, 1, 2, 4, 7], [5]])
    expect(log.dropped).toBe(2)
    expect(reports).toEqual(['an event of the project p cannot be encoded and is dropped: Error: no such policy'])
  })

  test('of a request are awaited without those of later requests', async () => {
    const { log, disk } = open()
    const of = (number: number, requestId: string): ActivityEvent => ({ ...event(number), requestId })
    log.record(of(1, 'one'))
    expect(log.settledOf('two')).toBeNull()
    const first = log.settledOf('one')
    log.record(of(2, 'two'))
    // It is being written, so that a second write is not awaited.
    await log.settledOf('one')
    expect(disk.numbers('p')).toEqual([1])
    expect(log.settledOf('one')).toBeNull()
    disk.isFull = true
    await expect(log.settledOf('two')).rejects.toThrow('the disk is full')
    await expect(log.settledOf('two')).rejects.toThrow('the disk is full')
    expect(log.settledOf('three')).toBeNull()
    disk.isFull = false
    await first
    await log.settledOf('two')
    expect(disk.numbers('p')).toEqual([1, 2])
    log.record(event(3))
    log.record(of(4, ''))
    expect([log.count, log.unattributed]).toEqual([4, 2])
    await log.close()
  })

  test('are written by a close', async () => {
    const { log, disk } = open()
    log.record(event(1))
    await log.close()
    expect(disk.numbers('p')).toEqual([1])
  })
})
