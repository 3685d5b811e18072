// The committed quality of entity matching may only improve, and an improvement must be recorded.
import { expect, test } from 'vitest'
import { againstQualityBaseline, readQualityBaseline } from '../../stress/matching-baseline.ts'

const one = { f1: 0.98, sureRight: 90, sureWrong: 1 }

test.each([
  ['the same', one, []],
  ['a lower F1', { ...one, f1: 0.97 }, ['set: F1 was 0.98 and is 0.97']],
  ['fewer right matches', { ...one, sureRight: 89 }, ['set: right matches above 0.95 was 90 and is 89']],
  ['more wrong matches', { ...one, sureWrong: 2 }, ['set: wrong matches above 0.95 was 1 and is 2']],
  [
    'fewer wrong matches',
    { ...one, sureWrong: 0 },
    ['set: wrong matches above 0.95 was 1 and is 0: write the baseline again with --write-baseline'],
  ],
  [
    'a higher F1',
    { ...one, f1: 0.99 },
    ['set: F1 was 0.98 and is 0.99: write the baseline again with --write-baseline'],
  ],
])('%s', (_, measured, told) => {
  expect(againstQualityBaseline({ set: measured }, { set: one })).toEqual(told)
})

test('a set that is only recorded, and one that is only measured', () => {
  expect(againstQualityBaseline({ fresh: one }, { gone: one })).toEqual([
    'gone is recorded, and was not measured: write the baseline again with --write-baseline',
    'fresh is not recorded: write the baseline again with --write-baseline',
  ])
})

test('the recorded figures keep the bars: at most 2 % wrong above 0.95, and an F1 of 0.96', () => {
  for (const [set, { f1, sureRight, sureWrong }] of Object.entries(readQualityBaseline())) {
    expect(f1, set).toBeGreaterThanOrEqual(0.96)
    expect(sureWrong / (sureRight + sureWrong), set).toBeLessThanOrEqual(0.02)
  }
})
