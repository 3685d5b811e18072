// Outcomes of resolvers and token introspections, also those that lanes report.
import { expect, test } from 'vitest'
import { ConnectionOutcomes, sumOfHealth } from '../../../src/ops/connection-health.ts'

test('outcomes are counted, with the last failure and its time', () => {
  let nowMs = 0
  const outcomes = new ConnectionOutcomes(() => nowMs)
  outcomes.record('resolver', 'a', null)
  nowMs = 5000
  outcomes.record('resolver', 'a', 'it did not answer in time')
  outcomes.record('token-introspect', 'a', null)
  expect(outcomes.read()).toEqual([
    {
      kind: 'resolver',
      id: 'a',
      succeeded: 1,
      failed: 1,
      lastSuccessTime: '1970-01-01T00:00:00.000Z',
      lastFailureTime: '1970-01-01T00:00:05.000Z',
      lastFailure: 'it did not answer in time',
    },
    expect.objectContaining({ kind: 'token-introspect', id: 'a', succeeded: 1, failed: 0, lastFailure: null }),
  ])
})

test('a serving process adds what its lane has counted since the last report, and nothing else', () => {
  const lane = new ConnectionOutcomes(() => 0)
  const serving = new ConnectionOutcomes(() => 0)
  lane.record('resolver', 'a', 'refused "quoted"')
  lane.record('resolver', 'a', 'refused "quoted"')
  serving.addDeltas({ ...lane.takeDeltas(), '["verdigraph_searches_total",{}]': 7 })
  serving.addDeltas(lane.takeDeltas())
  expect(serving.read()).toEqual([expect.objectContaining({ id: 'a', failed: 2, lastFailure: 'refused "quoted"' })])
})

test('processes are added, and the later failure counts', () => {
  const processes = [1000, 2000].map((nowMs) => {
    const outcomes = new ConnectionOutcomes(() => nowMs)
    outcomes.record('resolver', 'a', `failure at ${nowMs}`)
    outcomes.record('resolver', 'a', null)
    return outcomes.read()
  })
  expect(sumOfHealth(processes)).toEqual([
    expect.objectContaining({ succeeded: 2, failed: 2, lastFailure: 'failure at 2000' }),
  ])
})

test('the number of configurations is bounded', () => {
  const outcomes = new ConnectionOutcomes(() => 0)
  for (let i = 0; i < 1200; i++) outcomes.record('resolver', `r${i}`, null)
  expect(outcomes.read()).toHaveLength(1000)
})
