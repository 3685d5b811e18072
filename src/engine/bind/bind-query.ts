// Names → slots, clause by clause. Everything that can be wrong with a text is found here, before any data is read,
// and what the engine does not execute is refused here, so that nothing of a text is ever silently ignored.
import type { Clause, Expression, PathPattern, Query, Span, SubqueryBody } from '../../../grammar/ast.ts'
import type { Issue } from '../../../grammar/issue.ts'
import { unreachable } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { bindExpression } from './bind-expression.ts'
import { bindPatterns, type PatternSite } from './bind-pattern.ts'
import { bindProjection } from './bind-projection.ts'
import type { BoundAggregate, BoundClause, BoundExpression, BoundQuery, Slot, SlotKind } from './bound.ts'
import type { Dialect } from './dialect.ts'
import { FrameLayout, type Scope } from './frame.ts'
import type { ExpressionScope } from './scope.ts'

/** `rows`: the query ends in RETURN. `condition`: it has none, and its columns are what is in scope at the end. */
export type QueryForm = 'rows' | 'condition'

export function bindQuery(query: Query, dialect: Dialect, form: QueryForm): Result<BoundQuery, readonly Issue[]> {
  const binder = new QueryBinder(dialect)
  const bound = binder.bindQuery(query, form)
  return binder.issues.length > 0 ? err(binder.issues) : ok(bound)
}

/** Takes an aggregate and answers the slot of its result; null where aggregates are refused. */
export type AggregateSink = ((aggregate: Omit<BoundAggregate, 'slot'>) => Slot) | null

export class QueryBinder {
  readonly issues: Issue[] = []
  private readonly layout = new FrameLayout()
  private readonly parameters = new Set<string>()
  private readonly dialect: Dialect
  private scope: Scope = new Map()

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  bindQuery(query: Query, form: QueryForm): BoundQuery {
    if (query.parts.length !== 1) this.refuse('UNION is not supported yet', query.parts[1]?.span ?? query.span)
    const { clauses, span } = query.parts[0]!
    const bound: BoundClause[] = []
    clauses.forEach((clause, i) => {
      const last = i === clauses.length - 1
      if (!this.admitted(clause)) return
      if (clause.kind === 'return' && !last) {
        this.report('InvalidClauseComposition', 'RETURN can only stand at the end', clause.span)
      }
      const result = this.bindClause(clause)
      if (result) bound.push(result)
    })
    const last = clauses[clauses.length - 1]
    if (form === 'rows' && last && last.kind !== 'return') {
      this.report('InvalidClauseComposition', 'a query ends with RETURN', { start: span.end, end: span.end })
    }
    if (!last) this.report('UnexpectedSyntax', 'the text holds no clause', span)
    return {
      clauses: bound,
      frameSize: this.layout.size,
      columns: [...this.scope].map(([name, slot]) => ({ name, slot })),
      parameters: [...this.parameters],
    }
  }

  private admitted(clause: Clause): boolean {
    if (this.dialect.clauses.has(clause.kind)) return true
    const words = this.dialect.refusals[clause.kind]
    const name = clause.kind.toUpperCase()
    this.report('ForbiddenClause', words ?? `${name} is not supported yet`, clause.span)
    return false
  }

  private bindClause(clause: Clause): BoundClause | null {
    switch (clause.kind) {
      case 'match': {
        const { match, scope } = bindPatterns(
          clause.patterns,
          clause.where,
          clause.optional,
          this.patternSite(this.scope, true),
        )
        this.scope = scope
        return { kind: 'match', match }
      }
      case 'unwind': {
        const list = this.bind(clause.list, this.scope, null)
        const { text, span } = clause.variable
        if (this.scope.has(text)) {
          this.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
        }
        const slot = this.fresh(text, 'value')
        this.scope = new Map(this.scope).set(text, slot)
        return { kind: 'unwind', list, slot }
      }
      case 'with':
      case 'return': {
        const { projection, scope } = bindProjection(clause, this.scope, this)
        this.scope = scope
        return { kind: 'projection', projection }
      }
      case 'use':
      case 'call':
        // Admitted by no dialect yet; the day one admits it, this is the place that must learn it.
        this.refuse(`${clause.kind.toUpperCase()} is not supported yet`, clause.span)
        return null
      default:
        return unreachable(clause)
    }
  }

  fresh(name: string | null, kind: SlotKind): Slot {
    return this.layout.slot(name, kind)
  }

  bind(expression: Expression, scope: Scope, aggregates: AggregateSink): BoundExpression {
    return bindExpression(expression, this.expressionScope(scope, aggregates))
  }

  report(code: string, message: string, span: Span): void {
    this.issues.push({ code, message, span })
  }

  private refuse(message: string, span: Span): void {
    this.report('NotSupported', message, span)
  }

  private patternSite(outer: Scope, mayDeclare: boolean): PatternSite {
    return {
      outer,
      mayDeclare,
      fresh: (name, kind) => this.fresh(name, kind),
      bind: (expression, scope) => this.bind(expression, scope, null),
      report: (issue) => this.issues.push(issue),
    }
  }

  private expressionScope(scope: Scope, aggregates: AggregateSink): ExpressionScope {
    const names = new Map(scope)
    const self: ExpressionScope = {
      lookup: (name) => names.get(name),
      names: () => [...names.keys()],
      withLocal: <T>(name: string, kind: SlotKind, body: (slot: Slot) => T): T => {
        const slot = this.fresh(name, kind)
        const hidden = names.get(name)
        names.set(name, slot)
        try {
          return body(slot)
        } finally {
          if (hidden) names.set(name, hidden)
          else names.delete(name)
        }
      },
      parameter: (name, span) => {
        const reserved = this.dialect.reservedParameters[name]
        if (reserved) this.report('ReservedParameter', reserved, span)
        this.parameters.add(name)
      },
      exists: (body, span) => this.bindExists(body, span, names),
      report: (issue) => {
        this.issues.push(issue)
      },
      aggregates,
      withoutAggregates: () => this.expressionScope(names, null),
    }
    return self
  }

  private bindExists(body: SubqueryBody | PathPattern, span: Span, scope: Scope): BoundExpression {
    if (body.kind === 'path') {
      const { match } = bindPatterns([body], null, false, this.patternSite(scope, false))
      return { kind: 'exists', match, span }
    }
    const site = this.patternSite(scope, true)
    if (body.kind === 'patterns') {
      return { kind: 'exists', match: bindPatterns(body.patterns, body.where, false, site).match, span }
    }
    const clauses = body.query.parts[0]?.clauses ?? []
    const only = clauses[0]
    if (body.query.parts.length === 1 && clauses.length === 1 && only?.kind === 'match' && !only.optional) {
      return { kind: 'exists', match: bindPatterns(only.patterns, only.where, false, site).match, span }
    }
    this.refuse('EXISTS with more than one MATCH is not supported yet', body.query.span)
    return { kind: 'constant', value: null }
  }
}
