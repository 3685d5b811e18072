import { expect, it } from 'vitest'
import { backoffMs } from '../../../../src/kernel/time/backoff.ts'

it('doubles with each failure in a row, up to the maximum', () => {
  const delays = [1, 2, 3, 4, 5, 2000].map((failures) => backoffMs({ minMs: 100, maxMs: 1000 }, failures))
  expect(delays).toEqual([100, 200, 400, 800, 1000, 1000])
})

it('has no maximum without one', () => {
  expect(backoffMs({ minMs: 250 }, 6)).toBe(8000)
})
