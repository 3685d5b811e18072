// Conditions of relationships, written as expressions of Cypher.
import { describe, expect, test } from 'vitest'
import { conditionText } from '../../../src/migration/condition-text.ts'
import type { ConditionType } from '../../../src/migration/relation-model.ts'

function written(expression: string, types: Readonly<Record<string, ConditionType>> = {}): string {
  const parameters = new Map(Object.entries(types))
  return conditionText({ name: 'c', parameters, expression }, (name, members) => ['$p', name, ...members].join('.'))
}

describe('a condition', () => {
  test.each([
    ['x < 100 && !(y == "a\'b")', { x: 'int', y: 'string' }, "$p.x < 100 AND NOT (($p.y = 'a\\'b'))"],
    ['x == 1 || x == 2 && y', { x: 'int', y: 'bool' }, '$p.x = 1 OR $p.x = 2 AND $p.y'],
    ['(x == 1 || y) && y', { x: 'int', y: 'bool' }, '($p.x = 1 OR $p.y) AND $p.y'],
    [
      't < timestamp("2024-01-01T00:00:00Z") + d',
      { t: 'timestamp', d: 'duration' },
      "datetime($p.t) < datetime('2024-01-01T00:00:00Z') + duration($p.d)",
    ],
    ['d <= duration("1h30m")', { d: 'duration' }, "duration($p.d) <= duration('PT5400S')"],
    [
      'user.roles.exists(r, r.startsWith("a"))',
      { user: { map: 'any' } },
      "any(r IN $p.user.roles WHERE r STARTS WITH 'a')",
    ],
    ['"k" in m && m["k"] == 1', { m: { map: 'int' } }, '$p.m.k IS NOT NULL AND $p.m.k = 1'],
    [
      'x in [1, 2] ? has(y) : size(z) > 1',
      { x: 'int', y: 'any', z: { list: 'int' } },
      'CASE WHEN $p.x IN [1, 2] THEN $p.y IS NOT NULL ELSE size($p.z) > 1 END',
    ],
  ] as const)('%s', (expression, types, text) => {
    expect(written(expression, types as Record<string, ConditionType>)).toBe(text)
  })

  test('is refused where Cypher has no counterpart', () => {
    expect(() => written('x.reverse()', { x: 'string' })).toThrow(
      'condition `c`: the method `reverse` has no counterpart',
    )
    expect(() => written('y')).toThrow('condition `c`: `y` is no parameter')
    expect(() => written('1 = 2')).toThrow('condition `c`: unexpected `=`')
  })
})
