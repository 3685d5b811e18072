// A filter of a context policy or a knowledge query (facts 1.5.2) as an expression of the engine, so that the planner sees
// it with the pattern. Every value is a literal or a parameter of the tree: nothing of a document becomes text again.
import type { Expression, VariableKind } from '../engine/condition-rows.ts'
import { assert } from '../kernel/assert.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ContextFilter } from './context-filter.ts'
import { parsePath } from './element-path.ts'
import { expectedReference, readReference } from './value-reference.ts'

const span = { start: 0, end: 0 }

type FilterVariables = ReadonlyMap<string, VariableKind>

/** Null for no filter. Issues name the place from `at`. */
export function filterExpression(
  filters: readonly { readonly filter: ContextFilter; readonly at: string }[],
  variables: FilterVariables,
): Result<Expression | null, readonly string[]> {
  const writer = new FilterExpressionBuilder(variables)
  const parts = filters.map(({ filter, at }) => writer.expression(filter, at))
  if (writer.issues.length > 0) return err(writer.issues)
  return ok(parts.length === 0 ? null : joined('AND', parts))
}

function joined(operator: 'AND' | 'OR', operands: readonly Expression[]): Expression {
  return operands.reduce((left, right) => ({ kind: 'binary', operator, left, right, span }))
}

const nothing: Expression = { kind: 'null', span }

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
    assert(attribute !== undefined, 'the schema asks a leaf for its attribute')
    const left = this.attribute(attribute, `${at}.attribute`)
    if (operator === 'IS NULL' || operator === 'IS NOT NULL') {
      return { kind: 'null-test', operand: left, negated: operator === 'IS NOT NULL', span }
    }
    const isMoment = typeof value === 'object' && value !== null && !Array.isArray(value)
    const right = this.value(isMoment ? (value as { value: unknown }).value : value, `${at}.value`)
    const [first, second] = isMoment ? [instant(left), instant(right)] : [left, right]
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
        if (isMoment) this.issues.push(`${at}.value: \`${operator}\` takes no datetime`)
        return { kind: 'binary', operator, left, right, span }
      default:
        this.issues.push(`${at}.operator: \`${operator}\` is not an operator`)
        return nothing
    }
  }

  /** `car.property.price`, `r.since`, an alias, `$token.sub`. */
  private attribute(text: string, at: string): Expression {
    if (text.startsWith('$')) return this.reference(text, at)
    const [name = ''] = text.split('.')
    const kind = this.variables.get(name)
    if (kind === undefined) return this.fault(at, `there is no \`${name}\``)
    if (!text.includes('.')) return variable(name)
    if (kind !== 'node' && kind !== 'relationship') {
      return this.fault(
        at,
        `\`${name}\` is neither a node nor a relationship, it has no \`${text.slice(name.length + 1)}\``,
      )
    }
    const path = parsePath(text, kind)
    if (!path.ok) return this.fault(at, path.error)
    const it = variable(name)
    switch (path.value.kind) {
      case 'own':
        return member(it, path.value.name)
      case 'property':
        return member(member(it, 'property'), path.value.name)
      case 'metadata':
        return call('graph.metadata', [it, literal(path.value.name), literal(path.value.field)])
      case 'score':
        return score(it, path.value.name)
      default:
        return this.fault(at, `\`${text}\` is more than one value`)
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

  /** `$token.act.sub`: member by member; a claim that is absent is null. What begins with `$` is never a literal. */
  private reference(text: string, at: string): Expression {
    const reference = readReference(text)
    if (!reference.ok) return this.fault(at, `${expectedReference}, found \`${text.slice(0, 64)}\``)
    const { root, path } = reference.value
    return path.reduce(member, { kind: 'parameter', name: root, span })
  }

  private fault(at: string, message: string): Expression {
    this.issues.push(`${at}: ${message}`)
    return nothing
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

/** Milliseconds since the epoch; null for what is no moment. */
function instant(of: Expression): Expression {
  return call('graph.instant', [of])
}

function literal(value: unknown): Expression {
  if (typeof value === 'boolean') return { kind: 'boolean', value, span }
  if (typeof value === 'string') return { kind: 'string', value, span }
  if (typeof value === 'bigint') return { kind: 'integer', value, span }
  assert(typeof value === 'number', 'the schema lets through strings, numbers and booleans')
  return Number.isSafeInteger(value) ? { kind: 'integer', value, span } : { kind: 'float', value, span }
}

/** Of the node's trust score: `[(n)-[:_HAS]->(t:_TrustScore) | t.name][0]`; null before the first scoring pass. */
function score(of: Expression, name: string): Expression {
  assert(of.kind === 'variable', 'a score is a node’s')
  const element = (text: string | null) => (text === null ? null : { text, span })
  const node = (text: string | null, label: string | null): PatternNode => ({
    kind: 'node',
    variable: element(text),
    labels: label === null ? null : { kind: 'label', name: label, span },
    properties: null,
    where: null,
    span,
  })
  const scores: Expression = {
    kind: 'pattern-comprehension',
    pattern: {
      kind: 'path',
      variable: null,
      shortest: null,
      nodes: [node(of.name, null), node(' score', '_TrustScore')],
      relationships: [
        {
          kind: 'relationship',
          variable: null,
          direction: 'right',
          types: { kind: 'label', name: '_HAS', span },
          range: null,
          properties: null,
          where: null,
          span,
        },
      ],
      span,
    },
    where: null,
    projection: member(variable(' score'), name),
    span,
  }
  return { kind: 'index', target: scores, index: { kind: 'integer', value: 0, span }, span }
}

type PatternNode = Extract<Expression, { kind: 'pattern-comprehension' }>['pattern']['nodes'][number]
