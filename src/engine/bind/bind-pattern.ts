// Patterns → one graph of slots and a conjunction of predicates. Labels, inline maps and inline WHERE become predicates
// like any other, so that one rule pushes them all to where they cost least.
import type {
  Expression,
  LabelExpression,
  MapLiteral,
  NodePattern,
  Parameter,
  PathPattern,
  RelationshipPattern,
  Span,
} from '../../../grammar/ast.ts'
import type { Issue } from '../../../grammar/issue.ts'
import { admits } from '../value/static-type.ts'
import { ownFieldOf } from './bind-access.ts'
import { bindLabels } from './bind-labels.ts'
import type { BoundExpression, BoundMatch, BoundNode, BoundRelationship, Slot, SlotKind } from './bound.ts'
import type { Scope } from './frame.ts'
import type { Place } from './scope.ts'
import { slotsOf } from './walk.ts'

/** In one MATCH. People write a handful; planning a chain costs the square of its length, and the first decision waits for it. */
export const patternsMax = 100
export const relationshipsMax = 100

/** What a pattern needs from the binder of the query. */
export interface PatternSite {
  /** Names known before the pattern. */
  readonly outer: Scope
  /** The graph that the pattern is matched in. */
  readonly graph: number
  /** False in a pattern predicate, where a new name is a mistake. */
  readonly mayDeclare: boolean
  fresh(name: string | null, kind: SlotKind): Slot
  bind(expression: Expression, scope: Scope, place: Place): BoundExpression
  report(issue: Issue): void
}

interface Draft {
  readonly scope: Map<string, Slot>
  readonly nodes: BoundNode[]
  readonly nodeIndexBySlot: Map<number, number>
  readonly relationships: BoundRelationship[]
  readonly paths: BoundMatch['paths'][number][]
  readonly casts: BoundMatch['casts'][number][]
  /** Bound after every name of the pattern is declared, since maps may look sideways. */
  readonly later: (() => BoundExpression)[]
}

export function bindPatterns(
  patterns: readonly PathPattern[],
  where: Expression | null,
  optional: boolean,
  site: PatternSite,
): { readonly match: BoundMatch; readonly scope: Scope } {
  const draft: Draft = {
    scope: new Map(site.outer),
    nodes: [],
    nodeIndexBySlot: new Map(),
    relationships: [],
    paths: [],
    casts: [],
    later: [],
  }
  if (isTooLong(patterns, site)) {
    for (const pattern of patterns) declareNames(pattern, draft, site)
    return {
      match: { optional, casts: [], nodes: [], relationships: [], predicates: [], paths: [] },
      scope: draft.scope,
    }
  }
  for (const pattern of patterns) bindPath(pattern, draft, site)
  const predicates = draft.later.flatMap((bind) => conjuncts(bind()))
  if (where) {
    const conditions = conjuncts(site.bind(where, draft.scope, 'condition'))
    refuseOnShortest(conditions, where.span, draft, site)
    predicates.push(...conditions)
  }
  const { nodes, relationships, paths, casts, scope } = draft
  predicates.push(...presence(nodes, relationships))
  return { match: { optional, casts, nodes, relationships, predicates, paths }, scope }
}

/** A node that is bound and stands alone is matched as it is; null is no node, though no walk would find that out. */
function presence(nodes: readonly BoundNode[], relationships: readonly BoundRelationship[]): BoundExpression[] {
  const walked = new Set(relationships.flatMap(({ left, right }) => [left, right]))
  return nodes.flatMap(({ slot, bound }, i) =>
    bound && !walked.has(i) ? [{ kind: 'null-test', operand: { kind: 'slot', slot }, negated: true }] : [],
  )
}

/** `a AND b` as [a, b]; anything else as itself. */
export function conjuncts(expression: BoundExpression): readonly BoundExpression[] {
  return expression.kind === 'and' ? expression.operands.flatMap(conjuncts) : [expression]
}

function isTooLong(patterns: readonly PathPattern[], site: PatternSite): boolean {
  const refuseBeyond = (max: number, what: string, beyond: { readonly span: Span } | undefined): boolean => {
    if (!beyond) return false
    site.report({ code: 'PatternTooLong', message: `more than ${max} ${what} in one MATCH`, span: beyond.span })
    return true
  }
  const relationships = patterns.flatMap((pattern) => pattern.relationships)
  return (
    refuseBeyond(patternsMax, 'patterns', patterns[patternsMax]) ||
    refuseBeyond(relationshipsMax, 'relationships', relationships[relationshipsMax])
  )
}

/** Of a pattern that is refused as a whole: what follows may use its names, and is not to blame for it. */
function declareNames({ nodes, relationships, variable }: PathPattern, draft: Draft, site: PatternSite): void {
  for (const node of nodes) elementSlot(node.variable, 'node', draft, site)
  for (const { variable: name, range } of relationships) {
    elementSlot(name, range ? 'relationships' : 'relationship', draft, site)
  }
  if (variable) draft.scope.set(variable.text, site.fresh(variable.text, 'path'))
}

function bindPath(pattern: PathPattern, draft: Draft, site: PatternSite): void {
  if (pattern.shortest) checkShortest(pattern, site)
  const nodes: number[] = []
  const relationships: number[] = []
  nodes.push(bindNode(pattern.nodes[0]!, draft, site))
  pattern.relationships.forEach((relationship, i) => {
    nodes.push(bindNode(pattern.nodes[i + 1]!, draft, site))
    const ends = { left: nodes[i]!, right: nodes[i + 1]!, shortest: pattern.shortest }
    relationships.push(bindRelationship(relationship, ends, draft, site))
  })
  if (pattern.variable) {
    const { text, span } = pattern.variable
    if (draft.scope.has(text)) {
      site.report({ code: 'VariableAlreadyBound', message: `variable \`${text}\` is already bound`, span })
    }
    const slot = site.fresh(text, 'path')
    draft.scope.set(text, slot)
    draft.paths.push({ slot, nodes, relationships })
  }
}

function bindNode(pattern: NodePattern, draft: Draft, site: PatternSite): number {
  const { slot, known } = elementSlot(pattern.variable, 'node', draft, site)
  let index = draft.nodeIndexBySlot.get(slot.index)
  if (index === undefined) {
    index = draft.nodes.length
    draft.nodes.push({ slot, bound: known })
    draft.nodeIndexBySlot.set(slot.index, index)
  }
  if (pattern.labels) draft.later.push(labelPredicate(slot, pattern.labels))
  inlinePredicates(slot, pattern.properties, pattern.where, draft, site)
  return index
}

function bindRelationship(
  pattern: RelationshipPattern,
  ends: Pick<BoundRelationship, 'left' | 'right' | 'shortest'>,
  draft: Draft,
  site: PatternSite,
): number {
  // A shortest way is a list of relationships, also when it is only one step long.
  const range = pattern.range ?? (ends.shortest ? { min: 1, max: 1 } : null)
  const kind = range ? 'relationships' : 'relationship'
  const { slot, known } = elementSlot(pattern.variable, kind, draft, site)
  if (draft.relationships.some((r) => r.slot === slot)) {
    site.report({
      code: 'RelationshipUniquenessViolation',
      message: `relationship \`${slot.name}\` cannot stand twice in one MATCH`,
      span: pattern.variable?.span ?? pattern.span,
    })
  }
  const types = pattern.types ? alternatives(pattern.types) : []
  let each: BoundRelationship['each'] = null
  if (range) {
    each = eachPredicate(pattern, types === null, site, draft)
  } else {
    if (pattern.types && !types) draft.later.push(labelPredicate(slot, pattern.types))
    inlinePredicates(slot, pattern.properties, pattern.where, draft, site)
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

function elementSlot(
  name: NodePattern['variable'],
  kind: 'node' | 'relationship' | 'relationships',
  draft: Draft,
  site: PatternSite,
): { readonly slot: Slot; readonly known: boolean } {
  if (!name) return { slot: site.fresh(null, kind), known: false }
  const existing = draft.scope.get(name.text)
  if (existing) {
    if (existing.kind === 'value' && castable(existing, kind)) {
      const slot = site.fresh(name.text, kind)
      draft.casts.push({ from: existing, to: slot })
      draft.scope.set(name.text, slot)
      return { slot, known: true }
    }
    if (existing.kind !== kind) {
      site.report({
        code: 'VariableTypeConflict',
        message: `variable \`${name.text}\` is a ${existing.type?.kind ?? existing.kind} and cannot be a ${kind} too`,
        span: name.span,
      })
    } else if (existing.graph !== site.graph) {
      const message = `\`${name.text}\` belongs to another graph than this pattern`
      site.report({ code: 'InvalidGraphReference', message, span: name.span })
    }
    return { slot: existing, known: isKnown(existing, draft, site) }
  }
  if (!site.mayDeclare) {
    site.report({
      code: 'UndefinedVariable',
      message: `a pattern predicate cannot introduce the variable \`${name.text}\``,
      span: name.span,
    })
  }
  const slot = site.fresh(name.text, kind)
  draft.scope.set(name.text, slot)
  return { slot, known: false }
}

/** openCypher looks for the shortest way that satisfies WHERE; a filter on the shortest way of all is not the same. */
function refuseOnShortest(conditions: readonly BoundExpression[], span: Span, draft: Draft, site: PatternSite): void {
  const ways = new Set<number>()
  draft.relationships.forEach((relationship, i) => {
    if (!relationship.shortest) return
    ways.add(relationship.slot.index)
    for (const path of draft.paths) if (path.relationships.includes(i)) ways.add(path.slot.index)
  })
  if (conditions.some((condition) => slotsOf(condition).some((slot) => ways.has(slot.index)))) {
    refuse(site, 'WHERE over a shortest path is not supported: filter it after WITH', span)
  }
}

/** Bound before this pattern, and not by it. */
function isKnown(slot: Slot, draft: Draft, site: PatternSite): boolean {
  return draft.casts.some((cast) => cast.to === slot) || [...site.outer.values()].includes(slot)
}

function castable(slot: Slot, kind: 'node' | 'relationship' | 'relationships'): boolean {
  const { type } = slot
  if (!type) return true
  if (kind === 'relationships') return admits(['list'], type.kind) && admits(['relationship'], type.item?.kind ?? 'any')
  return admits([kind], type.kind)
}

function checkShortest(pattern: PathPattern, site: PatternSite): void {
  const relationship = pattern.relationships[0]
  if (pattern.relationships.length !== 1 || !relationship) {
    const message = 'a shortest path goes over exactly one relationship pattern'
    site.report({ code: 'InvalidShortestPath', message, span: pattern.span })
    return
  }
  if ((relationship.range?.min ?? 1) > 1) {
    const message = 'the shortest path cannot be asked to take more than one step at least'
    site.report({ code: 'InvalidShortestPath', message, span: relationship.span })
  }
}

function inlinePredicates(
  slot: Slot,
  properties: MapLiteral | Parameter | null,
  where: Expression | null,
  draft: Draft,
  site: PatternSite,
): void {
  if (properties) draft.later.push(() => mapPredicate(slot, properties, draft.scope, site))
  if (where) draft.later.push(() => site.bind(where, draft.scope, 'condition'))
}

/** What every relationship of a variable-length step must satisfy; inside WHERE the variable stands for one of them. */
function eachPredicate(
  pattern: RelationshipPattern,
  testsTypes: boolean,
  site: PatternSite,
  draft: Draft,
): BoundRelationship['each'] {
  if (!testsTypes && !pattern.properties && !pattern.where) return null
  const element = site.fresh(pattern.variable?.text ?? null, 'relationship')
  const operands: BoundExpression[] = []
  if (testsTypes && pattern.types) operands.push(labelPredicate(element, pattern.types)())
  if (pattern.properties) operands.push(mapPredicate(element, pattern.properties, draft.scope, site))
  if (pattern.where) {
    const scope = pattern.variable ? new Map(draft.scope).set(pattern.variable.text, element) : draft.scope
    operands.push(site.bind(pattern.where, scope, 'condition'))
  }
  const predicate: BoundExpression = operands.length === 1 ? operands[0]! : { kind: 'and', operands }
  const outer = new Set([...site.outer.values()].map((slot) => slot.index))
  const early = slotsOf(predicate).find((slot) => slot !== element && !outer.has(slot.index))
  if (early) {
    // The steps are taken one by one, and the other elements of the pattern may only be found after them.
    const message = `a variable-length relationship cannot look at \`${early.name}\` of the same MATCH`
    refuse(site, message, pattern.span)
  }
  return { element, predicate }
}

function mapPredicate(slot: Slot, map: MapLiteral | Parameter, scope: Scope, site: PatternSite): BoundExpression {
  if (map.kind === 'parameter') {
    site.report({
      code: 'InvalidParameterUse',
      message: `parameter \`$${map.name}\` cannot stand for a whole property map in a pattern`,
      span: map.span,
    })
    return { kind: 'constant', value: null }
  }
  const operands = map.entries.map(
    ({ key, value }): BoundExpression => ({
      kind: 'comparison',
      operator: '=',
      left: { kind: 'element-property', slot, key: key.text, own: ownFieldOf(key.text, slot) },
      right: site.bind(value, scope, 'column'),
    }),
  )
  return operands.length === 1 ? operands[0]! : { kind: 'and', operands }
}

function labelPredicate(slot: Slot, labels: LabelExpression): () => BoundExpression {
  return () => ({ kind: 'label-test', target: { kind: 'slot', slot }, labels: bindLabels(labels), span: labels.span })
}

/** `A|B` as names; null where the expression is more than alternatives. */
function alternatives(labels: LabelExpression): readonly string[] | null {
  if (labels.kind === 'label') return [labels.name]
  if (labels.kind !== 'label-or') return null
  const names = new Set<string>()
  for (const operand of labels.operands) {
    const inner = alternatives(operand)
    if (!inner) return null
    for (const name of inner) names.add(name)
  }
  return [...names]
}

function refuse(site: PatternSite, message: string, span: Span): void {
  site.report({ code: 'NotSupported', message, span })
}
