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

  it('have exemplars in OpenMetrics only, where counters are named without their suffix', () => {
    const metrics = new Metrics()
    metrics.counter('answers_total', 'Answers.')({}).add(2)
    const seconds = metrics.histogram('time_seconds', 'Time.', [0.1, 1])({ route: '/x' })
    const [first, last] = ['4bf92f3577b34da6a3ce929d0e0e4736', '0af7651916cd43dd8448eb211c80319c']
    seconds.observe(0.05, first)
    seconds.observe(0.06, last)
    seconds.observe(0.07)
    seconds.observe(7)
    const lines = metrics.text('openmetrics').split('\n')
    expect(lines).toEqual([
      '# HELP answers Answers.',
      '# TYPE answers counter',
      'answers_total 2',
      '# HELP time_seconds Time.',
      '# TYPE time_seconds histogram',
      expect.stringMatching(
        new RegExp(`^time_seconds_bucket\\{route="/x",le="0.1"\\} 3 # \\{trace_id="${last}"\\} 0.06 \\d+\\.?\\d*$`),
      ),
      'time_seconds_bucket{route="/x",le="1.0"} 3',
      'time_seconds_bucket{route="/x",le="+Inf"} 4',
      'time_seconds_sum{route="/x"} 7.18',
      'time_seconds_count{route="/x"} 4',
      '# EOF',
      '',
    ])
    expect(metrics.text()).not.toContain('trace_id')
  })

  it('of a lane become part of the shared histograms of its serving process, each observation once', () => {
    const create = () => {
      const metrics = new Metrics()
      const shared = metrics.histogram('shared_seconds', 'Shared.', [1, 2], { isShared: true })
      const own = metrics.histogram('own_seconds', 'Own.', [1, 2])
      return { metrics, shared: shared({ route: '/x' }), own: own({ route: '/x' }) }
    }
    const [lane, serving] = [create(), create()]
    serving.shared.observe(0.5)
    for (const value of [0.25, 1.5, 9]) {
      lane.shared.observe(value)
      lane.own.observe(value)
      serving.metrics.addDeltas(lane.metrics.takeDeltas())
    }
    serving.metrics.addDeltas(lane.metrics.takeDeltas())
    expect(
      serving.metrics
        .text()
        .split('\n')
        .filter((line) => /^\w+_seconds_/.test(line)),
    ).toEqual([
      'shared_seconds_bucket{route="/x",le="1"} 2',
      'shared_seconds_bucket{route="/x",le="2"} 3',
      'shared_seconds_bucket{route="/x",le="+Inf"} 4',
      'shared_seconds_sum{route="/x"} 11.25',
      'shared_seconds_count{route="/x"} 4',
      'own_seconds_bucket{route="/x",le="1"} 0',
      'own_seconds_bucket{route="/x",le="2"} 0',
      'own_seconds_bucket{route="/x",le="+Inf"} 0',
      'own_seconds_sum{route="/x"} 0',
      'own_seconds_count{route="/x"} 0',
    ])
  })
})
