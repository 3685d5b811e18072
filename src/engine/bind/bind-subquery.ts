// Queries inside expressions. A single MATCH that is only asked whether it has a row stays a pattern, which the optimiser
// turns into a semi-join; everything else is a part of its own, run with the outer row as its argument.
import type { PathPattern, PatternComprehension, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import { bindPatterns } from './bind-pattern.ts'
import { emptyProjection } from './bind-projection.ts'
import type { BoundExpression, BoundPart, Slot, SlotKind } from './bound.ts'
import { slotsIn } from './expression-tree.ts'
import type { VariableScope } from './frame-layout.ts'
import type { PatternDeps } from './pattern-builder.ts'

/** What a subquery needs from the binder of the query. */
export interface SubqueryDeps {
  patternSite(scope: VariableScope, graph: number, mayDeclare: boolean): PatternDeps
  bindQuery(query: Query, scope: VariableScope, graph: number): BoundPart
  newSlot(name: string | null, kind: SlotKind): Slot
  report(code: string, message: string, span: Span): void
}

type SubqueryForm = Extract<BoundExpression, { kind: 'subquery' }>['form']

export function bindExists(
  body: SubqueryBody | PathPattern,
  span: Span,
  scope: VariableScope,
  site: SubqueryDeps,
): BoundExpression {
  const graph = graphOf(scope)
  if (body.kind === 'path') {
    const { match } = bindPatterns([body], null, false, site.patternSite(scope, graph, false))
    return { kind: 'exists', match, span }
  }
  if (body.kind === 'patterns') {
    const { match } = bindPatterns(body.patterns, body.where, false, site.patternSite(scope, graph, true))
    return { kind: 'exists', match, span }
  }
  return subquery('exists', site.bindQuery(body.query, scope, graph), scope, span)
}

export function bindCount(body: SubqueryBody, span: Span, scope: VariableScope, site: SubqueryDeps): BoundExpression {
  return subquery('count', bodyPart(body, scope, site), scope, span)
}

export function bindCollect(query: Query, span: Span, scope: VariableScope, site: SubqueryDeps): BoundExpression {
  const part = site.bindQuery(query, scope, graphOf(scope))
  const last = query.parts[0]?.clauses.at(-1)
  if (last?.kind !== 'return' || part.columns.length !== 1) {
    site.report('InvalidCollectSubquery', 'COLLECT { } must return exactly one column', span)
  }
  return subquery('collect', part, scope, span)
}

export function bindComprehension(
  ast: PatternComprehension,
  scope: VariableScope,
  site: SubqueryDeps,
): BoundExpression {
  const patterns = site.patternSite(scope, graphOf(scope), true)
  const { match, scope: inner } = bindPatterns([ast.pattern], ast.where, false, patterns)
  const expression = patterns.bind(ast.projection, inner, 'column')
  const slot = site.newSlot(null, 'value')
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

function bodyPart(body: SubqueryBody, scope: VariableScope, site: SubqueryDeps): BoundPart {
  if (body.kind === 'query') return site.bindQuery(body.query, scope, graphOf(scope))
  const { match } = bindPatterns(body.patterns, body.where, false, site.patternSite(scope, graphOf(scope), true))
  return { clauses: [{ kind: 'match', match }], columns: [] }
}

function subquery(form: SubqueryForm, part: BoundPart, scope: VariableScope, span: Span): BoundExpression {
  const outer = new Map([...scope.values()].map((slot) => [slot.index, slot]))
  const reads = new Map(slotsIn(part).flatMap((slot) => (outer.has(slot.index) ? [[slot.index, slot] as const] : [])))
  return { kind: 'subquery', form, part, reads: [...reads.values()], span }
}

/** A pattern in an expression asks the graph that the elements around it belong to. */
function graphOf(scope: VariableScope): number {
  for (const slot of scope.values()) if (slot.kind === 'node' || slot.kind === 'relationship') return slot.graph
  return 0
}
