// Proves that every pair that one decision policy grants is granted by another one too: the pattern of the other policy is
// mapped into the pattern of the first, and the predicates of the first imply those of the other. Apart from limits of time
// and memory, a proof holds for every graph and request; without one nothing is claimed (docs/decisions/0045-language-tools.md).
import type { Query } from '../../../grammar/ast.ts'
import type { BoundExpression, BoundMatch, BoundQuery, BoundRelationship, Slot } from '../../engine/bind/bound.ts'
import { mapChildren, withSlots } from '../../engine/bind/expression-tree.ts'
import { partMayFail } from '../../engine/bind/may-fail.ts'
import { hopsOf } from '../../engine/bind/step-predicates.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { type AnalysedCondition, factsOf, slotOf } from './never-grants.ts'
import type { RowFacts } from './row-facts.ts'

/** A decision policy that compiles. */
export interface AnalysedPolicy extends AnalysedCondition {
  readonly version: string
  readonly actions: readonly string[]
  readonly tags: readonly string[]
  /** Parameters that a caller must send. */
  readonly inputParameters: readonly string[]
  readonly query: Query
  /** The filter as it is written; it has no meaning if `filter` is null. */
  readonly filterSource: unknown
}

/** Attempts to map a pattern, after which the search ends without a proof. */
const ATTEMPTS_MAX = 20_000

/** Whether `wider` certainly grants whatever `narrower` grants. */
export function isCoveredBy(narrower: AnalysedPolicy, wider: AnalysedPolicy): boolean {
  return (
    hasSameQuestion(narrower, wider) &&
    isFilterCovered(narrower, wider) &&
    (isSameCondition(narrower, wider) || isWider(narrower, wider))
  )
}

/** A request that selects the narrower policy selects the wider one, and sends what it reads. */
function hasSameQuestion(narrower: AnalysedPolicy, wider: AnalysedPolicy): boolean {
  return (
    [...narrower.types].every(([name, type]) => wider.types.get(name) === type) &&
    narrower.actions.every((action) => wider.actions.includes(action)) &&
    narrower.tags.every((tag) => wider.tags.includes(tag)) &&
    wider.inputParameters.every((name) => narrower.inputParameters.includes(name))
  )
}

/** Each condition of the wider filter is one of the narrower. */
function isFilterCovered(narrower: AnalysedPolicy, wider: AnalysedPolicy): boolean {
  const [given, required] = [filterConditions(narrower), filterConditions(wider)]
  return required.every((one) => given.includes(one))
}

function filterConditions({ filter, filterSource }: AnalysedPolicy): readonly string[] {
  return filter === null ? [] : conjunction(filterSource).map((node) => textWithout(node, ['advice', 'app']))
}

function conjunction(node: unknown): readonly unknown[] {
  const isBranch = isJsonObject(node) && node.operator === 'AND' && Array.isArray(node.operands)
  return isBranch ? (node.operands as unknown[]).flatMap(conjunction) : [node]
}

function isSameCondition(narrower: AnalysedPolicy, wider: AnalysedPolicy): boolean {
  return (
    narrower.version === wider.version && textWithout(narrower.query, ['span']) === textWithout(wider.query, ['span'])
  )
}

function isWider(narrower: AnalysedPolicy, wider: AnalysedPolicy): boolean {
  const target = simplePattern(wider.bound)
  // Reads that are not marked fail for a property that an external resolver supplies.
  if (target === null || partMayFail(wider.bound) || hasFailingRead(wider.bound)) return false
  if (narrower.bound.graphs.length > 1 || wider.bound.graphs.length > 1) return false
  const facts = factsOf(narrower)
  const source = new SourcePattern(narrower.bound, facts)
  const search = new MappingSearch(source, target)
  for (const name of ['subject', 'resource']) {
    const [from, to] = [slotOf(wider.bound.columns, name), slotOf(narrower.bound.columns, name)]
    if (from === undefined || to === undefined || !search.bind(from, to)) return false
  }
  return search.find()
}

/** The matches of a condition that consists of them; null: it has other clauses. */
function simplePattern(query: BoundQuery): readonly BoundMatch[] | null {
  const matches: BoundMatch[] = []
  for (const clause of query.clauses) {
    if (clause.kind !== 'match') return null
    const { optional, repeatable, casts, derived, relationships } = clause.match
    const isSimple = relationships.every(
      (step) => step.selection === null && step.quantified === null && step.each === null && !step.bound,
    )
    if (optional || repeatable || casts.length > 0 || derived.length > 0 || !isSimple) return null
    matches.push(clause.match)
  }
  return matches
}

function hasFailingRead(query: BoundQuery): boolean {
  let failing = false
  const visit = (expression: BoundExpression): BoundExpression => {
    if (expression.kind === 'element-properties') failing = true
    if (expression.kind === 'element-property' && expression.own === null && !expression.mayBeUnknown) failing = true
    mapChildren(expression, visit)
    return expression
  }
  for (const clause of query.clauses) if (clause.kind === 'match') clause.match.predicates.forEach(visit)
  return failing
}

/** The pattern and predicates that every row of a condition satisfies. */
class SourcePattern {
  readonly nodes: Slot[] = []
  readonly relationships: { readonly relationship: BoundRelationship; readonly match: BoundMatch }[] = []
  readonly facts: RowFacts
  private readonly predicates = new Set<string>()

  constructor(query: BoundQuery, facts: RowFacts) {
    this.facts = facts
    for (const clause of query.clauses) {
      if (clause.kind === 'match' && !clause.match.optional) this.add(clause.match)
      if (clause.kind !== 'projection') continue
      const { aggregates, grouping, where } = clause.projection
      // An aggregation without keys has a row even if nothing was matched before it.
      if ((aggregates.length > 0 || grouping !== null) && (grouping === null || grouping.length === 0)) this.clear()
      if (where !== null) this.assume(where)
    }
  }

  /** Whether a predicate on slots of this pattern is true for every row. */
  implies(predicate: BoundExpression): boolean {
    if (this.predicates.has(predicateText(predicate)) || this.facts.implies(predicate)) return true
    if (predicate.kind === 'and') return predicate.operands.every((operand) => this.implies(operand))
    return predicate.kind === 'or' && predicate.operands.some((operand) => this.implies(operand))
  }

  private add(match: BoundMatch): void {
    for (const { slot } of match.nodes) if (!this.nodes.some(({ index }) => index === slot.index)) this.nodes.push(slot)
    for (const relationship of match.relationships)
      if (
        !match.repeatable &&
        hopsOf(relationship).length === 1 &&
        relationship.selection === null &&
        !relationship.bound
      )
        this.relationships.push({ relationship, match })
    for (const predicate of match.predicates) this.assume(predicate)
  }

  private assume(predicate: BoundExpression): void {
    this.predicates.add(predicateText(predicate))
    if (predicate.kind === 'and') for (const operand of predicate.operands) this.assume(operand)
  }

  private clear(): void {
    this.nodes.length = 0
    this.relationships.length = 0
    this.predicates.clear()
  }
}

/** Searches a mapping of the slots of one pattern to those of another, such that every row of the other is a row of it. */
class MappingSearch {
  private readonly slots = new Map<number, Slot>()
  private readonly source: SourcePattern
  private readonly matches: readonly BoundMatch[]
  private readonly hops: readonly { readonly relationship: BoundRelationship; readonly match: BoundMatch }[]
  private readonly nodes: readonly Slot[]
  private attemptsLeft = ATTEMPTS_MAX

  constructor(source: SourcePattern, matches: readonly BoundMatch[]) {
    this.source = source
    this.matches = matches
    this.hops = matches.flatMap((match) => match.relationships.map((relationship) => ({ relationship, match })))
    this.nodes = matches.flatMap((match) => match.nodes.map(({ slot }) => slot))
  }

  /** Maps a slot. False: it is mapped to another slot. */
  bind(from: Slot, to: Slot): boolean {
    const known = this.slots.get(from.index)
    if (known === undefined) this.slots.set(from.index, to)
    return known === undefined || known.index === to.index
  }

  find(): boolean {
    return this.mapHop(0, new Map())
  }

  private mapHop(i: number, taken: ReadonlyMap<BoundMatch, readonly Chosen[]>): boolean {
    const hop = this.hops[i]
    if (hop === undefined) return this.mapNode(0)
    const { relationship, match } = hop
    const others = taken.get(match) ?? []
    for (const candidate of this.source.relationships) {
      if (this.attemptsLeft-- <= 0) return false
      // The relationships of one MATCH are different ones: of another MATCH they may be the same.
      const isDistinct = others.every(
        (other) => other.relationship !== candidate.relationship && other.match === candidate.match,
      )
      if (!isDistinct || !accepts(relationship, candidate.relationship)) continue
      for (const [left, right] of this.directions(relationship, candidate)) {
        const isNamed = relationship.slot.kind === candidate.relationship.slot.kind
        const added = this.tryBind([
          [match.nodes[relationship.left]!.slot, left],
          [match.nodes[relationship.right]!.slot, right],
          ...(isNamed ? [[relationship.slot, candidate.relationship.slot] as const] : []),
        ])
        if (added === null) continue
        if (this.mapHop(i + 1, new Map(taken).set(match, [...others, candidate]))) return true
        for (const slot of added) this.slots.delete(slot)
      }
    }
    return false
  }

  private directions(wanted: BoundRelationship, { relationship, match }: Chosen): (readonly [Slot, Slot])[] {
    const [left, right] = [match.nodes[relationship.left]!.slot, match.nodes[relationship.right]!.slot]
    const [along, against] = [[left, right] as const, [right, left] as const]
    if (wanted.direction === 'both') return [along, against]
    if (relationship.direction === 'both') return []
    return wanted.direction === relationship.direction ? [along] : [against]
  }

  private mapNode(i: number): boolean {
    const node = this.nodes[i]
    if (node === undefined) return this.isImplied()
    if (this.slots.has(node.index)) return this.mapNode(i + 1)
    for (const candidate of this.source.nodes) {
      if (this.attemptsLeft-- <= 0) return false
      this.slots.set(node.index, candidate)
      if (this.mapNode(i + 1)) return true
      this.slots.delete(node.index)
    }
    return false
  }

  private isImplied(): boolean {
    const isKnown = (slot: Slot): boolean => this.slots.has(slot.index)
    return this.matches.every(({ predicates }) =>
      predicates.every(
        (predicate) => readsOnly(predicate, isKnown) && this.source.implies(withSlots(predicate, this.slots)),
      ),
    )
  }

  /** The slots that were not mapped before; null: one is mapped to another slot. */
  private tryBind(pairs: readonly (readonly [from: Slot, to: Slot])[]): number[] | null {
    const added: number[] = []
    for (const [from, to] of pairs) {
      const isNew = !this.slots.has(from.index)
      if (!this.bind(from, to)) {
        for (const slot of added) this.slots.delete(slot)
        return null
      }
      if (isNew) added.push(from.index)
    }
    return added
  }
}

type Chosen = SourcePattern['relationships'][number]

/** Whether every walk of the other relationship pattern is one of this, apart from direction and ends. */
function accepts(wanted: BoundRelationship, given: BoundRelationship): boolean {
  const isType =
    wanted.types.length === 0 || (given.types.length > 0 && given.types.every((type) => wanted.types.includes(type)))
  if (!isType) return false
  if (wanted.range === null) return given.range === null
  const { min, max } = given.range ?? { min: 1, max: 1 }
  return min >= wanted.range.min && (wanted.range.max === null || (max !== null && max <= wanted.range.max))
}

/** A nested pattern has slots of its own, which are not mapped; it is compared only as a whole condition. */
function readsOnly(expression: BoundExpression, isKnown: (slot: Slot) => boolean): boolean {
  let known = expression.kind !== 'subquery' && expression.kind !== 'exists'
  if ('slot' in expression && !isKnown(expression.slot)) known = false
  mapChildren(expression, (child) => {
    known &&= readsOnly(child, isKnown)
    return child
  })
  return known
}

function predicateText(predicate: BoundExpression): string {
  return JSON.stringify(predicate, (key, part) => {
    if (key === 'span' || key === 'mayBeUnknown') return undefined
    if (key === 'slot' || key === 'variable' || key === 'accumulator') return `slot ${(part as Slot).index}`
    return plain(part)
  })
}

function textWithout(tree: unknown, names: readonly string[]): string {
  return JSON.stringify(tree, (key, part) => (names.includes(key) ? undefined : plain(part)))
}

/** Values that JSON would confuse or refuse. */
function plain(part: unknown): unknown {
  if (typeof part === 'bigint') return `bigint ${part}`
  if (part instanceof Map) return { map: [...part] }
  return Object.is(part, -0) ? 'minus zero' : part
}
