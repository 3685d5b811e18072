// Binds a quantified path pattern to one step. Inside, its variables are single elements; outside, they are lists of the
// elements of all repetitions. A predicate that reads the elements of one hop is tested at this hop, so a search by nodes
// may replace the enumeration of paths; any other predicate is tested after each repetition.
import type { Name, QuantifiedPath } from '../../../grammar/ast.ts'
import { staticType } from '../value/static-type.ts'
import type { BoundExpression, BoundGroup, BoundHop, BoundHopTest, BoundRelationship, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import { PatternBuilder } from './pattern-builder.ts'
import { conjuncts } from './pattern-predicate.ts'

/** Binds the nodes and relationships inside of a pattern, and its inline predicates. */
type BindChain = (pattern: QuantifiedPath['pattern'], builder: PatternBuilder) => { readonly nodes: readonly number[] }

const nodeList = staticType('list', staticType('node'))

/** Binds a quantified path pattern between two nodes. Reports names that the rest of the MATCH or an earlier clause uses. */
export function bindQuantified(
  step: QuantifiedPath,
  ends: Pick<BoundRelationship, 'left' | 'right'>,
  builder: PatternBuilder,
  bindChain: BindChain,
): void {
  const { deps } = builder
  const names = namesOf(step)
  for (const name of names.values()) rejectKnown(name, builder)
  // Inside, the names of the pattern hide the same names outside: they have been reported.
  const scope = new Map([...builder.scope].filter(([name]) => !names.has(name)))
  const inner = new PatternBuilder({ ...deps, mayDeclare: true, outer: scope }, new Map(scope))
  const chain = bindChain(step.pattern, inner)
  const predicates = inner.deferredPredicates.flatMap((bind) => conjuncts(bind()))
  if (step.where) predicates.push(...conjuncts(inner.bind(step.where, 'condition')))

  const nodes = chain.nodes.map((index) => inner.nodes[index]!.slot)
  const relationships = inner.relationships.map(({ slot }) => slot)
  rejectEarlyReads(predicates, [...nodes, ...relationships], step, builder)
  const atHop = new Map<number, BoundExpression[]>()
  const whole: BoundExpression[] = []
  for (const predicate of predicates) {
    const hop = hopOf(predicate, nodes, relationships)
    if (hop === null) whole.push(predicate)
    else atHop.set(hop, [...(atHop.get(hop) ?? []), predicate])
  }
  const hops = inner.relationships.map(({ direction, types }, i): BoundHop => {
    const tests = atHop.get(i)
    if (tests === undefined) return { direction, types, each: null }
    return { direction, types, each: hopTest(tests, relationships[i]!, nodes[i]!, nodes[i + 1]!) }
  })
  const [first, ...further] = hops
  // The list of relationships of one hop is the variable itself.
  const single = hops.length === 1 ? (step.pattern.relationships[0] as { variable: Name | null }).variable : null
  const slot = single ? builder.declare(single, 'relationships') : deps.newSlot(null, 'relationships', step.span)
  builder.relationships.push({
    ...first!,
    ...ends,
    slot,
    range: { min: step.range.min ?? 0, max: step.range.max },
    bound: false,
    named: single !== null,
    selection: null,
    isIndependent: step.isIndependent === true,
    quantified: { further, nodes, relationships, predicates: whole, groups: declareGroups(step, hops.length, builder) },
  })
}

/** The names that the pattern gives to its elements, each once. */
export function namesOf({ pattern }: QuantifiedPath): ReadonlyMap<string, Name> {
  const names = new Map<string, Name>()
  for (const part of [...pattern.nodes, ...pattern.relationships]) {
    const name = part.kind === 'quantified-path' ? null : part.variable
    if (name !== null && !names.has(name.text)) names.set(name.text, name)
  }
  return names
}

/** Reports the name if it has a value outside of the quantified path pattern. */
export function rejectKnown({ text, span }: Name, builder: PatternBuilder): void {
  if (!builder.scope.has(text)) return
  const where = builder.deps.outer.has(text) ? 'by an earlier clause' : 'outside of the quantified path pattern'
  builder.report('VariableAlreadyBound', `variable \`${text}\` is already bound ${where}: give it another name`, span)
}

/** The predicates run while the pattern is searched, and the other elements of the MATCH may be known only afterwards. */
function rejectEarlyReads(
  predicates: readonly BoundExpression[],
  own: readonly Slot[],
  { span }: QuantifiedPath,
  builder: PatternBuilder,
): void {
  const known = new Set([...builder.deps.outer.values(), ...own].map((slot) => slot.index))
  for (const predicate of predicates) {
    const early = slotsOf(predicate).find((slot) => !known.has(slot.index))
    if (early === undefined) continue
    const message = `a quantified path pattern cannot read \`${early.name}\` of the same MATCH: match it in a MATCH before this one`
    builder.report('NotSupported', message, span)
  }
}

/** The first hop that has all elements of the pattern that the predicate reads; null if none has. */
function hopOf(predicate: BoundExpression, nodes: readonly Slot[], relationships: readonly Slot[]): number | null {
  const own = new Set([...nodes, ...relationships].map((slot) => slot.index))
  const reads = slotsOf(predicate).filter((slot) => own.has(slot.index))
  // A node that the text names twice is read at one of its places, and the places are compared at the end.
  for (let i = 0; i < relationships.length; i++) {
    const here = [nodes[i], relationships[i], nodes[i + 1]]
    if (reads.every((slot) => here.includes(slot))) return i
  }
  return null
}

function hopTest(tests: readonly BoundExpression[], element: Slot, left: Slot, right: Slot): BoundHopTest {
  const predicate: BoundExpression = tests.length === 1 ? tests[0]! : { kind: 'and', operands: tests }
  const reads = new Set(slotsOf(predicate).map((slot) => slot.index))
  return {
    element,
    left: reads.has(left.index) ? left : null,
    right: reads.has(right.index) ? right : null,
    predicate,
  }
}

function declareGroups({ pattern }: QuantifiedPath, hops: number, builder: PatternBuilder): BoundGroup[] {
  const groups: BoundGroup[] = []
  const seen = new Set<string>()
  pattern.nodes.forEach(({ variable }, index) => {
    if (variable === null || seen.has(variable.text)) return
    seen.add(variable.text)
    const slot = builder.deps.newSlot(variable.text, 'value', undefined, nodeList)
    builder.scope.set(variable.text, slot)
    groups.push({ slot, element: 'node', index })
  })
  if (hops === 1) return groups
  pattern.relationships.forEach((part, index) => {
    if (part.kind === 'quantified-path' || part.variable === null) return
    groups.push({ slot: builder.declare(part.variable, 'relationships'), element: 'relationship', index })
  })
  return groups
}
