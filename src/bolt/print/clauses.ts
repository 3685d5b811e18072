// Prints clauses. Every projection becomes WITH; the last lines of a query or subquery add RETURN. Variables that a subquery
// imports stay in scope, so a projection that repeats one gives it another name.
import type {
  BoundAggregate,
  BoundClause,
  BoundExpression,
  BoundMatch,
  BoundPart,
  BoundProjection,
  BoundUnion,
  Slot,
} from '../../engine/bind/bound.ts'
import { slotsDeclaredBy, slotsIn, slotsOf } from '../../engine/bind/expression-tree.ts'
import { assertNever } from '../../kernel/assert.ts'
import { hasDerived, printDerivedMatch, printDerivedTest } from './derived.ts'
import { isScalar, isUnordered, maybeNaN, printCondition, printList, printUnordered, printValue } from './expression.ts'
import { NotPrintable } from './not-printable.ts'
import { printMatch } from './pattern.ts'
import { isClosed, type Printing } from './printing.ts'

/** The variables at one point of a part. */
interface ScopeNames {
  /** Those that the part imports: they stay in scope. */
  readonly imported: ReadonlySet<string>
  /** All variables in scope. */
  readonly known: Set<string>
}

/** The use of the rows of a part, on which it depends whether a limit is exact. */
type PartUse = 'rows' | 'counted' | 'inner'

/** The clauses of a part without its RETURN, one per line. */
export function printClauses(part: BoundPart, scope: ScopeNames, use: PartUse, printing: Printing): string[] {
  const { clauses } = part
  return clauses.flatMap((clause, i): string[] => {
    const before = clauses.slice(0, i)
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        if (match.optional && hasDerived(match)) return [printOptionalDerived(match, scope, printing)]
        const lines = printPlainMatch(match, scope.known, printing)
        for (const slot of [...slotsDeclaredBy(match), ...match.casts.map(({ to }) => to)]) {
          scope.known.add(printing.name(slot))
        }
        return lines
      }
      case 'unwind': {
        const list = printList(clause.list, printing)
        if (maybeNaN(clause.list, printing)) printing.maybeNaN.add(clause.slot.index)
        scope.known.add(printing.name(clause.slot))
        return [`UNWIND ${list} AS ${printing.name(clause.slot)}`]
      }
      case 'projection': {
        const isLast = i === clauses.length - 1
        return printProjection(clause.projection, { scope, use: isLast ? use : 'inner', before }, printing)
      }
      case 'union':
        if (i > 0) throw new NotPrintable('UNION after other clauses')
        return [printCall({ clauses: [clause], columns: clause.union.columns }, false, scope, printing)]
      case 'call':
        return [printCall(clause.part, clause.optional, scope, printing)]
      default:
        return assertNever(clause)
    }
  })
}

/** The lines of a MATCH. */
function printPlainMatch(match: BoundMatch, inScope: ReadonlySet<string>, printing: Printing): string[] {
  if (!hasDerived(match)) return [printMatch(match, printing)]
  return printDerivedMatch(match, inScope, printAlternative(printing), printing)
}

/** Prints the clauses of an alternative of a definition. */
function printAlternative(printing: Printing) {
  return (part: BoundPart, imported: ReadonlySet<string>): readonly string[] =>
    printClauses(part, { imported, known: new Set(imported) }, 'inner', printing)
}

/** An OPTIONAL MATCH of several clauses: they are optional together. */
function printOptionalDerived(match: BoundMatch, scope: ScopeNames, printing: Printing): string {
  const { nodes, relationships, paths } = match
  const declared = [...nodes, ...relationships.filter(({ named }) => named)].filter(({ bound }) => !bound)
  const groups = relationships.flatMap(({ quantified }) => quantified?.groups ?? [])
  const columns = [...declared, ...groups, ...paths].map(({ slot }) => ({ name: slot.name, slot }))
  const part: BoundPart = { clauses: [{ kind: 'match', match: { ...match, optional: false } }], columns }
  return printCall(part, true, scope, printing)
}

// ---------------------------------------------------------------- CALL, UNION and subqueries

function printCall(part: BoundPart, optional: boolean, scope: ScopeNames, printing: Printing): string {
  const names = [...slotsIn(part), ...part.columns.map(({ slot }) => slot)].map((slot) => printing.name(slot))
  const imported = new Set(names.filter((name) => scope.known.has(name)))
  printing.subqueryDepth += 1
  const [only] = part.clauses
  const body =
    part.clauses.length === 1 && only?.kind === 'union'
      ? printUnion(only.union, imported, printing)
      : printPart(part, imported, printing)
  printing.subqueryDepth -= 1
  for (const { slot } of part.columns) scope.known.add(printing.name(slot))
  return `${optional ? 'OPTIONAL ' : ''}CALL (${[...imported].join(', ')}) {\n${body}\n}`
}

function printPart(part: BoundPart, imported: ReadonlySet<string>, printing: Printing): string {
  const lines = printClauses(part, { imported, known: new Set(imported) }, 'inner', printing)
  const names = new Set(part.columns.map(({ slot }) => printing.name(slot)).filter((name) => !imported.has(name)))
  const columns = [...names].map((name) => `${name} AS ${name}`)
  // The rows count, also if they have no columns of their own.
  return [...lines, `RETURN ${columns.length > 0 ? columns.join(', ') : `1 AS ${printing.fresh()}`}`].join('\n')
}

function printUnion(union: BoundUnion, imported: ReadonlySet<string>, printing: Printing): string {
  const notScalar: Slot[] = []
  const texts = union.parts.map((part) => {
    const lines = printClauses(part, { imported, known: new Set(imported) }, 'inner', printing)
    const columns = union.columns.map(({ slot }, i) => {
      const source = part.columns[i]!.slot
      inheritFacts(slot, { kind: 'slot', slot: source }, printing)
      if (!isScalar({ kind: 'slot', slot: source }, printing)) notScalar.push(slot)
      return `${printing.name(source)} AS ${printing.name(slot)}`
    })
    return [...lines, `RETURN ${columns.length > 0 ? columns.join(', ') : '1 AS x'}`].join('\n')
  })
  for (const { index } of notScalar) printing.scalars.delete(index)
  if (union.distinct) for (const { slot } of union.columns) rejectGroup({ kind: 'slot', slot }, printing)
  return texts.join(union.distinct ? '\nUNION\n' : '\nUNION ALL\n')
}

/** The text within `EXISTS { }`, `COUNT { }` or `COLLECT { }`. */
export function printSubquery(part: BoundPart, form: 'exists' | 'count' | 'collect', printing: Printing): string {
  const own = new Set<string>()
  const imported = new Set([...slotsIn(part), ...part.columns.map(({ slot }) => slot)].map((s) => printing.name(s)))
  for (const clause of part.clauses) for (const slot of declaredBy(clause)) own.add(printing.name(slot))
  for (const name of own) imported.delete(name)
  printing.subqueryDepth += 1
  const use = form === 'collect' ? 'inner' : 'counted'
  const lines = printClauses(part, { imported, known: new Set(imported) }, use, printing)
  printing.subqueryDepth -= 1
  const isPattern = part.clauses.every((clause) => clause.kind === 'match' && !hasDerived(clause.match))
  if (form !== 'collect' && isPattern) return lines.join('\n')
  const column = form === 'collect' ? printing.name(part.columns[0]!.slot) : '1'
  return [...lines, `RETURN ${column} AS ${printing.fresh()}`].join('\n')
}

function declaredBy(clause: BoundClause): readonly Slot[] {
  switch (clause.kind) {
    case 'match':
      return slotsDeclaredBy(clause.match)
    case 'unwind':
      return [clause.slot]
    case 'projection': {
      const { computed, aggregates, grouping } = clause.projection
      const groups = (grouping ?? []).filter(({ slot, expression }) => !isSlot(expression, slot))
      return [...computed, ...aggregates, ...groups].map(({ slot }) => slot)
    }
    case 'union':
      return [...clause.union.columns.map(({ slot }) => slot), ...clause.union.parts.flatMap(ownSlots)]
    case 'call':
      return ownSlots(clause.part)
    default:
      return assertNever(clause)
  }
}

const ownSlots = (part: BoundPart): readonly Slot[] => part.clauses.flatMap(declaredBy)

/** Whether a MATCH has a row, as a condition. */
export function printExistsMatch(match: BoundMatch, printing: Printing): string {
  printing.subqueryDepth += 1
  const test = printDerivedTest(match, printAlternative(printing), printing)
  const lines = test === null ? printPlainMatch(match, new Set(), printing) : []
  printing.subqueryDepth -= 1
  if (test !== null) return test
  const last = !hasDerived(match) ? [] : [`RETURN 1 AS ${printing.fresh()}`]
  return `EXISTS { ${[...lines, ...last].join('\n')} }`
}

// ---------------------------------------------------------------- projections

interface ProjectionPlace {
  readonly scope: ScopeNames
  readonly use: PartUse
  /** The clauses before it in its part. */
  readonly before: readonly BoundClause[]
}

function printProjection(projection: BoundProjection, place: ProjectionPlace, printing: Printing): string[] {
  const { scope } = place
  rejectInexact(projection, place, printing)
  const lines: string[] = []
  const items = new Map<string, string>()
  const add = (slot: Slot, expression: BoundExpression): void => {
    const name = printing.name(slot)
    if (isSlot(expression, slot)) items.set(scope.imported.has(name) ? printing.fresh() : name, name)
    else items.set(name, printUnordered(expression, printing))
    inheritFacts(slot, expression, printing)
  }
  const itemList = (): string => [...items].map(([name, text]) => `${text} AS ${name}`).join(', ')
  const { grouping, aggregates, computed, columns } = projection
  const isAggregating = grouping !== null
  if (isAggregating) {
    for (const { slot, expression } of grouping) {
      rejectGroup(expression, printing)
      add(slot, expression)
    }
    for (const aggregate of aggregates) items.set(printing.name(aggregate.slot), printAggregate(aggregate, printing))
  }
  if (!isAggregating || computed.length > 0) {
    if (isAggregating) {
      lines.push(`WITH ${itemList()}`)
      items.clear()
    }
    const expressions = new Map(computed.map(({ slot, expression }) => [slot.index, expression]))
    for (const { slot } of columns) add(slot, expressions.get(slot.index) ?? { kind: 'slot', slot })
  }
  if (projection.distinct) for (const { slot } of columns) rejectGroup({ kind: 'slot', slot }, printing)
  if (items.size === 0) items.set(printing.fresh(), '1')
  lines.push(`WITH ${projection.distinct ? 'DISTINCT ' : ''}${itemList()}${printTail(projection, printing)}`)
  scope.known.clear()
  for (const name of [...scope.imported, ...items.keys()]) scope.known.add(name)
  return lines
}

function printTail({ orderBy, skip, limit, where }: BoundProjection, printing: Printing): string {
  const keys = orderBy.map(
    ({ expression, descending }) => `${printValue(expression, printing)}${descending ? ' DESC' : ''}`,
  )
  const order = keys.length > 0 ? `\nORDER BY ${keys.join(', ')}` : ''
  const count = (word: string, expression: BoundExpression | null): string => {
    if (expression === null) return ''
    if (!isClosed(expression)) throw new NotPrintable(`a computed ${word}`)
    return `\n${word} ${printing.parameter(expression, 'count')}`
  }
  const kept = where === null ? '' : `\nWHERE ${printCondition(where, printing)}`
  return `${order}${count('SKIP', skip)}${count('LIMIT', limit)}${kept}`
}

/** Aggregates whose value does not depend on the order of rows. */
const EXACT_AGGREGATES: ReadonlySet<string> = new Set(['count', 'collect', 'sum', 'min', 'max', 'percentileDisc'])

function printAggregate({ slot, name, distinct, argument, parameter }: BoundAggregate, printing: Printing): string {
  if (name === 'count') printing.scalars.add(slot.index)
  if (argument === null) return 'count(*)'
  if (!EXACT_AGGREGATES.has(name)) throw new NotPrintable(`the aggregate ${name}`)
  if (distinct) rejectGroup(argument, printing)
  if (name === 'collect') {
    printing.unordered.add(slot.index)
    if (maybeNaN(argument, printing)) printing.maybeNaN.add(slot.index)
  }
  if (name === 'sum') printing.maybeNaN.add(slot.index)
  if (name !== 'collect' && isScalar(argument, printing)) printing.scalars.add(slot.index)
  const second = parameter === null ? '' : `, ${percentile(parameter, printing)}`
  const text = name === 'count' ? printUnordered(argument, printing) : printValue(argument, printing)
  return `${name}(${distinct ? 'DISTINCT ' : ''}${text}${second})`
}

function percentile(parameter: BoundExpression, printing: Printing): string {
  if (!isClosed(parameter)) throw new NotPrintable('a computed percentile')
  return printing.parameter(parameter, 'any')
}

function inheritFacts(slot: Slot, expression: BoundExpression, printing: Printing): void {
  if (isUnordered(expression, printing)) printing.unordered.add(slot.index)
  if (isScalar(expression, printing)) printing.scalars.add(slot.index)
  if (maybeNaN(expression, printing)) printing.maybeNaN.add(slot.index)
}

/** Values that are grouped: the engine and the server form other groups of NaN, and a list must have a defined order. */
function rejectGroup(expression: BoundExpression, printing: Printing): void {
  if (isUnordered(expression, printing)) throw new NotPrintable('a list without a defined order')
  if (maybeNaN(expression, printing)) throw new NotPrintable('groups of computed numbers')
}

function rejectInexact(projection: BoundProjection, place: ProjectionPlace, printing: Printing): void {
  const { columns, distinct, orderBy, skip, limit, where, grouping, aggregates, computed } = projection
  const isInner = place.use === 'inner' || where !== null
  if ((skip !== null || limit !== null) && isInner && !ordersAllColumns(projection, place, printing)) {
    throw new NotPrintable('SKIP or LIMIT without an order of all columns')
  }
  // Within a subquery the server may drop a DISTINCT after a repetition.
  const repeats = place.before.some(hasRepetition)
  const isDistinct = distinct || aggregates.some((aggregate) => aggregate.distinct)
  const isComputed =
    computed.length > 0 || aggregates.some(({ argument }) => argument !== null && argument.kind !== 'slot')
  if (printing.subqueryDepth > 0 && repeats && isDistinct && isComputed) {
    throw new NotPrintable('DISTINCT of an expression after a repetition in a subquery')
  }
  if (!distinct && grouping === null) return
  const visible = new Set(columns.map(({ slot }) => printing.name(slot)))
  if (!distinct) for (const { slot } of [...aggregates, ...(grouping ?? [])]) visible.add(printing.name(slot))
  for (const expression of [...orderBy.map((key) => key.expression), ...(where === null ? [] : [where])]) {
    const isVisible = (slot: Slot): boolean =>
      visible.has(printing.name(slot)) || place.scope.imported.has(printing.name(slot))
    if (!slotsOf(expression).every(isVisible)) throw new NotPrintable('an order by a dropped value')
  }
}

/** Whether rows that ORDER BY leaves in any order are equal. */
function ordersAllColumns(
  { orderBy, columns }: BoundProjection,
  { scope }: ProjectionPlace,
  printing: Printing,
): boolean {
  const keys = new Set(orderBy.flatMap(({ expression }) => (expression.kind === 'slot' ? [expression.slot.index] : [])))
  return columns.every(({ slot }) => keys.has(slot.index) || scope.imported.has(printing.name(slot)))
}

function hasRepetition(clause: BoundClause): boolean {
  if (clause.kind === 'match') return clause.match.relationships.some(({ range }) => range !== null)
  if (clause.kind === 'call') return clause.part.clauses.some(hasRepetition)
  return clause.kind === 'union' && clause.union.parts.some((part) => part.clauses.some(hasRepetition))
}

function isSlot(expression: BoundExpression, slot: Slot): boolean {
  return expression.kind === 'slot' && expression.slot.index === slot.index
}
