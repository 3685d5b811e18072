import { describe, expect, it } from 'vitest'
import { Float } from '../../../src/kernel/float.ts'
import { JSON_DEPTH_MAX } from '../../../src/kernel/json/json.ts'
import { inputIssues } from '../../../src/policy/input-parameters.ts'

const rules = { at: 'input_params', reserved: new Set(['token']), stringMax: 10 }
const issuesOf = (given: Record<string, unknown>) => inputIssues(given, rules)
const fits = 'x'.repeat(10)
const long = 'x'.repeat(11)

/** `[[[…value…]]]` with so many brackets. */
function nested(levels: number, value: unknown): unknown {
  let data = value
  for (let level = 0; level < levels; level++) data = [data]
  return data
}

describe('a string among the input parameters', () => {
  it.each([
    [{ a: fits }],
    [{ a: [fits, [fits, null], { [fits]: fits }] }],
    [{ a: { b: { c: [fits, 1, 2n, true, null, new Float(1.5)] } } }],
    [{ a: '', b: [], c: {}, [fits]: 1 }],
  ])('is accepted if it is short enough: %#', (given) => {
    expect(issuesOf(given)).toEqual([])
  })

  const tooLong: [object, string][] = [
    [{ a: long }, 'input_params.a: expected at most 10 characters, found 11'],
    [{ a: [1, fits, long] }, 'input_params.a[2]: expected at most 10 characters, found 11'],
    [{ a: [0, 0, 0, { b: long }] }, 'input_params.a[3].b: expected at most 10 characters, found 11'],
    [{ a: { b: { 7: [[long]] } } }, 'input_params.a.b.7[0][0]: expected at most 10 characters, found 11'],
    [{ a: { b: { [long]: 1 } } }, 'input_params.a.b: expected names of at most 10 characters, found one of 11'],
    [{ [long]: 1 }, 'input_params: expected names of at most 10 characters, found one of 11'],
  ]
  it.each(tooLong)('is refused at any depth, and the error names its path: %#', (given, issue) => {
    expect(issuesOf(given as Record<string, unknown>)).toEqual([issue])
  })

  it('is reported once for each parameter', () => {
    expect(issuesOf({ a: [long, long], token: 1, b: long, c: fits })).toEqual([
      'input_params.a[0]: expected at most 10 characters, found 11',
      'input_params.token: reserved, filled by the service',
      'input_params.b: expected at most 10 characters, found 11',
    ])
  })

  it('is not repeated in the error at full length', () => {
    expect(inputIssues({ ['n'.repeat(5000)]: 'x'.repeat(6000) }, { ...rules, stringMax: 5500 })).toEqual([
      `input_params.${'n'.repeat(64)}…: expected at most 5500 characters, found 6000`,
    ])
  })
})

describe('a nested parameter', () => {
  it('is checked to the maximum depth of a document, and no deeper', () => {
    expect(issuesOf({ a: nested(JSON_DEPTH_MAX, fits) })).toEqual([])
    expect(issuesOf({ a: nested(JSON_DEPTH_MAX, long) })).toHaveLength(1)
    expect(issuesOf({ a: nested(JSON_DEPTH_MAX + 1, fits) })).toEqual([
      `input_params.a: nested deeper than ${JSON_DEPTH_MAX} levels`,
    ])
    expect(issuesOf({ a: nested(100_000, fits) })).toEqual([
      `input_params.a: nested deeper than ${JSON_DEPTH_MAX} levels`,
    ])
  })
})
