// Plan → stable text and plain data: one operator a line, inputs indented below. The alphabet of the golden files; it shows
// structure, never costs, so that a golden moves only when the meaning of a plan does.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import type { Plan, WalkDirection } from './operators.ts'
import { showExpression } from './show-expression.ts'

/** A plan as data: for JSON, and for whatever a run adds to each operator. */
export interface PlanNode {
  readonly operator: string
  /** What it works on, close to Cypher; empty where there is nothing to say. */
  readonly detail: string
  /** The plan that the node stands for. */
  readonly plan: Plan
  readonly children: readonly { readonly role: 'input' | 'inner' | 'branch'; readonly node: PlanNode }[]
}

export function describe(plan: Plan): PlanNode {
  const line = headline(plan)
  const space = line.indexOf(' ')
  return {
    operator: space < 0 ? line : line.slice(0, space),
    detail: space < 0 ? '' : line.slice(space + 1),
    plan,
    children: childrenOf(plan),
  }
}

function childrenOf(plan: Plan): PlanNode['children'] {
  switch (plan.op) {
    case 'argument':
      return []
    case 'union':
      return plan.branches.map((branch) => ({ role: 'branch', node: describe(branch) }))
    case 'optional':
    case 'semi-apply':
    case 'apply':
      return [
        { role: 'inner', node: describe(plan.inner) },
        { role: 'input', node: describe(plan.input) },
      ]
    default:
      return [{ role: 'input', node: describe(plan.input) }]
  }
}

/** `note` adds to the line of an operator. */
export function explain(plan: Plan, note: (plan: Plan) => string = () => ''): string {
  return lines(describe(plan), 0, note).join('\n')
}

function lines(node: PlanNode, depth: number, note: (plan: Plan) => string): string[] {
  const indent = '  '.repeat(depth)
  const own = `${indent}${`${node.operator} ${node.detail}`.trimEnd()}${note(node.plan)}`
  const only = node.children.length === 1 && node.children[0]!.role === 'input'
  return [
    own,
    ...node.children.flatMap((child) =>
      only ? lines(child.node, depth + 1, note) : [`${indent}  ${child.role}`, ...lines(child.node, depth + 2, note)],
    ),
  ]
}

function headline(plan: Plan): string {
  switch (plan.op) {
    case 'argument':
      return `Argument ${names(plan.slots)}`.trimEnd()
    case 'node-by-key':
      return `NodeByKey (${plan.slot.name}:${plan.label} {external_id: ${showExpression(plan.externalId)}})`
    case 'node-by-property':
      return `NodeByProperty (${plan.slot.name}:${plan.label} {${plan.property}: ${showExpression(plan.value)}})${onward(plan)}`
    case 'label-scan':
      return `LabelScan (${plan.slot.name}:${plan.label})${onward(plan)}`
    case 'all-nodes':
      return `AllNodes (${plan.slot.name})${onward(plan)}`
    case 'expand':
      return `Expand ${step(plan)}${differing(plan.differs)}`
    case 'expand-into':
      return `ExpandInto ${step(plan)}${differing(plan.differs)}`
    case 'var-expand':
      return `${plan.into ? 'VarExpandInto' : 'VarExpand'} ${step(plan, hops(plan))}${each(plan)}${differing(plan.differs)}`
    case 'reach':
      return `${plan.into ? 'ReachInto' : 'Reach'} ${step({ ...plan, relationship: null }, hops(plan))}${each(plan)}`
    case 'connect':
      return `Connect ${chain(plan)}`
    case 'spread':
      return `Spread ${chain(plan)}`
    case 'ascend':
      return `Ascend ${step({ ...plan, relationship: null })} onward`
    case 'relationship-ends':
      return `RelationshipEnds ${step({
        from: plan.from.slot,
        to: plan.to.slot,
        relationship: plan.relationship,
        direction: plan.direction,
        types: plan.types,
      })}${differing(plan.differs)}`
    case 'trail-ends':
      return `TrailEnds ${step({ ...plan, from: plan.from.slot, to: plan.to.slot }, hops(plan))}${differing(plan.differs)}`
    case 'shortest-path':
      return `${plan.all ? 'AllShortestPaths' : 'ShortestPath'} ${step(plan, hops(plan))}${each(plan)}`
    case 'cast':
      return `Cast ${plan.casts.map(({ from, to }) => `${from.name} to ${to.kind}`).join(', ')}`
    case 'filter':
      return `Filter ${plan.predicates.map((predicate) => showExpression(predicate)).join(' AND ')}`
    case 'semi-apply':
      return plan.negated ? 'AntiSemiApply' : 'SemiApply'
    case 'optional':
      return `Optional ${names(plan.nulls)}`
    case 'apply':
      return 'Apply'
    case 'union':
      return 'Union'
    case 'unwind':
      return `Unwind ${showExpression(plan.list)} AS ${plan.slot.name}`
    case 'make-path':
      return `MakePath ${plan.slot.name}`
    case 'project':
      return `Project ${plan.items.map(named).join(', ')}`
    case 'aggregate': {
      const results = plan.aggregates.map(
        (a) =>
          `${a.slot.name} = ${a.name}(${a.distinct ? 'DISTINCT ' : ''}${a.argument ? showExpression(a.argument) : '*'})`,
      )
      return `Aggregate ${results.join(', ')}${plan.grouping.length > 0 ? ` BY ${plan.grouping.map(named).join(', ')}` : ''}`
    }
    case 'distinct':
      return `${plan.searchOrder === 'ascending' ? 'DistinctInOrder' : 'Distinct'} ${names(plan.slots)}`
    case 'sort': {
      const by = plan.by.map((item) => showExpression(item.expression) + (item.descending ? ' DESC' : '')).join(', ')
      return plan.limit
        ? `TopK ${by} LIMIT ${showExpression(plan.limit)}${plan.skip ? ` SKIP ${showExpression(plan.skip)}` : ''}`
        : `Sort ${by}`
    }
    case 'skip':
      return `Skip ${showExpression(plan.count)}`
    case 'limit':
      return `Limit ${showExpression(plan.count)}`
    case 'first':
      return 'First'
    default:
      return assertNever(plan)
  }
}

function onward({ goesOn }: { readonly goesOn?: true }): string {
  return goesOn ? ' onward' : ''
}

function names(slots: readonly Slot[]): string {
  return slots.map((slot) => slot.name).join(', ')
}

function named(item: { readonly slot: Slot; readonly expression: BoundExpression }): string {
  const text = showExpression(item.expression)
  return text === item.slot.name ? text : `${item.slot.name} = ${text}`
}

function differing(slots: readonly Slot[]): string {
  return slots.length > 0 ? ` unlike ${names(slots)}` : ''
}

function hops(plan: { readonly min: number; readonly max: number | null }): string {
  return `*${plan.min}..${plan.max ?? ''}`
}

function each(plan: { readonly each: { readonly predicate: BoundExpression } | null }): string {
  return plan.each ? ` each ${showExpression(plan.each.predicate)}` : ''
}

function step(
  walk: {
    readonly from: Slot
    readonly to: Slot
    readonly relationship: Slot | null
    readonly direction: WalkDirection
    readonly types: readonly string[]
  },
  range = '',
): string {
  const name = walk.relationship && !walk.relationship.name.startsWith('anon_') ? walk.relationship.name : ''
  return `(${walk.from.name})${arrow(name, walk, range)}(${walk.to.name})`
}

function arrow(
  name: string,
  { types, direction }: { readonly types: readonly string[]; readonly direction: WalkDirection },
  range: string,
): string {
  const body = `[${name}${types.length > 0 ? `:${types.join('|')}` : ''}${range}]`
  return { out: `-${body}->`, in: `<-${body}-`, both: `-${body}-` }[direction]
}

function chain({ from, to, links, stops }: Extract<Plan, { op: 'connect' | 'spread' }>): string {
  const steps = links.map((link, i) => {
    const end = stops[i]?.slot ?? to
    return `${arrow('', link, link.min === 1 && link.max === 1 ? '' : hops(link))}(${end.name})${each(link)}`
  })
  const tests = stops.flatMap((stop) => stop.predicates.map((predicate) => showExpression(predicate)))
  return `(${from.name})${steps.join('')}${tests.length > 0 ? ` where ${tests.join(' AND ')}` : ''}`
}
