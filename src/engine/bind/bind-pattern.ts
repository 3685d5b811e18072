// Binds the patterns of a MATCH to one graph of slots and a list of predicates. Labels, inline maps and inline WHERE become
// predicates like any other, so one optimizer rule moves them all to where they cost least.
import type {
  Expression,
  LabelExpression,
  LabelName,
  MatchClause,
  NodePattern,
  PathPattern,
  QuantifiedPath,
  RelationshipPattern,
  Span,
} from '../../../grammar/ast.ts'
import { assert } from '../../kernel/assert.ts'
import { labelNames } from './bind-labels.ts'
import { bindQuantified, namesOf, rejectKnown } from './bind-quantified.ts'
import { keptBy, type SelectedPath, selectionStep } from './bind-selection.ts'
import type { BoundExpression, BoundMatch, BoundRelationship, NamedSymbol, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import { PatternBuilder, type PatternDeps } from './pattern-builder.ts'
import {
  conjuncts,
  eachPredicate,
  inlinePredicates,
  labelPredicate,
  labelScope,
  notNullPredicates,
  typeAlternatives,
} from './pattern-predicate.ts'

/**
 * Limits for one MATCH. People write a handful of patterns. Planning a chain costs the square of its length, and the first
 * decision waits for it.
 */
const MAX_PATTERNS = 100
const MAX_RELATIONSHIPS = 100

/** How a MATCH matches its patterns. */
type MatchOptions = Pick<MatchClause, 'optional' | 'mode'>

/** A MATCH that is not optional, with the default mode. */
export const plainMatch: MatchOptions = { optional: false, mode: null }

/** Binds patterns and WHERE. Returns the match, and the scope with the names that the patterns declare. */
export function bindPatterns(
  patterns: readonly PathPattern[],
  where: Expression | null,
  { optional, mode }: MatchOptions,
  deps: PatternDeps,
): { readonly match: BoundMatch; readonly scope: VariableScope } {
  const builder = new PatternBuilder(deps)
  const repeatable = mode === 'repeatable'
  if (isTooLong(patterns, builder)) {
    for (const pattern of patterns) declareNames(pattern, builder)
    return {
      match: { optional, repeatable, casts: [], nodes: [], relationships: [], derived: [], predicates: [], paths: [] },
      scope: builder.scope,
    }
  }
  checkMode(patterns, repeatable, builder)
  const selections: Selection[] = []
  for (const pattern of patterns) {
    const selected = bindPath(pattern, builder)
    if (selected) selections.push(selected)
  }
  const predicates = builder.deferredPredicates.flatMap((bind) => conjuncts(bind()))
  let conditions = where ? conjuncts(builder.bind(where, 'condition')) : []
  for (const { selected, inside, at } of selections) {
    const candidates = inside.flatMap((bind) => conjuncts(bind()))
    // A condition on the path of `shortestPath` is one that the path must satisfy: a longer path may satisfy it.
    if (selected.pattern.shortest !== null) {
      const isOnPath = (condition: BoundExpression): boolean =>
        slotsOf(condition).some(({ index }) => index === selected.slot.index || index === selected.path?.index)
      candidates.push(...conditions.filter(isOnPath))
      conditions = conditions.filter((condition) => !isOnPath(condition))
    }
    builder.relationships[at] = selectionStep(selected, candidates, builder)
  }
  predicates.push(...conditions)
  const { nodes, relationships, derived, paths, casts, scope } = builder
  predicates.push(...notNullPredicates(builder))
  return { match: { optional, repeatable, casts, nodes, relationships, derived, predicates, paths }, scope }
}

/** A path with a selector, the predicates inside of it that are not bound yet, and its index among the relationships. */
interface Selection {
  readonly selected: SelectedPath
  readonly inside: readonly (() => BoundExpression)[]
  readonly at: number
}

type PatternStep = RelationshipPattern | QuantifiedPath

function isTooLong(patterns: readonly PathPattern[], builder: PatternBuilder): boolean {
  const isBeyond = (max: number, what: string, beyond: { readonly span: Span } | undefined): boolean => {
    if (!beyond) return false
    builder.report('PatternTooLong', `more than ${max} ${what} in one MATCH`, beyond.span)
    return true
  }
  const relationships = patterns.flatMap(stepsIn).flatMap(relationshipsIn)
  return (
    isBeyond(MAX_PATTERNS, 'patterns', patterns[MAX_PATTERNS]) ||
    isBeyond(MAX_RELATIONSHIPS, 'relationships', relationships[MAX_RELATIONSHIPS])
  )
}

function stepsIn(pattern: PathPattern): readonly PatternStep[] {
  return pattern.relationships
}

function relationshipsIn(step: PatternStep): readonly PatternStep[] {
  return step.kind === 'relationship' ? [step] : step.pattern.relationships
}

/** Reports what Neo4j refuses: paths without bound that may repeat, mixed notations, several selectors. */
function checkMode(patterns: readonly PathPattern[], repeatable: boolean, builder: PatternBuilder): void {
  const selected = patterns.filter(({ selector }) => selector !== null && selector.keep !== 'all')
  if (!repeatable && selected.length > 0 && patterns.length > 1) {
    const message = 'a path selector such as `SHORTEST 1` cannot be used in a MATCH with several patterns'
    builder.report('InvalidPathSelector', message, selected[0]!.selector!.span)
  }
  const steps = patterns.flatMap(stepsIn)
  const star = steps.find(({ range }) => range?.form === 'star')
  const quantified = steps.find(({ range }) => range?.form === 'quantifier')
  const functions = patterns.find(({ shortest }) => shortest !== null)
  const isMixed = quantified?.kind === 'quantified-path' || selected.length > 0 || repeatable
  if (star && isMixed) {
    const message =
      'a variable-length relationship `-[*]->` cannot be combined with quantified path patterns, path selectors or REPEATABLE ELEMENTS: write `-[]->+`'
    builder.report('InvalidQuantifiedPath', message, star.range!.span)
  }
  if (functions && isMixed) {
    const message =
      '`shortestPath` cannot be combined with quantified path patterns, path selectors or REPEATABLE ELEMENTS: write `SHORTEST 1`'
    builder.report('InvalidShortestPath', message, functions.span)
  }
  if (!repeatable) return
  for (const { range } of steps) {
    if (range === null || range.max !== null) continue
    const message = 'REPEATABLE ELEMENTS needs an upper bound for the number of repetitions, as in `{1,5}`'
    builder.report('InvalidQuantifiedPath', message, range.span)
  }
}

/** Declares the names of a pattern that is rejected as a whole, so that later clauses cause no further diagnostics. */
function declareNames({ nodes, relationships, variable }: PathPattern, builder: PatternBuilder): void {
  for (const node of nodes) builder.element(node.variable, 'node')
  for (const step of relationships) {
    if (step.kind === 'quantified-path') declareNames(step.pattern, builder)
    else builder.element(step.variable, step.range ? 'relationships' : 'relationship')
  }
  if (variable) builder.declare(variable, 'path')
}

/** Binds one path. Returns its selection if it has one, whose predicates are bound when all names are declared. */
function bindPath(pattern: PathPattern, builder: PatternBuilder): Selection | null {
  if (pattern.shortest) checkShortest(pattern, builder)
  const kept = keptBy(pattern)
  if (kept !== null && pattern.relationships.length > 0) {
    const [derived] = pattern.relationships.flatMap((step) => derivedNames(step, builder))
    if (derived === undefined) return bindSelected(pattern, kept, builder)
    reportDerived(derived, 'a path with a selector cannot contain it', builder)
    declareNames(pattern, builder)
    return null
  }
  const { nodes, relationships } = bindChain(pattern, builder)
  declarePath(pattern, nodes, relationships, builder)
  const { where } = pattern
  if (where) builder.deferredPredicates.push(() => builder.bind(where, 'condition'))
  return null
}

function declarePath(
  { variable }: PathPattern,
  nodes: readonly number[],
  relationships: readonly number[],
  builder: PatternBuilder,
): Slot | null {
  if (variable === null) return null
  const { text, span } = variable
  if (builder.scope.has(text)) builder.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
  const slot = builder.declare(variable, 'path')
  builder.paths.push({ slot, nodes, relationships })
  return slot
}

interface BoundChain {
  /** Indexes into the nodes of the builder. */
  readonly nodes: readonly number[]
  /** Indexes into the relationships of the builder. */
  readonly relationships: readonly number[]
}

function bindChain(pattern: PathPattern, builder: PatternBuilder): BoundChain {
  const nodes = [bindNode(pattern.nodes[0]!, builder)]
  const relationships: number[] = []
  pattern.relationships.forEach((step, i) => {
    nodes.push(bindNode(pattern.nodes[i + 1]!, builder))
    const ends = { left: nodes[i]!, right: nodes[i + 1]! }
    const derived = derivedNames(step, builder)
    if (derived.length > 0) {
      bindDerivedStep(step, derived, pattern, ends, builder)
      return
    }
    relationships.push(builder.relationships.length)
    bindStep(step, ends, pattern.shortest !== null, builder)
  })
  return { nodes, relationships }
}

/** The ends belong to the MATCH; what lies between them belongs to the step alone. */
function bindSelected(
  pattern: PathPattern,
  kept: Pick<SelectedPath, 'keep' | 'count'>,
  builder: PatternBuilder,
): Selection {
  const { deps, scope } = builder
  const last = pattern.nodes.length - 1
  const left = bindNode(pattern.nodes[0]!, builder)
  const right = bindNode(pattern.nodes[last]!, builder)
  const inner = new PatternBuilder(deps, scope)
  const slots: Slot[] = []
  pattern.nodes.forEach((node, i) => {
    if (i === 0 || i === last) {
      const slot = builder.nodes[i === 0 ? left : right]!.slot
      slots.push(slot)
      if (!inner.nodeIndexBySlot.has(slot.index)) {
        inner.nodeIndexBySlot.set(slot.index, inner.nodes.length)
        inner.nodes.push({ slot, bound: true })
      }
      return
    }
    if (node.variable && scope.has(node.variable.text)) {
      const message = `variable \`${node.variable.text}\` is inside of a path with a selector and cannot be bound elsewhere`
      builder.report('VariableAlreadyBound', message, node.variable.span)
    }
    slots.push(inner.nodes[bindNode(node, inner)]!.slot)
  })
  pattern.relationships.forEach((step, i) => {
    if (step.kind === 'relationship' && step.variable && scope.has(step.variable.text)) {
      const message = `variable \`${step.variable.text}\` is inside of a path with a selector and cannot be bound elsewhere`
      builder.report('VariableAlreadyBound', message, step.variable.span)
    }
    const [from, to] = [inner.nodeIndexBySlot.get(slots[i]!.index)!, inner.nodeIndexBySlot.get(slots[i + 1]!.index)!]
    bindStep(step, { left: from, right: to }, pattern.shortest !== null, inner)
  })
  const only = inner.relationships.length === 1 && inner.relationships[0]!.range !== null
  const slot = only ? inner.relationships[0]!.slot : deps.newSlot(null, 'relationships', pattern.span)
  const at = builder.relationships.length
  const path = declarePath(pattern, [left, right], [at], builder)
  const inside = [...inner.deferredPredicates]
  const { where } = pattern
  if (where) inside.push(() => builder.bind(where, 'condition'))
  const selected: SelectedPath = {
    ...kept,
    pattern,
    ends: { left, right },
    nodes: slots,
    steps: inner.relationships,
    slot,
    path,
  }
  // Holds the place: the predicates are bound when all names are declared.
  builder.relationships.push(selectionStep(selected, [], builder))
  return { selected, inside, at }
}

function bindNode(pattern: NodePattern, builder: PatternBuilder): number {
  // The span of an implicit node is empty.
  const span = pattern.span.end > pattern.span.start ? pattern.span : undefined
  const { slot, known } = builder.element(pattern.variable, 'node', span)
  let index = builder.nodeIndexBySlot.get(slot.index)
  if (index === undefined) {
    index = builder.nodes.length
    builder.nodes.push({ slot, bound: known })
    builder.nodeIndexBySlot.set(slot.index, index)
  }
  const { labels } = pattern
  nameLabels('label', labels, slot, builder)
  if (labels) builder.deferredPredicates.push(() => labelPredicate(slot, labels, labelScope(builder)))
  inlinePredicates(slot, pattern.properties, pattern.where, builder)
  return index
}

function nameLabels(
  kind: NamedSymbol['kind'],
  labels: LabelExpression | null,
  { name: variable }: Slot,
  { deps }: PatternBuilder,
): void {
  if (labels === null) return
  for (const { name, span } of labelNames(labels)) deps.nameSymbol({ kind, name, span, variable, element: null })
}

function bindStep(
  pattern: PatternStep,
  ends: Pick<BoundRelationship, 'left' | 'right'>,
  isShortest: boolean,
  builder: PatternBuilder,
): void {
  if (pattern.kind === 'quantified-path') {
    bindQuantified(pattern, ends, builder, bindChain)
    return
  }
  // A shortest path is a list of relationships, also if it has only one step.
  const range = pattern.range ?? (isShortest ? { min: 1, max: 1 } : null)
  const kind = range ? 'relationships' : 'relationship'
  const { slot, known } = builder.element(pattern.variable, kind, pattern.span)
  if (builder.relationships.some((r) => r.slot === slot)) {
    const message = `relationship \`${slot.name}\` cannot appear twice in one MATCH`
    builder.report('RelationshipUniquenessViolation', message, pattern.variable?.span ?? pattern.span)
  }
  nameLabels('type', pattern.types, slot, builder)
  const types = pattern.types ? typeAlternatives(pattern.types) : []
  let each: BoundRelationship['each'] = null
  if (range) {
    each = eachPredicate(pattern, types === null, builder)
  } else {
    const { types: test } = pattern
    if (test && !types) builder.deferredPredicates.push(() => labelPredicate(slot, test, labelScope(builder)))
    inlinePredicates(slot, pattern.properties, pattern.where, builder)
  }
  builder.relationships.push({
    slot,
    ...ends,
    direction: pattern.direction,
    types: types ?? [],
    range: range ? { min: range.min ?? 1, max: range.max } : null,
    bound: known,
    named: pattern.variable !== null,
    each,
    quantified: null,
    selection: null,
  })
}

/** The derived types that the step names. */
function derivedNames(step: PatternStep, { deps }: PatternBuilder): readonly LabelName[] {
  if (step.kind === 'quantified-path') {
    return step.pattern.relationships.flatMap((inner) => (inner.kind === 'relationship' ? namesIn(inner, deps) : []))
  }
  return namesIn(step, deps)
}

function namesIn({ types }: RelationshipPattern, { definitions }: PatternDeps): readonly LabelName[] {
  return types === null ? [] : labelNames(types).filter(({ name }) => definitions.has(name))
}

/** Binds a step over a derived relationship, or reports what such a step cannot have. */
function bindDerivedStep(
  step: PatternStep,
  [first]: readonly LabelName[],
  path: PathPattern,
  { left, right }: Pick<BoundRelationship, 'left' | 'right'>,
  builder: PatternBuilder,
): void {
  const { name } = first!
  const fault = derivedFault(step, path)
  if (fault !== null) {
    reportDerived(first!, fault, builder)
    if (step.kind === 'relationship') builder.element(step.variable, step.range ? 'relationships' : 'relationship')
    return
  }
  const repeated = builder.deps.definitions.get(name)?.step
  // Names inside of a repeated pattern are those of one repetition: outside, no list could have its elements.
  if (repeated?.kind === 'quantified-path') for (const own of namesOf(repeated).values()) rejectKnown(own, builder)
  const isRight = (step as RelationshipPattern).direction === 'right'
  const [source, target] = isRight ? [left, right] : [right, left]
  const [from, to] = [builder.nodes[source]!.slot, builder.nodes[target]!.slot]
  builder.derived.push({ name, source, target, branches: builder.deps.bindDerived(name, from, to) })
}

function reportDerived({ name, span }: LabelName, fault: string, builder: PatternBuilder): void {
  builder.report('InvalidDerivedRelationship', `\`${name}\` is derived by a definition: ${fault}`, span)
}

/** The feature that the step uses although a derived relationship has no identity and no properties; null if it uses none. */
function derivedFault(step: PatternStep, path: PathPattern): string | null {
  if (path.variable !== null) return 'a named path cannot contain it'
  assert(step.kind === 'relationship', 'the definitions have replaced a repeated pattern')
  if (step.variable !== null) return 'it cannot have a variable'
  if (step.properties !== null || step.where !== null) return 'it has no properties that a pattern could test'
  if (step.types!.kind !== 'label') return 'it must be the only type of its step'
  if (step.direction === 'both') return 'it needs a direction'
  return null
}

function checkShortest(pattern: PathPattern, builder: PatternBuilder): void {
  const relationship = pattern.relationships[0]
  if (pattern.relationships.length !== 1 || relationship?.kind !== 'relationship') {
    const message = 'a shortest path must have exactly one relationship pattern'
    builder.report('InvalidShortestPath', message, pattern.span)
    return
  }
  if ((relationship.range?.min ?? 1) > 1) {
    const message = 'the minimum length of a shortest path must be 0 or 1'
    builder.report('InvalidShortestPath', message, relationship.span)
  }
}
