// The verdict of a soak run: whether its figures are flat, and a page with plots.
import { readFileSync } from 'node:fs'
import type { SoakSample } from './samples.ts'

/** The share of the run that is not judged: caches fill, files reach their size, and the service is restarted once. */
const SETTLING_SHARE = 0.3
/** A shorter run shows its slopes without a judgement. */
const JUDGED_MINUTES = 30
const SAMPLES_MIN = 20

/** A figure of the samples that must not grow. */
interface FlatFigure {
  readonly name: string
  readonly unit: string
  /** Null: the sample does not have it. */
  read(sample: SoakSample): number | null
  /** Growth over the judged part that counts as flat: a share of the median, and at least this much. */
  readonly share: number
  readonly least: number
}

const MIB = 2 ** 20
const files = (sample: SoakSample, isCounted: (kind: string) => boolean): number | null =>
  sample.files &&
  Object.entries(sample.files).reduce((sum, [kind, bytes]) => sum + (isCounted(kind) ? bytes : 0), 0) / MIB
const calm = (sample: SoakSample, value: number | undefined): number | null =>
  sample.fault === '' ? (value ?? null) : null

/** Latencies are those of samples without an injected fault. */
const figures: readonly FlatFigure[] = [
  { name: 'memory without mapped files', unit: 'MiB', read: ({ all }) => all.anonymous / MIB, share: 0.1, least: 20 },
  { name: 'resident memory', unit: 'MiB', read: ({ all }) => all.rss / MIB, share: 0.1, least: 30 },
  { name: 'descriptors', unit: '', read: ({ all }) => all.descriptors, share: 0.1, least: 10 },
  { name: 'threads', unit: '', read: ({ all }) => all.threads, share: 0.1, least: 5 },
  {
    name: 'files of graphs',
    unit: 'MiB',
    read: (sample) => files(sample, (kind) => kind === 'projects'),
    share: 0.05,
    least: 2,
  },
  // The audit log and the history of the configuration grow by design: they are shown for each request, below.
  {
    name: 'files besides graphs, audit log and configuration',
    unit: 'MiB',
    read: (sample) => files(sample, (kind) => !['projects', 'audit', 'config'].includes(kind)),
    share: 0.1,
    least: 4,
  },
  {
    name: 'p50 of decisions',
    unit: 'ms',
    read: (sample) => calm(sample, sample.latency.decision?.p50Ms),
    share: 0.5,
    least: 1,
  },
  {
    name: 'p99 of decisions',
    unit: 'ms',
    read: (sample) => calm(sample, sample.latency.decision?.p99Ms),
    share: 0.5,
    least: 20,
  },
  {
    name: 'p50 of captures',
    unit: 'ms',
    read: (sample) => calm(sample, sample.latency.capture?.p50Ms),
    share: 0.5,
    least: 10,
  },
]

/** The slope of one figure. */
export interface FigureSlope {
  readonly name: string
  readonly unit: string
  readonly median: number
  /** Theil-Sen: the median of the slopes of all pairs of samples, times the length of the judged part. */
  readonly growth: number
  readonly allowed: number
  /** Null: the run is too short, or has too few samples. */
  readonly isFlat: boolean | null
}

export function readSamples(path: string): readonly SoakSample[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SoakSample)
}

/** Theil-Sen: robust against outliers, of which a run with faults has many. Points are ascending by the first number. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes: number[] = []
  for (let i = 0; i < points.length; i++) {
    for (let j = i + 1; j < points.length; j++) {
      const [[x1, y1], [x2, y2]] = [points[i]!, points[j]!]
      if (x2 > x1) slopes.push((y2 - y1) / (x2 - x1))
    }
  }
  return medianOf(slopes)
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted.length === 0 ? 0 : sorted[sorted.length >> 1]!
}

/** Judges the part of a run after its beginning. */
export function slopesOf(samples: readonly SoakSample[]): readonly FigureSlope[] {
  const endS = samples.at(-1)?.t ?? 0
  const fromS = endS * SETTLING_SHARE
  return figures.map(({ name, unit, read, share, least }) => {
    const points = samples.flatMap((sample): [number, number][] => {
      const value = sample.t < fromS ? null : read(sample)
      return value === null ? [] : [[sample.t, value]]
    })
    const median = medianOf(points.map(([, value]) => value))
    const growth = slopeOf(points) * (endS - fromS)
    const allowed = Math.max(least, share * median)
    const isJudged = endS >= JUDGED_MINUTES * 60 && points.length >= SAMPLES_MIN
    return { name, unit, median, growth, allowed, isFlat: isJudged ? growth <= allowed : null }
  })
}

/** The verdict for a person. */
export function verdictLines(samples: readonly SoakSample[]): readonly string[] {
  const endS = samples.at(-1)?.t ?? 0
  const lines = slopesOf(samples).map(({ name, unit, median, growth, allowed, isFlat }) => {
    const verdict = isFlat === null ? 'not judged' : isFlat ? 'flat' : 'GROWS'
    const sign = growth < 0 ? '' : '+'
    return `${verdict.padEnd(10)} ${name}: median ${median.toFixed(1)} ${unit}, ${sign}${growth.toFixed(1)} over ${((endS * (1 - SETTLING_SHARE)) / 60).toFixed(0)} minutes, allowed +${allowed.toFixed(1)}`
  })
  return [
    `${(endS / 60).toFixed(1)} minutes, ${samples.at(-1)?.requests ?? 0} requests; Theil-Sen slope of the last ${100 * (1 - SETTLING_SHARE)} %; judged after ${JUDGED_MINUTES} minutes`,
    ...lines,
    ...grownFiles(samples),
  ]
}

/** Files that grow by design: bytes for each request, in both halves of the judged part. */
function grownFiles(samples: readonly SoakSample[]): string[] {
  const measured = samples.filter(({ files: sizes }) => sizes !== null)
  const judged = measured.filter(({ t }) => t >= (samples.at(-1)?.t ?? 0) * SETTLING_SHARE)
  const [first, middle, last] = [judged[0], judged[judged.length >> 1], judged.at(-1)]
  if (first === undefined || middle === undefined || last === undefined || middle === first || last === middle)
    return []
  return ['audit', 'config'].map((kind) => {
    const rate = (a: SoakSample, b: SoakSample): string =>
      (((b.files?.[kind] ?? 0) - (a.files?.[kind] ?? 0)) / Math.max(1, b.requests - a.requests)).toFixed(0)
    return `by design  ${kind}: ${rate(first, middle)} and then ${rate(middle, last)} bytes for each request`
  })
}

const WIDTH = 900
const HEIGHT = 160
const LEFT = 70

/** A page with one plot for each figure; bars mark the injected faults. */
export function soakPage(samples: readonly SoakSample[]): string {
  const endS = Math.max(1, samples.at(-1)?.t ?? 1)
  const x = (t: number): string => (LEFT + (t / endS) * (WIDTH - LEFT - 10)).toFixed(1)
  const bars = samples
    .flatMap(({ fault }, at) =>
      fault === ''
        ? []
        : [
            `<rect x="${x(samples[at - 1]?.t ?? 0)}" y="10" width="${Math.max(1, Number(x(samples[at]!.t)) - Number(x(samples[at - 1]?.t ?? 0))).toFixed(1)}" height="${HEIGHT - 30}"><title>${fault}</title></rect>`,
          ],
    )
    .join('')
  const plots = figures.map(({ name, unit, read }) => {
    const points = samples.flatMap((sample): [number, number][] => {
      const value = read(sample)
      return value === null ? [] : [[sample.t, value]]
    })
    // The highest of a hundred is left out: one stall would flatten the rest.
    const sorted = points.map(([, value]) => value).sort((a, b) => a - b)
    const high = Math.max(1e-9, 1.1 * (sorted[Math.floor(sorted.length * 0.99)] ?? 1))
    const y = (value: number): string => (HEIGHT - 20 - (Math.min(value, high) / high) * (HEIGHT - 30)).toFixed(1)
    const line = points.map(([t, value]) => `${x(t)},${y(value)}`).join(' ')
    return `<h2>${name}</h2><svg viewBox="0 0 ${WIDTH} ${HEIGHT}"><g class="fault">${bars}</g><text x="${LEFT - 6}" y="16" text-anchor="end">${high.toFixed(1)} ${unit}</text><text x="${LEFT - 6}" y="${HEIGHT - 18}" text-anchor="end">0</text><line x1="${LEFT}" x2="${WIDTH - 10}" y1="${HEIGHT - 20}" y2="${HEIGHT - 20}"/><text x="${WIDTH - 10}" y="${HEIGHT - 4}" text-anchor="end">${(endS / 60).toFixed(0)} min</text><polyline points="${line}"/></svg>`
  })
  const style =
    ':root{color-scheme:light dark}body{font:14px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}svg{width:100%}polyline{fill:none;stroke:#0b7a4b;stroke-width:1.5}line{stroke:gray}text{fill:gray;font-size:11px}.fault{fill:#e5484d;opacity:.15}h2{font-size:1rem}'
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>soak</title><style>${style}</style><h1>Soak run</h1><pre>${verdictLines(samples).join('\n')}</pre><p>Red: an injected fault.</p>${plots.join('')}</html>\n`
}
