import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RepeatedEvents, SINGLE_EVENTS_MAX } from '../../../src/events/repeated-events.ts'

interface Seen {
  readonly group: string
  /** Empty: of several sources. */
  readonly source: string
}

let repeated: RepeatedEvents<Seen>
let recorded: [key: string, count: number | null][]

beforeEach(() => {
  vi.useFakeTimers()
  repeated = new RepeatedEvents({
    record: ({ group, source }, count) => void recorded.push([`${group}${source}`, count]),
    common: (a, b) => (a.source === b.source ? a : { ...a, source: '' }),
  })
  recorded = []
})
afterEach(() => vi.useRealTimers())

const add = (group: string, times = 1, source = ''): void => {
  for (let i = 0; i < times; i++) repeated.add(group, source, { group, source })
}
const total = (): number => recorded.reduce((sum, [, count]) => sum + (count ?? 1), 0)

describe('events that a client can repeat', () => {
  test('are recorded one by one up to a number, and then once in a time with their number', () => {
    add('a', SINGLE_EVENTS_MAX + 500)
    add('b', 3)
    expect(recorded).toEqual(Array.from({ length: SINGLE_EVENTS_MAX }, () => ['a', null]))
    vi.advanceTimersByTime(1000)
    expect(recorded.slice(SINGLE_EVENTS_MAX)).toEqual([
      ['a', 500],
      ['b', 3],
    ])
    add('a')
    expect(recorded.at(-1)).toEqual(['a', null])
    vi.advanceTimersByTime(5000)
    expect(recorded).toHaveLength(SINGLE_EVENTS_MAX + 3)
  })

  test('are all counted if there are very many different ones', () => {
    for (let i = 0; i < 5000; i++) add(`key ${i}`)
    vi.advanceTimersByTime(1000)
    expect(total()).toBe(5000)
    expect(recorded.length).toBeLessThanOrEqual(SINGLE_EVENTS_MAX + 1100)
  })

  test('are few if they continue: the time doubles up to a minute, and is short again after they end', () => {
    const day = 86_400
    for (let second = 0; second < day; second++) {
      add('a', 50)
      vi.advanceTimersByTime(1000)
    }
    vi.advanceTimersByTime(60_000)
    expect(total()).toBe(50 * day)
    expect(recorded.length).toBeLessThan((SINGLE_EVENTS_MAX + 1) * (day / 60 + 10))
    vi.advanceTimersByTime(120_000)
    const before = recorded.length
    add('a', SINGLE_EVENTS_MAX + 5)
    vi.advanceTimersByTime(1000)
    expect(recorded.slice(before).at(-1)).toEqual(['a', 5])
  })

  test('of one source do not hide those of another one', () => {
    add('a', 10_000, ' from 192.0.2.1')
    add('a', 3, ' from 192.0.2.2')
    vi.advanceTimersByTime(1000)
    expect(recorded.slice(SINGLE_EVENTS_MAX)).toEqual([
      ['a from 192.0.2.1', 10_000 - SINGLE_EVENTS_MAX],
      ['a from 192.0.2.2', 3],
    ])
  })

  test('of very many sources are counted together, without a source', () => {
    for (let i = 0; i < 5000; i++) add('a', 1, ` from ${i}`)
    vi.advanceTimersByTime(1000)
    expect(total()).toBe(5000)
    expect(recorded.length).toBeLessThan(50)
    expect(recorded.at(-1)).toEqual(['a', 5000 - recorded.length + 1])
  })

  test('are recorded when the service stops', () => {
    add('a', SINGLE_EVENTS_MAX + 2)
    repeated.flush()
    expect(total()).toBe(SINGLE_EVENTS_MAX + 2)
    vi.advanceTimersByTime(5000)
    expect(total()).toBe(SINGLE_EVENTS_MAX + 2)
  })
})
