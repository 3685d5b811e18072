// Queries inside expressions. A single MATCH that is only asked whether it has a row stays a pattern, which the optimiser
// turns into a semi-join; everything else is a part of its own, run with the outer row as its argument.
import type { PathPattern, PatternComprehension, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import { bindPatterns } from './bind-pattern.ts'
import { emptyProjection } from './bind-projection.ts'
import type { BoundExpression, BoundPart, Slot, SlotKind } from './bound.ts'
import type { Scope } from './frame.ts'
import type { PatternSite } from './pattern-draft.ts'
import { slotsIn } from './walk.ts'

/** What a subquery needs from the binder of the query. */
export interface SubquerySite {
  patternSite(scope: Scope, graph: number, mayDeclare: boolean): PatternSite
  bindQuery(query: Query, scope: Scope, graph: number): BoundPart
  fresh(name: string | null, kind: SlotKind): Slot
  report(code: string, message: string, span: Span): void
}

type Form = Extract<BoundExpression, { kind: 'subquery' }>['form']

export function bindExists(
  body: SubqueryBody | PathPattern,
  span: Span,
  scope: Scope,
  site: SubquerySite,
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

export function bindCount(body: SubqueryBody, span: Span, scope: Scope, site: SubquerySite): BoundExpression {
  return subquery('count', bodyPart(body, scope, site), scope, span)
}

export function bindCollect(query: Query, span: Span, scope: Scope, site: SubquerySite): BoundExpression {
  const part = site.bindQuery(query, scope, graphOf(scope))
  const last = query.parts[0]?.clauses.at(-1)
  if (last?.kind !== 'return' || part.columns.length !== 1) {
    site.report('InvalidCollectSubquery', 'COLLECT { } returns exactly one column', span)
  }
  return subquery('collect', part, scope, span)
}

export function bindComprehension(ast: PatternComprehension, scope: Scope, site: SubquerySite): BoundExpression {
  const patterns = site.patternSite(scope, graphOf(scope), true)
  const { match, scope: inner } = bindPatterns([ast.pattern], ast.where, false, patterns)
  const expression = patterns.bind(ast.projection, inner, 'column')
  const slot = site.fresh(null, 'value')
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

function bodyPart(body: SubqueryBody, scope: Scope, site: SubquerySite): BoundPart {
  if (body.kind === 'query') return site.bindQuery(body.query, scope, graphOf(scope))
  const { match } = bindPatterns(body.patterns, body.where, false, site.patternSite(scope, graphOf(scope), true))
  return { clauses: [{ kind: 'match', match }], columns: [] }
}

function subquery(form: Form, part: BoundPart, scope: Scope, span: Span): BoundExpression {
  const outer = new Map([...scope.values()].map((slot) => [slot.index, slot]))
  const reads = new Map(slotsIn(part).flatMap((slot) => (outer.has(slot.index) ? [[slot.index, slot] as const] : [])))
  return { kind: 'subquery', form, part, reads: [...reads.values()], span }
}

/** A pattern in an expression asks the graph that the elements around it belong to. */
function graphOf(scope: Scope): number {
  for (const slot of scope.values()) if (slot.kind === 'node' || slot.kind === 'relationship') return slot.graph
  return 0
}
