import { describe, expect, it } from 'vitest'
import { Metrics } from '../../../src/ops/metrics.ts'

describe('metrics', () => {
  it('are rendered in the text format: help, type and lines of each family', () => {
    const metrics = new Metrics()
    const answers = metrics.counter('answers_total', 'Answers.')
    answers({ kind: 'a "b" \\ \n' }).add(2)
    answers({ kind: 'x' }).add(1)
    answers({ kind: 'x' }).add(1)
    metrics.sampled('size_bytes', 'Size.', 'gauge', () => [{ value: 7 }, { labels: { part: 'x' }, value: 1.5 }])
    expect(metrics.text()).toBe(
      '# HELP answers_total Answers.\n# TYPE answers_total counter\n' +
        'answers_total{kind="a \\"b\\" \\\\ \\n"} 2\nanswers_total{kind="x"} 2\n' +
        '# HELP size_bytes Size.\n# TYPE size_bytes gauge\nsize_bytes 7\nsize_bytes{part="x"} 1.5\n',
    )
  })

  it('count an observation in every bucket that it fits in', () => {
    const metrics = new Metrics()
    const seconds = metrics.histogram('time_seconds', 'Time.', [0.1, 1])({ route: '/x' })
    for (const value of [0.1, 0.11, 1, 5]) seconds.observe(value)
    expect(metrics.text().split('\n').slice(2, -1)).toEqual([
      'time_seconds_bucket{route="/x",le="0.1"} 1',
      'time_seconds_bucket{route="/x",le="1"} 3',
      'time_seconds_bucket{route="/x",le="+Inf"} 4',
      'time_seconds_sum{route="/x"} 6.21',
      'time_seconds_count{route="/x"} 4',
    ])
  })
})
