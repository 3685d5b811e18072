// The rows that a query may have if what is unknown were known. A WHERE keeps a row only if its condition is true, and drops it if the
// condition is null. Here a row stays unless a condition is definitely false. Under NOT it is the reverse: a row of a negated pattern
// counts only if all conditions are definitely true. See docs/decisions/0071-forbid-policies.md.
import type { Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { assertNever } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { BoundClause, BoundDerived, BoundExpression, BoundMatch, BoundPart, BoundQuery } from './bound.ts'
import { containsSubquery, mapChildren, someChild } from './expression-tree.ts'
import { mapStepPredicates } from './step-predicates.ts'

/** Which rows are wanted: those that may be there, or those that certainly are. */
type WantedRows = 'possible' | 'certain'

/**
 * The same query with the rows that it may have. The error names each place where an unknown condition would decide a value that
 * is not unknown itself, such as a count: the author must say there what null means.
 */
export function possibleRows(query: BoundQuery): Result<BoundQuery, readonly Diagnostic[]> {
  const rewrite = new PossibleRows()
  const { part } = rewrite.part(query, 'possible')
  for (const { name, branches } of query.tabled) {
    for (const branch of branches)
      if (new PossibleRows().part(branch, 'possible').isUncertain) rewrite.refuseDefinition(name)
  }
  return rewrite.diagnostics.length > 0 ? err(rewrite.diagnostics) : ok({ ...query, clauses: part.clauses })
}

/** A rewritten part. `isUncertain`: an unknown condition may add a row or remove one. */
interface RewrittenPart {
  readonly part: BoundPart
  readonly isUncertain: boolean
}

const ADVICE = 'write `coalesce(…, true)` or `coalesce(…, false)` around the condition, to say what null means'

class PossibleRows {
  readonly diagnostics: Diagnostic[] = []
  /** Elements that may be null although a pattern introduces them. */
  private readonly optional = new Set<number>()

  refuseDefinition(name: string): void {
    const text = `the definition \`${name}\` has a condition that may be null, and a forbid policy cannot use it`
    this.diagnostics.push({ code: 'UnknownCondition', message: `${text}: ${ADVICE}`, span: { start: 0, end: 0 } })
  }

  part(part: BoundPart, rows: WantedRows): RewrittenPart {
    let isUncertain = false
    const clauses = part.clauses.map((clause) => {
      const one = this.clause(clause, rows, isUncertain)
      isUncertain ||= one.isUncertain
      return one.clause
    })
    return { part: { ...part, clauses }, isUncertain }
  }

  private clause(
    clause: BoundClause,
    rows: WantedRows,
    isUncertain: boolean,
  ): { clause: BoundClause; isUncertain: boolean } {
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        const rewritten = this.match(match, match.optional ? 'certain' : rows)
        if (match.optional) {
          for (const { slot, bound } of [...match.nodes, ...match.relationships])
            if (!bound) this.optional.add(slot.index)
          if (rewritten.isUncertain) this.refuse('OPTIONAL MATCH', match.predicates)
        }
        return { clause: { ...clause, match: rewritten.match }, isUncertain: rewritten.isUncertain }
      }
      case 'unwind': {
        const list = this.value(clause.list)
        const isKnown = !this.mayBeNull(list)
        if (isKnown || rows === 'certain') return { clause: { ...clause, list }, isUncertain: !isKnown }
        // An unknown list may have an item, which is unknown.
        return { clause: { ...clause, list: coalesce(list, constant([null])) }, isUncertain: true }
      }
      case 'projection': {
        const { projection } = clause
        const { computed, aggregates, grouping, orderBy, skip, limit, where } = projection
        const depends = aggregates.length > 0 || grouping !== null || skip !== null || limit !== null
        const values = [...computed, ...aggregates.map(({ argument }) => ({ expression: argument })), ...orderBy]
        if (depends && isUncertain) {
          const what = skip !== null || limit !== null ? 'SKIP or LIMIT' : 'an aggregate function'
          this.refuse(
            what,
            values.flatMap(({ expression }) => expression ?? []),
          )
        }
        const kept = where === null ? null : this.condition(where, rows)
        return {
          clause: {
            ...clause,
            projection: {
              ...projection,
              computed: computed.map((item) => ({ ...item, expression: this.value(item.expression) })),
              aggregates: aggregates.map((item) => ({ ...item, argument: item.argument && this.value(item.argument) })),
              grouping: grouping?.map((item) => ({ ...item, expression: this.value(item.expression) })) ?? null,
              orderBy: orderBy.map((item) => ({ ...item, expression: this.value(item.expression) })),
              where: kept?.expression ?? null,
            },
          },
          isUncertain: kept?.isUncertain ?? false,
        }
      }
      case 'union': {
        const parts = clause.union.parts.map((part) => this.part(part, rows))
        clause.union.columns.forEach(({ slot }, i) => {
          const sources = clause.union.parts.map(({ columns }) => columns[i]?.slot.index ?? -1)
          if (sources.some((source) => this.optional.has(source))) this.optional.add(slot.index)
        })
        return {
          clause: { ...clause, union: { ...clause.union, parts: parts.map(({ part }) => part) } },
          isUncertain: parts.some((part) => part.isUncertain),
        }
      }
      case 'call': {
        const called = this.part(clause.part, clause.optional ? 'certain' : rows)
        if (clause.optional) {
          for (const { slot } of clause.part.columns) this.optional.add(slot.index)
          if (called.isUncertain) this.refuse('OPTIONAL CALL', [])
        }
        return { clause: { ...clause, part: called.part }, isUncertain: called.isUncertain }
      }
      default:
        return assertNever(clause)
    }
  }

  private match(match: BoundMatch, rows: WantedRows): { match: BoundMatch; isUncertain: boolean } {
    let isUncertain = false
    const change = (predicate: BoundExpression): BoundExpression => {
      const one = this.condition(predicate, rows)
      isUncertain ||= one.isUncertain
      return one.expression
    }
    const relationships = match.relationships.map((step) => {
      if (step.selection === null) return mapStepPredicates(step, change)
      // Which path is the shortest depends on all conditions.
      const wasUncertain = isUncertain
      isUncertain = false
      const changed = mapStepPredicates(step, change)
      if (isUncertain) this.refuse('a path selector', step.selection.predicates)
      isUncertain ||= wasUncertain
      return changed
    })
    const derived = match.derived.map((step): BoundDerived => {
      const branches = step.branches?.map((branch) => {
        const one = this.part(branch, rows)
        isUncertain ||= one.isUncertain
        return one.part
      })
      return branches === undefined ? step : { ...step, branches }
    })
    const predicates = match.predicates.map(change)
    return { match: { ...match, relationships, derived, predicates }, isUncertain }
  }

  /** A condition that is true exactly if the row is wanted. */
  private condition(
    expression: BoundExpression,
    rows: WantedRows,
  ): { expression: BoundExpression; isUncertain: boolean } {
    switch (expression.kind) {
      case 'and':
      case 'or': {
        const operands = expression.operands.map((operand) => this.condition(operand, rows))
        return {
          expression: { ...expression, operands: operands.map((operand) => operand.expression) },
          isUncertain: operands.some((operand) => operand.isUncertain),
        }
      }
      case 'not': {
        const { operand } = expression
        // Pushed inwards, so that each pattern is asked for the rows that its place needs.
        if (operand.kind === 'not') return this.condition(operand.operand, rows)
        if (operand.kind === 'and' || operand.kind === 'or') {
          const operands = operand.operands.map((one): BoundExpression => ({ kind: 'not', operand: one }))
          return this.condition({ kind: operand.kind === 'and' ? 'or' : 'and', operands }, rows)
        }
        const pattern = this.pattern(operand, rows === 'possible' ? 'certain' : 'possible')
        return pattern === null
          ? this.leaf(expression, rows)
          : { expression: { ...expression, operand: pattern.expression }, isUncertain: pattern.isUncertain }
      }
      default:
        return this.pattern(expression, rows) ?? this.leaf(expression, rows)
    }
  }

  /** EXISTS and pattern predicates; null for another expression. */
  private pattern(
    expression: BoundExpression,
    rows: WantedRows,
  ): { expression: BoundExpression; isUncertain: boolean } | null {
    if (expression.kind === 'exists') {
      const { match, isUncertain } = this.match(expression.match, rows)
      return { expression: { ...expression, match }, isUncertain }
    }
    if (expression.kind === 'subquery' && expression.form === 'exists') {
      const { part, isUncertain } = this.part(expression.part, rows)
      return { expression: { ...expression, part }, isUncertain }
    }
    return null
  }

  private leaf(expression: BoundExpression, rows: WantedRows): { expression: BoundExpression; isUncertain: boolean } {
    const value = this.value(expression)
    if (!this.mayBeNull(value)) return { expression: value, isUncertain: false }
    if (rows === 'certain') return { expression: value, isUncertain: true }
    const known: BoundExpression = containsSubquery(value)
      ? coalesce(value, constant(true))
      : { kind: 'or', operands: [value, { kind: 'null-test', operand: value, negated: false }] }
    return { expression: known, isUncertain: true }
  }

  /** An expression whose value is null if something unknown decides it. */
  private value(expression: BoundExpression): BoundExpression {
    switch (expression.kind) {
      case 'exists':
        if (this.match(expression.match, 'certain').isUncertain)
          this.refuse('EXISTS as a value', expression.match.predicates, expression.span)
        return expression
      case 'subquery':
        if (this.part(expression.part, 'certain').isUncertain)
          this.refuse(`${expression.form.toUpperCase()} { }`, [], expression.span)
        return expression
      case 'list-comprehension': {
        const where = expression.where === null ? null : this.value(expression.where)
        if (where !== null && this.mayBeNull(where)) this.refuse('a list comprehension', [], expression.span)
        return mapChildren(expression, (child) => this.value(child))
      }
      case 'case': {
        const changed = mapChildren(expression, (child) => this.value(child))
        return changed.kind === 'case' ? this.knownCase(changed) : changed
      }
      default:
        return mapChildren(expression, (child) => this.value(child))
    }
  }

  /** A condition of CASE that is null does not choose the next branch: the value is null. */
  private knownCase(expression: Extract<BoundExpression, { kind: 'case' }>): BoundExpression {
    const { subject, variable, branches } = expression
    return {
      ...expression,
      // Without a subject, each `when` is a condition.
      subject: variable === null ? null : subject,
      branches: branches.flatMap((branch) => {
        const isValue = subject !== null && variable === null
        const condition: BoundExpression = isValue
          ? { kind: 'comparison', operator: '=', left: subject, right: branch.when }
          : branch.when
        const known = { ...branch, when: condition }
        if (!this.mayBeNull(condition)) return [known]
        const unknown: BoundExpression = { kind: 'null-test', operand: condition, negated: false }
        return [{ when: unknown, then: constant(null) }, known]
      }),
    }
  }

  /** False only if the value is certainly not null. */
  private mayBeNull(expression: BoundExpression): boolean {
    switch (expression.kind) {
      case 'constant':
        return expression.value === null
      case 'null-test':
      case 'value-test':
      case 'exists':
      case 'map':
      case 'list':
      case 'subquery':
        return false
      case 'list-comprehension':
        return this.mayBeNull(expression.list)
      case 'slot':
        return (
          (expression.slot.kind !== 'node' && expression.slot.kind !== 'relationship') ||
          this.optional.has(expression.slot.index)
        )
      case 'element-property':
        return expression.own !== 'id' || this.optional.has(expression.slot.index)
      case 'label-test':
        return this.mayBeNull(expression.target)
      case 'comparison': {
        const { operator, left, right } = expression
        if (operator !== '=' && operator !== '<>') return true
        return !this.isKnownScalar(left) || !this.isKnownScalar(right)
      }
      case 'not':
        return this.mayBeNull(expression.operand)
      case 'and':
      case 'or':
        return expression.operands.some((operand) => this.mayBeNull(operand))
      case 'xor':
        return this.mayBeNull(expression.left) || this.mayBeNull(expression.right)
      case 'function':
        return expression.name.toLowerCase() !== 'coalesce' || expression.args.every((one) => this.mayBeNull(one))
      case 'parameter':
      case 'element-properties':
      case 'property':
      case 'index':
      case 'slice':
      case 'binary':
      case 'negate':
      case 'case':
      case 'quantifier':
      case 'reduce':
        return true
      default:
        return assertNever(expression)
    }
  }

  /** Two such values are equal or not: lists and maps may have null inside. */
  private isKnownScalar(expression: BoundExpression): boolean {
    if (this.mayBeNull(expression)) return false
    if (expression.kind === 'constant') return typeof expression.value !== 'object'
    return expression.kind === 'slot' || expression.kind === 'element-property'
  }

  private refuse(what: string, near: readonly BoundExpression[], span: Span | null = null): void {
    const place = span ?? near.map(spanIn).find((one) => one !== null) ?? { start: 0, end: 0 }
    const message = `a forbid policy cannot use ${what} over a condition that may be null: ${ADVICE}`
    if (this.diagnostics.some((one) => one.message === message && one.span.start === place.start)) return
    this.diagnostics.push({ code: 'UnknownCondition', message, span: { start: place.start, end: place.end } })
  }
}

function constant(value: Extract<BoundExpression, { kind: 'constant' }>['value']): BoundExpression {
  return { kind: 'constant', value }
}

function coalesce(value: BoundExpression, instead: BoundExpression): BoundExpression {
  return { kind: 'function', name: 'coalesce', args: [value, instead], span: spanIn(value) ?? { start: 0, end: 0 } }
}

function spanIn(expression: BoundExpression): Span | null {
  if ('span' in expression) return expression.span
  let found: Span | null = null
  someChild(expression, (child) => {
    found ??= spanIn(child)
    return found !== null
  })
  return found
}
