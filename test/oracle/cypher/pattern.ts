// Finds all matches of the patterns of one MATCH in a graph by trying every assignment. Labels, types and relationship
// uniqueness prune the search; property maps and conditions are checked on each complete match.
import type {
  Expression,
  HopRange,
  LabelExpression,
  MapLiteral,
  MatchMode,
  NodePattern,
  PathPattern,
  QuantifiedPath,
  RelationshipPattern,
} from '../../../grammar/ast.ts'
import { type Bindings, bind, labelsOf, matchesLabels, property } from './expression.ts'
import {
  equal,
  type GraphNode,
  type GraphRelationship,
  isList,
  isMap,
  isNode,
  isRelationship,
  NotInReference,
  ReferenceEvaluationError,
  type ReferenceGraph,
  type ReferenceValue,
} from './values.ts'

/** A partial match: the names, the used relationships, and the element for each part of the pattern. */
interface PatternSearch {
  readonly names: Bindings
  readonly used: readonly GraphRelationship[]
  /** The ends and the length of the last path. */
  readonly ends?: { readonly first: GraphNode; readonly last: GraphNode; readonly length: number }
  readonly parts: readonly (readonly [NodePattern | RelationshipPattern, GraphNode | GraphRelationship])[]
}

interface ReferenceTrail {
  readonly end: GraphNode
  readonly relationships: readonly GraphRelationship[]
  /** The nodes of the path, without the first. */
  readonly nodes: readonly GraphNode[]
}

export type EvaluateExpression = (expression: Expression, environment: Bindings) => ReferenceValue

/** The reference tries every assignment, so a dense graph with an unbounded pattern may exceed its limit. */
export class TooManyRowsError extends Error {
  override readonly name = 'TooLarge'
}

export class Matcher {
  private stepsLeft = 500_000
  private mayRepeat = false
  private readonly graph: ReferenceGraph
  private readonly incident = new Map<GraphNode, GraphRelationship[]>()
  private readonly evaluate: EvaluateExpression
  private readonly derivedTypes = new Set<string>()
  private readonly keepsUnknown: boolean
  /** `keepsUnknown`: a condition that is null keeps the row. */
  constructor(graph: ReferenceGraph, evaluate: EvaluateExpression, keepsUnknown = false) {
    this.graph = graph
    this.keepsUnknown = keepsUnknown
    for (const node of graph.nodes) this.incident.set(node, [])
    for (const relationship of graph.relationships) {
      for (const end of new Set([relationship.source, relationship.target])) this.incident.get(end)!.push(relationship)
    }
    this.evaluate = evaluate
    for (const type of graph.derivedTypes ?? []) this.derivedTypes.add(type)
  }

  /** All rows of `MATCH patterns WHERE where`. */
  matches(
    patterns: readonly PathPattern[],
    where: Expression | null,
    given: Bindings,
    mode: MatchMode | null = null,
  ): Bindings[] {
    for (const pattern of patterns) checkGiven(pattern, given)
    // A condition within a quantified path may have a MATCH with another mode, which runs before this one has ended.
    const before = this.mayRepeat
    this.mayRepeat = mode === 'repeatable'
    try {
      let finds: PatternSearch[] = [{ names: given, used: [], parts: [] }]
      for (const pattern of patterns) finds = finds.flatMap((find) => this.select(pattern, this.lay(pattern, find)))
      return finds
        .filter((find) => find.parts.every(([part, element]) => this.holds(part, element, find.names)))
        .filter((find) => where === null || this.isTrue(where, find.names))
        .map((find) => find.names)
    } finally {
      this.mayRepeat = before
    }
  }

  /** The names that the patterns bind. */
  static names(patterns: readonly PathPattern[]): string[] {
    return patterns
      .flatMap((pattern) => [pattern, ...pattern.nodes, ...pattern.relationships])
      .flatMap((part) => {
        if (part.kind === 'quantified-path') return Matcher.names([part.pattern])
        return part.variable ? [part.variable.text] : []
      })
  }

  /** The paths that the selector of the pattern keeps: the shortest for each pair of ends. */
  private select(pattern: PathPattern, finds: readonly PatternSearch[]): PatternSearch[] {
    const { selector, where } = pattern
    const candidates = finds.filter((find) => where === null || this.isTrue(where, find.names))
    if (selector === null || selector.keep === 'all') return candidates
    const byEnds = new Map<string, PatternSearch[]>()
    for (const find of candidates) {
      if (!find.parts.every(([part, element]) => this.holds(part, element, find.names))) continue
      const { first, last } = find.ends!
      const key = `${this.graph.nodes.indexOf(first)} ${this.graph.nodes.indexOf(last)}`
      byEnds.set(key, [...(byEnds.get(key) ?? []), find])
    }
    return [...byEnds.values()].flatMap((paths) => {
      const sorted = paths.toSorted((a, b) => a.ends!.length - b.ends!.length)
      const lengths = [...new Set(sorted.map((find) => find.ends!.length))]
      if (selector.keep === 'groups') {
        const longest = lengths[Math.min(selector.count, lengths.length) - 1]!
        return sorted.filter((find) => find.ends!.length <= longest)
      }
      const kept = sorted.slice(0, selector.count)
      const isTied = sorted[selector.count]?.ends?.length === kept.at(-1)?.ends?.length
      // If the pattern names nothing but its ends, all choices are the same rows.
      const isVisible = Matcher.names([pattern]).some((name) => {
        const { nodes } = pattern
        return name !== nodes[0]?.variable?.text && name !== nodes.at(-1)?.variable?.text
      })
      if (isVisible && kept.length < sorted.length && (isTied || selector.keep === 'any')) {
        throw new NotInReference('any of several paths')
      }
      return kept
    })
  }

  /** All matches of one path pattern, given the relationships that are already used. */
  private lay(pattern: PathPattern, find: PatternSearch): PatternSearch[] {
    const [first] = pattern.nodes
    if (!first) throw new Error('a path without nodes')
    const known = first.variable ? find.names.get(first.variable.text) : undefined
    if (known === null) return []
    return (isNode(known ?? null) ? [known as GraphNode] : this.graph.nodes).flatMap((node) =>
      this.place(first, node, find).flatMap((placed) => this.walk(pattern, 0, [node], [], placed)),
    )
  }

  private walk(
    pattern: PathPattern,
    at: number,
    nodes: readonly GraphNode[],
    relationships: readonly GraphRelationship[],
    find: PatternSearch,
  ): PatternSearch[] {
    const step = pattern.relationships[at]
    const next = pattern.nodes[at + 1]
    if (!step || !next) {
      const ends = { first: nodes[0] as GraphNode, last: nodes.at(-1) as GraphNode, length: relationships.length }
      if (!pattern.variable) return [{ ...find, ends }]
      return [{ ...find, ends, names: bind(find.names, pattern.variable.text, { kind: 'path', nodes, relationships }) }]
    }
    const from = nodes.at(-1) as GraphNode
    if (this.isDerivedWalk(step)) {
      return this.walkDerived(step, from).flatMap((end) =>
        this.place(next, end, find).flatMap((placed) =>
          this.walk(pattern, at + 1, [...nodes, end], relationships, placed),
        ),
      )
    }
    if (step.kind === 'quantified-path') {
      return this.repeat(step, from, find).flatMap(({ trail, find: repeated }) =>
        this.place(next, trail.end, repeated).flatMap((placed) =>
          this.walk(pattern, at + 1, [...nodes, ...trail.nodes], [...relationships, ...trail.relationships], placed),
        ),
      )
    }
    const trails = pattern.shortest
      ? this.shortest(step, from, find, pattern.shortest === 'all')
      : this.trails(step, from, find)
    return trails.flatMap((trail) =>
      this.take(step, trail, find, pattern.shortest !== null).flatMap((taken) =>
        this.place(next, trail.end, taken).flatMap((placed) =>
          this.walk(pattern, at + 1, [...nodes, ...trail.nodes], [...relationships, ...trail.relationships], placed),
        ),
      ),
    )
  }

  /** Whether the step repeats derived pairs. */
  private isDerivedWalk(step: RelationshipPattern | QuantifiedPath): boolean {
    if (step.range === null) return false
    const types = step.kind === 'relationship' ? [step.types] : step.pattern.relationships.map(typesOf)
    return types.some((type) => type?.kind === 'label' && this.derivedTypes.has(type.name))
  }

  /** The nodes at the end of a walk over derived pairs, each once: what one repetition reaches, and so on. */
  private walkDerived(step: RelationshipPattern | QuantifiedPath, from: GraphNode): GraphNode[] {
    const { min, max } = step.range!
    const least = min ?? (step.kind === 'relationship' ? 1 : 0)
    const most = max ?? least + this.graph.nodes.length
    const reached = new Set<GraphNode>()
    let level = new Set([from])
    for (let count = 0; count <= most; count++) {
      if (count >= least) for (const node of level) reached.add(node)
      level = new Set([...level].flatMap((node) => this.onceFrom(step, node)))
    }
    return [...reached]
  }

  /** The nodes that one repetition reaches. What it uses does not matter to another one. */
  private onceFrom(step: RelationshipPattern | QuantifiedPath, from: GraphNode): GraphNode[] {
    const nothing: PatternSearch = { names: new Map(), used: [], parts: [] }
    if (step.kind === 'relationship') return this.trails({ ...step, range: null }, from, nothing).map(({ end }) => end)
    const { pattern, where } = step
    return this.place(pattern.nodes[0]!, from, nothing)
      .flatMap((placed) => this.walk(pattern, 0, [from], [], placed))
      .filter(({ parts, names }) => parts.every(([part, element]) => this.holds(part, element, names)))
      .filter(({ names }) => where === null || this.isTrue(where, names))
      .map(({ ends }) => ends!.last)
  }

  /** Every number of repetitions of a quantified path pattern, each as one path with the lists of its variables. */
  private repeat(
    { pattern, where, range }: QuantifiedPath,
    from: GraphNode,
    find: PatternSearch,
  ): { readonly trail: ReferenceTrail; readonly find: PatternSearch }[] {
    const [min, max] = [range.min ?? 0, range.max ?? Number.POSITIVE_INFINITY]
    const names = [...new Set(Matcher.names([pattern]))]
    const found: { readonly trail: ReferenceTrail; readonly find: PatternSearch }[] = []
    const extend = (
      trail: ReferenceTrail,
      lists: ReadonlyMap<string, readonly ReferenceValue[]>,
      count: number,
    ): void => {
      if (count >= min) {
        let bound = find.names
        for (const name of names) bound = bind(bound, name, lists.get(name) ?? [])
        const used = [...find.used, ...trail.relationships]
        found.push({ trail, find: { ...find, used, names: bound } })
      }
      if (count >= max) return
      const used = [...find.used, ...trail.relationships]
      const start: PatternSearch = { names: find.names, used, parts: [] }
      for (const placed of this.place(pattern.nodes[0]!, trail.end, start)) {
        for (const once of this.walk(pattern, 0, [trail.end], [], placed)) {
          if (!once.parts.every(([part, element]) => this.holds(part, element, once.names))) continue
          if (where !== null && !this.isTrue(where, once.names)) continue
          const relationships = once.used.slice(used.length)
          const nodes = nodesAlong(trail.end, relationships)
          const extended = new Map(lists)
          for (const name of names) extended.set(name, [...(lists.get(name) ?? []), once.names.get(name) ?? null])
          const longer = {
            end: once.ends!.last,
            relationships: [...trail.relationships, ...relationships],
            nodes: [...trail.nodes, ...nodes],
          }
          extend(longer, extended, count + 1)
        }
      }
    }
    extend({ end: from, relationships: [], nodes: [] }, new Map(), 0)
    return found
  }

  /** The node matches the pattern, unless a label or an earlier binding of the name contradicts it. */
  private place(pattern: NodePattern, node: GraphNode, find: PatternSearch): PatternSearch[] {
    if (pattern.labels && !matchesLabels(pattern.labels, labelsOf(node))) return []
    const parts = [...find.parts, [pattern, node] as const]
    if (!pattern.variable) return [{ ...find, parts }]
    const known = find.names.get(pattern.variable.text)
    if (known !== undefined) return known === node ? [{ ...find, parts }] : []
    return [{ ...find, parts, names: bind(find.names, pattern.variable.text, node) }]
  }

  /** The path matches the relationship pattern; with a range its value is the list. */
  private take(
    pattern: RelationshipPattern,
    trail: ReferenceTrail,
    find: PatternSearch,
    shortest: boolean,
  ): PatternSearch[] {
    const value = pattern.range || shortest ? trail.relationships : (trail.relationships[0] as GraphRelationship)
    const taken = {
      ...find,
      // A shortest path is independent: it may use relationships of the other patterns of the MATCH.
      used: shortest ? find.used : [...find.used, ...trail.relationships.filter((each) => !each.isDerived)],
      parts: [...find.parts, ...trail.relationships.map((each) => [pattern, each] as const)],
    }
    if (!pattern.variable) return [taken]
    const known = find.names.get(pattern.variable.text)
    if (known !== undefined) return equal(known, value) === true ? [taken] : []
    return [{ ...taken, names: bind(find.names, pattern.variable.text, value) }]
  }

  /** Every path of the pattern's length from the node that uses no relationship twice and none of the partial match. */
  private trails(pattern: RelationshipPattern, from: GraphNode, find: PatternSearch): ReferenceTrail[] {
    const [min, max] = bounds(pattern.range)
    const found: ReferenceTrail[] = []
    const extend = (trail: ReferenceTrail): void => {
      if (trail.relationships.length >= min) found.push(trail)
      if (trail.relationships.length >= max) return
      for (const relationship of this.incident.get(trail.end) ?? []) {
        this.count()
        if (!this.mayRepeat && (find.used.includes(relationship) || trail.relationships.includes(relationship)))
          continue
        if (relationship.isDerived && pattern.types?.kind !== 'label') continue
        if (pattern.types && !matchesLabels(pattern.types, [relationship.type])) continue
        for (const end of farEnds(relationship, trail.end, pattern.direction)) {
          extend({ end, relationships: [...trail.relationships, relationship], nodes: [...trail.nodes, end] })
        }
      }
    }
    extend({ end: from, relationships: [], nodes: [] })
    return found
  }

  /** The shortest paths to every node: all of them, or one. */
  private shortest(pattern: RelationshipPattern, from: GraphNode, find: PatternSearch, all: boolean): ReferenceTrail[] {
    const best = new Map<GraphNode, ReferenceTrail[]>()
    for (const trail of this.trails(pattern, from, { ...find, used: [] })) {
      if (!trail.relationships.every((each) => this.holds(pattern, each, find.names))) continue
      const known = best.get(trail.end)?.[0]
      if (!known || trail.relationships.length < known.relationships.length) best.set(trail.end, [trail])
      else if (all && trail.relationships.length === known.relationships.length) best.get(trail.end)?.push(trail)
    }
    return [...best.values()].flat()
  }

  /** The inline map and the inline WHERE of a part. */
  private holds(
    part: NodePattern | RelationshipPattern,
    element: GraphNode | GraphRelationship,
    names: Bindings,
  ): boolean {
    if (part.where) {
      if (part.kind === 'relationship' && part.range) throw new NotInReference('WHERE in a variable-length step')
      if (!this.isTrue(part.where, names)) return false
    }
    if (!part.properties) return true
    return [...this.mapOf(part.properties, names)].every(([key, value]) => {
      const truth = equal(property(element, key), value)
      return truth === null ? this.keepsUnknown : truth
    })
  }

  private mapOf(properties: MapLiteral | Expression, names: Bindings): ReadonlyMap<string, ReferenceValue> {
    const map = this.evaluate(properties, names)
    if (!isMap(map)) throw new ReferenceEvaluationError('a pattern takes a map')
    return map
  }

  private isTrue(condition: Expression, names: Bindings): boolean {
    const value = this.evaluate(condition, names)
    if (value === null) return this.keepsUnknown
    if (typeof value === 'boolean') return value
    throw new ReferenceEvaluationError('a condition is a boolean')
  }

  private count(): void {
    this.stepsLeft -= 1
    if (this.stepsLeft < 0) throw new TooManyRowsError('too many ways to lay the pattern')
  }
}

/** A bound name is an element or null; any other value in a pattern is an error. */
function checkGiven(pattern: PathPattern, given: Bindings): void {
  const nameOf = (part: NodePattern | RelationshipPattern): ReferenceValue =>
    (part.variable && given.get(part.variable.text)) ?? null
  const refuse = (): never => {
    throw new ReferenceEvaluationError('a pattern takes an element')
  }
  for (const node of pattern.nodes) {
    const value = nameOf(node)
    if (value !== null && !isNode(value)) refuse()
  }
  for (const step of pattern.relationships) {
    if (step.kind === 'quantified-path') continue
    const value = nameOf(step)
    if (value === null) continue
    if (step.range ? !isList(value) || !value.every(isRelationship) : !isRelationship(value)) refuse()
  }
}

/** The nodes that the relationships reach, one after the other. */
function nodesAlong(from: GraphNode, relationships: readonly GraphRelationship[]): GraphNode[] {
  let node = from
  return relationships.map(({ source, target }) => {
    node = source === node ? target : source
    return node
  })
}

/** A self-loop is one step in either direction. */
function farEnds(relationship: GraphRelationship, near: GraphNode, direction: 'right' | 'left' | 'both'): GraphNode[] {
  const ends = new Set<GraphNode>()
  if (direction !== 'left' && relationship.source === near) ends.add(relationship.target)
  if (direction !== 'right' && relationship.target === near) ends.add(relationship.source)
  return [...ends]
}

function typesOf(step: RelationshipPattern | QuantifiedPath): LabelExpression | null {
  return step.kind === 'relationship' ? step.types : null
}

function bounds(range: HopRange | null): readonly [number, number] {
  if (!range) return [1, 1]
  return [range.min ?? 1, range.max ?? Number.POSITIVE_INFINITY]
}
