// The descriptors of plan operators are complete: a slot in the record of an operator is one that the descriptor fills or reads.
import { describe, expect, test } from 'vitest'
import type { BoundExpression, Slot } from '../../../../src/engine/bind/bound.ts'
import { slotsOf } from '../../../../src/engine/bind/expression-tree.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import type { PlanNode } from '../../../../src/engine/plan/explain.ts'
import { descriptorOf, inputsOf, mapInputs } from '../../../../src/engine/plan/operator-descriptors.ts'
import type { OperatorName, Plan } from '../../../../src/engine/plan/operators.ts'
import { compileText, PreparedQuery } from '../../../../src/engine/prepared-query.ts'
import { type AccessQuery, allRows } from '../../../../src/engine/relation-query.ts'

const rowQueries: readonly string[] = [
  'MATCH (p:Person {external_id: $id}) RETURN p.name',
  'MATCH (p:Person {name: $name})-[r:KNOWS]->(q) MATCH (q)-[s]->(p) WHERE r.since < s.since RETURN *',
  'MATCH (n) RETURN n',
  'MATCH (a)-[r:KNOWS*1..3 {since: $year}]->(b) RETURN a, r, b',
  'MATCH (a)-[r:KNOWS*1..3]->(b) MATCH (a)-[r*]->(c) RETURN c',
  'MATCH (a)-[r]->(b) WITH r MATCH (x)-[r]->(y) RETURN x, y',
  'MATCH (a:Person), (b:Person) MATCH p = shortestPath((a)-[:KNOWS*..4]-(b)) RETURN p',
  'MATCH p = SHORTEST 2 GROUPS (a:Person)-[r:KNOWS]->(m) ((x)-[s:KNOWS]->(y) WHERE x.age < y.age)+ (b) RETURN p, m, r, x, s, y',
  'MATCH ANY (p = (a:Person)-[:KNOWS]->{1,4}(b) WHERE length(p) > 1) RETURN p',
  'MATCH (a) ((x)-[r:KNOWS]->(y)-[s:OWNS]->(z) WHERE x.age < z.age){1,3} (b) RETURN a, x, r, s, b',
  'UNWIND $list AS x WITH x.node AS n MATCH (n)-->(m) RETURN m',
  'MATCH (a:Person) WHERE NOT EXISTS { (a)-[:BLOCKED]->(b) WHERE b.level > a.level } RETURN a',
  'MATCH (a) OPTIONAL MATCH (a)-[:OWNS]->(c) WHERE c.wheels > 3 RETURN a, c',
  'MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b UNION MATCH (a)<--(b) RETURN b } RETURN a, b',
  'MATCH (a)-->(b) WITH a.name AS name, collect(DISTINCT b.age) AS ages ORDER BY name DESC SKIP 1 LIMIT 2 RETURN name, ages',
  'MATCH p = (a)-[:KNOWS]->(b)-[r:OWNS*0..2]->(c) RETURN p SKIP 1',
  'MATCH (a) WITH DISTINCT a LIMIT 3 RETURN a ORDER BY a.name',
  'MATCH (a:Person) WITH a.node AS n MATCH (n:Car) RETURN percentileCont(n.x, $p) AS q',
]

const types = new Map([
  ['subject', 'Person'],
  ['resource', 'Car'],
])
const uses: readonly AccessQuery[] = [
  { fixed: ['subject', 'resource'], returns: 'exists', types },
  { fixed: ['subject'], returns: { nodesOf: 'resource' }, types },
  { fixed: ['resource'], returns: { nodesOf: 'subject' }, types },
]
const conditions: readonly string[] = [
  'MATCH (subject)-[:OWNS]->(resource)',
  'MATCH (subject)-[:both]->(resource)',
  'MATCH (subject)-[:MEMBER]->(t:Team)-[:PARENT*0..3]->(u)-[:OWNS]->(resource) WHERE u.level > $level',
  'MATCH (subject)-[:KNOWS*1..3]->(resource)',
  'MATCH (subject)-[:MEMBER]->(t)-[:PARENT]->(u:Team {name: $name})<-[:OWNED]-(resource)',
]

const model = compileModel(
  'DEFINE (a)-[:both]->(b) AS { MATCH (a)-[:KNOWS]->(b) UNION MATCH (a)-[:both]->(x)-[:both]->(b) }',
)
if (!model.ok) throw new Error(model.error[0]!.message)
const definitions = model.value

function plansOf(text: string, form: 'rows' | 'condition', uses: readonly AccessQuery[]): readonly Plan[] {
  const compiled = compileText(text, 'open', form, definitions)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  const { bound } = compiled.value
  return uses.flatMap((use) =>
    (['on', 'off'] as const).flatMap((rules) => nodesOf(new PreparedQuery(bound, use, { rules }).describe())),
  )
}

function nodesOf(node: PlanNode): readonly Plan[] {
  return [node.plan, ...node.children.flatMap((child) => nodesOf(child.node))]
}

const plans: readonly Plan[] = [
  ...rowQueries.flatMap((text) => plansOf(text, 'rows', [allRows])),
  ...conditions.flatMap((text) => plansOf(text, 'condition', uses)),
]

/** Every slot that the record of an operator names, except in its inputs and those that only the operator itself uses. */
function slotsIn(value: unknown): readonly Slot[] {
  if (typeof value !== 'object' || value === null || 'op' in value) return []
  if (Array.isArray(value)) return value.flatMap(slotsIn)
  if ('index' in value && 'graph' in value) return [value as Slot]
  if ('kind' in value) return slotsOf(value as BoundExpression)
  // The element of a variable-length step and the nodes inside a chain are local to the operator.
  if ('predicate' in value && 'element' in value) return slotsOf(value.predicate as BoundExpression)
  if ('predicates' in value) return slotsIn(value.predicates)
  return Object.values(value).flatMap(slotsIn)
}

function ownSlots(plan: Plan): readonly Slot[] {
  return Object.values(plan).flatMap(slotsIn)
}

test('the queries use every operator', () => {
  const all: Record<OperatorName, true> = {
    Argument: true,
    NodeUniqueIndexSeek: true,
    NodeIndexSeek: true,
    NodeByLabelScan: true,
    AllNodesScan: true,
    ExpandAll: true,
    ExpandInto: true,
    DerivedExpand: true,
    VarLengthExpand: true,
    BidirectionalExpandInto: true,
    PruningExpand: true,
    OrderedExpand: true,
    ProjectEndpoints: true,
    ProjectVarLengthEndpoints: true,
    ShortestPath: true,
    GroupVariables: true,
    Cast: true,
    Filter: true,
    SemiApply: true,
    Optional: true,
    Apply: true,
    Union: true,
    Unwind: true,
    MakePath: true,
    Projection: true,
    EagerAggregation: true,
    Distinct: true,
    Sort: true,
    Skip: true,
    Limit: true,
    First: true,
  }
  expect([...new Set(plans.map((plan) => plan.op))].sort()).toEqual(Object.keys(all).sort())
})

describe('a descriptor', () => {
  test('fills or reads every slot in the record of its operator', () => {
    for (const plan of plans) {
      const { fills, reads } = descriptorOf(plan)
      const declared = new Set([...fills(plan), ...reads(plan)].map((slot) => slot.index))
      // The rows of the optional side fill these slots; the operator sets them to null.
      if (plan.op === 'Optional') for (const slot of plan.nulls) declared.add(slot.index)
      const missing = ownSlots(plan).filter((slot) => !declared.has(slot.index))
      expect(missing, plan.op).toEqual([])
    }
  })

  test('lists every plan in the record as an input', () => {
    for (const plan of plans) {
      const inputs = Object.values(plan).flatMap((value: unknown) =>
        [value].flat().filter((item) => typeof item === 'object' && item !== null && 'op' in item),
      )
      expect(new Set(inputsOf(plan).map((input) => input.plan)), plan.op).toEqual(new Set(inputs))
      const seen: Plan[] = []
      const same = mapInputs(plan, (input) => {
        seen.push(input)
        return input
      })
      expect(same, plan.op).toBe(plan)
      expect(new Set(seen), plan.op).toEqual(new Set(inputs))
    }
  })
})
