// The verdict of a soak run: growth is found, outliers and faults are not growth.
import { expect, test } from 'vitest'
import type { SoakFigures, SoakSample } from '../../stress/soak/samples.ts'
import { slopeOf, slopesOf, soakPage } from '../../stress/soak/verdict.ts'

const MIB = 2 ** 20

/** An hour of samples. `memory`: MiB without mapped files at a second. */
function hourOf(memory: (t: number) => number, p50Ms: (t: number, fault: string) => number): SoakSample[] {
  return Array.from({ length: 360 }, (_, at) => {
    const t = at * 10
    const fault = at % 20 === 0 ? 'slow disk' : ''
    const all: SoakFigures = {
      processes: 5,
      rss: 600 * MIB,
      anonymous: memory(t) * MIB,
      descriptors: 200,
      threads: 50,
      cpuS: t / 4,
    }
    const latency = { decision: { count: 50, p50Ms: p50Ms(t, fault), p99Ms: 10, maxMs: 20 } }
    const files = at % 6 === 0 ? { projects: 5 * MIB, audit: t * 1000 } : null
    return { t, fault, all, roles: {}, latency, files, requests: t * 10, ownLagMs: 1, machineBusy: 0.5, counts: {} }
  })
}

const verdictOf = (samples: readonly SoakSample[], name: string) =>
  slopesOf(samples).find((figure) => figure.name === name)?.isFlat

test('the slope is that of the line, in spite of outliers', () => {
  const points = Array.from({ length: 50 }, (_, x): [number, number] => [x, x % 10 === 0 ? 1000 : 3 * x + 7])
  expect(slopeOf(points)).toBeCloseTo(3, 5)
})

test('memory that grows by a fifth in the judged part grows, and noise around a level is flat', () => {
  expect(
    verdictOf(
      hourOf(
        (t) => 400 + t / 30,
        () => 1,
      ),
      'memory without mapped files',
    ),
  ).toBe(false)
  expect(
    verdictOf(
      hourOf(
        (t) => 400 + 40 * Math.sin(t),
        () => 1,
      ),
      'memory without mapped files',
    ),
  ).toBe(true)
})

test('growth at the beginning, and latencies during a fault, do not count', () => {
  expect(
    verdictOf(
      hourOf(
        (t) => Math.min(400, t),
        () => 1,
      ),
      'memory without mapped files',
    ),
  ).toBe(true)
  expect(
    verdictOf(
      hourOf(
        () => 400,
        (t, fault) => (fault === '' ? 2 : t),
      ),
      'p50 of decisions',
    ),
  ).toBe(true)
})

test('a short run is not judged, and its page has a plot for each figure', () => {
  const samples = hourOf(
    (t) => t,
    () => 1,
  ).slice(0, 60)
  expect(slopesOf(samples).every(({ isFlat }) => isFlat === null)).toBe(true)
  expect(soakPage(samples).match(/<polyline/g)).toHaveLength(slopesOf(samples).length)
})
