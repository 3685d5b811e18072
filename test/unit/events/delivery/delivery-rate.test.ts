import { expect, test } from 'vitest'
import { deliveryRate, type RecentDeliveries, withDelivery } from '../../../../src/events/delivery/delivery-rate.ts'
import { Random, testSeed } from '../../../generate/random.ts'

const seed = testSeed()

test(`the rate is the number of events in whole intervals of the last minute, in seconds (VERDIGRAPH_SEED=${seed})`, () => {
  const random = new Random(seed)
  const deliveries: [timeMs: number, events: number][] = []
  let recent: RecentDeliveries = []
  let now = 1_000_000_003
  for (let step = 0; step < 2000; step++) {
    now += random.between(0, 9000)
    const events = random.between(1, 500)
    deliveries.push([now, events])
    recent = withDelivery(recent, events, now)
    expect(recent.length).toBeLessThanOrEqual(13)
    const readAt = now + random.between(0, 70_000)
    const from = Math.ceil((readAt - 60_000) / 5000) * 5000
    const sum = deliveries.reduce((total, [at, count]) => (at >= from && at <= readAt ? total + count : total), 0)
    expect(deliveryRate(recent, readAt)).toBeCloseTo((sum * 1000) / (readAt - from), 9)
  }
})

test('a clock that was set back forgets later deliveries', () => {
  const recent = withDelivery(withDelivery([], 60, 100_000), 30, 50_000)
  expect(recent).toEqual([[50_000, 30]])
  expect(deliveryRate(withDelivery([], 60, 100_000), 50_000)).toBe(0)
})
