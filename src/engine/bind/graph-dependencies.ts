// The parts of a graph on which the result of a query depends, from its text alone: a change of any other part changes no result. A read
// by a name that only a run knows counts as everything, so the answer may be too large and is never too small.
import { nodeFieldNames } from '../value/element-properties.ts'
import type { BoundExpression, BoundLabels, BoundMatch, BoundQuery, Slot } from './bound.ts'
import { hopsOf } from './step-predicates.ts'
import { dependsOnRows } from './unknown-reads.ts'

/** The parts of a graph on which the result of a query depends. */
export interface GraphDependencies {
  /** Labels of nodes: that a node has the label, or exists with it. */
  readonly labels: ReadonlySet<string>
  /** Types of relationships: that a relationship of the type exists. */
  readonly types: ReadonlySet<string>
  /** Names of properties of nodes and relationships. */
  readonly properties: ReadonlySet<string>
  /** That any node exists, whatever its labels. */
  readonly anyNode: boolean
  /** That any relationship exists, whatever its type. */
  readonly anyRelationship: boolean
  /** Any change of any element. */
  readonly everything: boolean
  /** The result also depends on the time, or on chance. */
  readonly onTime: boolean
}

/** Own fields that never change while the element exists. */
const CONSTANT_FIELDS: ReadonlySet<string> = new Set(['external_id', 'type', 'create_time'])
const CHANGING_FIELDS: ReadonlySet<string> = new Set(nodeFieldNames.filter((name) => !CONSTANT_FIELDS.has(name)))

/** Functions that read an element by a name that only a run knows, or all of it. */
const READS_EVERYTHING: ReadonlySet<string> = new Set([
  'labels',
  'properties',
  'keys',
  'graph.field',
  'graph.metadata',
  'map projection',
])

const CLOCK_FUNCTION = /^(date|localtime|time|localdatetime|datetime)(\.(transaction|statement|realtime))?$/
const TRUNCATION = /^(date|localtime|time|localdatetime|datetime)\.truncate$/
const CHANCE: ReadonlySet<string> = new Set(['timestamp', 'rand', 'randomUUID'])

type GraphCall = Extract<BoundExpression, { readonly kind: 'function' }>

/** Determines what a query depends on. `fixed`: the nodes that the caller gives, as slot and type. */
export function graphDependencies(
  query: BoundQuery,
  fixed: readonly (readonly [slot: Slot, type: string])[],
): GraphDependencies {
  // Where rows are counted or left out, rows of other nodes matter, too.
  const isByRow = !query.clauses.some(dependsOnRows)
  const found = new FoundDependencies(new Set(isByRow ? fixed.map(([slot]) => slot.index) : []))
  for (const [, type] of fixed) found.labels.add(type)
  found.visit(query.clauses)
  for (const { branches } of query.tabled) {
    // The slots of a table are those of another frame.
    const others = new FoundDependencies(new Set())
    for (const { clauses } of branches) others.visit(clauses)
    found.include(others)
  }
  return found
}

class FoundDependencies implements GraphDependencies {
  readonly labels = new Set<string>()
  readonly types = new Set<string>()
  readonly properties = new Set<string>()
  anyNode = false
  anyRelationship = false
  everything = false
  onTime = false
  private readonly fixed: ReadonlySet<number>

  constructor(fixed: ReadonlySet<number>) {
    this.fixed = fixed
  }

  /** Adds what another part of the query depends on. */
  include(other: GraphDependencies): void {
    for (const name of other.labels) this.labels.add(name)
    for (const name of other.types) this.types.add(name)
    for (const name of other.properties) this.properties.add(name)
    this.anyNode ||= other.anyNode
    this.anyRelationship ||= other.anyRelationship
    this.everything ||= other.everything
    this.onTime ||= other.onTime
  }

  /** Visits every object of the query: expressions occur in clauses, patterns, projections and subqueries. */
  visit(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    if ('kind' in value) this.visitExpression(value as BoundExpression | BoundLabels)
    // Only a MATCH has casts: a quantified path pattern inside of it also has nodes, relationships and predicates.
    if ('casts' in value) this.visitMatch(value as BoundMatch)
    for (const part of Object.values(value)) this.visit(part)
  }

  private visitExpression(value: BoundExpression | BoundLabels): void {
    switch (value.kind) {
      case 'label':
        this.labels.add(value.name)
        return
      case 'label-any':
      case 'label-dynamic':
      case 'element-properties':
        this.everything = true
        return
      case 'element-property':
        this.properties.add(value.key)
        if (value.own !== null && !CONSTANT_FIELDS.has(value.own)) this.everything = true
        return
      case 'property':
        this.properties.add(value.key)
        // The target may be a node, whose fields have these names; `property` stands for all properties.
        if (value.key === 'property' || CHANGING_FIELDS.has(value.key)) this.everything = true
        return
      case 'index':
        if (value.index.kind === 'constant' && typeof value.index.value === 'number') return
        if (value.index.kind === 'constant' && typeof value.index.value === 'string')
          this.properties.add(value.index.value)
        // The name is known only at run time. It may also be that of a field.
        this.everything = true
        return
      case 'function':
        this.visitCall(value)
        return
      default:
        // Other expressions read elements only through these.
        return
    }
  }

  private visitCall({ name, args }: GraphCall): void {
    if (READS_EVERYTHING.has(name)) this.everything = true
    if (CHANCE.has(name) || (TRUNCATION.test(name) && args.length === 1)) this.onTime = true
    else if (CLOCK_FUNCTION.test(name)) {
      const [argument] = args
      const isZone = argument?.kind === 'map' && argument.entries.every(({ key }) => key === 'timezone')
      if (argument === undefined || isZone || name.includes('.')) this.onTime = true
    }
  }

  private visitMatch({ nodes, relationships, predicates }: BoundMatch): void {
    const reached = new Set<number>()
    for (const relationship of relationships) {
      const { range, left, right, bound } = relationship
      if (bound) continue
      for (const { types } of hopsOf(relationship)) {
        if (types.length === 0) this.anyRelationship = true
        for (const type of types) this.types.add(type)
      }
      // With a relationship, the node exists. A walk of no step is a node alone.
      if (range === null || range.min > 0) {
        reached.add(left)
        reached.add(right)
      }
    }
    nodes.forEach(({ slot, bound }, index) => {
      if (bound || reached.has(index) || this.fixed.has(slot.index)) return
      const isLabelled = predicates.some((predicate) => isLabelOf(predicate, slot.index))
      if (!isLabelled) this.anyNode = true
    })
  }
}

/** Whether the predicate requires a label of the node in the slot. */
function isLabelOf(predicate: BoundExpression, slot: number): boolean {
  return (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot &&
    predicate.labels.kind === 'label'
  )
}
