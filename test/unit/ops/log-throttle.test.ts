import { expect, it } from 'vitest'
import { createLogThrottle } from '../../../src/ops/log-throttle.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const MINUTE_MS = 60_000

it('logs a message at once, then once per interval, with its count', () => {
  const clock = new ManualClock(0)
  const timesOf = createLogThrottle(MINUTE_MS, () => clock.now())
  expect([timesOf('a'), timesOf('a'), timesOf('b'), timesOf('a')]).toEqual([1, 0, 1, 0])
  clock.advance(MINUTE_MS - 1)
  expect(timesOf('a')).toBe(0)
  clock.advance(1)
  expect([timesOf('a'), timesOf('a'), timesOf('b')]).toEqual([4, 0, 1])
  clock.advance(10 * MINUTE_MS)
  expect([timesOf('a'), timesOf('b')]).toEqual([2, 1])
})

it('does not suppress messages after the clock was set back', () => {
  const clock = new ManualClock(10 * MINUTE_MS)
  const timesOf = createLogThrottle(MINUTE_MS, () => clock.now())
  expect([timesOf('a'), timesOf('a')]).toEqual([1, 0])
  clock.advance(-5 * MINUTE_MS)
  expect([timesOf('a'), timesOf('a')]).toEqual([2, 0])
})

it('remembers the 1000 messages that occurred last, and logs a forgotten one again', () => {
  const timesOf = createLogThrottle(MINUTE_MS, () => 0)
  for (let i = 0; i < 1000; i++) expect(timesOf(`${i}`)).toBe(1)
  expect(timesOf('0')).toBe(0)
  expect(timesOf('one more')).toBe(1)
  expect([timesOf('0'), timesOf('1')]).toEqual([0, 1])
})
