// Walks over bound expressions: the children of each kind are written down once, here.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundMatch, BoundPart, Slot } from './bound.ts'

/** The same expression with each direct child replaced. Local slots (comprehension variables) are kept. */
export function mapChildren(
  expression: BoundExpression,
  change: (child: BoundExpression) => BoundExpression,
): BoundExpression {
  const optional = (child: BoundExpression | null): BoundExpression | null => (child ? change(child) : null)
  switch (expression.kind) {
    case 'constant':
    case 'parameter':
    case 'slot':
    case 'element-property':
    case 'element-properties':
    // A query of its own: what it reads of the outside is written beside it.
    case 'subquery':
      return expression
    case 'property':
    case 'label-test':
      return { ...expression, target: change(expression.target) }
    case 'index':
      return { ...expression, target: change(expression.target), index: change(expression.index) }
    case 'slice':
      return {
        ...expression,
        target: change(expression.target),
        from: optional(expression.from),
        to: optional(expression.to),
      }
    case 'and':
    case 'or':
      return { ...expression, operands: expression.operands.map(change) }
    case 'xor':
    case 'comparison':
    case 'binary':
      return { ...expression, left: change(expression.left), right: change(expression.right) }
    case 'not':
    case 'negate':
    case 'null-test':
      return { ...expression, operand: change(expression.operand) }
    case 'list':
      return { ...expression, items: expression.items.map(change) }
    case 'map':
      return { ...expression, entries: expression.entries.map(({ key, value }) => ({ key, value: change(value) })) }
    case 'case':
      return {
        ...expression,
        subject: optional(expression.subject),
        branches: expression.branches.map(({ when, then }) => ({ when: change(when), then: change(then) })),
        otherwise: optional(expression.otherwise),
      }
    case 'function':
      return { ...expression, args: expression.args.map(change) }
    case 'list-comprehension':
      return {
        ...expression,
        list: change(expression.list),
        where: optional(expression.where),
        projection: optional(expression.projection),
      }
    case 'quantifier':
      return { ...expression, list: change(expression.list), where: change(expression.where) }
    case 'reduce':
      return {
        ...expression,
        initial: change(expression.initial),
        list: change(expression.list),
        expression: change(expression.expression),
      }
    case 'exists':
      return { ...expression, match: mapMatch(expression.match, change) }
    default:
      return assertNever(expression)
  }
}

function mapMatch(match: BoundMatch, change: (child: BoundExpression) => BoundExpression): BoundMatch {
  return {
    ...match,
    predicates: match.predicates.map(change),
    relationships: match.relationships.map((relationship) =>
      relationship.each
        ? { ...relationship, each: { ...relationship.each, predicate: change(relationship.each.predicate) } }
        : relationship,
    ),
  }
}

/** Every slot of the outside that the expression reads, once each; its own local variables are not among them. */
export function slotsOf(expression: BoundExpression): readonly Slot[] {
  const known = slotsCache.get(expression)
  if (known) return known
  const found = new Map<number, Slot>()
  collectSlots(expression, found, new Set())
  const slots = [...found.values()]
  slotsCache.set(expression, slots)
  return slots
}

/** Every rule asks it of the same expressions, and a bound expression never changes. */
const slotsCache = new WeakMap<BoundExpression, readonly Slot[]>()

function collectSlots(expression: BoundExpression, found: Map<number, Slot>, local: Set<number>): void {
  const read = (slot: Slot): void => {
    if (!local.has(slot.index)) found.set(slot.index, slot)
  }
  switch (expression.kind) {
    case 'slot':
    case 'element-property':
    case 'element-properties':
      read(expression.slot)
      return
    case 'list-comprehension':
    case 'quantifier':
      local.add(expression.variable.index)
      break
    case 'reduce':
      local.add(expression.variable.index)
      local.add(expression.accumulator.index)
      break
    case 'exists':
      for (const slot of slotsDeclaredBy(expression.match)) local.add(slot.index)
      for (const { to } of expression.match.casts) local.add(to.index)
      for (const node of expression.match.nodes) if (node.bound) read(node.slot)
      for (const relationship of expression.match.relationships) if (relationship.bound) read(relationship.slot)
      for (const { from } of expression.match.casts) read(from)
      break
    case 'subquery':
      for (const slot of expression.reads) read(slot)
      return
    default:
      break
  }
  mapChildren(expression, (child) => {
    collectSlots(child, found, local)
    return child
  })
}

/** Every slot that a part names anywhere, its own included. */
export function slotsIn(part: BoundPart): readonly Slot[] {
  return part.clauses.flatMap((clause): readonly Slot[] => {
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        return [
          ...slotsDeclaredBy(match),
          ...match.nodes.map((node) => node.slot),
          ...match.relationships.map((relationship) => relationship.slot),
          ...match.relationships.flatMap((r) => (r.each ? slotsOf(r.each.predicate) : [])),
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

export function containsSubquery(expression: BoundExpression): boolean {
  let found = expression.kind === 'subquery'
  mapChildren(expression, (child) => {
    found ||= containsSubquery(child)
    return child
  })
  return found
}

/** The slots that a match fills in itself, apart from its casts. */
export function slotsDeclaredBy(match: BoundMatch): readonly Slot[] {
  return [
    ...match.nodes.filter((node) => !node.bound).map((node) => node.slot),
    ...match.relationships.filter((relationship) => !relationship.bound).map((relationship) => relationship.slot),
    ...match.relationships.flatMap((relationship) => (relationship.each ? [relationship.each.element] : [])),
    ...match.paths.map((path) => path.slot),
  ]
}

/** The same expression reading other slots of the same kinds. */
export function withSlots(expression: BoundExpression, sources: ReadonlyMap<number, Slot>): BoundExpression {
  const source = (slot: Slot): Slot => sources.get(slot.index) ?? slot
  switch (expression.kind) {
    case 'slot':
    case 'element-property':
    case 'element-properties':
      return { ...expression, slot: source(expression.slot) }
    case 'subquery':
      throw new Error('assertion failed: a subquery is not renamed')
    case 'exists': {
      const { match } = expression
      const moved: BoundMatch = {
        ...match,
        nodes: match.nodes.map((node) => ({ ...node, slot: source(node.slot) })),
        relationships: match.relationships.map((relationship) => ({
          ...relationship,
          slot: source(relationship.slot),
        })),
      }
      return { ...expression, match: mapMatch(moved, (child) => withSlots(child, sources)) }
    }
    default:
      return mapChildren(expression, (child) => withSlots(child, sources))
  }
}
