// Plan → stable text: one operator a line, inputs indented below. The alphabet of the golden files; it shows structure,
// never costs, so that a golden moves only when the meaning of a plan does.
import { unreachable } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { BoundExpression, BoundLabels, Slot } from '../bind/bound.ts'
import type { Value } from '../value/value.ts'
import type { Plan, WalkDirection } from './operators.ts'

export function explain(plan: Plan): string {
  return lines(plan, 0).join('\n')
}

function lines(plan: Plan, depth: number): string[] {
  const indent = '  '.repeat(depth)
  const own = `${indent}${headline(plan)}`
  const section = (name: string, inner: Plan): string[] => [`${indent}  ${name}`, ...lines(inner, depth + 2)]
  switch (plan.op) {
    case 'argument':
      return [own]
    case 'union':
      return [own, ...plan.branches.flatMap((branch) => section('branch', branch))]
    case 'optional':
    case 'semi-apply':
    case 'apply':
      return [own, ...section('inner', plan.inner), ...section('input', plan.input)]
    default:
      return [own, ...lines(plan.input, depth + 1)]
  }
}

function headline(plan: Plan): string {
  switch (plan.op) {
    case 'argument':
      return `Argument ${names(plan.slots)}`.trimEnd()
    case 'node-by-key':
      return `NodeByKey (${plan.slot.name}:${plan.label} {external_id: ${show(plan.externalId)}})`
    case 'node-by-property':
      return `NodeByProperty (${plan.slot.name}:${plan.label} {${plan.property}: ${show(plan.value)}})`
    case 'label-scan':
      return `LabelScan (${plan.slot.name}:${plan.label})`
    case 'all-nodes':
      return `AllNodes (${plan.slot.name})`
    case 'expand':
      return `Expand ${step(plan)}${differing(plan.differs)}`
    case 'expand-into':
      return `ExpandInto ${step(plan)}${differing(plan.differs)}`
    case 'var-expand':
      return `${plan.into ? 'VarExpandInto' : 'VarExpand'} ${step(plan, hops(plan))}${each(plan)}${differing(plan.differs)}`
    case 'reach':
      return `${plan.into ? 'ReachInto' : 'Reach'} ${step({ ...plan, relationship: null }, hops(plan))}${each(plan)}`
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
      return `Filter ${plan.predicates.map((predicate) => show(predicate)).join(' AND ')}`
    case 'semi-apply':
      return plan.negated ? 'AntiSemiApply' : 'SemiApply'
    case 'optional':
      return `Optional ${names(plan.nulls)}`
    case 'apply':
      return 'Apply'
    case 'union':
      return 'Union'
    case 'unwind':
      return `Unwind ${show(plan.list)} AS ${plan.slot.name}`
    case 'make-path':
      return `MakePath ${plan.slot.name}`
    case 'project':
      return `Project ${plan.items.map(named).join(', ')}`
    case 'aggregate': {
      const results = plan.aggregates.map(
        (a) => `${a.slot.name} = ${a.name}(${a.distinct ? 'DISTINCT ' : ''}${a.argument ? show(a.argument) : '*'})`,
      )
      return `Aggregate ${results.join(', ')}${plan.grouping.length > 0 ? ` BY ${plan.grouping.map(named).join(', ')}` : ''}`
    }
    case 'distinct':
      return `Distinct ${names(plan.slots)}`
    case 'sort': {
      const by = plan.by.map((item) => show(item.expression) + (item.descending ? ' DESC' : '')).join(', ')
      return plan.limit
        ? `TopK ${by} LIMIT ${show(plan.limit)}${plan.skip ? ` SKIP ${show(plan.skip)}` : ''}`
        : `Sort ${by}`
    }
    case 'skip':
      return `Skip ${show(plan.count)}`
    case 'limit':
      return `Limit ${show(plan.count)}`
    case 'first':
      return 'First'
    default:
      return unreachable(plan)
  }
}

function names(slots: readonly Slot[]): string {
  return slots.map((slot) => slot.name).join(', ')
}

function named(item: { readonly slot: Slot; readonly expression: BoundExpression }): string {
  const text = show(item.expression)
  return text === item.slot.name ? text : `${item.slot.name} = ${text}`
}

function differing(slots: readonly Slot[]): string {
  return slots.length > 0 ? ` unlike ${names(slots)}` : ''
}

function hops(plan: { readonly min: number; readonly max: number | null }): string {
  return `*${plan.min}..${plan.max ?? ''}`
}

function each(plan: { readonly each: { readonly predicate: BoundExpression } | null }): string {
  return plan.each ? ` each ${show(plan.each.predicate)}` : ''
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
  const body = `[${name}${walk.types.length > 0 ? `:${walk.types.join('|')}` : ''}${range}]`
  const arrow = { out: `-${body}->`, in: `<-${body}-`, both: `-${body}-` }[walk.direction]
  return `(${walk.from.name})${arrow}(${walk.to.name})`
}

function labelText(labels: BoundLabels): string {
  switch (labels.kind) {
    case 'label':
      return labels.name
    case 'label-and':
      return labels.operands.map(labelText).join('&')
    case 'label-or':
      return `(${labels.operands.map(labelText).join('|')})`
    case 'label-not':
      return `!${labelText(labels.operand)}`
    case 'label-any':
      return '%'
    default:
      return unreachable(labels)
  }
}

/** A bound expression as text close to Cypher. */
export function show(e: BoundExpression): string {
  switch (e.kind) {
    case 'constant':
      return constant(e.value)
    case 'parameter':
      return `$${[e.name, ...e.path].join('.')}`
    case 'slot':
      return e.slot.name
    case 'element-property':
      return `${e.slot.name}.${e.key}`
    case 'element-properties':
      return `properties(${e.slot.name})`
    case 'property':
      return `${show(e.target)}.${e.key}`
    case 'index':
      return `${show(e.target)}[${show(e.index)}]`
    case 'slice':
      return `${show(e.target)}[${e.from ? show(e.from) : ''}..${e.to ? show(e.to) : ''}]`
    case 'label-test':
      return `${show(e.target)}:${labelText(e.labels)}`
    case 'and':
      return `(${e.operands.map(show).join(' AND ')})`
    case 'or':
      return `(${e.operands.map(show).join(' OR ')})`
    case 'xor':
      return `(${show(e.left)} XOR ${show(e.right)})`
    case 'not':
      return `NOT ${show(e.operand)}`
    case 'comparison':
    case 'binary':
      return `${show(e.left)} ${e.operator} ${show(e.right)}`
    case 'negate':
      return `-${show(e.operand)}`
    case 'null-test':
      return `${show(e.operand)} IS ${e.negated ? 'NOT ' : ''}NULL`
    case 'list':
      return `[${e.items.map(show).join(', ')}]`
    case 'map':
      return `{${e.entries.map((entry) => `${entry.key}: ${show(entry.value)}`).join(', ')}}`
    case 'case': {
      const branches = e.branches.map((b) => `WHEN ${show(b.when)} THEN ${show(b.then)}`)
      return [
        'CASE',
        ...(e.subject ? [show(e.subject)] : []),
        ...branches,
        ...(e.otherwise ? [`ELSE ${show(e.otherwise)}`] : []),
        'END',
      ].join(' ')
    }
    case 'function':
      return `${e.name}(${e.args.map(show).join(', ')})`
    case 'list-comprehension':
      return `[${e.variable.name} IN ${show(e.list)}${e.where ? ` WHERE ${show(e.where)}` : ''}${e.projection ? ` | ${show(e.projection)}` : ''}]`
    case 'quantifier':
      return `${e.quantifier}(${e.variable.name} IN ${show(e.list)} WHERE ${show(e.where)})`
    case 'reduce':
      return `reduce(${e.accumulator.name} = ${show(e.initial)}, ${e.variable.name} IN ${show(e.list)} | ${show(e.expression)})`
    case 'subquery':
      return `${e.form} { query }`
    case 'exists':
      return `exists { ${e.match.relationships.map((r) => `${e.match.nodes[r.left]!.slot.name} to ${e.match.nodes[r.right]!.slot.name}`).join(', ')} }`
    default:
      return unreachable(e)
  }
}

function constant(value: Value): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (value instanceof Float) return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value)
  if (Array.isArray(value)) return `[${value.map((item) => constant(item as Value)).join(', ')}]`
  if (value instanceof Map)
    return `{${[...value].map(([key, item]) => `${key}: ${constant(item as Value)}`).join(', ')}}`
  return String(value)
}
