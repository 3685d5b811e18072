// Binds WITH and RETURN: which columns are variables and which are computed, what the grouping keys are, and what ORDER BY
// and WHERE can read.
import type { Expression, ReturnClause, Span, WithClause } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { StaticType } from '../value/static-type.ts'
import type {
  BoundAggregate,
  BoundColumn,
  BoundExpression,
  BoundProjection,
  BoundSort,
  Slot,
  SlotKind,
} from './bound.ts'
import type { ExpressionPosition } from './expression-scope.ts'
import { mapChildren, slotsOf } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import type { TypedExpression } from './typed-expression.ts'

/** The functions of the query binder that a projection uses. */
export interface ProjectionDeps {
  /** All diagnostics so far. */
  readonly diagnostics: readonly Diagnostic[]
  /** A new slot; null for a slot without a name. */
  newSlot(name: string | null, kind: SlotKind, type?: StaticType): Slot
  /** Binds an expression in a scope. */
  bindTyped(
    expression: Expression,
    scope: VariableScope,
    aggregates: RegisterAggregate,
    position: ExpressionPosition,
  ): TypedExpression
  /** Adds a diagnostic. */
  report(code: string, message: string, span: Span): void
}

/** Registers an aggregate and returns the slot of its result. Null where aggregates are not allowed. */
export type RegisterAggregate = ((aggregate: Omit<BoundAggregate, 'slot'>) => Slot) | null

/** Limit for one WITH or RETURN: the binder compares every column with every other. */
const MAX_COLUMNS = 200

/** A projection that computes nothing and keeps every row. */
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

/**
 * Binds WITH or RETURN and returns it with the scope after it. `imported` are the names that a subquery has imported: they
 * stay visible after every projection.
 */
export function bindProjection(
  clause: WithClause | ReturnClause,
  outer: VariableScope,
  imported: VariableScope,
  deps: ProjectionDeps,
): { readonly projection: BoundProjection; readonly scope: VariableScope } {
  const aggregates: BoundAggregate[] = []
  const beyond = clause.items[MAX_COLUMNS]
  if (beyond) {
    deps.report('QueryTooLong', `more than ${MAX_COLUMNS} columns in one projection`, beyond.span)
    return { projection: emptyProjection, scope: outer }
  }
  const collect = (aggregate: Omit<BoundAggregate, 'slot'>): Slot => {
    const key = fingerprint(aggregate)
    const same = aggregates.find(({ slot: _, ...known }) => fingerprint(known) === key)
    if (same) return same.slot
    const slot = deps.newSlot(null, 'value')
    aggregates.push({ slot, ...aggregate })
    return slot
  }
  const items = bindItems(clause, outer, deps, collect, aggregates)
  const aggregating = aggregates.length > 0

  const columns: BoundColumn[] = []
  const computed: { slot: Slot; expression: BoundExpression }[] = []
  const grouping: { slot: Slot; expression: BoundExpression }[] = []
  for (const item of items) {
    if (item.aggregating) continue
    const slot = slotOfVariable(item.expression) ?? deps.newSlot(item.name, 'value', item.type)
    if (aggregating) grouping.push({ slot, expression: item.expression })
    else if (!slotOfVariable(item.expression)) computed.push({ slot, expression: item.expression })
    columns.push({ name: item.name, slot })
  }
  const keys = aggregating ? grouping : []
  for (const item of items) {
    if (!item.aggregating) continue
    const expression = resolveAboveAggregation(item.expression, keys, aggregates, item.ast, deps)
    const slot = slotOfVariable(expression) ?? deps.newSlot(item.name, 'value', item.type)
    if (!slotOfVariable(expression)) computed.push({ slot, expression })
    columns.splice(items.indexOf(item), 0, { name: item.name, slot })
  }
  rejectDuplicateColumns(clause, columns, deps)

  const after: VariableScope = new Map(columns.map(({ name, slot }) => [name, slot]))
  // Without aggregation or DISTINCT, ORDER BY and WHERE also see the old names; the new ones override them. Otherwise they see what the
  // subquery imported: a pattern may have given an imported value a slot of its own, which ends here.
  const barrier = aggregating || clause.distinct
  const both: VariableScope = new Map([...outer, ...(barrier ? imported : []), ...after])
  /** ORDER BY may repeat an aggregate of the projection, but not introduce another one. */
  const known = (aggregate: Omit<BoundAggregate, 'slot'>): Slot => {
    const before = aggregates.length
    const slot = collect(aggregate)
    if (aggregates.length === before) return slot
    aggregates.pop()
    const message = `${aggregate.name}() in ORDER BY must be one of the columns`
    deps.report('UndefinedVariable', message, clause.span)
    return slot
  }
  const visible = (ast: Expression, position: 'column' | 'condition'): BoundExpression => {
    const { bound } = deps.bindTyped(ast, both, position === 'column' && aggregating ? known : null, position)
    if (!barrier) return bound
    const items = aggregating ? [...keys, ...computed] : computed
    const constants = [...imported.values()].map(
      (slot): SlotExpression => ({ slot, expression: { kind: 'slot', slot } }),
    )
    return resolveAboveBarrier(bound, [...items, ...constants], [...columns, ...constants], aggregates, ast, deps)
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
      skip: bindCountClause(clause.skip, 'SKIP', deps),
      limit: bindCountClause(clause.limit, 'LIMIT', deps),
      where,
      columns,
    },
    scope: after,
  }
}

function bindItems(
  clause: WithClause | ReturnClause,
  outer: VariableScope,
  deps: ProjectionDeps,
  collect: (aggregate: Omit<BoundAggregate, 'slot'>) => Slot,
  aggregates: readonly BoundAggregate[],
): BoundProjectionItem[] {
  const items: BoundProjectionItem[] = []
  if (clause.star) {
    if (outer.size === 0 && clause.kind === 'return') {
      deps.report('NoVariablesInScope', 'RETURN * needs a variable in scope', clause.span)
    }
    // openCypher sorts the columns of `*` by name.
    for (const [name, slot] of [...outer].sort(([a], [b]) => (a < b ? -1 : 1))) {
      items.push({ name, ast: null, expression: { kind: 'slot', slot }, type: slot.type, aggregating: false })
    }
  }
  for (const { expression: ast, alias, text, span } of clause.items) {
    const { bound: expression, type } = deps.bindTyped(ast, outer, collect, 'column')
    const name = alias?.text ?? (ast.kind === 'variable' ? ast.name : text)
    if (!alias && ast.kind !== 'variable' && clause.kind === 'with') {
      deps.report('NoExpressionAlias', 'an expression in WITH needs a name: add `AS name`', span)
    }
    const results = new Set(aggregates.map((a) => a.slot.index))
    const aggregating = slotsOf(expression).some((slot) => results.has(slot.index))
    items.push({ name, ast, expression, type, aggregating })
  }
  return items
}

function rejectDuplicateColumns(
  clause: WithClause | ReturnClause,
  columns: readonly BoundColumn[],
  deps: ProjectionDeps,
): void {
  const seen = new Set<string>()
  for (const { name } of columns) {
    if (seen.has(name)) deps.report('ColumnNameConflict', `two columns are named \`${name}\``, clause.span)
    seen.add(name)
  }
}

/** SKIP and LIMIT have no variables in scope, because their values are needed before the first row. */
function bindCountClause(ast: Expression | null, word: 'SKIP' | 'LIMIT', deps: ProjectionDeps): BoundExpression | null {
  if (!ast) return null
  const { bound: expression } = deps.bindTyped(ast, new Map(), null, 'column')
  if (
    deps.diagnostics.some(
      (diagnostic) =>
        diagnostic.code === 'UndefinedVariable' &&
        diagnostic.span.start >= ast.span.start &&
        diagnostic.span.end <= ast.span.end,
    )
  ) {
    deps.report('NonConstantExpression', `${word} cannot depend on a row`, ast.span)
  }
  if (expression.kind === 'constant') {
    const { value } = expression
    const whole = typeof value === 'number' || typeof value === 'bigint'
    if (!whole) deps.report('InvalidArgumentType', `${word} must be an integer`, ast.span)
    else if (value < 0) deps.report('NegativeIntegerArgument', `${word} cannot be negative`, ast.span)
  }
  return expression
}

/** The slot of an expression that is only a variable; null if the expression must be computed. */
function slotOfVariable(expression: BoundExpression): Slot | null {
  return expression.kind === 'slot' ? expression.slot : null
}

/** An expression above an aggregation: replaces grouping keys by their slots and reports any other variable as ambiguous. */
function resolveAboveAggregation(
  expression: BoundExpression,
  keys: readonly SlotExpression[],
  aggregates: readonly BoundAggregate[],
  ast: Expression | null,
  deps: ProjectionDeps,
): BoundExpression {
  const replaced = replaceKnown(expression, keys.filter(isVariableOrProperty))
  const allowed = new Set([...keys.map((key) => key.slot.index), ...aggregates.map((a) => a.slot.index)])
  const stray = slotsOf(replaced).find((slot) => !allowed.has(slot.index))
  if (stray && ast) {
    deps.report(
      'AmbiguousAggregationExpression',
      `\`${stray.name}\` is neither aggregated nor a grouping key`,
      ast.span,
    )
  }
  return replaced
}

/** ORDER BY and WHERE after an aggregation or DISTINCT: they can read only the columns. */
function resolveAboveBarrier(
  expression: BoundExpression,
  known: readonly SlotExpression[],
  columns: readonly { readonly slot: Slot }[],
  aggregates: readonly BoundAggregate[],
  ast: Expression,
  deps: ProjectionDeps,
): BoundExpression {
  const replaced = replaceKnown(expression, known)
  const allowed = new Set([...columns.map((c) => c.slot.index), ...aggregates.map((a) => a.slot.index)])
  const stray = slotsOf(replaced).find((slot) => !allowed.has(slot.index))
  if (stray) {
    deps.report('UndefinedVariable', `variable \`${stray.name}\` is not in scope after the projection`, ast.span)
    return replaced
  }
  const results = new Set(aggregates.map((a) => a.slot.index))
  const mixed = slotsOf(expression).some((slot) => results.has(slot.index))
  if (mixed && !isColumn(expression, known)) return resolveAboveAggregation(expression, known, aggregates, ast, deps)
  return replaced
}

type SlotExpression = { readonly slot: Slot; readonly expression: BoundExpression }

/**
 * Next to an aggregate, an expression may repeat a grouping key only if the key is a variable or a property:
 * `a.x + a.y + count(*)` is ambiguous.
 */
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

/** A key that is equal for equal expressions, at any position of the text. */
function fingerprint(bound: unknown): string {
  return JSON.stringify(bound, (key, value: unknown) => {
    if (key === 'span') return undefined
    if (typeof value === 'bigint') return `${value}n`
    if (Object.is(value, -0)) return '-0'
    if (value instanceof Map) return [...value]
    return value
  })
}
