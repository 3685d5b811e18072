// The parts of an operator's description that several operators share: patterns, ranges, columns.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import type {
  ChainLink,
  HopTest,
  PlannedHop,
  PlanOf,
  RepetitionTest,
  SelectedStep,
  WalkDirection,
} from './operators.ts'
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

/** The suffix for the predicates on every hop and on every repetition of a step; empty if none exists. */
function testsText(step: {
  readonly each: HopTest | null
  readonly further: readonly PlannedHop[]
  readonly repetition?: RepetitionTest | null
}): string {
  const tests = [step.each, ...step.further.map((hop) => hop.each)].flatMap((test) => (test ? [test.predicate] : []))
  const whole = step.repetition?.predicates ?? []
  const each = tests.length > 0 ? ` each ${conjunctionText(tests)}` : ''
  return whole.length > 0 ? `${each} repetition ${conjunctionText(whole)}` : each
}

/** A repeated step as a pattern: `(a)-[:R*1..3]->(b)`, or `(a) (()-[:R]->()-[:S]->()){1,3} (b)` for several hops. */
export function repeatedText(step: PlanOf<'VarLengthExpand'>, relationship: Slot | null): string {
  const pattern =
    step.further.length === 0
      ? expandText({ ...step, relationship }, rangeText(step))
      : `(${step.from.name}) ${hopsText(step)} (${step.to.name})`
  return `${pattern}${testsText(step)}`
}

function hopsText(step: PlannedHop & { min: number; max: number | null; further: readonly PlannedHop[] }): string {
  const hops = [step, ...step.further].map((hop) => `${arrow('', hop, '')}()`)
  return `(()${hops.join('')}){${step.min},${step.max ?? ''}}`
}

/** `ShortestPath` and `AllShortestPaths` for one path or the paths of one length; else `ShortestPaths`. */
export function selectionName({ keep, count }: PlanOf<'ShortestPath'>): string {
  if (count > 1) return 'ShortestPaths'
  return keep === 'groups' ? 'AllShortestPaths' : 'ShortestPath'
}

/** A path with a selector as a pattern. */
export function selectionText(plan: PlanOf<'ShortestPath'>): string {
  const { steps, nodes, predicates, keep, count, repeatable } = plan
  const path = steps
    .map((step, i) => `${selectedStepText(step)}(${nodes[i + 1]!.slot.name})${testsText(step)}`)
    .join('')
  const tests = [...nodes.flatMap((node) => node.predicates), ...predicates]
  const kept = count > 1 ? ` ${count}${keep === 'groups' ? ' groups' : ''}` : ''
  const where = tests.length > 0 ? ` where ${conjunctionText(tests)}` : ''
  return `(${nodes[0]!.slot.name})${path}${kept}${where}${repeatable ? ' repeatable' : ''}`
}

function selectedStepText(step: SelectedStep): string {
  const { slot, range, further } = step
  if (range !== null && further.length > 0) return ` ${hopsText({ ...step, ...range })} `
  const name = slot.name.startsWith('anon_') ? '' : slot.name
  return arrow(name, step, range === null ? '' : rangeText(range))
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
    const step = link.further.length > 0 ? ` ${hopsText(link)} ` : arrow('', link, linkRange(link))
    return `${step}(${end.name})${testsText(link)}`
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
