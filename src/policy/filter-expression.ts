// Compiles filters of context policies and knowledge queries to an engine expression, so that the planner optimizes
// them together with the pattern. Values become literals or parameters of the tree: no part of a document is turned
// into query text.
import { type Expression, scoreExpression, type VariableKind } from '../engine/condition-rows.ts'
import { assert } from '../kernel/assert.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ContextFilter } from './context-filter.ts'
import { parsePath } from './element-path.ts'
import { expectedReference, readReference } from './value-reference.ts'

const span = { start: 0, end: 0 }

type FilterVariables = ReadonlyMap<string, VariableKind>

/** Joins the filters with AND. Returns null if none exist. Errors name the position below `at`, for the author. */
export function filterExpression(
  filters: readonly { readonly filter: ContextFilter; readonly at: string }[],
  variables: FilterVariables,
): Result<Expression | null, readonly string[]> {
  const writer = new FilterExpressionBuilder(variables)
  const operands = filters.map(({ filter, at }) => writer.expression(filter, at))
  if (writer.issues.length > 0) return err(writer.issues)
  return ok(operands.length === 0 ? null : joined('AND', operands))
}

function joined(operator: 'AND' | 'OR', operands: readonly Expression[]): Expression {
  return operands.reduce((left, right) => ({ kind: 'binary', operator, left, right, span }))
}

const nullExpression: Expression = { kind: 'null', span }

class FilterExpressionBuilder {
  readonly issues: string[] = []
  private readonly variables: FilterVariables

  constructor(variables: FilterVariables) {
    this.variables = variables
  }

  expression(filter: ContextFilter, at: string): Expression {
    const { operator, operands = [], attribute, value } = filter
    if (operator === 'AND' || operator === 'OR') {
      return joined(
        operator,
        operands.map((operand, i) => this.expression(operand, `${at}.operands[${i}]`)),
      )
    }
    if (operator === 'NOT') {
      return { kind: 'unary', operator: 'NOT', operand: this.expression(operands[0]!, `${at}.operands[0]`), span }
    }
    assert(attribute !== undefined, 'the schema requires the attribute of a leaf')
    const left = this.attribute(attribute, `${at}.attribute`)
    if (operator === 'IS NULL' || operator === 'IS NOT NULL') {
      return { kind: 'null-test', operand: left, negated: operator === 'IS NOT NULL', span }
    }
    const isDatetime = typeof value === 'object' && value !== null && !Array.isArray(value)
    const right = this.value(isDatetime ? (value as { value: unknown }).value : value, `${at}.value`)
    const [first, second] = isDatetime ? [instant(left), instant(right)] : [left, right]
    switch (operator) {
      case '=':
      case '<>':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return { kind: 'comparison', first, rest: [{ operator, operand: second }], span }
      case 'IN':
      case '=~':
      case 'STARTS WITH':
      case 'ENDS WITH':
      case 'CONTAINS':
        if (isDatetime) this.issues.push(`${at}.value: \`${operator}\` does not accept a datetime`)
        return { kind: 'binary', operator, left, right, span }
      default:
        this.issues.push(`${at}.operator: \`${operator}\` is not an operator`)
        return nullExpression
    }
  }

  /** Compiles `car.property.price`, `r.since`, an alias or `$token.sub`. */
  private attribute(text: string, at: string): Expression {
    if (text.startsWith('$')) return this.reference(text, at)
    const [name = ''] = text.split('.')
    const kind = this.variables.get(name)
    if (kind === undefined) return this.reject(at, `unknown variable \`${name}\``)
    if (!text.includes('.')) return variable(name)
    if (kind !== 'node' && kind !== 'relationship') {
      return this.reject(
        at,
        `\`${name}\` is not a node or relationship and has no member \`${text.slice(name.length + 1)}\``,
      )
    }
    const path = parsePath(text, kind)
    if (!path.ok) return this.reject(at, path.error)
    const it = variable(name)
    switch (path.value.kind) {
      case 'field':
        // Only fields that Cypher has by that name can use an index (docs/decisions/0004-element-fields-and-values.md).
        return kind === 'node' && path.value.name !== 'id'
          ? member(it, path.value.name)
          : call('graph.field', [it, literal(path.value.name)])
      case 'property':
        return member(member(it, 'property'), path.value.name)
      case 'metadata':
        return call('graph.metadata', [it, literal(path.value.name), literal(path.value.field)])
      case 'score':
        return scoreExpression(it, path.value.name, span)
      default:
        return this.reject(at, `expected a single value, but \`${text}\` stands for several`)
    }
  }

  private value(value: unknown, at: string): Expression {
    if (Array.isArray(value)) {
      return { kind: 'list', items: value.map((item, i) => this.value(item, `${at}[${i}]`)), span }
    }
    if (typeof value === 'string' && value.startsWith('$')) return this.reference(value, at)
    if (typeof value === 'string' && /^@[\p{L}_]/u.test(value)) return this.attribute(value.slice(1), at)
    return literal(value)
  }

  /**
   * Compiles `$token.act.sub` member by member; an absent claim is null. A string that begins with `$` is never a
   * literal.
   */
  private reference(text: string, at: string): Expression {
    const reference = readReference(text)
    if (!reference.ok) return this.reject(at, `${expectedReference}, found \`${text.slice(0, 64)}\``)
    const { root, path } = reference.value
    return path.reduce(member, { kind: 'parameter', name: root, span })
  }

  private reject(at: string, message: string): Expression {
    this.issues.push(`${at}: ${message}`)
    return nullExpression
  }
}

function variable(name: string): Expression {
  return { kind: 'variable', name, span }
}

function member(target: Expression, key: string): Expression {
  return { kind: 'property', target, key: { text: key, span }, span }
}

function call(name: string, args: readonly Expression[]): Expression {
  return { kind: 'function', name: { text: name, span }, distinct: false, args, span }
}

/** Milliseconds since the epoch; null if the value is not a timestamp. */
function instant(of: Expression): Expression {
  return call('graph.instant', [of])
}

function literal(value: unknown): Expression {
  if (typeof value === 'boolean') return { kind: 'boolean', value, span }
  if (typeof value === 'string') return { kind: 'string', value, span }
  if (typeof value === 'bigint') return { kind: 'integer', value, span }
  assert(typeof value === 'number', 'the schema accepts only strings, numbers and booleans')
  return Number.isSafeInteger(value) ? { kind: 'integer', value, span } : { kind: 'float', value, span }
}
