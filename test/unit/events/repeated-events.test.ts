import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RepeatedEvents, SINGLE_EVENTS_MAX } from '../../../src/events/repeated-events.ts'

let repeated: RepeatedEvents
let recorded: [key: string, count: number | null][]

beforeEach(() => {
  vi.useFakeTimers()
  repeated = new RepeatedEvents()
  recorded = []
})
afterEach(() => vi.useRealTimers())

const add = (key: string, times = 1): void => {
  for (let i = 0; i < times; i++) repeated.add(key, (count) => recorded.push([key, count]))
}
const total = (): number => recorded.reduce((sum, [, count]) => sum + (count ?? 1), 0)

describe('events that a client can repeat', () => {
  test('are recorded one by one up to a number, and then once each second with their number', () => {
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
    expect(recorded.length).toBeLessThanOrEqual(SINGLE_EVENTS_MAX + 1000)
  })

  test('are recorded when the service stops', () => {
    add('a', SINGLE_EVENTS_MAX + 2)
    repeated.flush()
    expect(total()).toBe(SINGLE_EVENTS_MAX + 2)
    vi.advanceTimersByTime(5000)
    expect(total()).toBe(SINGLE_EVENTS_MAX + 2)
  })
})
