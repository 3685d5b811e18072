// Binds queries inside expressions. EXISTS over a single MATCH stays a pattern, which the optimizer turns into a semi-join.
// Any other subquery is a part of its own, which runs with the outer row as its argument.
import type { PathPattern, PatternComprehension, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import { bindPatterns, plainMatch } from './bind-pattern.ts'
import { emptyProjection } from './bind-projection.ts'
import type { BoundExpression, BoundPart, Slot, SlotKind } from './bound.ts'
import { slotsIn } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import type { PatternDeps } from './pattern-builder.ts'

/** The functions of the query binder that subqueries use. */
export interface SubqueryDeps {
  patternDeps(scope: VariableScope, graph: number, mayDeclare: boolean): PatternDeps
  bindQuery(query: Query, scope: VariableScope, graph: number): BoundPart
  newSlot(name: string | null, kind: SlotKind): Slot
  /** Whether every part of the query ends with RETURN. */
  endsWithReturn(query: Query): boolean
  report(code: string, message: string, span: Span): void
}

type SubqueryForm = Extract<BoundExpression, { kind: 'subquery' }>['form']

/** A pattern predicate or EXISTS { }. */
export function bindExists(
  body: SubqueryBody | PathPattern,
  span: Span,
  scope: VariableScope,
  deps: SubqueryDeps,
): BoundExpression {
  const graph = graphOf(scope)
  if (body.kind === 'path') {
    const { match } = bindPatterns([body], null, plainMatch, deps.patternDeps(scope, graph, false))
    return { kind: 'exists', match, span }
  }
  if (body.kind === 'patterns') {
    const { match } = bindPatterns(body.patterns, body.where, plainMatch, deps.patternDeps(scope, graph, true))
    return { kind: 'exists', match, span }
  }
  return subquery('exists', deps.bindQuery(body.query, scope, graph), scope, span)
}

/** COUNT { }. */
export function bindCount(body: SubqueryBody, span: Span, scope: VariableScope, deps: SubqueryDeps): BoundExpression {
  return subquery('count', bodyPart(body, scope, deps), scope, span)
}

/** COLLECT { }. Reports `InvalidCollectSubquery` unless it returns one column. */
export function bindCollect(query: Query, span: Span, scope: VariableScope, deps: SubqueryDeps): BoundExpression {
  const part = deps.bindQuery(query, scope, graphOf(scope))
  if (!deps.endsWithReturn(query) || part.columns.length !== 1) {
    deps.report('InvalidCollectSubquery', 'COLLECT { } must return exactly one column', span)
  }
  return subquery('collect', part, scope, span)
}

/** `[(a)-->(b) WHERE … | …]`, bound as a `collect` subquery. */
export function bindComprehension(
  ast: PatternComprehension,
  scope: VariableScope,
  deps: SubqueryDeps,
): BoundExpression {
  const patterns = deps.patternDeps(scope, graphOf(scope), true)
  const { match, scope: inner } = bindPatterns([ast.pattern], ast.where, plainMatch, patterns)
  const expression = patterns.bind(ast.projection, inner, 'column')
  const slot = deps.newSlot(null, 'value')
  const columns = [{ name: 'item', slot }]
  const part: BoundPart = {
    clauses: [
      { kind: 'match', match },
      {
        kind: 'projection',
        projection: { ...emptyProjection, computed: [{ slot, expression }], columns },
      },
    ],
    columns,
  }
  return subquery('collect', part, scope, ast.span)
}

function bodyPart(body: SubqueryBody, scope: VariableScope, deps: SubqueryDeps): BoundPart {
  if (body.kind === 'query') return deps.bindQuery(body.query, scope, graphOf(scope))
  const { match } = bindPatterns(body.patterns, body.where, plainMatch, deps.patternDeps(scope, graphOf(scope), true))
  return { clauses: [{ kind: 'match', match }], columns: [] }
}

function subquery(form: SubqueryForm, part: BoundPart, scope: VariableScope, span: Span): BoundExpression {
  const outer = new Map([...scope.values()].map((slot) => [slot.index, slot]))
  const reads = new Map(slotsIn(part).flatMap((slot) => (outer.has(slot.index) ? [[slot.index, slot] as const] : [])))
  return { kind: 'subquery', form, part, reads: [...reads.values()], span }
}

/** A pattern in an expression is matched in the graph of the elements around it. */
function graphOf(scope: VariableScope): number {
  for (const slot of scope.values()) if (slot.kind === 'node' || slot.kind === 'relationship') return slot.graph
  return 0
}
