// The parts of an operator's description that several operators share: patterns, ranges, columns.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import type { ChainLink, PlanOf, WalkDirection } from './operators.ts'
import { showExpression } from './show-expression.ts'

/** The names of slots, separated by commas. */
export function slotNames(slots: readonly Slot[]): string {
  return slots.map((slot) => slot.name).join(', ')
}

/** `name = expression`, or only the name if the expression is that variable. */
export function namedExpression(item: { readonly slot: Slot; readonly expression: BoundExpression }): string {
  const text = showExpression(item.expression)
  return text === item.slot.name ? text : `${item.slot.name} = ${text}`
}

/** Predicates, joined by AND. */
export function conjunctionText(predicates: readonly BoundExpression[]): string {
  return predicates.map((predicate) => showExpression(predicate)).join(' AND ')
}

/** The suffix that lists the relationships from which one must differ; empty if none exist. */
export function distinctFromText(slots: readonly Slot[]): string {
  return slots.length > 0 ? ` distinct from ${slotNames(slots)}` : ''
}

/** The suffix of a scan that starts after the page cursor; empty for other scans. */
export function cursorText({ startsAfterCursor }: { readonly startsAfterCursor?: true }): string {
  return startsAfterCursor ? AFTER_CURSOR : ''
}

/** The suffix of an operator that returns only nodes after the page cursor. */
export const AFTER_CURSOR = ' after cursor'

/** The range of a variable-length step, such as `*1..3`. */
export function rangeText(plan: { readonly min: number; readonly max: number | null }): string {
  return `*${plan.min}..${plan.max ?? ''}`
}

/** The suffix for the predicate on every relationship of a variable-length step; empty if none exists. */
export function eachText(plan: { readonly each: { readonly predicate: BoundExpression } | null }): string {
  return plan.each ? ` each ${showExpression(plan.each.predicate)}` : ''
}

/** One expansion as a pattern, such as `(a)-[r:OWNS*1..3]->(b)`. */
export function expandText(
  step: {
    readonly from: Slot
    readonly to: Slot
    readonly relationship: Slot | null
    readonly direction: WalkDirection
    readonly types: readonly string[]
  },
  range = '',
): string {
  const name = step.relationship && !step.relationship.name.startsWith('anon_') ? step.relationship.name : ''
  return `(${step.from.name})${arrow(name, step, range)}(${step.to.name})`
}

/** A chain of expansions as a pattern, with the predicates on the nodes between its ends. */
export function chainText({
  from,
  to,
  links,
  intermediates,
}: PlanOf<'BidirectionalExpandInto' | 'PruningExpand'>): string {
  const steps = links.map((link, i) => {
    const end = intermediates[i]?.slot ?? to
    return `${arrow('', link, linkRange(link))}(${end.name})${eachText(link)}`
  })
  const tests = intermediates.flatMap(({ predicates }) => predicates)
  return `(${from.name})${steps.join('')}${tests.length > 0 ? ` where ${conjunctionText(tests)}` : ''}`
}

function linkRange(link: ChainLink): string {
  return link.min === 1 && link.max === 1 ? '' : rangeText(link)
}

function arrow(
  name: string,
  { types, direction }: { readonly types: readonly string[]; readonly direction: WalkDirection },
  range: string,
): string {
  const body = `[${name}${types.length > 0 ? `:${types.join('|')}` : ''}${range}]`
  return { out: `-${body}->`, in: `<-${body}-`, both: `-${body}-` }[direction]
}
