// The order of durations agrees with the times at which they end, from any start, and says null only if two starts disagree.
import { expect, test } from 'vitest'
import { addDuration } from '../../../../../src/engine/value/temporal/add-duration.ts'
import { compareTemporals } from '../../../../../src/engine/value/temporal/order.ts'
import { DurationValue, LocalDateTimeValue } from '../../../../../src/engine/value/temporal/temporal.ts'
import { Random } from '../../../../generate/random.ts'

const HOUR = 3_600_000_000_000
const CASES = 20_000

test('the order of two durations is that of their ends', () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const random = new Random(seed)
  const duration = () =>
    new DurationValue(
      random.between(-30, 30),
      random.between(-100, 100),
      BigInt(random.between(-50, 50)) * BigInt(HOUR),
    )
  let unknown = 0
  for (let at = 0; at < CASES; at++) {
    const [a, b] = [duration(), duration()]
    const start = new LocalDateTimeValue(random.between(0, 40_000), random.between(0, 23) * HOUR)
    const ends = compareTemporals(addDuration(start, a, 1), addDuration(start, b, 1))!
    const order = compareTemporals(a, b)
    if (order === null) unknown++
    else expect(Math.sign(order), `seed ${seed}, case ${at}: ${a}, ${b} from ${start}`).toBe(Math.sign(ends))
    expect(compareTemporals(b, a), `seed ${seed}, case ${at}`).toBe(order === null ? null : 0 - order)
  }
  expect(unknown, `seed ${seed}`).toBeLessThan(CASES / 5)
})

test('durations of days and time are always ordered, and of the same months too', () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const random = new Random(seed)
  for (let at = 0; at < CASES; at++) {
    const months = random.between(-1000, 1000)
    const one = () => new DurationValue(months, random.between(-1e6, 1e6), BigInt(random.between(-1e15, 1e15)))
    expect(compareTemporals(one(), one()), `seed ${seed}, case ${at}`).not.toBeNull()
  }
})
