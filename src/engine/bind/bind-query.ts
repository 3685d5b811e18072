// Binds a query clause by clause: resolves names to slots, and reports everything that is wrong with the text before any data
// is read. What the engine does not execute is reported too, so no part of a query is silently ignored.
import type {
  CallClause,
  Clause,
  ConditionalClause,
  Expression,
  Query,
  ReturnClause,
  SingleQuery,
  Span,
} from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { assert, assertNever } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { type StaticType, staticType } from '../value/static-type.ts'
import { bindTyped } from './bind-expression.ts'
import { bindPatterns } from './bind-pattern.ts'
import { bindProjection, emptyProjection, type RegisterAggregate } from './bind-projection.ts'
import { bindCollect, bindComprehension, bindCount, bindExists } from './bind-subquery.ts'
import type {
  BoundClause,
  BoundColumn,
  BoundDerived,
  BoundExpression,
  BoundPart,
  BoundQuery,
  NamedSymbol,
  Slot,
  SlotKind,
  TabledBranch,
} from './bound.ts'
import { type DefinitionBranch, type Definitions, noDefinitions } from './definitions.ts'
import { type Dialect, RESERVED_PREFIX } from './dialect.ts'
import type { ExpressionPosition, ExpressionScope } from './expression-scope.ts'
import { FrameLayout, type VariableScope } from './frame-layout.ts'
import { GraphReferences } from './graph-references.ts'
import type { PatternDeps } from './pattern-builder.ts'
import type { TypedExpression } from './typed-expression.ts'
import { markUnknownReads } from './unknown-reads.ts'

/** `rows`: the query ends with RETURN. `condition`: it has no RETURN, and its columns are the names in scope at the end. */
export type QueryForm = 'rows' | 'condition'

/** `either`: a subquery whose rows are only counted, so RETURN is optional. */
type PartForm = QueryForm | 'either'

/**
 * Binds a whole query in a dialect. The error holds every diagnostic of the query. `definitions`: the derived relationship types
 * that the query can use.
 */
export function bindQuery(
  query: Query,
  dialect: Dialect,
  form: QueryForm,
  definitions: Definitions = noDefinitions,
): Result<BoundQuery, readonly Diagnostic[]> {
  const repeated = definitions.forQuery(query, dialect)
  const binder = new QueryBinder(dialect, repeated.definitions)
  binder.diagnostics.push(...repeated.diagnostics)
  const bound = binder.bindWhole(repeated.query, form)
  if (binder.diagnostics.length > 0) return err(distinctDiagnostics(binder.diagnostics.map(repeated.explain)))
  return ok(repeated.symbols.length === 0 ? bound : { ...bound, symbols: [...bound.symbols, ...repeated.symbols] })
}

/**
 * Binds one alternative of a definition as a query of its own. The error holds every diagnostic. `isOfQuery`: its text is part of a
 * query, whose symbols it names.
 */
export function bindBranch(
  branch: DefinitionBranch,
  dialect: Dialect,
  definitions: Definitions,
  isOfQuery: boolean,
): Result<TabledBranch, readonly Diagnostic[]> {
  const binder = new QueryBinder(dialect, definitions)
  const bound = binder.bindTabled(branch, isOfQuery)
  return binder.diagnostics.length > 0 ? err(distinctDiagnostics(binder.diagnostics)) : ok(bound)
}

/** Each once: a query before NEXT is bound again for each part of a UNION. If the query is too long, its rest was not bound. */
function distinctDiagnostics(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const tooLong = diagnostics.find(({ code }) => code === 'QueryTooLong')
  if (tooLong !== undefined) return [tooLong]
  const places = new Map(diagnostics.map((one) => [`${one.code} ${one.span.start} ${one.message}`, one]))
  return [...places.values()]
}

/** The outer names that a part of a query can use. */
interface OuterScope {
  /** The names in scope at the start of the part. */
  scope: VariableScope
  /** The names that stay in scope after every WITH. */
  readonly imported: VariableScope
  /** The names that are in scope outside and were not imported. */
  readonly hidden: VariableScope
}

const emptyOuterScope: OuterScope = { scope: new Map(), imported: new Map(), hidden: new Map() }

/** Limit for one query, not counting subqueries. People write a handful of clauses, and planning is more than linear. */
const MAX_CLAUSES = 100

/** Parts of UNION, branches of WHEN and subqueries of one text: each is bound and planned by itself. */
const MAX_PARTS = 1_500

/** Limit for one text: each part of a UNION repeats the queries before NEXT. */
const MAX_STAGES = 100

/** Alternatives of definitions that are bound in place, in one text. Further ones are evaluated with a table. */
const INLINE_PARTS_MAX = 128

/** Definitions inside of each other that are bound in place. */
const INLINE_DEPTH_MAX = 16

/** The columns of a condition that is a whole query. */
const GRANTED_COLUMNS: readonly string[] = ['subject', 'resource']

/** Whether a condition is a whole query with rows, and not a sequence of clauses whose last variables are the pair. */
function isWholeQuery({ input, parts }: Query): boolean {
  const last = parts[0]?.clauses.at(-1)?.kind
  return input !== null || parts.length > 1 || last === 'return' || last === 'conditional' || last === 'block'
}

/** The last RETURN of the first part of a query; null if it has none. */
function lastReturn({ parts }: Query): ReturnClause | null {
  const last = parts[0]?.clauses.at(-1)
  return last?.kind === 'return' ? last : null
}

/** Whether every part of the query ends with RETURN. */
function endsWithReturn({ parts }: Query): boolean {
  return parts.every(({ clauses }) => {
    const last = clauses.at(-1)
    if (last?.kind === 'block') return endsWithReturn(last.query)
    if (last?.kind === 'conditional') return last.branches.every(({ query }) => endsWithReturn(query))
    return last?.kind === 'return'
  })
}

/** The query with another one before its first NEXT. */
function withInput(query: Query, input: Query | null): Query {
  if (input === null) return query
  return { ...query, input: query.input === null ? input : withInput(query.input, input) }
}

/** The names in scope and the index of the current graph, at one point of a part. */
interface ScopeFrame extends OuterScope {
  graph: number
}

/** Binds one query and collects its diagnostics. */
class QueryBinder {
  readonly diagnostics: Diagnostic[] = []
  private readonly layout = new FrameLayout()
  private readonly parameters = new Set<string>()
  /** By kind and place: an expression may be bound more than once. */
  private readonly symbols = new Map<string, NamedSymbol>()
  /** The values that patterns use as elements, by the slots of the elements. */
  private readonly casts = new Map<Slot, Slot>()
  /** The queries before NEXT that were bound, each as often as it is repeated. */
  private stages = 0
  private readonly dialect: Dialect
  private readonly definitions: Definitions
  private readonly graphs: GraphReferences
  private partCount = 0
  /** How many definitions are being bound in place, one inside the other. */
  private inlineDepth = 0
  /** The parts of definitions that were bound in place. */
  private inlineParts = 0
  /** The ends of the definition that is being bound, while no pattern has introduced them. */
  private readonly open = new Set<number>()
  private readonly tabled = new Set<string>()
  private usesDefinitions = false

  constructor(dialect: Dialect, definitions: Definitions) {
    this.dialect = dialect
    this.definitions = definitions
    this.graphs = new GraphReferences(dialect, (diagnostic) => this.diagnostics.push(diagnostic))
  }

  /** The bound query; meaningful only if there are no diagnostics afterwards. */
  bindWhole(query: Query, form: QueryForm): BoundQuery {
    const isGranting = form === 'condition' && this.dialect.returnsPairs && isWholeQuery(query)
    const part = isGranting ? this.bindGranting(query) : this.bindUnion(query, () => emptyOuterScope, 0, form)
    const tabled = this.definitions.tabled(this.tabled)
    for (const { branches } of tabled)
      for (const { parameters } of branches) for (const name of parameters) this.parameters.add(name)
    this.graphs.rejectOtherUses(this.parameters)
    return markUnknownReads({ ...this.finished(part), tabled })
  }

  /** An alternative of a definition. Its ends are in scope from the beginning, and have a value at the end. */
  bindTabled(branch: DefinitionBranch, isOfQuery: boolean): TabledBranch {
    this.inlineDepth = isOfQuery ? 0 : 1
    const source = this.newSlot(branch.source, 'node')
    const target = this.newSlot(branch.target, 'node')
    const part = this.bindEnds(branch, source, target, 0)
    return { ...this.finished(part), tabled: [], source, target, needs: branch.needs, uses: [...this.tabled] }
  }

  private finished({ clauses, columns }: BoundPart): Omit<BoundQuery, 'tabled'> {
    return {
      clauses,
      columns,
      frameSize: this.layout.size,
      parameters: [...this.parameters],
      graphs: this.graphs.references,
      symbols: [...this.symbols.values()],
      usesDefinitions: this.usesDefinitions,
    }
  }

  /**
   * The alternatives of a definition, bound to the slots of its two ends; null if it is evaluated with a table: because it is
   * recursive or repeated, or because it would make the query too large.
   */
  private bindDerived(name: string, from: Slot, to: Slot, graph: number): BoundDerived['branches'] {
    const definition = this.definitions.get(name)
    assert(definition !== undefined, `${name} is a definition`)
    this.usesDefinitions = true
    const parts = this.inlineParts + definition.branches.length
    if (definition.isTabled || parts > INLINE_PARTS_MAX || this.inlineDepth >= INLINE_DEPTH_MAX) {
      this.tabled.add(name)
      return null
    }
    this.inlineParts = parts
    this.inlineDepth += 1
    const isOpen = [...this.open]
    const branches = definition.branches.map((branch) => this.bindEnds(branch, from, to, graph))
    for (const slot of isOpen) this.open.add(slot)
    this.inlineDepth -= 1
    return branches
  }

  private bindEnds({ source, target, clauses }: DefinitionBranch, from: Slot, to: Slot, graph: number): BoundPart {
    const scope = new Map([
      [source, from],
      [target, to],
    ])
    this.open.add(from.index).add(to.index)
    const span = { start: 0, end: 0 }
    const part = this.bindPart({ clauses, span }, { scope, imported: scope, hidden: new Map(), graph }, 'condition')
    this.open.delete(from.index)
    this.open.delete(to.index)
    return part
  }

  /** Binds a condition that is a whole query: it returns the pairs that it grants, and nothing else. */
  private bindGranting(query: Query): BoundPart {
    const part = this.bindUnion(query, () => emptyOuterScope, 0, 'rows')
    const missing = GRANTED_COLUMNS.filter((name) => part.columns.every((column) => column.name !== name))
    const other = part.columns.find(({ name }) => !GRANTED_COLUMNS.includes(name))
    if (this.diagnostics.length === 0 && (missing.length > 0 || other !== undefined)) {
      const fault = other === undefined ? `does not return \`${missing[0]}\`` : `returns \`${other.name}\``
      this.report(
        'ForbiddenClause',
        `a condition with RETURN returns \`subject\` and \`resource\`; this one ${fault}`,
        {
          start: lastReturn(query)?.span.start ?? query.span.start,
          end: query.span.end,
        },
      )
    }
    // As for CALL { }, so that searches look for the nodes inside the parts of a UNION.
    if (!part.clauses.some((clause) => clause.kind === 'union')) return part
    return { clauses: [{ kind: 'call', part, optional: false }], columns: part.columns }
  }

  /** Binds the parts of a UNION, or a single part. `startOf` returns the outer names that a part can use. */
  private bindUnion(
    query: Query,
    startOf: (part: SingleQuery) => OuterScope,
    graph: number,
    form: PartForm,
  ): BoundPart {
    this.checkInput(query)
    const parts = query.parts.map((part) => this.bindStage(query.input, part, startOf(part), graph, form))
    if (parts.length === 1) return parts[0]!
    if (form === 'condition') this.report('ForbiddenClause', 'a condition cannot have a top-level UNION', query.span)
    if (new Set(query.unions).size > 1) {
      this.report('InvalidClauseComposition', 'UNION and UNION ALL cannot be mixed in one query', query.span)
    }
    const spans = query.parts.map(({ span }) => span)
    return this.unite(parts, spans, query.unions[0] === 'distinct', 'all parts of a UNION must return the same columns')
  }

  /** The rows of the parts in turn, in columns of their own. */
  private unite(parts: readonly BoundPart[], spans: readonly Span[], distinct: boolean, rule: string): BoundPart {
    const first = parts[0]!
    const names = first.columns.map((column) => column.name)
    parts.forEach((part, i) => {
      if (part.columns.length !== names.length || part.columns.some((column, at) => column.name !== names[at])) {
        this.report('DifferentColumnsInUnion', rule, spans[i]!)
      }
    })
    const columns = first.columns.map(({ name, slot }, at): BoundColumn => {
      const slots = parts.map((part) => part.columns[at]?.slot)
      const alike = slots.every((other) => other?.kind === slot.kind && other.graph === slot.graph)
      if (alike) return { name, slot: this.layout.slot(name, slot.kind, slot.graph) }
      const allNodes = slots.every((other) => other?.kind === 'node')
      return { name, slot: this.newSlot(name, 'value', allNodes ? staticType('node') : undefined) }
    })
    return { clauses: [{ kind: 'union', union: { parts, distinct, columns } }], columns }
  }

  /** Reports what a query before NEXT must not be. */
  private checkInput({ input, span }: Query): void {
    if (input === null) return
    if (!this.dialect.clauses.has('call')) this.report('ForbiddenClause', 'NEXT is not allowed here', span)
    for (const part of input.parts) {
      const last = part.clauses.at(-1)
      if (last?.kind !== 'return') continue
      for (const { alias, expression, span: place } of last.items) {
        if (alias !== null || expression.kind === 'variable') continue
        this.report('NoExpressionAlias', 'an expression before NEXT needs a name: add `AS name`', place)
      }
    }
  }

  /** Binds a part that reads all rows of the query before NEXT; null if it is the first. */
  private bindStage(
    input: Query | null,
    part: SingleQuery,
    start: OuterScope,
    graph: number,
    form: PartForm,
  ): BoundPart {
    const block = part.clauses.at(-1)
    if (block?.kind === 'block' && this.isAllowed(block, form)) {
      const [use] = part.clauses
      const within = use?.kind === 'use' && this.isAllowed(use, form) ? this.graphs.index(use) : graph
      return this.bindUnion(withInput(block.query, input), () => start, within, form)
    }
    if (input === null) return this.bindPart(part, { ...start, graph }, form)
    this.stages += 1
    if (this.stages > MAX_STAGES) {
      if (this.stages === MAX_STAGES + 1) {
        const message = `more than ${MAX_STAGES} queries before NEXT: each part of a UNION repeats those before it`
        this.report('QueryTooLong', message, input.span)
      }
      return { clauses: [], columns: [] }
    }
    const before = this.bindUnion(input, () => start, graph, 'rows')
    const scope = new Map([...start.imported, ...before.columns.map(({ name, slot }) => [name, slot] as const)])
    const after = this.bindPart(part, { ...start, scope, graph }, form)
    return { clauses: [...before.clauses, ...after.clauses], columns: after.columns }
  }

  private bindPart({ clauses, span }: SingleQuery, frame: ScopeFrame, form: PartForm): BoundPart {
    const bound: BoundClause[] = []
    this.partCount += 1
    if (this.partCount > MAX_PARTS) {
      if (this.partCount === MAX_PARTS + 1) {
        this.report('QueryTooLong', `more than ${MAX_PARTS} parts of UNION, branches of WHEN and subqueries`, span)
      }
      return { clauses: [], columns: [] }
    }
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
        frame.graph = this.graphs.index(clause)
        return
      }
      if (clause.kind === 'conditional') bound.push(...this.bindConditional(clause, frame, form))
      else if (clause.kind !== 'block') bound.push(this.bindClause(clause, frame))
    })
    const last = clauses[clauses.length - 1]
    if (form === 'rows' && last && last.kind !== 'return' && last.kind !== 'conditional') {
      this.report('InvalidClauseComposition', 'a query must end with RETURN', { start: span.end, end: span.end })
    }
    if (!last) this.report('UnexpectedSyntax', 'the query has no clause', span)
    return { clauses: bound, columns: [...frame.scope].map(([name, slot]) => ({ name, slot })) }
  }

  /** Whether the dialect allows the clause. RETURN is forbidden only at the top of a condition: a subquery needs it. */
  private isAllowed(clause: Clause, form: PartForm): boolean {
    const { clauses, forbiddenClauseMessages } = this.dialect
    const allowed = clause.kind === 'return' ? form !== 'condition' : clauses.has(clause.kind)
    if (allowed) return true
    const words = forbiddenClauseMessages[clause.kind] ?? `${clause.kind.toUpperCase()} is not allowed here`
    this.report('ForbiddenClause', words, clause.span)
    return false
  }

  private bindClause(
    clause: Exclude<Clause, { kind: 'use' | 'conditional' | 'block' }>,
    frame: ScopeFrame,
  ): BoundClause {
    switch (clause.kind) {
      case 'match': {
        const deps = this.patternDeps(frame.scope, frame.graph, true)
        const { match, scope } = bindPatterns(clause.patterns, clause.where, clause, deps)
        this.rejectShadowing(scope, frame, clause.span)
        for (const { from, to } of match.casts) this.casts.set(to, from)
        frame.scope = scope
        return { kind: 'match', match }
      }
      case 'unwind': {
        const { bound: list, type } = this.bindTyped(clause.list, frame.scope, null, 'column')
        const { text, span } = clause.variable
        if (frame.scope.has(text)) {
          this.report('VariableAlreadyBound', `variable \`${text}\` is already bound`, span)
        }
        const slot = this.newSlot(text, 'value', type.item ?? undefined)
        frame.scope = new Map(frame.scope).set(text, slot)
        return { kind: 'unwind', list, slot }
      }
      case 'with':
      case 'return': {
        const { projection, scope } = bindProjection(clause, this.withoutOpen(frame.scope), frame.imported, this)
        if (clause.kind === 'with' && clause.keyword === 'LET' && projection.grouping !== null) {
          this.report('InvalidAggregation', 'LET cannot aggregate: use WITH', clause.span)
        }
        frame.scope = clause.kind === 'with' ? this.withImports(scope, frame.imported, clause.span) : scope
        return { kind: 'projection', projection }
      }
      case 'call':
        return this.bindCall(clause, frame)
      default:
        return assertNever(clause)
    }
  }

  /**
   * `WHEN … THEN …`: for each row, the number of the branch is computed first; then every branch keeps the rows that have its
   * number.
   */
  private bindConditional(clause: ConditionalClause, frame: ScopeFrame, form: PartForm): BoundClause[] {
    const { scope: outer, graph, hidden } = frame
    const choice = this.newSlot('branch of WHEN', 'value', staticType('integer'))
    const conditions = clause.branches.flatMap(({ when }, i) => {
      if (when === null) return []
      const { bound } = this.bindTyped(when, outer, null, 'condition')
      return [{ when: bound, then: { kind: 'constant', value: i + 1 } as const }]
    })
    const otherwise: BoundExpression = { kind: 'constant', value: conditions.length + 1 }
    const chosen: BoundExpression = { kind: 'case', subject: null, variable: null, branches: conditions, otherwise }
    const columns = [...outer].map(([name, slot]) => ({ name, slot }))
    const kept = [...columns, { name: choice.name, slot: choice }]
    const choose = { ...emptyProjection, computed: [{ slot: choice, expression: chosen }], columns: kept }
    const inner = form === 'condition' ? 'rows' : form
    const parts = clause.branches.map(({ query }, i): BoundPart => {
      const part = this.bindUnion(query, () => ({ scope: outer, imported: outer, hidden }), graph, inner)
      const isChosen: BoundExpression = {
        kind: 'comparison',
        operator: '=',
        left: { kind: 'slot', slot: choice },
        right: { kind: 'constant', value: i + 1 },
      }
      const guard = { ...emptyProjection, where: isChosen, columns: kept }
      return {
        clauses: [
          { kind: 'projection', projection: guard },
          { kind: 'call', part, optional: false },
        ],
        // Rows that are only counted need no columns.
        columns: inner === 'either' && !endsWithReturn(query) ? [] : part.columns,
      }
    })
    const spans = clause.branches.map(({ query }) => query.span)
    const part = this.unite(parts, spans, false, 'all branches of WHEN must return the same columns')
    frame.scope = new Map(part.columns.map(({ name, slot }) => [name, slot]))
    return [
      { kind: 'projection', projection: choose },
      { kind: 'call', part, optional: false },
    ]
  }

  private bindCall(clause: CallClause, frame: ScopeFrame): BoundClause {
    const called = this.bindUnion(
      clause.query,
      (inner) => this.imports(clause, inner, frame.scope),
      frame.graph,
      'rows',
    )
    const part = clause.optional ? this.withOwnColumns(called) : called
    const scope = new Map(frame.scope)
    for (const { name, slot } of part.columns) {
      if (scope.has(name)) {
        this.report('VariableAlreadyBound', `the subquery returns \`${name}\`, which is already bound`, clause.span)
      }
      scope.set(name, slot)
    }
    frame.scope = scope
    return { kind: 'call', part, optional: clause.optional }
  }

  /** The same rows in new slots: null for a missing row must not overwrite a variable of the outer row. */
  private withOwnColumns(part: BoundPart): BoundPart {
    const columns = part.columns.map(({ name, slot: { kind, graph, type } }): BoundColumn => {
      return { name, slot: this.layout.slot(name, kind, graph, type) }
    })
    return { clauses: [{ kind: 'union', union: { parts: [part], distinct: false, columns } }], columns }
  }

  /** The outer names that a subquery can use: those in its parentheses, or those that its first WITH imports. */
  private imports(clause: CallClause, inner: SingleQuery, outer: VariableScope): OuterScope {
    if (clause.imports === '*') return { scope: outer, imported: outer, hidden: new Map() }
    if (clause.imports === null) {
      const first = inner.clauses.find((c) => c.kind !== 'use')
      if (first?.kind !== 'with' || first.keyword !== 'WITH') return { ...emptyOuterScope, hidden: outer }
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

  /** The names that have a value. An end of a definition has none before the MATCH that introduces it. */
  private withoutOpen(scope: VariableScope): VariableScope {
    return this.open.size === 0 ? scope : new Map([...scope].filter(([, slot]) => !this.open.has(slot.index)))
  }

  /** Imported names stay in scope after every WITH of a subquery, and no other column may have such a name. */
  private withImports(scope: VariableScope, imported: VariableScope, span: Span): VariableScope {
    for (const [name, slot] of imported) {
      const own = scope.get(name)
      if (own && own !== slot && this.casts.get(own) !== slot) {
        this.report('VariableAlreadyBound', `\`${name}\` is imported and cannot name something else here`, span)
      }
    }
    return imported.size > 0 ? new Map([...imported, ...scope]) : scope
  }

  /** In a subquery without import, `subject` would be a new variable for any node. No policy intends that. */
  private rejectShadowing(scope: VariableScope, { hidden }: ScopeFrame, span: Span): void {
    for (const name of this.dialect.serviceVariables) {
      if (!hidden.has(name) || !scope.has(name)) continue
      const message = `\`${name}\` is a different node inside this subquery: import it with CALL (${name}) { … }`
      this.report('ShadowedVariable', message, span)
    }
  }

  readonly endsWithReturn = endsWithReturn

  /** A new slot of the default graph. */
  newSlot(name: string | null, kind: SlotKind, type?: StaticType): Slot {
    return this.layout.slot(name, kind, 0, type)
  }

  /** Binds an expression in a scope. */
  bindTyped(
    expression: Expression,
    scope: VariableScope,
    aggregates: RegisterAggregate,
    position: ExpressionPosition,
  ): TypedExpression {
    return bindTyped(expression, this.expressionScope(scope, aggregates), position)
  }

  /** Binds a query inside an expression: all names around it are in scope. */
  bindQuery(query: Query, scope: VariableScope, graph: number): BoundPart {
    return this.bindUnion(query, () => ({ scope, imported: scope, hidden: new Map() }), graph, 'either')
  }

  /** Adds a diagnostic. */
  report(code: string, message: string, span: Span): void {
    this.diagnostics.push({ code, message, span })
  }

  /** Records what the text names in the graph. */
  private readonly nameSymbol = (symbol: NamedSymbol): void => {
    if (this.inlineDepth > 0) return
    this.symbols.set(`${symbol.kind} ${symbol.span.start}`, symbol)
  }

  /** The functions that the binder of patterns uses, for a scope and a graph. */
  patternDeps(outer: VariableScope, graph: number, mayDeclare: boolean): PatternDeps {
    return {
      outer,
      graph,
      mayDeclare,
      // The places inside a definition are those of another text.
      newSlot: (name, kind, span, type) =>
        this.layout.slot(name, kind, graph, type, this.inlineDepth > 0 ? undefined : span),
      bind: (expression, scope, position) => this.bindTyped(expression, scope, null, position).bound,
      introduces: (slot) => this.open.delete(slot.index),
      definitions: this.definitions,
      bindDerived: (name, source, target) => this.bindDerived(name, source, target, graph),
      nameSymbol: this.nameSymbol,
      report: (diagnostic) => this.diagnostics.push(diagnostic),
    }
  }

  private expressionScope(scope: VariableScope, aggregates: RegisterAggregate): ExpressionScope {
    const names = new Map(scope)
    return {
      scoredVariables: this.dialect.readsScores ? this.dialect.serviceVariables : null,
      allowsImpure: this.dialect.allowsImpure,
      lookup: (name) => names.get(name),
      isDerived: (type) => this.definitions.has(type),
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
      nameSymbol: this.nameSymbol,
      exists: (body, span) => bindExists(body, span, names, this),
      count: (body, span) => bindCount(body, span, names, this),
      collect: (query, span) => bindCollect(query, span, names, this),
      comprehension: (ast) => bindComprehension(ast, names, this),
      report: (diagnostic) => {
        this.diagnostics.push(diagnostic)
      },
      aggregates,
      withoutAggregates: () => this.expressionScope(names, null),
    }
  }
}
