// The invariant of slots: a plan that overwrites a known slot, or reads one without a value, is refused before it runs.
import { describe, expect, test } from 'vitest'
import type { Slot, SlotKind } from '../../../../src/engine/bind/bound.ts'
import { compileCondition } from '../../../../src/engine/conditions.ts'
import type { Plan } from '../../../../src/engine/plan/operators.ts'
import { slotFault } from '../../../../src/engine/plan/slot-fault.ts'
import { compileRowsQuery } from '../../../../src/engine/rows-query.ts'
import { readGraph } from '../../../support/graph-notation.ts'
import { storeGraph } from '../../../support/store-engine.ts'

const slot = (index: number, name: string, kind: SlotKind = 'node'): Slot => ({ index, name, kind, graph: 0 })
const [a, b, r, x] = [slot(0, 'a'), slot(1, 'b'), slot(2, 'r', 'relationship'), slot(3, 'x', 'value')]
const given: Plan = { op: 'Argument', slots: [a] }
const step = { direction: 'out', types: [], distinctFrom: [] } as const
const expand: Plan = { op: 'ExpandAll', input: given, from: a, to: b, relationship: r, ...step }
const read = (of: Slot) => ({ kind: 'slot', slot: of }) as const

const unsound: readonly (readonly [what: string, plan: Plan, fault: string])[] = [
  [
    'an Optional that sets a known slot to null',
    { op: 'Optional', input: given, inner: expand, nulls: [a, b, r] },
    'Optional writes `a` (slot 0), which holds a value of the row before it',
  ],
  ['a scan of a known node', { op: 'AllNodesScan', input: given, slot: a }, 'AllNodesScan writes `a` (slot 0)'],
  ['an expansion to a known node', { ...expand, input: { op: 'AllNodesScan', input: given, slot: b } }, 'writes `b`'],
  ['an inner plan that fills an outer slot', { op: 'SemiApply', input: expand, inner: expand, negated: true }, '`b`'],
  [
    'a predicate on a hop that uses a known slot',
    {
      op: 'VarLengthExpand',
      input: { op: 'Unwind', input: given, list: { kind: 'constant', value: null }, slot: x },
      from: a,
      to: b,
      relationship: slot(4, 'l', 'relationships'),
      ...step,
      min: 1,
      max: null,
      into: false,
      backwards: false,
      repeatable: false,
      repetition: null,
      further: [],
      each: { element: x, near: null, far: null, predicate: read(x) },
    },
    'writes `x` (slot 3)',
  ],
  ['a filter on a slot without a value', { op: 'Filter', input: given, predicates: [read(b)] }, 'Filter reads `b`'],
  [
    'a filter on a slot that only one branch fills',
    {
      op: 'Filter',
      input: { op: 'Union', branches: [given, { op: 'AllNodesScan', input: given, slot: b }] },
      predicates: [read(b)],
    },
    'Filter reads `b` (slot 1), which holds no value',
  ],
  [
    'a filter on a slot that a sort drops',
    {
      op: 'Filter',
      input: { op: 'Sort', input: expand, by: [], slots: [r], skip: null, limit: null },
      predicates: [read(b)],
    },
    'Filter reads `b`',
  ],
  [
    'a filter on a slot of a tested pattern',
    { op: 'Filter', input: { op: 'SemiApply', input: given, inner: expand, negated: false }, predicates: [read(b)] },
    'Filter reads `b`',
  ],
]

describe('the invariant of slots', () => {
  test.each(unsound)('refuses %s', (_, plan, fault) => {
    expect(slotFault(plan, [a])).toContain(fault)
  })

  test('accepts the same operators over slots of their own', () => {
    expect(slotFault({ op: 'Optional', input: given, inner: expand, nulls: [b, r] }, [a])).toBeNull()
    expect(slotFault({ op: 'SemiApply', input: given, inner: expand, negated: true }, [a])).toBeNull()
    const branch: Plan = { op: 'AllNodesScan', input: given, slot: b }
    expect(
      slotFault({ op: 'Filter', input: { op: 'Union', branches: [branch, branch] }, predicates: [read(b)] }, [a]),
    ).toBeNull()
  })
})

test('a bound node of an optional path with a selector is not null if there is no path', async () => {
  const stored = await storeGraph(readGraph("(d:Doc {name: 'd'})"))
  try {
    for (const rules of ['on', 'off'] as const) {
      for (const selector of ['ANY', 'ANY SHORTEST', 'SHORTEST 3', 'SHORTEST 2 GROUPS', 'ALL SHORTEST']) {
        for (const path of [
          '(d)-[l:LOCK {active: true}]->(k)',
          '(d)-[l:LOCK WHERE l.active]->(k)',
          '((d)-[l:LOCK]->(k) WHERE l.active)',
        ]) {
          const text = `MATCH (d:Doc) OPTIONAL MATCH ${selector} ${path} RETURN d.name, l, k`
          const compiled = compileRowsQuery(text, { rules })
          if (!compiled.ok) throw new Error(text)
          const snapshot = stored.environment.snapshot()
          try {
            const limits = { stepsMax: 10_000, timeMs: 60_000 }
            const { rows } = compiled.value.run({ snapshot, parameters: new Map(), limits })
            expect(rows, text).toEqual([['d', null, null]])
          } finally {
            snapshot.close()
          }
        }
      }
    }
  } finally {
    await stored.close()
  }
})

test('EXISTS over a path with a selector reads the ends of the path', () => {
  const text = 'MATCH (subject), (resource) WHERE NOT EXISTS { ANY (subject)-[:BAN {active: true}]->(resource) }'
  const compiled = compileCondition({ text, dialect: 'open', subjectType: 'Person', resourceType: 'Doc' })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  // The test comes after the scan that finds the resource.
  const plan = compiled.value.explain('resources')
  expect(plan.indexOf('AntiSemiApply')).toBeLessThan(plan.indexOf('NodeByLabelScan'))
})
