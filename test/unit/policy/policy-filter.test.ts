// Filters of decision policies: the result of each operator, the effect of an absent claim, and what is refused.

import { describe, expect, it } from 'vitest'
import { unlimitedBudget } from '../../../src/engine/budget.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { fromJson } from '../../../src/engine/value/json-conversion.ts'
import type { Value } from '../../../src/engine/value/value.ts'
import type { PolicyFilter } from '../../../src/policy/policy-filter.ts'
import { readPolicyFilter } from '../../../src/policy/read-policy-filter.ts'

function filterOf(given: unknown): PolicyFilter {
  const read = readPolicyFilter(given, 'filter')
  if (!read.ok || read.value === null) throw new Error(read.ok ? 'no filter' : read.error.join('\n'))
  return read.value
}

const parametersOf = (data: Record<string, unknown>): ReadonlyMap<string, Value> =>
  new Map(Object.entries(data).map(([name, value]) => [name, fromJson(value)]))

const leaf = (operator: string, attribute: string, value?: unknown) => ({
  operator,
  attribute,
  ...(value === undefined ? {} : { value }),
})
const not = (operand: unknown) => ({ operator: 'NOT', operands: [operand] })

/** true, false, or `open`: neither it nor its negation admits. */
function truth(given: unknown, data: Record<string, unknown>): boolean | 'open' {
  const parameters = parametersOf(data)
  const admits = filterOf(given).admits(unlimitedBudget(), parameters)
  const negated = filterOf(not(given)).admits(unlimitedBudget(), parameters)
  expect(admits && negated).toBe(false)
  return admits ? true : negated ? false : 'open'
}

const faultsOf = (given: unknown): readonly string[] => {
  const read = readPolicyFilter(given, 'filter')
  return read.ok ? [] : read.error
}

describe('an operator', () => {
  const a = '$token.a'
  it.each<[operator: string, value: unknown, claim: unknown, truth: boolean | 'open']>([
    ['=', 'x', 'x', true],
    ['=', 'x', 'X', false],
    ['=', 1, 1.0, true],
    ['=', true, true, true],
    ['=', ['x', 'y'], ['x', 'y'], true],
    ['=', ['x', 'y'], ['y', 'x'], false],
    ['=', '1', 1, 'open'],
    ['=', true, 'true', 'open'],
    ['<>', 'x', 'y', true],
    ['<>', 'x', 'x', false],
    ['<>', 'admin', ['admin'], 'open'],
    ['<', 5, 4.5, true],
    ['<', 5, 5, false],
    ['<=', 5, 5, true],
    ['>', 5, 6, true],
    ['>', 'a', 'b', true],
    ['>=', 5, 4, false],
    ['>=', 5, '6', 'open'],
    ['IN', ['x', 'y'], 'y', true],
    ['IN', ['x', 'y'], 'z', false],
    ['IN', ['x', 1], 'z', 'open'],
    ['IN', [], 'z', false],
    ['STARTS WITH', 'ab', 'abc', true],
    ['STARTS WITH', 'b', 'abc', false],
    ['ENDS WITH', 'bc', 'abc', true],
    ['ENDS WITH', 'bc', 5, 'open'],
    ['CONTAINS', 'b', 'abc', true],
    ['CONTAINS', 'x', 'abc', false],
    ['CONTAINS', 'admin', ['user', 'admin'], true],
    ['CONTAINS', 'admin', ['user', 'administrator'], false],
    ['CONTAINS', 2, [1, 2], true],
    ['=~', 'a.c', 'abc', true],
    ['=~', 'b', 'abc', false],
    ['=~', '(?i)ABC', 'abc', true],
    ['=~', 'a', 5, 'open'],
  ])('%s %j of %j is %s', (operator, value, claim, expected) => {
    expect(truth(leaf(operator, a, value), { token: { a: claim } })).toBe(expected)
  })

  it('on null distinguishes present from absent values', () => {
    for (const [claims, isNull] of [
      [{ a: 1 }, false],
      [{ a: null }, true],
      [{}, true],
    ] as const) {
      expect(truth(leaf('IS NULL', a), { token: claims })).toBe(isNull)
      expect(truth(leaf('IS NOT NULL', a), { token: claims })).toBe(!isNull)
    }
  })

  it('of logic uses three-valued logic', () => {
    const data = { token: { t: 1 } }
    const yes = leaf('=', '$token.t', 1)
    const no = leaf('=', '$token.t', 2)
    const open = leaf('=', '$token.gone', 1)
    const branch = (operator: string, ...operands: unknown[]) => truth({ operator, operands }, data)
    expect([branch('AND', yes, yes), branch('AND', yes, no), branch('AND', yes, open)]).toEqual([true, false, 'open'])
    expect([branch('AND', no, open), branch('AND', open, open)]).toEqual([false, 'open'])
    expect([branch('OR', no, yes), branch('OR', no, no), branch('OR', open, yes)]).toEqual([true, false, true])
    expect([branch('OR', no, open), branch('NOT', open), branch('NOT', not(yes))]).toEqual(['open', 'open', true])
  })

  it('an absent claim stays unknown under NOT', () => {
    const operators: [string, unknown][] = [
      ['=', 'x'],
      ['<>', 'x'],
      ['<', 1],
      ['<=', 1],
      ['>', 1],
      ['>=', 1],
      ['IN', ['x']],
      ['=~', 'x'],
      ['STARTS WITH', 'x'],
      ['ENDS WITH', 'x'],
      ['CONTAINS', 'x'],
      ['>', { type: 'datetime', value: '2026-01-01T00:00:00Z' }],
    ]
    for (const [operator, value] of operators) {
      for (const data of [{ token: {} }, { token: { a: null } }, {}] as Record<string, unknown>[]) {
        expect([operator, truth(leaf(operator, a, value), data)]).toEqual([operator, 'open'])
        expect(filterOf(not(not(leaf(operator, a, value)))).admits(unlimitedBudget(), parametersOf(data))).toBe(false)
      }
      // The same for an absent value on the other side.
      if (operator !== '=~') expect(truth(leaf(operator, a, '$token.gone'), { token: { a: 'x' } })).toBe('open')
    }
  })
})

describe('a reference', () => {
  const data = {
    token: { sub: 'ann', act: { sub: 'bot' }, 'https://example.org/role': 'admin' },
    svc_token: { act: { act: { sub: 'deep' } } },
    order: { total: { cents: 250 } },
    subject_external_id: 'ann',
    resource_type: 'Car',
    _appId: null,
  }
  it.each<[string, string, unknown, boolean | 'open']>([
    ['=', '$token.act.sub', 'bot', true],
    ['=', '$svc_token.act.act.sub', 'deep', true],
    ['=', '$token.`https://example.org/role`', 'admin', true],
    ['>', '$order.total.cents', 200, true],
    ['=', '$order.total.cents.more', 1, 'open'],
    ['=', '$token.sub', '$subject_external_id', true],
    ['=', 'subject.external_id', '$token.sub', true],
    ['=', 'resource.type', 'Car', true],
    ['=', '$token.sub', '$_appId', 'open'],
    ['IN', '$token.sub', ['$token.act.sub', '$subject_external_id'], true],
  ])('%s %s %j is %s', (operator, attribute, value, expected) => {
    expect(truth(leaf(operator, attribute, value), data)).toBe(expected)
  })

  it('reports the parameters that it reads', () => {
    const filter = filterOf({
      operator: 'AND',
      operands: [
        leaf('=', '$token.sub', '$who.name'),
        leaf('IN', '$who.role', ['$role', 'x']),
        leaf('IS NULL', '$gone'),
      ],
    })
    expect([...filter.parameters].sort()).toEqual(['gone', 'role', 'token', 'who'])
  })
})

describe('a datetime', () => {
  const notBefore = (value: unknown) => leaf('>=', '$token.t', { type: 'datetime', value })
  const noon = '2026-01-31T12:00:00Z'
  it.each<[unknown, boolean | 'open']>([
    [noon, true],
    ['2026-01-31T13:00:00.001+01:00', true],
    ['2026-01-31T12:59:59+01:00', false],
    [Date.parse(noon) / 1000, true],
    [Date.parse(noon) / 1000 - 0.5, false],
    ['yesterday', 'open'],
    ['2026-01-31', 'open'],
    ['2028-02-29T00:00:00Z', true],
    ['2027-02-29T00:00:00Z', 'open'],
    ['2026-04-31T00:00:00Z', 'open'],
    ['2026-13-01T00:00:00Z', 'open'],
    ['2026-02-01T24:00:00Z', 'open'],
    [true, 'open'],
  ])('compares %j as an instant', (claim, expected) => {
    expect(truth(notBefore(noon), { token: { t: claim } })).toBe(expected)
  })

  it('accepts a parameter, which must be an instant', () => {
    const data = (since: unknown) => ({ token: { t: noon }, since })
    expect(truth(notBefore('$since'), data('2026-01-31T11:00:00Z'))).toBe(true)
    expect(truth(notBefore('$since'), data(Date.parse(noon) / 1000 + 1))).toBe(false)
    expect(() => filterOf(notBefore('$since')).admits(unlimitedBudget(), parametersOf(data('soon')))).toThrow(
      ExecutionError,
    )
  })
})

describe('a pattern', () => {
  it('takes linear time for any text', () => {
    const evil = filterOf(leaf('=~', '$token.a', '(a+)+(b|a+)*c'))
    expect(evil.admits(unlimitedBudget(), parametersOf({ token: { a: 'a'.repeat(50_000) } }))).toBe(false)
  })

  it('can be a parameter, and an invalid one is reported', () => {
    const filter = filterOf(leaf('=~', '$token.a', '$pattern'))
    expect(filter.admits(unlimitedBudget(), parametersOf({ token: { a: 'abc' }, pattern: 'a.*' }))).toBe(true)
    for (const pattern of ['(', '(?=x)', 5, 'x'.repeat(1001)]) {
      expect(() => filter.admits(unlimitedBudget(), parametersOf({ token: { a: 'abc' }, pattern }))).toThrow(
        ExecutionError,
      )
    }
  })
})

describe('advice', () => {
  const advised = (operator: string, attribute: string, value: unknown, error: string) => ({
    ...leaf(operator, attribute, value),
    advice: { error },
  })
  const adviceOf = (given: unknown, data: Record<string, unknown>) =>
    filterOf(given)
      .explainRejection(unlimitedBudget(), parametersOf(data))
      .advice.map(({ error }) => error)
  const a = advised('=', '$token.a', 1, 'a')
  const b = advised('=', '$token.b', 1, 'b')

  it('comes from the operands that fail, and from no others', () => {
    expect(adviceOf({ operator: 'AND', operands: [a, b] }, { token: { a: 1 } })).toEqual(['b'])
    expect(adviceOf({ operator: 'AND', operands: [a, b] }, { token: {} })).toEqual(['a', 'b'])
    expect(adviceOf({ operator: 'OR', operands: [a, b] }, { token: { a: 2 } })).toEqual(['a', 'b'])
    expect(adviceOf(not({ operator: 'OR', operands: [a, b] }), { token: { a: 1, b: 2 } })).toEqual(['a'])
    expect(adviceOf(not({ operator: 'AND', operands: [a, b] }), { token: { a: 1, b: 1 } })).toEqual(['a', 'b'])
  })

  it('also comes from an operand with a wrong parameter if nothing depends on it', () => {
    const c = advised('=~', '$token.b', '$pattern', 'c')
    const filter = { operator: 'AND', operands: [a, c] }
    for (const data of [
      { token: { a: 2, b: 'x' }, pattern: '(' },
      { token: { a: 2, b: 'x' }, pattern: 5 },
    ]) {
      expect(filterOf(filter).admits(unlimitedBudget(), parametersOf(data))).toBe(false)
      expect(adviceOf(filter, data)).toEqual(['a', 'c'])
    }
  })

  it('of a branch precedes that of its operands', () => {
    const branch = { operator: 'AND', operands: [a, b], advice: { error: 'both' }, app: 'label' }
    expect(adviceOf(branch, { token: { b: 1 } })).toEqual(['both', 'a'])
  })
})

describe('a filter is refused', () => {
  it.each<[string, unknown, string]>([
    ['no object', [1], 'filter: expected object, found array'],
    ['an unknown operator', leaf('LIKE', '$a', 1), 'filter.operator: expected one of AND, OR, NOT, ='],
    ['no operator', { attribute: '$a', value: 1 }, 'filter.operator: expected one of'],
    [
      'AND of one',
      { operator: 'AND', operands: [leaf('IS NULL', '$a')] },
      'filter.operands: expected at least 2 items, found 1',
    ],
    [
      'NOT of two',
      { operator: 'NOT', operands: [leaf('IS NULL', '$a'), leaf('IS NULL', '$b')] },
      'filter.operands: expected exactly 1 item, found 2',
    ],
    ['a branch without operands', { operator: 'OR' }, 'filter.operands: expected array, found nothing'],
    [
      'an attribute of the graph',
      leaf('=', 'subject.property.email', 'x'),
      'filter.attribute: a decision filter is evaluated without the graph',
    ],
    [
      'a value of the graph',
      leaf('IN', '$a', '@resource.property.tags'),
      'filter.value: a decision filter is evaluated without the graph',
    ],
    ['a whole token', leaf('=', '$token', 'x'), 'filter.attribute: expected `$token.<claim>`'],
    ['an invalid path', leaf('=', '$a..b', 'x'), 'filter.attribute: expected a path'],
    ['too long an integer', leaf('=', '$a', 2n ** 63n), `filter.value: the integer ${2n ** 63n} does not fit 64 bits`],
    ['no value', leaf('=', '$a'), 'filter.value: expected a value, found nothing'],
    ['null', leaf('=', '$a', null), 'filter.value: null is never equal to a value: use `IS NULL` or `IS NOT NULL`'],
    ['a value that must be absent', leaf('IS NULL', '$a', 1), 'filter.value: `IS NULL` does not accept a value'],
    ['IN a string', leaf('IN', '$a', 'x'), 'filter.value: `IN` expects an array'],
    ['a number as a pattern', leaf('=~', '$a', 5), 'filter.value: `=~` expects a string'],
    ['an invalid pattern', leaf('=~', '$a', '('), 'filter.value: '],
    ['a look-ahead, which takes more than linear time', leaf('=~', '$a', '(?=x)'), 'filter.value: '],
    [
      'an invalid datetime',
      leaf('>', '$a', { type: 'datetime', value: 'x' }),
      'filter.value.value: expected an RFC 3339 timestamp',
    ],
    ['another wrapper', leaf('>', '$a', { type: 'date', value: 'x' }), 'filter.value: expected `{"type": "datetime"'],
    ['an unknown member', { ...leaf('=', '$a', 1), weight: 2 }, 'filter: unknown member `weight`'],
    [
      'advice that is no text',
      { ...leaf('=', '$a', 1), advice: { error: 5 } },
      'filter.advice.error: expected string, found number',
    ],
  ])('for %s', (_, given, message) => {
    expect(faultsOf(given)).toEqual([expect.stringContaining(message)])
  })

  it('with the path of every error', () => {
    const given = {
      operator: 'AND',
      operands: [leaf('=', '$a', 1), { operator: 'OR', operands: [leaf('=', 'x', 1), leaf('BETWEEN', '$a', 1)] }],
    }
    expect(faultsOf(given).map((fault) => fault.split(': ')[0])).toEqual([
      'filter.operands[1].operands[0].attribute',
      'filter.operands[1].operands[1].operator',
    ])
  })
})
