// WITH and RETURN: which columns pass on, which are computed, what groups, and what ORDER BY and WHERE may still see.
import type { Expression, ReturnClause, Span, WithClause } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { StaticType } from '../value/static-type.ts'
import type { BoundAggregate, BoundExpression, BoundProjection, BoundSort, Slot, SlotKind } from './bound.ts'
import type { ExpressionPosition } from './expression-scope.ts'
import { mapChildren, slotsOf } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import type { TypedExpression } from './typed-expression.ts'

/** What a projection needs from the binder of the query. */
export interface ProjectionDeps {
  readonly issues: readonly Diagnostic[]
  newSlot(name: string | null, kind: SlotKind, type?: StaticType): Slot
  bindTyped(
    expression: Expression,
    scope: VariableScope,
    aggregates: AggregateSink,
    place: ExpressionPosition,
  ): TypedExpression
  report(code: string, message: string, span: Span): void
}

/** Takes an aggregate and answers the slot of its result; null where aggregates are refused. */
export type AggregateSink = ((aggregate: Omit<BoundAggregate, 'slot'>) => Slot) | null

/** In one WITH or RETURN: binding compares every column with every other. */
const MAX_COLUMNS = 200

/** Neither computes nor changes anything. */
export const emptyProjection: BoundProjection = {
  computed: [],
  aggregates: [],
  grouping: null,
  distinct: false,
  orderBy: [],
  skip: null,
  limit: null,
  where: null,
  columns: [],
}

interface BoundProjectionItem {
  readonly name: string
  readonly ast: Expression | null
  readonly expression: BoundExpression
  readonly type: StaticType | undefined
  readonly aggregating: boolean
}

interface NamedSlot {
  readonly name: string
  readonly slot: Slot
}

/** `imported`: names of a subquery's outside, which no projection takes out of sight. */
export function bindProjection(
  clause: WithClause | ReturnClause,
  outer: VariableScope,
  imported: VariableScope,
  binder: ProjectionDeps,
): { readonly projection: BoundProjection; readonly scope: VariableScope } {
  const aggregates: BoundAggregate[] = []
  const beyond = clause.items[MAX_COLUMNS]
  if (beyond) {
    binder.report('QueryTooLong', `more than ${MAX_COLUMNS} columns in one projection`, beyond.span)
    return { projection: emptyProjection, scope: outer }
  }
  const collect = (aggregate: Omit<BoundAggregate, 'slot'>): Slot => {
    const key = fingerprint(aggregate)
    const same = aggregates.find(({ slot: _, ...known }) => fingerprint(known) === key)
    if (same) return same.slot
    const slot = binder.newSlot(null, 'value')
    aggregates.push({ slot, ...aggregate })
    return slot
  }
  const items = bindItems(clause, outer, binder, collect, aggregates)
  const aggregating = aggregates.length > 0

  const columns: NamedSlot[] = []
  const computed: { slot: Slot; expression: BoundExpression }[] = []
  const grouping: { slot: Slot; expression: BoundExpression }[] = []
  for (const item of items) {
    if (item.aggregating) continue
    const slot = slotOfVariable(item.expression) ?? binder.newSlot(item.name, 'value', item.type)
    if (aggregating) grouping.push({ slot, expression: item.expression })
    else if (!slotOfVariable(item.expression)) computed.push({ slot, expression: item.expression })
    columns.push({ name: item.name, slot })
  }
  const keys = aggregating ? grouping : []
  for (const item of items) {
    if (!item.aggregating) continue
    const expression = resolveAboveAggregation(item.expression, keys, aggregates, item.ast, binder)
    const slot = slotOfVariable(expression) ?? binder.newSlot(item.name, 'value', item.type)
    if (!slotOfVariable(expression)) computed.push({ slot, expression })
    columns.splice(items.indexOf(item), 0, { name: item.name, slot })
  }
  rejectDuplicateColumns(clause, columns, binder)

  const after: VariableScope = new Map(columns.map(({ name, slot }) => [name, slot]))
  // Without a barrier the old names are still there for ORDER BY and WHERE; the new ones win.
  const barrier = aggregating || clause.distinct
  const both: VariableScope = new Map([...outer, ...after])
  /** ORDER BY may repeat an aggregate of the projection; another one is not there to be seen. */
  const known = (aggregate: Omit<BoundAggregate, 'slot'>): Slot => {
    const before = aggregates.length
    const slot = collect(aggregate)
    if (aggregates.length === before) return slot
    aggregates.pop()
    const message = `${aggregate.name}() in ORDER BY must be one of the columns`
    binder.report('UndefinedVariable', message, clause.span)
    return slot
  }
  const visible = (ast: Expression, place: 'column' | 'condition'): BoundExpression => {
    const { bound } = binder.bindTyped(ast, both, place === 'column' && aggregating ? known : null, place)
    if (!barrier) return bound
    const items = aggregating ? [...keys, ...computed] : computed
    const constants = [...imported.values()].map(
      (slot): SlotExpression => ({ slot, expression: { kind: 'slot', slot } }),
    )
    return resolveAboveBarrier(bound, [...items, ...constants], [...columns, ...constants], aggregates, ast, binder)
  }
  const orderBy = clause.orderBy.map(
    (item): BoundSort => ({ expression: visible(item.expression, 'column'), descending: item.descending }),
  )
  const where = clause.kind === 'with' && clause.where ? visible(clause.where, 'condition') : null
  return {
    projection: {
      computed,
      aggregates,
      grouping: aggregating ? grouping : null,
      distinct: clause.distinct,
      orderBy,
      skip: bindCountClause(clause.skip, 'SKIP', binder),
      limit: bindCountClause(clause.limit, 'LIMIT', binder),
      where,
      columns,
    },
    scope: after,
  }
}

function bindItems(
  clause: WithClause | ReturnClause,
  outer: VariableScope,
  binder: ProjectionDeps,
  collect: (aggregate: Omit<BoundAggregate, 'slot'>) => Slot,
  aggregates: readonly BoundAggregate[],
): BoundProjectionItem[] {
  const items: BoundProjectionItem[] = []
  if (clause.star) {
    if (outer.size === 0 && clause.kind === 'return') {
      binder.report('NoVariablesInScope', 'RETURN * needs a variable in scope', clause.span)
    }
    // In the order of their names, as openCypher has it.
    for (const [name, slot] of [...outer].sort(([a], [b]) => (a < b ? -1 : 1))) {
      items.push({ name, ast: null, expression: { kind: 'slot', slot }, type: slot.type, aggregating: false })
    }
  }
  for (const { expression: ast, alias, text, span } of clause.items) {
    const { bound: expression, type } = binder.bindTyped(ast, outer, collect, 'column')
    const name = alias?.text ?? (ast.kind === 'variable' ? ast.name : text)
    if (!alias && ast.kind !== 'variable' && clause.kind === 'with') {
      binder.report('NoExpressionAlias', 'an expression in WITH needs a name: add `AS name`', span)
    }
    const results = new Set(aggregates.map((a) => a.slot.index))
    const aggregating = slotsOf(expression).some((slot) => results.has(slot.index))
    items.push({ name, ast, expression, type, aggregating })
  }
  return items
}

function rejectDuplicateColumns(
  clause: WithClause | ReturnClause,
  columns: readonly NamedSlot[],
  binder: ProjectionDeps,
): void {
  const seen = new Set<string>()
  for (const { name } of columns) {
    if (seen.has(name)) binder.report('ColumnNameConflict', `two columns are named \`${name}\``, clause.span)
    seen.add(name)
  }
}

/** SKIP and LIMIT see no variables: they are known before the first row. */
function bindCountClause(
  ast: Expression | null,
  word: 'SKIP' | 'LIMIT',
  binder: ProjectionDeps,
): BoundExpression | null {
  if (!ast) return null
  const { bound: expression } = binder.bindTyped(ast, new Map(), null, 'column')
  if (
    binder.issues.some(
      (issue) =>
        issue.code === 'UndefinedVariable' && issue.span.start >= ast.span.start && issue.span.end <= ast.span.end,
    )
  ) {
    binder.report('NonConstantExpression', `${word} cannot depend on a row`, ast.span)
  }
  if (expression.kind === 'constant') {
    const { value } = expression
    const whole = typeof value === 'number' || typeof value === 'bigint'
    if (!whole) binder.report('InvalidArgumentType', `${word} must be an integer`, ast.span)
    else if (value < 0) binder.report('NegativeIntegerArgument', `${word} cannot be negative`, ast.span)
  }
  return expression
}

/** The slot that a bare variable already has; null where something must be computed. */
function slotOfVariable(expression: BoundExpression): Slot | null {
  return expression.kind === 'slot' ? expression.slot : null
}

/** An expression above an aggregation: grouping keys become their slots; any other variable is ambiguous. */
function resolveAboveAggregation(
  expression: BoundExpression,
  keys: readonly SlotExpression[],
  aggregates: readonly BoundAggregate[],
  ast: Expression | null,
  binder: ProjectionDeps,
): BoundExpression {
  const replaced = replaceKnown(expression, keys.filter(isVariableOrProperty))
  const allowed = new Set([...keys.map((key) => key.slot.index), ...aggregates.map((a) => a.slot.index)])
  const stray = slotsOf(replaced).find((slot) => !allowed.has(slot.index))
  if (stray && ast) {
    binder.report(
      'AmbiguousAggregationExpression',
      `\`${stray.name}\` is neither aggregated nor a grouping key`,
      ast.span,
    )
  }
  return replaced
}

/** ORDER BY and WHERE above a barrier see the columns and nothing else. */
function resolveAboveBarrier(
  expression: BoundExpression,
  known: readonly SlotExpression[],
  columns: readonly { readonly slot: Slot }[],
  aggregates: readonly BoundAggregate[],
  ast: Expression,
  binder: ProjectionDeps,
): BoundExpression {
  const replaced = replaceKnown(expression, known)
  const allowed = new Set([...columns.map((c) => c.slot.index), ...aggregates.map((a) => a.slot.index)])
  const stray = slotsOf(replaced).find((slot) => !allowed.has(slot.index))
  if (stray) {
    binder.report('UndefinedVariable', `variable \`${stray.name}\` is not in scope after the projection`, ast.span)
    return replaced
  }
  const results = new Set(aggregates.map((a) => a.slot.index))
  const mixed = slotsOf(expression).some((slot) => results.has(slot.index))
  if (mixed && !isColumn(expression, known)) return resolveAboveAggregation(expression, known, aggregates, ast, binder)
  return replaced
}

type SlotExpression = { readonly slot: Slot; readonly expression: BoundExpression }

/** Beside an aggregate only a variable or its property may repeat a grouping key; `a.x + a.y + count(*)` is ambiguous. */
function isVariableOrProperty({ expression }: SlotExpression): boolean {
  return expression.kind === 'slot' || expression.kind === 'element-property' || expression.kind === 'property'
}

function isColumn(expression: BoundExpression, known: readonly SlotExpression[]): boolean {
  const own = fingerprint(expression)
  return known.some((item) => fingerprint(item.expression) === own)
}

function replaceKnown(expression: BoundExpression, known: readonly SlotExpression[]): BoundExpression {
  const own = fingerprint(expression)
  const match = known.find((item) => fingerprint(item.expression) === own)
  if (match) return { kind: 'slot', slot: match.slot }
  return mapChildren(expression, (child) => replaceKnown(child, known))
}

/** Equal fingerprints mean the same expression, wherever it stands in the text. */
function fingerprint(bound: unknown): string {
  return JSON.stringify(bound, (key, value: unknown) => {
    if (key === 'span') return undefined
    if (typeof value === 'bigint') return `${value}n`
    if (Object.is(value, -0)) return '-0'
    if (value instanceof Map) return [...value]
    return value
  })
}
