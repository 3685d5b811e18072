// Binds the patterns of a MATCH to one graph of slots and a list of predicates. Labels, inline maps and inline WHERE become
// predicates like any other, so one optimizer rule moves them all to where they cost least.
import type {
  Expression,
  LabelExpression,
  NodePattern,
  PathPattern,
  RelationshipPattern,
  Span,
} from '../../../grammar/ast.ts'
import { labelNames } from './bind-labels.ts'
import type { BoundExpression, BoundMatch, BoundRelationship, NamedSymbol, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import { PatternBuilder, type PatternDeps } from './pattern-builder.ts'
import {
  conjuncts,
  eachPredicate,
  inlinePredicates,
  labelPredicate,
  notNullPredicates,
  typeAlternatives,
} from './pattern-predicate.ts'

/**
 * Limits for one MATCH. People write a handful of patterns. Planning a chain costs the square of its length, and the first
 * decision waits for it.
 */
const MAX_PATTERNS = 100
const MAX_RELATIONSHIPS = 100

/** Binds patterns and WHERE. Returns the match, and the scope with the names that the patterns declare. */
export function bindPatterns(
  patterns: readonly PathPattern[],
  where: Expression | null,
  optional: boolean,
  deps: PatternDeps,
): { readonly match: BoundMatch; readonly scope: VariableScope } {
  const builder = new PatternBuilder(deps)
  if (isTooLong(patterns, builder)) {
    for (const pattern of patterns) declareNames(pattern, builder)
    return {
      match: { optional, casts: [], nodes: [], relationships: [], predicates: [], paths: [] },
      scope: builder.scope,
    }
  }
  for (const pattern of patterns) bindPath(pattern, builder)
  const predicates = builder.deferredPredicates.flatMap((bind) => conjuncts(bind()))
  if (where) {
    const conditions = conjuncts(builder.bind(where, 'condition'))
    rejectWhereOnShortestPath(conditions, where.span, builder)
    predicates.push(...conditions)
  }
  const { nodes, relationships, paths, casts, scope } = builder
  predicates.push(...notNullPredicates(builder))
  return { match: { optional, casts, nodes, relationships, predicates, paths }, scope }
}

function isTooLong(patterns: readonly PathPattern[], builder: PatternBuilder): boolean {
  const isBeyond = (max: number, what: string, beyond: { readonly span: Span } | undefined): boolean => {
    if (!beyond) return false
    builder.report('PatternTooLong', `more than ${max} ${what} in one MATCH`, beyond.span)
    return true
  }
  const relationships = patterns.flatMap((pattern) => pattern.relationships)
  return (
    isBeyond(MAX_PATTERNS, 'patterns', patterns[MAX_PATTERNS]) ||
    isBeyond(MAX_RELATIONSHIPS, 'relationships', relationships[MAX_RELATIONSHIPS])
  )
}

/** Declares the names of a pattern that is rejected as a whole, so that later clauses cause no further diagnostics. */
function declareNames({ nodes, relationships, variable }: PathPattern, builder: PatternBuilder): void {
  for (const node of nodes) builder.element(node.variable, 'node')
  for (const { variable: name, range } of relationships) {
    builder.element(name, range ? 'relationships' : 'relationship')
  }
  if (variable) builder.declare(variable, 'path')
}

function bindPath(pattern: PathPattern, builder: PatternBuilder): void {
  if (pattern.shortest) checkShortest(pattern, builder)
  const nodes: number[] = []
  const relationships: number[] = []
  nodes.push(bindNode(pattern.nodes[0]!, builder))
  pattern.relationships.forEach((relationship, i) => {
    nodes.push(bindNode(pattern.nodes[i + 1]!, builder))
    const ends = { left: nodes[i]!, right: nodes[i + 1]!, shortest: pattern.shortest }
    relationships.push(bindRelationship(relationship, ends, builder))
  })
  if (pattern.variable) {
    const { text, span } = pattern.variable
    if (builder.scope.has(text)) {
      builder.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
    }
    builder.paths.push({ slot: builder.declare(pattern.variable, 'path'), nodes, relationships })
  }
}

function bindNode(pattern: NodePattern, builder: PatternBuilder): number {
  const { slot, known } = builder.element(pattern.variable, 'node', pattern.span)
  let index = builder.nodeIndexBySlot.get(slot.index)
  if (index === undefined) {
    index = builder.nodes.length
    builder.nodes.push({ slot, bound: known })
    builder.nodeIndexBySlot.set(slot.index, index)
  }
  const { labels } = pattern
  nameLabels('label', labels, slot, builder)
  if (labels) builder.deferredPredicates.push(() => labelPredicate(slot, labels))
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

function bindRelationship(
  pattern: RelationshipPattern,
  ends: Pick<BoundRelationship, 'left' | 'right' | 'shortest'>,
  builder: PatternBuilder,
): number {
  // A shortest path is a list of relationships, also if it has only one step.
  const range = pattern.range ?? (ends.shortest ? { min: 1, max: 1 } : null)
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
    if (test && !types) builder.deferredPredicates.push(() => labelPredicate(slot, test))
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
  })
  return builder.relationships.length - 1
}

/** openCypher returns the shortest path that satisfies WHERE. A filter on the shortest path overall is not the same. */
function rejectWhereOnShortestPath(conditions: readonly BoundExpression[], span: Span, builder: PatternBuilder): void {
  const pathSlots = new Set<number>()
  builder.relationships.forEach((relationship, i) => {
    if (!relationship.shortest) return
    pathSlots.add(relationship.slot.index)
    for (const path of builder.paths) if (path.relationships.includes(i)) pathSlots.add(path.slot.index)
  })
  if (conditions.some((condition) => slotsOf(condition).some((slot) => pathSlots.has(slot.index)))) {
    builder.report('NotSupported', 'WHERE over a shortest path is not supported: filter it after WITH', span)
  }
}

function checkShortest(pattern: PathPattern, builder: PatternBuilder): void {
  const relationship = pattern.relationships[0]
  if (pattern.relationships.length !== 1 || !relationship) {
    const message = 'a shortest path must have exactly one relationship pattern'
    builder.report('InvalidShortestPath', message, pattern.span)
    return
  }
  if ((relationship.range?.min ?? 1) > 1) {
    const message = 'the minimum length of a shortest path must be 0 or 1'
    builder.report('InvalidShortestPath', message, relationship.span)
  }
}
