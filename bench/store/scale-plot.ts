// A line plot as SVG: sizes on a logarithmic x axis, rates on a linear y axis from 0.

export interface PlotSeries {
  readonly label: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

const WIDTH = 640
const HEIGHT = 360
const LEFT = 80
const RIGHT = 150
const TOP = 40
const BOTTOM = 40
const COLOURS = ['#1b6e53', '#b04a2f', '#3b5b92', '#7a5195']

/** Returns the SVG document. */
export function plot(title: string, series: readonly PlotSeries[]): string {
  const all = series.flatMap(({ points }) => points)
  const xs = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b)
  const [low = 1, high = 1] = [xs[0], xs.at(-1)]
  const top = Math.max(1, ...all.map(([, y]) => y))
  const tick = 10 ** Math.floor(Math.log10(top)) / (top / 10 ** Math.floor(Math.log10(top)) < 3 ? 2 : 1)
  const xOf = (x: number): number =>
    LEFT + (low === high ? 0.5 : Math.log(x / low) / Math.log(high / low)) * (WIDTH - LEFT - RIGHT)
  const yOf = (y: number): number => HEIGHT - BOTTOM - (y / top) * (HEIGHT - TOP - BOTTOM)
  const parts: string[] = []
  for (let y = 0; y <= top; y += tick) {
    parts.push(line(LEFT, yOf(y), WIDTH - RIGHT, yOf(y), '#ddd'))
    parts.push(label(LEFT - 8, yOf(y) + 4, y.toLocaleString('en-US'), 'end'))
  }
  for (const x of xs)
    parts.push(label(xOf(x), HEIGHT - BOTTOM + 18, `${(x / 1e6).toLocaleString('en-US')} M`, 'middle'))
  for (const [i, { label: name, points }] of series.entries()) {
    const colour = COLOURS[i % COLOURS.length]!
    const path = points.map(([x, y]) => `${xOf(x).toFixed(1)},${yOf(y).toFixed(1)}`)
    parts.push(`<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`)
    for (const [x, y] of points)
      parts.push(`<circle cx="${xOf(x).toFixed(1)}" cy="${yOf(y).toFixed(1)}" r="3" fill="${colour}"/>`)
    const [, last = 0] = points.at(-1) ?? []
    parts.push(label(WIDTH - RIGHT + 10, yOf(last) + 4, name, 'start', colour))
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${label(LEFT, 20, title, 'start')}
${parts.join('\n')}
</svg>
`
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string): string {
  return `<line x1="${x1}" y1="${y1.toFixed(1)}" x2="${x2}" y2="${y2.toFixed(1)}" stroke="${colour}"/>`
}

function label(x: number, y: number, text: string, anchor: string, colour = '#333'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${colour}">${text}</text>`
}
