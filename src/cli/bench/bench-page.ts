// The report of a bench as one page of HTML: tables, and plots as SVG. No script and nothing from elsewhere; light and dark.
import { type BenchRun, latencyRows, latencyText, numberText, warningsOf } from './bench-report.ts'

const STYLE = `
:root { color-scheme: light dark; --text: #1c2024; --dim: #60646c; --line: #d9d9e0; --page: #fcfcfd; --warn: #a8321a;
  --s0: #0b7a4b; --s1: #3358d4; --s2: #a44308; --s3: #8e4ec6 }
@media (prefers-color-scheme: dark) { :root { --text: #edeef0; --dim: #b0b4ba; --line: #363a3f; --page: #111113; --warn: #ff9380;
  --s0: #3dd68c; --s1: #9eb1ff; --s2: #ffa057; --s3: #d19dff } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page) }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; margin: 0.5rem 0 } td, th { padding: 0.15rem 1rem 0.15rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
th { font-weight: 500; color: var(--dim) } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere } .warn { color: var(--warn) }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif } svg text { fill: var(--dim) }
.axis { stroke: var(--line) } .c0 { stroke: var(--s0); fill: var(--s0) } .c1 { stroke: var(--s1); fill: var(--s1) }
.c2 { stroke: var(--s2); fill: var(--s2) } .c3 { stroke: var(--s3); fill: var(--s3) } .curve { fill: none; stroke-width: 2 }
.bar { fill-opacity: 0.55; stroke-width: 1 } svg text.name { fill: currentColor }
figure { margin: 0.5rem 0 } figcaption { color: var(--dim) }
`

/** The page. */
export function benchPage(report: BenchRun): string {
  const { sides, refused, machine, load, questions } = report
  const rate = load.rate === null ? '' : `, ${numberText(load.rate)} questions/s`
  const rows: readonly (readonly [string, string])[] = [
    ['Command', `<code>${htmlOf(report.command)}</code>`],
    ['Time', htmlOf(report.started_at)],
    [
      'Machine',
      htmlOf(
        `${machine.processors} × ${machine.processor}, ${machine.memory_gib} GiB, ${machine.system}, ${machine.runtime}`,
      ),
    ],
    [
      'Load',
      htmlOf(
        `${load.mode}${rate}, ${load.callers} ${load.callers === 1 ? 'caller' : 'callers'}, ${load.duration_s} s after ${load.warm_up_s} s of warm-up`,
      ),
    ],
    [
      'Questions',
      htmlOf(
        `${numberText(questions.count)}: ${numberText(questions.granted)} granted, ${numberText(questions.denied)} denied, ${numberText(questions.unknown)} without an expected answer`,
      ),
    ],
    ...(report.seed === null ? [] : [['Seed', String(report.seed)] as const]),
    ...sides.map(({ name, version, description, note }): [string, string] => [
      htmlOf(name),
      htmlOf(`${version}: ${description}${note === null ? '' : `; ${note}`}`),
    ]),
    ...refused.map(({ name, reason }): [string, string] => [
      htmlOf(name),
      `<span class="warn">${htmlOf(`not asked: ${reason}`)}</span>`,
    ]),
  ]
  const latencies = sides.map(({ result }) => latencyRows(result.latency))
  const figures: readonly (readonly [string, readonly string[]])[] = [
    ...(latencies[0] ?? []).map(([name], at): [string, string[]] => [
      name,
      latencies.map((each) => each[at]?.[1] ?? ''),
    ]),
    ['answers/s', sides.map(({ result }) => numberText(result.perSecond))],
    ['answers', sides.map(({ result }) => numberText(result.latency.count))],
    ['wrong answers', sides.map(({ result }) => numberText(result.wrong))],
    ['errors', sides.map(({ result }) => numberText(result.errors))],
    ['processor time per answer', sides.map(({ cpuUsPerAnswer }) => latencyText(cpuUsPerAnswer))],
  ]
  const begin =
    load.rate === null
      ? 'from the sending of a question to its answer'
      : 'from the time when a question was due, sent or not, to its answer'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>verdigraph bench</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>verdigraph bench</h1>
<table>${rows.map(([name, value]) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`).join('\n')}</table>
${warningsOf(report)
  .map((warning) => `<p class="warn">${htmlOf(warning)}</p>`)
  .join('\n')}
<h2>Latency</h2>
<p>Latencies are ${begin}. A dash: there are too few answers for this percentile.</p>
<table><tr><th></th>${sides.map(({ name }) => `<th class="n" scope="col">${htmlOf(name)}</th>`).join('')}</tr>
${figures.map(([name, values]) => `<tr><th scope="row">${name}</th>${values.map((value) => `<td class="n">${value}</td>`).join('')}</tr>`).join('\n')}</table>
<figure>${percentilePlot(report)}<figcaption>Latency by percentile. Both axes are logarithmic.</figcaption></figure>
<figure>${histogramPlot(report)}<figcaption>Share of the answers by latency. The latency axis is logarithmic.</figcaption></figure>
<figure>${timePlot(report)}<figcaption>p99 of each second of the run.</figcaption></figure>
</main>
</body>
</html>
`
}

/** Text as HTML. */
function htmlOf(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const WIDTH = 800
const HEIGHT = 300
const LEFT = 70
/** Half of the longest label of the last tick. */
const RIGHT = 44
const TOP = 24
const BOTTOM = 30

interface Axis {
  readonly of: (value: number) => number
  readonly ticks: readonly (readonly [at: number, label: string])[]
}

function logarithmic(low: number, high: number, from: number, to: number, label: (value: number) => string): Axis {
  const [first, last] = [
    Math.floor(Math.log10(low)),
    Math.max(Math.floor(Math.log10(low)) + 1, Math.ceil(Math.log10(high))),
  ]
  const of = (value: number): number =>
    from + ((Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)) * (to - from)
  const ticks = Array.from({ length: last - first + 1 }, (_, at): [number, string] => [
    of(10 ** (first + at)),
    label(10 ** (first + at)),
  ])
  return { of, ticks }
}

function linear(low: number, high: number, from: number, to: number, label: (value: number) => string): Axis {
  const of = (value: number): number => from + ((value - low) / Math.max(1e-9, high - low)) * (to - from)
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share): [number, string] => [
    of(low + share * (high - low)),
    label(low + share * (high - low)),
  ])
  return { of, ticks }
}

function plot(title: string, x: Axis, y: Axis, names: readonly string[], content: string): string {
  const bottom = HEIGHT - BOTTOM
  const vertical = x.ticks.map(
    ([at, label]) =>
      `<line class="axis" x1="${fixed(at)}" x2="${fixed(at)}" y1="${TOP}" y2="${bottom}"/><text x="${fixed(at)}" y="${bottom + 16}" text-anchor="middle">${htmlOf(label)}</text>`,
  )
  const horizontal = y.ticks.map(
    ([at, label]) =>
      `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${fixed(at)}" y2="${fixed(at)}"/><text x="${LEFT - 6}" y="${fixed(at + 4)}" text-anchor="end">${htmlOf(label)}</text>`,
  )
  const legend = names.map(
    (name, at) =>
      `<rect class="c${at % 4}" x="${LEFT + at * 150}" y="4" width="10" height="10"/><text class="name" x="${LEFT + at * 150 + 15}" y="13">${htmlOf(name)}</text>`,
  )
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${htmlOf(title)}">${[...vertical, ...horizontal, ...legend].join('')}${content}</svg>`
}

const fixed = (value: number): string => value.toFixed(1)
/** The points of one side. A line through a single point would be invisible. */
function line(side: number, points: readonly (readonly [x: number, y: number])[]): string {
  const [only, ...others] = points
  if (only !== undefined && others.length === 0)
    return `<circle class="c${side % 4}" cx="${fixed(only[0])}" cy="${fixed(only[1])}" r="4"/>`
  return `<polyline class="curve c${side % 4}" points="${points.map(([x, y]) => `${fixed(x)},${fixed(y)}`).join(' ')}"/>`
}

const namesOf = ({ sides }: BenchRun): string[] => sides.map(({ name }) => name)
const yFrom = HEIGHT - BOTTOM

function extent(values: readonly number[]): [number, number] {
  const positive = values.filter((value) => value > 0)
  return positive.length === 0 ? [1, 10] : [Math.min(...positive), Math.max(...positive)]
}

function percentilePlot(report: BenchRun): string {
  const curves = report.sides.map(({ result }) => result.latency.curve)
  const [low, high] = extent(curves.flat().map(([, us]) => us))
  // The horizontal axis is 1 / (1 - share): p0 at 1, p90 at 10, p99 at 100.
  const rest = (percentile: number): number => 1 / (1 - percentile / 100)
  const x = logarithmic(
    1,
    Math.max(100, ...curves.flat().map(([percentile]) => rest(percentile))),
    LEFT,
    WIDTH - RIGHT,
    (value) => (value === 1 ? 'p0' : `p${Number((100 - 100 / value).toPrecision(8))}`),
  )
  const y = logarithmic(low, high, yFrom, TOP, latencyText)
  const lines = curves.map((curve, at) =>
    line(
      at,
      curve.map(([percentile, us]) => [x.of(rest(percentile)), y.of(us)]),
    ),
  )
  return plot('Latency by percentile', x, y, namesOf(report), lines.join(''))
}

function histogramPlot(report: BenchRun): string {
  const all = report.sides.flatMap(({ result }) => result.latency.buckets)
  const [low, high] = extent(all.flatMap(({ fromUs, toUs }) => [fromUs, toUs]))
  const x = logarithmic(low, high, LEFT, WIDTH - RIGHT, latencyText)
  const share = (count: number, total: number): number => (total === 0 ? 0 : (100 * count) / total)
  const highest = Math.max(
    1,
    ...report.sides.flatMap(({ result: { latency } }) =>
      latency.buckets.map(({ count }) => share(count, latency.count)),
    ),
  )
  const y = linear(0, highest, yFrom, TOP, (value) => `${value.toFixed(value < 10 ? 1 : 0)} %`)
  const bars = report.sides.flatMap(({ result: { latency } }, at) =>
    latency.buckets.map(({ fromUs, toUs, count }) => {
      const [left, top] = [x.of(fromUs), y.of(share(count, latency.count))]
      return `<rect class="bar c${at % 4}" x="${fixed(left)}" y="${fixed(top)}" width="${fixed(Math.max(1, x.of(toUs) - left - 1))}" height="${fixed(yFrom - top)}"/>`
    }),
  )
  return plot('Histogram of latencies', x, y, namesOf(report), bars.join(''))
}

function timePlot(report: BenchRun): string {
  const timelines = report.sides.map(({ result }) => result.timeline)
  const seconds = Math.max(2, ...timelines.map((timeline) => timeline.length))
  const [low, high] = extent(timelines.flat().map(({ p99Us }) => p99Us))
  const x = linear(0, seconds - 1, LEFT, WIDTH - RIGHT, (value) => `${value.toFixed(seconds > 8 ? 0 : 1)} s`)
  const y = logarithmic(low, high, yFrom, TOP, latencyText)
  const lines = timelines.map((timeline, at) =>
    line(
      at,
      timeline.map(({ p99Us }, second) => [x.of(second), y.of(p99Us)]),
    ),
  )
  return plot('p99 of each second', x, y, namesOf(report), lines.join(''))
}
