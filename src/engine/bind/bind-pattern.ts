// Patterns → one graph of slots and a conjunction of predicates. Labels, inline maps and inline WHERE become predicates
// like any other, so that one rule pushes them all to where they cost least.
import type { Expression, NodePattern, PathPattern, RelationshipPattern, Span } from '../../../grammar/ast.ts'
import type { BoundExpression, BoundMatch, BoundRelationship } from './bound.ts'
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

/** In one MATCH. People write a handful; planning a chain costs the square of its length, and the first decision waits for it. */
const MAX_PATTERNS = 100
const MAX_RELATIONSHIPS = 100

export function bindPatterns(
  patterns: readonly PathPattern[],
  where: Expression | null,
  optional: boolean,
  site: PatternDeps,
): { readonly match: BoundMatch; readonly scope: VariableScope } {
  const draft = new PatternBuilder(site)
  if (isTooLong(patterns, draft)) {
    for (const pattern of patterns) declareNames(pattern, draft)
    return {
      match: { optional, casts: [], nodes: [], relationships: [], predicates: [], paths: [] },
      scope: draft.scope,
    }
  }
  for (const pattern of patterns) bindPath(pattern, draft)
  const predicates = draft.deferredPredicates.flatMap((bind) => conjuncts(bind()))
  if (where) {
    const conditions = conjuncts(draft.bind(where, 'condition'))
    rejectWhereOnShortestPath(conditions, where.span, draft)
    predicates.push(...conditions)
  }
  const { nodes, relationships, paths, casts, scope } = draft
  predicates.push(...notNullPredicates(draft))
  return { match: { optional, casts, nodes, relationships, predicates, paths }, scope }
}

function isTooLong(patterns: readonly PathPattern[], draft: PatternBuilder): boolean {
  const refuseBeyond = (max: number, what: string, beyond: { readonly span: Span } | undefined): boolean => {
    if (!beyond) return false
    draft.report('PatternTooLong', `more than ${max} ${what} in one MATCH`, beyond.span)
    return true
  }
  const relationships = patterns.flatMap((pattern) => pattern.relationships)
  return (
    refuseBeyond(MAX_PATTERNS, 'patterns', patterns[MAX_PATTERNS]) ||
    refuseBeyond(MAX_RELATIONSHIPS, 'relationships', relationships[MAX_RELATIONSHIPS])
  )
}

/** Of a pattern that is refused as a whole: what follows may use its names, and is not to blame for it. */
function declareNames({ nodes, relationships, variable }: PathPattern, draft: PatternBuilder): void {
  for (const node of nodes) draft.element(node.variable, 'node')
  for (const { variable: name, range } of relationships) {
    draft.element(name, range ? 'relationships' : 'relationship')
  }
  if (variable) draft.declare(variable, 'path')
}

function bindPath(pattern: PathPattern, draft: PatternBuilder): void {
  if (pattern.shortest) checkShortest(pattern, draft)
  const nodes: number[] = []
  const relationships: number[] = []
  nodes.push(bindNode(pattern.nodes[0]!, draft))
  pattern.relationships.forEach((relationship, i) => {
    nodes.push(bindNode(pattern.nodes[i + 1]!, draft))
    const ends = { left: nodes[i]!, right: nodes[i + 1]!, shortest: pattern.shortest }
    relationships.push(bindRelationship(relationship, ends, draft))
  })
  if (pattern.variable) {
    const { text, span } = pattern.variable
    if (draft.scope.has(text)) {
      draft.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
    }
    draft.paths.push({ slot: draft.declare(pattern.variable, 'path'), nodes, relationships })
  }
}

function bindNode(pattern: NodePattern, draft: PatternBuilder): number {
  const { slot, known } = draft.element(pattern.variable, 'node')
  let index = draft.nodeIndexBySlot.get(slot.index)
  if (index === undefined) {
    index = draft.nodes.length
    draft.nodes.push({ slot, bound: known })
    draft.nodeIndexBySlot.set(slot.index, index)
  }
  const { labels } = pattern
  if (labels) draft.deferredPredicates.push(() => labelPredicate(slot, labels))
  inlinePredicates(slot, pattern.properties, pattern.where, draft)
  return index
}

function bindRelationship(
  pattern: RelationshipPattern,
  ends: Pick<BoundRelationship, 'left' | 'right' | 'shortest'>,
  draft: PatternBuilder,
): number {
  // A shortest way is a list of relationships, also when it is only one step long.
  const range = pattern.range ?? (ends.shortest ? { min: 1, max: 1 } : null)
  const kind = range ? 'relationships' : 'relationship'
  const { slot, known } = draft.element(pattern.variable, kind)
  if (draft.relationships.some((r) => r.slot === slot)) {
    const message = `relationship \`${slot.name}\` cannot appear twice in one MATCH`
    draft.report('RelationshipUniquenessViolation', message, pattern.variable?.span ?? pattern.span)
  }
  const types = pattern.types ? typeAlternatives(pattern.types) : []
  let each: BoundRelationship['each'] = null
  if (range) {
    each = eachPredicate(pattern, types === null, draft)
  } else {
    const { types: test } = pattern
    if (test && !types) draft.deferredPredicates.push(() => labelPredicate(slot, test))
    inlinePredicates(slot, pattern.properties, pattern.where, draft)
  }
  draft.relationships.push({
    slot,
    ...ends,
    direction: pattern.direction,
    types: types ?? [],
    range: range ? { min: range.min ?? 1, max: range.max } : null,
    bound: known,
    named: pattern.variable !== null,
    each,
  })
  return draft.relationships.length - 1
}

/** openCypher looks for the shortest way that satisfies WHERE; a filter on the shortest way of all is not the same. */
function rejectWhereOnShortestPath(conditions: readonly BoundExpression[], span: Span, draft: PatternBuilder): void {
  const ways = new Set<number>()
  draft.relationships.forEach((relationship, i) => {
    if (!relationship.shortest) return
    ways.add(relationship.slot.index)
    for (const path of draft.paths) if (path.relationships.includes(i)) ways.add(path.slot.index)
  })
  if (conditions.some((condition) => slotsOf(condition).some((slot) => ways.has(slot.index)))) {
    draft.report('NotSupported', 'WHERE over a shortest path is not supported: filter it after WITH', span)
  }
}

function checkShortest(pattern: PathPattern, draft: PatternBuilder): void {
  const relationship = pattern.relationships[0]
  if (pattern.relationships.length !== 1 || !relationship) {
    const message = 'a shortest path must have exactly one relationship pattern'
    draft.report('InvalidShortestPath', message, pattern.span)
    return
  }
  if ((relationship.range?.min ?? 1) > 1) {
    const message = 'the minimum length of a shortest path must be 0 or 1'
    draft.report('InvalidShortestPath', message, relationship.span)
  }
}
