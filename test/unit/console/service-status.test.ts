// The rates and quantiles that the screen Operate computes from two readings of the figures.
import { describe, expect, test } from 'vitest'
import {
  quantileOf,
  type ReadFigures,
  type ReadStatus,
  ratesBetween,
} from '../../../src/console/page/operate/service-status.ts'

const bounds = [0.001, 0.01, 0.1]

function figures(changed: Partial<ReadFigures> = {}): ReadFigures {
  return {
    start_time: '2026-01-01T00:00:00.000Z',
    cpu_seconds: 0,
    resident_bytes: 0,
    granted: 0,
    denied: 0,
    searches: 0,
    requests: 0,
    server_errors: 0,
    evaluation_times: [0, 0, 0, 0],
    lanes: null,
    graphs_open: 0,
    cache_bytes: 0,
    ...changed,
  }
}

function status(second: number, ...workers: readonly (ReadFigures | null)[]): ReadStatus {
  return {
    time: new Date(Date.UTC(2026, 0, 1, 1, 0, second)).toISOString(),
    version: '1',
    duration_bounds_s: bounds,
    cache_bytes_max: 0,
    workers: workers.map((one, at) => ({ worker: at + 1, figures: one })),
    connections: [],
    storage: { bytes: 0, environments: [], environments_total: 0 },
  }
}

describe('rates between two readings', () => {
  test('are sums over all workers', () => {
    const before = status(0, figures({ granted: 10, denied: 1 }), figures({ granted: 100 }))
    const after = status(
      2,
      figures({ granted: 14, denied: 2, requests: 5, evaluation_times: [5, 0, 0, 0] }),
      figures({ granted: 106, requests: 6, evaluation_times: [0, 0, 6, 0] }),
    )
    expect(ratesBetween(before, after)).toMatchObject({ granted: 5, denied: 0.5, requests: 5.5 })
    expect(ratesBetween(before, after).p99).toBeGreaterThan(0.09)
  })

  test('count a worker that was started again from zero, and not one whose counts before are unknown', () => {
    const restarted = figures({ granted: 4, requests: 4, start_time: '2026-01-01T01:00:01.000Z' })
    const running = figures({ granted: 50, requests: 50 })
    expect(ratesBetween(status(0, running), status(2, restarted)).granted).toBe(2)
    expect(ratesBetween(status(0, null), status(2, running)).granted).toBeNull()
    expect(ratesBetween(status(0, running), status(2, null)).granted).toBeNull()
  })

  test('are unknown if no time has passed', () => {
    const same = status(0, figures())
    expect(ratesBetween(same, same)).toMatchObject({ granted: null, p50: null })
  })
})

describe('a quantile', () => {
  test.each([
    ['interpolates within the bucket', [0, 10, 0, 0], 0.5, 0.0055],
    ['of the first bucket begins at zero', [10, 0, 0, 0], 0.5, 0.0005],
    ['above all bounds is the last bound', [0, 0, 0, 4], 0.99, 0.1],
    ['skips empty buckets', [1, 0, 99, 0], 0.99, 0.1],
  ] as const)('%s', (_, counts, quantile, expected) => {
    expect(quantileOf(counts, bounds, quantile)).toBeCloseTo(expected, 2)
  })

  test('of nothing is unknown', () => expect(quantileOf([0, 0, 0, 0], bounds, 0.5)).toBeNull())
})
