import { expect, it } from 'vitest'
import { createLogThrottle } from '../../../src/ops/log-throttle.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const MINUTE_MS = 60_000

it('lets a text through at once, then once in a while, with how often it came', () => {
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

it('is not silenced by a clock that is set back', () => {
  const clock = new ManualClock(10 * MINUTE_MS)
  const timesOf = createLogThrottle(MINUTE_MS, () => clock.now())
  expect([timesOf('a'), timesOf('a')]).toEqual([1, 0])
  clock.advance(-5 * MINUTE_MS)
  expect([timesOf('a'), timesOf('a')]).toEqual([2, 0])
})

it('remembers so many texts and no more: what is forgotten is told again', () => {
  const timesOf = createLogThrottle(MINUTE_MS, () => 0)
  for (let i = 0; i < 1000; i++) expect(timesOf(`${i}`)).toBe(1)
  expect(timesOf('0')).toBe(0)
  expect(timesOf('one more')).toBe(1)
  expect(timesOf('0')).toBe(1)
})
