// Walks over bound expressions. The properties of a kind of expression that a walk uses (children, slots that it reads and
// declares) are declared once, in a table that does not compile if a kind is missing.
import { assertNever } from '../../kernel/assert.ts'
import { mapLabelExpressions } from './bind-labels.ts'
import type { BoundExpression, BoundMatch, BoundPart, Slot } from './bound.ts'
import { innerSlotsOf, mapStepPredicates, stepPredicates } from './step-predicates.ts'

type KindOf = BoundExpression['kind']
type ExpressionOf<Kind extends KindOf> = Extract<BoundExpression, { readonly kind: Kind }>
type Change = (child: BoundExpression) => BoundExpression

/** The structure of one kind of expression. */
interface ExpressionDescriptor<E extends BoundExpression> {
  /** The same expression with each direct child replaced; null if it has no children. */
  readonly mapChildren: ((expression: E, change: Change) => BoundExpression) | null
  /** The slots that only its children see, such as the variable of a comprehension; null if it declares none. */
  readonly locals: ((expression: E) => readonly Slot[]) | null
  /** The slots that the expression reads itself, and how to replace them; null if only its children read slots. */
  readonly reads: {
    of(expression: E): readonly Slot[]
    replace(expression: E, source: (slot: Slot) => Slot): BoundExpression
  } | null
  /** The key of the property that the expression reads from an element in a slot, `''` for all properties; null for none. */
  readonly propertyKey: ((expression: E) => string) | null
}

const leaf = { mapChildren: null, locals: null, reads: null, propertyKey: null }
const inner = { locals: null, reads: null, propertyKey: null }
const slotReader = {
  ...leaf,
  reads: {
    of: (expression: { readonly slot: Slot }) => [expression.slot],
    replace: <E extends BoundExpression & { readonly slot: Slot }>(expression: E, source: (slot: Slot) => Slot) => ({
      ...expression,
      slot: source(expression.slot),
    }),
  },
}

const descriptors: { readonly [Kind in KindOf]: ExpressionDescriptor<ExpressionOf<Kind>> } = {
  constant: leaf,
  parameter: leaf,
  slot: slotReader,
  'element-property': { ...slotReader, propertyKey: (e) => e.key },
  'element-properties': { ...slotReader, propertyKey: () => '' },
  property: { ...inner, mapChildren: (e, change) => ({ ...e, target: change(e.target) }) },
  'label-test': {
    ...inner,
    mapChildren: (e, change) => ({ ...e, target: change(e.target), labels: mapLabelExpressions(e.labels, change) }),
  },
  index: { ...inner, mapChildren: (e, change) => ({ ...e, target: change(e.target), index: change(e.index) }) },
  slice: {
    ...inner,
    mapChildren: (e, change) => ({
      ...e,
      target: change(e.target),
      from: e.from && change(e.from),
      to: e.to && change(e.to),
    }),
  },
  and: { ...inner, mapChildren: (e, change) => ({ ...e, operands: e.operands.map(change) }) },
  or: { ...inner, mapChildren: (e, change) => ({ ...e, operands: e.operands.map(change) }) },
  xor: { ...inner, mapChildren: (e, change) => ({ ...e, left: change(e.left), right: change(e.right) }) },
  comparison: { ...inner, mapChildren: (e, change) => ({ ...e, left: change(e.left), right: change(e.right) }) },
  binary: { ...inner, mapChildren: (e, change) => ({ ...e, left: change(e.left), right: change(e.right) }) },
  not: { ...inner, mapChildren: (e, change) => ({ ...e, operand: change(e.operand) }) },
  negate: { ...inner, mapChildren: (e, change) => ({ ...e, operand: change(e.operand) }) },
  'null-test': { ...inner, mapChildren: (e, change) => ({ ...e, operand: change(e.operand) }) },
  'value-test': { ...inner, mapChildren: (e, change) => ({ ...e, operand: change(e.operand) }) },
  list: { ...inner, mapChildren: (e, change) => ({ ...e, items: e.items.map(change) }) },
  map: {
    ...inner,
    mapChildren: (e, change) => ({ ...e, entries: e.entries.map(({ key, value }) => ({ key, value: change(value) })) }),
  },
  case: {
    ...inner,
    mapChildren: (e, change) => ({
      ...e,
      subject: e.subject && change(e.subject),
      branches: e.branches.map(({ when, then }) => ({ when: change(when), then: change(then) })),
      otherwise: e.otherwise && change(e.otherwise),
    }),
    locals: (e) => (e.variable ? [e.variable] : []),
  },
  function: { ...inner, mapChildren: (e, change) => ({ ...e, args: e.args.map(change) }) },
  'list-comprehension': {
    ...inner,
    mapChildren: (e, change) => ({
      ...e,
      list: change(e.list),
      where: e.where && change(e.where),
      projection: e.projection && change(e.projection),
    }),
    locals: (e) => [e.variable],
  },
  quantifier: {
    ...inner,
    mapChildren: (e, change) => ({ ...e, list: change(e.list), where: change(e.where) }),
    locals: (e) => [e.variable],
  },
  reduce: {
    ...inner,
    mapChildren: (e, change) => ({
      ...e,
      initial: change(e.initial),
      list: change(e.list),
      expression: change(e.expression),
      condition: e.condition && change(e.condition),
    }),
    locals: (e) => [e.variable, e.accumulator],
  },
  exists: {
    ...inner,
    mapChildren: (e, change) => ({ ...e, match: mapMatch(e.match, change) }),
    locals: (e) => [...slotsDeclaredBy(e.match), ...e.match.casts.map(({ to }) => to)],
    reads: {
      of: ({ match }) => [
        ...match.nodes.filter((node) => node.bound).map((node) => node.slot),
        ...match.relationships.filter((relationship) => relationship.bound).map((relationship) => relationship.slot),
        ...match.casts.map(({ from }) => from),
      ],
      replace: (e, source) => ({ ...e, match: withMatchSlots(e.match, source) }),
    },
  },
  // A query of its own: the binder has listed the outer slots that it reads.
  subquery: {
    ...leaf,
    reads: {
      of: (e) => e.reads,
      replace: () => {
        throw new Error('assertion failed: the slots of a subquery cannot be replaced')
      },
    },
  },
}

function descriptorOf<E extends BoundExpression>(expression: E): ExpressionDescriptor<E> {
  return descriptors[expression.kind] as unknown as ExpressionDescriptor<E>
}

/** The same expression with each direct child replaced. Slots of local variables (comprehensions, quantifiers) stay. */
export function mapChildren(expression: BoundExpression, change: Change): BoundExpression {
  return descriptorOf(expression).mapChildren?.(expression, change) ?? expression
}

function mapMatch(match: BoundMatch, change: Change): BoundMatch {
  return {
    ...match,
    predicates: match.predicates.map(change),
    relationships: match.relationships.map((relationship) => mapStepPredicates(relationship, change)),
  }
}

/** Whether a direct child of the expression passes the test. */
export function someChild(expression: BoundExpression, test: (child: BoundExpression) => boolean): boolean {
  let found = false
  mapChildren(expression, (child) => {
    found ||= test(child)
    return child
  })
  return found
}

/** Whether the expression is or contains a subquery (EXISTS over one pattern does not count, unless a step of it is derived). */
export function containsSubquery(expression: BoundExpression): boolean {
  if (expression.kind === 'subquery') return true
  if (expression.kind === 'exists' && expression.match.derived.length > 0) return true
  return someChild(expression, containsSubquery)
}

/** Every outer slot that the expression reads, once each. Its own local variables are not among them. */
export function slotsOf(expression: BoundExpression): readonly Slot[] {
  const found = new Map<number, Slot>()
  collectSlots(expression, found, new Set())
  return [...found.values()]
}

function collectSlots(expression: BoundExpression, found: Map<number, Slot>, local: Set<number>): void {
  const { locals, reads } = descriptorOf(expression)
  for (const slot of locals?.(expression) ?? []) local.add(slot.index)
  for (const slot of reads?.of(expression) ?? []) if (!local.has(slot.index)) found.set(slot.index, slot)
  mapChildren(expression, (child) => {
    collectSlots(child, found, local)
    return child
  })
}

/** The same expression reading other slots of the same kinds: `sources` by the index of the slot to replace. */
export function withSlots(expression: BoundExpression, sources: ReadonlyMap<number, Slot>): BoundExpression {
  const replaced =
    descriptorOf(expression).reads?.replace(expression, (slot) => sources.get(slot.index) ?? slot) ?? expression
  return mapChildren(replaced, (child) => withSlots(child, sources))
}

function withMatchSlots(match: BoundMatch, source: (slot: Slot) => Slot): BoundMatch {
  return {
    ...match,
    nodes: match.nodes.map((node) => ({ ...node, slot: source(node.slot) })),
    relationships: match.relationships.map((relationship) => ({ ...relationship, slot: source(relationship.slot) })),
    casts: match.casts.map(({ from, to }) => ({ from: source(from), to })),
  }
}

/** The slots that a match fills itself, apart from its casts. */
export function slotsDeclaredBy(match: BoundMatch): readonly Slot[] {
  return [
    ...match.nodes.filter((node) => !node.bound).map((node) => node.slot),
    ...match.relationships.filter((relationship) => !relationship.bound).map((relationship) => relationship.slot),
    ...match.relationships.flatMap(innerSlotsOf),
    ...match.paths.map((path) => path.slot),
  ]
}

/**
 * The keys of all properties of elements that a query reads, except reads for which an unknown value is acceptable
 * (unknown-reads.ts). `''` stands for all properties of an element at once.
 */
export function propertyNamesIn(query: BoundPart): ReadonlySet<string> {
  const found = new Set<string>()
  collectPropertyNames(query, found)
  return found
}

/** Visits every object of the query: expressions occur in clauses, patterns, projections and subqueries. */
function collectPropertyNames(value: unknown, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  if (isExpression(value) && !('mayBeUnknown' in value)) {
    const key = descriptorOf(value).propertyKey?.(value)
    if (key !== undefined) found.add(key)
  }
  for (const part of Object.values(value)) collectPropertyNames(part, found)
}

function isExpression(value: object): value is BoundExpression {
  return 'kind' in value && typeof value.kind === 'string' && Object.hasOwn(descriptors, value.kind)
}

/** Every slot that a part of a query names anywhere, its own slots included. */
export function slotsIn(part: BoundPart): readonly Slot[] {
  return part.clauses.flatMap((clause): readonly Slot[] => {
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        return [
          ...slotsDeclaredBy(match),
          ...match.nodes.map((node) => node.slot),
          ...match.relationships.map((relationship) => relationship.slot),
          ...match.relationships.flatMap((step) => stepPredicates(step).flatMap(slotsOf)),
          ...match.derived.flatMap(({ branches }) => branches?.flatMap(slotsIn) ?? []),
          ...match.casts.flatMap(({ from, to }) => [from, to]),
          ...match.predicates.flatMap(slotsOf),
        ]
      }
      case 'unwind':
        return [clause.slot, ...slotsOf(clause.list)]
      case 'projection': {
        const { computed, aggregates, grouping, orderBy, where, columns } = clause.projection
        const expressions = [
          ...[...computed, ...(grouping ?? [])].map((item) => item.expression),
          ...aggregates.flatMap((item) => [item.argument, item.parameter]),
          ...orderBy.map((item) => item.expression),
          where,
        ]
        return [...columns.map((column) => column.slot), ...expressions.flatMap((e) => (e ? slotsOf(e) : []))]
      }
      case 'union':
        return clause.union.parts.flatMap(slotsIn)
      case 'call':
        return slotsIn(clause.part)
      default:
        return assertNever(clause)
    }
  })
}
