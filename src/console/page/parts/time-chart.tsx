// Lines over time. The chart library is loaded when the first chart is shown; colours are those of the style sheet.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { useStore } from '../store.ts'
import { theme } from '../theme.ts'

/** A line: one value for each time; null: not known, which is drawn as a gap. */
interface ChartLine {
  readonly title: string
  /** The token of the style sheet, such as `--good`. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  /** True: the area below the line is filled. */
  readonly isFilled?: boolean
}

const HEIGHT = 170

/**
 * `times`: seconds since the epoch, ascending. `label`: describes the chart to readers that do not see it. `text`: of a value.
 * `spanS`: seconds that the axis shows at least.
 */
export function TimeChart(props: {
  readonly label: string
  readonly times: readonly number[]
  readonly lines: readonly ChartLine[]
  readonly text: (value: number) => string
  readonly spanS: number
}) {
  const { label, times, lines, text } = props
  const box = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const current = useRef(props)
  current.current = props
  const [isFailed, setFailed] = useState(false)
  const colours = useStore(theme)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    let isShown = true
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const draw = (): void => {
      void open(element, () => current.current).then(
        (opened) => {
          if (!isShown || opened === null) return opened?.destroy()
          chart.current?.destroy()
          chart.current = opened
        },
        () => setFailed(true),
      )
    }
    draw()
    dark.addEventListener('change', draw)
    const resized = new ResizeObserver(() =>
      chart.current?.setSize({ width: Math.max(160, element.clientWidth), height: HEIGHT }),
    )
    resized.observe(element)
    return () => {
      isShown = false
      dark.removeEventListener('change', draw)
      resized.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [colours, lines.length])

  // Before the browser paints, so that line and legend show the same values.
  useLayoutEffect(() => {
    chart.current?.setData(dataOf(props))
  }, [times, lines])

  const last = lines.map(({ title, values }) => {
    const value = values.at(-1)
    return `${title}: ${value == null ? 'no value' : text(value)}`
  })
  return (
    <figure class="stack gap-8 chart">
      <div ref={box} class="chart-canvas" role="img" aria-label={`${label}. Now: ${last.join(', ')}`} />
      {isFailed && <p>The chart cannot be loaded. Reload the page.</p>}
      <figcaption class="chart-legend">
        {lines.map(({ title, colour, values }) => {
          const value = values.at(-1)
          return (
            <span key={title}>
              <i style={{ background: `var(${colour})` }} />
              {title} <b>{value == null ? '–' : text(value)}</b>
            </span>
          )
        })}
      </figcaption>
    </figure>
  )
}

type ChartProps = Parameters<typeof TimeChart>[0]

function dataOf({ times, lines }: ChartProps): uPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => [...values])]
}

/** Null: the element was removed while the library was loaded. */
async function open(element: HTMLElement, props: () => ChartProps): Promise<uPlot | null> {
  const { default: Plot } = await import('uplot')
  if (!element.isConnected) return null
  const style = getComputedStyle(element)
  const resolved = (token: string): string => {
    // `light-dark()` is resolved only in a property of an element.
    element.style.color = `var(${token})`
    const { color } = getComputedStyle(element)
    element.style.color = ''
    return color
  }
  const [soft, line] = [resolved('--text-soft'), resolved('--line')]
  const axis = {
    stroke: soft,
    font: `11px ${style.fontFamily}`,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  }
  const { lines, spanS } = props()
  return new Plot(
    {
      width: Math.max(160, element.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 4, 0, 0],
      scales: {
        x: { range: (_, min, max) => [Math.min(min, max - spanS), max] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 90,
          size: 26,
          values: (_, splits) => splits.map((time) => new Date(time * 1000).toLocaleTimeString('en-GB')),
        },
        { ...axis, size: 58, values: (_, splits) => splits.map((value) => props().text(value)) },
      ],
      series: [
        {},
        ...lines.map(({ title, colour, isFilled }) => ({
          label: title,
          stroke: resolved(colour),
          width: 2,
          points: { show: false },
          ...(isFilled === true && { fill: faded(resolved(colour)) }),
        })),
      ],
    },
    dataOf(props()),
    element,
  )
}

function faded(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.13)')
}
