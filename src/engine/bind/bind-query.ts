// Names → slots, clause by clause. Everything that can be wrong with a text is found here, before any data is read,
// and what the engine does not execute is refused here, so that nothing of a text is ever silently ignored.
import type { CallClause, Clause, Expression, Query, SingleQuery, Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { assertNever } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { type StaticType, staticType } from '../value/static-type.ts'
import { bindTyped } from './bind-expression.ts'
import { bindPatterns } from './bind-pattern.ts'
import { type AggregateSink, bindProjection } from './bind-projection.ts'
import { bindCollect, bindComprehension, bindCount, bindExists } from './bind-subquery.ts'
import type { BoundClause, BoundColumn, BoundPart, BoundQuery, Slot, SlotKind } from './bound.ts'
import { type Dialect, RESERVED_PREFIX } from './dialect.ts'
import type { ExpressionPosition, ExpressionScope } from './expression-scope.ts'
import { FrameLayout, type VariableScope } from './frame-layout.ts'
import { GraphReferences } from './graph-references.ts'
import type { PatternDeps } from './pattern-builder.ts'
import type { TypedExpression } from './typed-expression.ts'
import { markUnknownReads } from './unknown-reads.ts'

/** `rows`: the query ends in RETURN. `condition`: it has none, and its columns are what is in scope at the end. */
export type QueryForm = 'rows' | 'condition'

/** `either`: a subquery that is only asked whether and how many. */
type PartForm = QueryForm | 'either'

export function bindQuery(query: Query, dialect: Dialect, form: QueryForm): Result<BoundQuery, readonly Diagnostic[]> {
  const binder = new QueryBinder(dialect)
  const bound = binder.bindWhole(query, form)
  return binder.issues.length > 0 ? err(binder.issues) : ok(bound)
}

/** What a part of a query sees of the outside: at its start, and whatever its WITHs pass on. */
interface OuterScope {
  scope: VariableScope
  readonly imported: VariableScope
  /** What is in scope outside and was not let in. */
  readonly hidden: VariableScope
}

const emptyOuterScope: OuterScope = { scope: new Map(), imported: new Map(), hidden: new Map() }

/** In one query, subqueries apart: planning costs more than their number, and people write a handful. */
const MAX_CLAUSES = 100

/** What is in scope and which graph is meant, at one place of a query part. */
interface ScopeFrame extends OuterScope {
  graph: number
}

export class QueryBinder {
  readonly issues: Diagnostic[] = []
  private readonly layout = new FrameLayout()
  private readonly parameters = new Set<string>()
  private readonly dialect: Dialect
  private readonly graphs: GraphReferences

  constructor(dialect: Dialect) {
    this.dialect = dialect
    this.graphs = new GraphReferences(dialect, (issue) => this.issues.push(issue))
  }

  bindWhole(query: Query, form: QueryForm): BoundQuery {
    const { clauses, columns } = this.bindUnion(query, () => emptyOuterScope, 0, form)
    this.graphs.rejectOtherUses(this.parameters)
    return markUnknownReads({
      clauses,
      columns,
      frameSize: this.layout.size,
      parameters: [...this.parameters],
      graphs: this.graphs.references,
    })
  }

  /** `startOf` says what a part sees of the outside. */
  private bindUnion(
    query: Query,
    startOf: (part: SingleQuery) => OuterScope,
    graph: number,
    form: PartForm,
  ): BoundPart {
    const parts = query.parts.map((part) => this.bindPart(part, { ...startOf(part), graph }, form))
    const first = parts[0]!
    if (parts.length === 1) return first
    if (form === 'condition') this.report('ForbiddenClause', 'a condition cannot have a top-level UNION', query.span)
    if (new Set(query.unions).size > 1) {
      this.report('InvalidClauseComposition', 'UNION and UNION ALL cannot be mixed in one query', query.span)
    }
    const names = first.columns.map((column) => column.name)
    parts.forEach((part, i) => {
      if (part.columns.length !== names.length || part.columns.some((column, at) => column.name !== names[at])) {
        this.report(
          'DifferentColumnsInUnion',
          'all parts of a UNION must return the same columns',
          query.parts[i]!.span,
        )
      }
    })
    const columns = first.columns.map(({ name, slot }, at): BoundColumn => {
      const slots = parts.map((part) => part.columns[at]?.slot)
      const alike = slots.every((other) => other?.kind === slot.kind && other.graph === slot.graph)
      if (alike) return { name, slot: this.layout.slot(name, slot.kind, slot.graph) }
      const allNodes = slots.every((other) => other?.kind === 'node')
      return { name, slot: this.newSlot(name, 'value', allNodes ? staticType('node') : undefined) }
    })
    const distinct = query.unions[0] === 'distinct'
    return { clauses: [{ kind: 'union', union: { parts, distinct, columns } }], columns }
  }

  private bindPart({ clauses, span }: SingleQuery, standing: ScopeFrame, form: PartForm): BoundPart {
    const bound: BoundClause[] = []
    const beyond = clauses[MAX_CLAUSES]
    if (beyond) {
      this.report('QueryTooLong', `more than ${MAX_CLAUSES} clauses in one query`, beyond.span)
      return { clauses: [], columns: [] }
    }
    clauses.forEach((clause, i) => {
      if (!this.isAllowed(clause, form)) return
      if (clause.kind === 'return' && i < clauses.length - 1) {
        this.report('InvalidClauseComposition', 'RETURN must be the last clause', clause.span)
      }
      if (clause.kind === 'use') {
        if (i > 0) this.report('InvalidClauseComposition', 'USE must be the first clause', clause.span)
        standing.graph = this.graphs.index(clause)
        return
      }
      bound.push(this.bindClause(clause, standing))
    })
    const last = clauses[clauses.length - 1]
    if (form === 'rows' && last && last.kind !== 'return') {
      this.report('InvalidClauseComposition', 'a query must end with RETURN', { start: span.end, end: span.end })
    }
    if (!last) this.report('UnexpectedSyntax', 'the query has no clause', span)
    return { clauses: bound, columns: [...standing.scope].map(([name, slot]) => ({ name, slot })) }
  }

  /** RETURN is refused at the top of a condition only; a subquery needs it. */
  private isAllowed(clause: Clause, form: PartForm): boolean {
    const { clauses, forbiddenClauseMessages } = this.dialect
    const allowed = clause.kind === 'return' ? form !== 'condition' : clauses.has(clause.kind)
    if (allowed) return true
    const words = forbiddenClauseMessages[clause.kind] ?? `${clause.kind.toUpperCase()} is not allowed here`
    this.report('ForbiddenClause', words, clause.span)
    return false
  }

  private bindClause(clause: Exclude<Clause, { kind: 'use' }>, standing: ScopeFrame): BoundClause {
    switch (clause.kind) {
      case 'match': {
        const site = this.patternSite(standing.scope, standing.graph, true)
        const { match, scope } = bindPatterns(clause.patterns, clause.where, clause.optional, site)
        this.rejectShadowing(scope, standing, clause.span)
        standing.scope = scope
        return { kind: 'match', match }
      }
      case 'unwind': {
        const { bound: list, type } = this.bindTyped(clause.list, standing.scope, null, 'column')
        const { text, span } = clause.variable
        if (standing.scope.has(text)) {
          this.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
        }
        const slot = this.newSlot(text, 'value', type.item ?? undefined)
        standing.scope = new Map(standing.scope).set(text, slot)
        return { kind: 'unwind', list, slot }
      }
      case 'with':
      case 'return': {
        const { projection, scope } = bindProjection(clause, standing.scope, standing.imported, this)
        standing.scope = clause.kind === 'with' ? this.withImports(scope, standing.imported, clause.span) : scope
        return { kind: 'projection', projection }
      }
      case 'call':
        return this.bindCall(clause, standing)
      default:
        return assertNever(clause)
    }
  }

  private bindCall(clause: CallClause, standing: ScopeFrame): BoundClause {
    const part = this.bindUnion(
      clause.query,
      (inner) => this.imports(clause, inner, standing.scope),
      standing.graph,
      'rows',
    )
    const scope = new Map(standing.scope)
    for (const { name, slot } of part.columns) {
      if (scope.has(name)) {
        this.report('VariableAlreadyBound', `the subquery returns \`${name}\`, which is already bound`, clause.span)
      }
      scope.set(name, slot)
    }
    standing.scope = scope
    return { kind: 'call', part }
  }

  /** What a subquery sees of the outside: the names in its parentheses, or those that its first WITH passes on. */
  private imports(clause: CallClause, inner: SingleQuery, outer: VariableScope): OuterScope {
    if (clause.imports === '*') return { scope: outer, imported: outer, hidden: new Map() }
    if (clause.imports === null) {
      const first = inner.clauses.find((c) => c.kind !== 'use')
      if (first?.kind !== 'with') return { ...emptyOuterScope, hidden: outer }
      const plain = first.items.every((item) => item.expression.kind === 'variable' && item.alias === null)
      if (!plain || first.where || first.orderBy.length > 0 || first.skip || first.limit) {
        const message = 'the first WITH of a subquery may only import variables'
        this.report('InvalidImportingWith', message, first.span)
      }
      return { scope: outer, imported: new Map(), hidden: new Map() }
    }
    const scope = new Map<string, Slot>()
    for (const { text, span } of clause.imports) {
      const slot = outer.get(text)
      if (slot) scope.set(text, slot)
      else this.report('UndefinedVariable', `variable \`${text}\` is not defined`, span)
    }
    return { scope, imported: scope, hidden: new Map([...outer].filter(([name]) => !scope.has(name))) }
  }

  /** What a subquery imports stays in scope whatever its WITH passes on, and keeps its name to itself. */
  private withImports(scope: VariableScope, imported: VariableScope, span: Span): VariableScope {
    for (const [name, slot] of imported) {
      const own = scope.get(name)
      if (own && own !== slot) {
        this.report('VariableAlreadyBound', `\`${name}\` is imported and cannot name something else here`, span)
      }
    }
    return imported.size > 0 ? new Map([...imported, ...scope]) : scope
  }

  /** In a subquery without import, `subject` is correct Cypher for any node at all, and never what a policy means. */
  private rejectShadowing(scope: VariableScope, { hidden }: ScopeFrame, span: Span): void {
    for (const name of this.dialect.serviceVariables) {
      if (!hidden.has(name) || !scope.has(name)) continue
      const message = `\`${name}\` is a different node inside this subquery: import it with CALL (${name}) { … }`
      this.report('ShadowedVariable', message, span)
    }
  }

  newSlot(name: string | null, kind: SlotKind, type?: StaticType): Slot {
    return this.layout.slot(name, kind, 0, type)
  }

  bindTyped(
    expression: Expression,
    scope: VariableScope,
    aggregates: AggregateSink,
    place: ExpressionPosition,
  ): TypedExpression {
    return bindTyped(expression, this.expressionScope(scope, aggregates), place)
  }

  /** A query inside an expression: it sees all that is around it. */
  bindQuery(query: Query, scope: VariableScope, graph: number): BoundPart {
    return this.bindUnion(query, () => ({ scope, imported: scope, hidden: new Map() }), graph, 'either')
  }

  report(code: string, message: string, span: Span): void {
    this.issues.push({ code, message, span })
  }

  patternSite(outer: VariableScope, graph: number, mayDeclare: boolean): PatternDeps {
    return {
      outer,
      graph,
      mayDeclare,
      newSlot: (name, kind) => this.layout.slot(name, kind, graph),
      bind: (expression, scope, place) => this.bindTyped(expression, scope, null, place).bound,
      report: (issue) => this.issues.push(issue),
    }
  }

  private expressionScope(scope: VariableScope, aggregates: AggregateSink): ExpressionScope {
    const names = new Map(scope)
    return {
      lookup: (name) => names.get(name),
      names: () => [...names.keys()],
      withLocal: <T>(name: string, kind: SlotKind, body: (slot: Slot) => T): T => {
        const slot = this.newSlot(name, kind)
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
        const reserved = this.dialect.reservedParameters.get(name)
        if (reserved) this.report('ReservedParameter', reserved, span)
        if (name.startsWith(RESERVED_PREFIX)) {
          this.report('ReservedParameter', `parameter \`$${name}\` is reserved`, span)
        }
        this.parameters.add(name)
      },
      exists: (body, span) => bindExists(body, span, names, this),
      count: (body, span) => bindCount(body, span, names, this),
      collect: (query, span) => bindCollect(query, span, names, this),
      comprehension: (ast) => bindComprehension(ast, names, this),
      report: (issue) => {
        this.issues.push(issue)
      },
      aggregates,
      withoutAggregates: () => this.expressionScope(names, null),
    }
  }
}
