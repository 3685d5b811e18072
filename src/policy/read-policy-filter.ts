// Parses the JSON of `condition.filter` and `condition.token_filter` to a PolicyFilter, or to issues with their paths.
import { fitsInt64 } from '../engine/value/arithmetic.ts'
import { instantMs } from '../engine/value/instant.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import { compileRegex } from '../engine/value/regular-expression.ts'
import type { Value } from '../engine/value/value.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import {
  comparisons,
  type FilterAdvice,
  type FilterLeafOperator,
  type FilterOperand,
  nullTests,
  PolicyFilter,
  type PolicyFilterNode,
  textOperators,
} from './policy-filter.ts'
import { type branchOperators, filterOperator } from './policy-filter-schema.ts'
import { readReference } from './value-reference.ts'

const operators: readonly string[] = filterOperator.options

/**
 * Parses a filter. Returns null if none exists, or an empty object. Issues begin with the path below `path`.
 * `hasEntities`: true for a decision, whose request names a subject and a resource. The subject of a context query
 * comes from the graph, and a caller's value must not replace it.
 */
export function readPolicyFilter(
  data: unknown,
  path: string,
  hasEntities = true,
): Result<PolicyFilter | null, readonly string[]> {
  if (data === undefined || data === null) return ok(null)
  if (typeof data === 'object' && Object.keys(data).length === 0) return ok(null)
  const reader = new PolicyFilterReader(hasEntities)
  const root = reader.node(data, path)
  return root === null || reader.issues.length > 0
    ? err(reader.issues)
    : ok(new PolicyFilter(root, [...reader.parameters]))
}

class PolicyFilterReader {
  readonly issues: string[] = []
  readonly parameters = new Set<string>()
  private readonly hasEntities: boolean

  constructor(hasEntities: boolean) {
    this.hasEntities = hasEntities
  }

  node(data: unknown, path: string): PolicyFilterNode | null {
    if (!isJsonObject(data)) return this.reject(path, `expected object, found ${jsonKindOf(data)}`)
    const { operator } = data
    if (typeof operator !== 'string' || !operators.includes(operator)) {
      const found = typeof operator === 'string' ? `\`${operator.slice(0, 64)}\`` : jsonKindOf(operator)
      return this.reject(`${path}.operator`, `expected one of ${operators.join(', ')}, found ${found}`)
    }
    if (data.app !== undefined && typeof data.app !== 'string') {
      this.reject(`${path}.app`, `expected string, found ${jsonKindOf(data.app)}`)
    }
    const advice = this.advice(data.advice, `${path}.advice`)
    if (operator === 'AND' || operator === 'OR' || operator === 'NOT') return this.branch(data, operator, path, advice)
    return this.leaf(data, operator as FilterLeafOperator, path, advice)
  }

  private branch(
    data: Record<string, unknown>,
    operator: (typeof branchOperators)[number],
    path: string,
    advice: FilterAdvice | null,
  ): PolicyFilterNode | null {
    this.rejectUnknownMembers(data, ['operator', 'operands', 'app', 'advice'], path)
    const { operands } = data
    if (!Array.isArray(operands))
      return this.reject(`${path}.operands`, `expected array, found ${jsonKindOf(operands)}`)
    // AND and OR take at least two operands in a decision policy and at least one in a context query.
    const [least, most] = operator === 'NOT' ? [1, 1] : [this.hasEntities ? 2 : 1, Number.POSITIVE_INFINITY]
    if (operands.length < least || operands.length > most) {
      const wanted = operator === 'NOT' ? 'exactly 1 item' : `at least ${least} item${least === 1 ? '' : 's'}`
      this.reject(`${path}.operands`, `expected ${wanted}, found ${operands.length}`)
    }
    const read = operands.map((operand, i) => this.node(operand, `${path}.operands[${i}]`))
    const nodes = read.filter((node) => node !== null)
    if (nodes.length < read.length || nodes.length < least) return null
    if (operator === 'NOT') return { kind: 'not', operand: nodes[0] as PolicyFilterNode, path, advice }
    return { kind: operator === 'AND' ? 'and' : 'or', operands: nodes, path, advice }
  }

  private leaf(
    data: Record<string, unknown>,
    operator: FilterLeafOperator,
    path: string,
    advice: FilterAdvice | null,
  ): PolicyFilterNode | null {
    this.rejectUnknownMembers(data, ['operator', 'attribute', 'value', 'app', 'advice'], path)
    const attribute = this.reference(data.attribute, `${path}.attribute`)
    const place = `${path}.value`
    if ((nullTests as readonly string[]).includes(operator)) {
      if (data.value !== undefined) return this.reject(place, `\`${operator}\` does not accept a value`)
      return attribute === null ? null : { kind: 'leaf', operator, attribute, operand: null, path, advice }
    }
    const operand = this.operandFor(operator, data.value, place)
    return attribute === null || operand === null ? null : { kind: 'leaf', operator, attribute, operand, path, advice }
  }

  private operandFor(operator: FilterLeafOperator, value: unknown, path: string): FilterOperand | null {
    const operand = this.operand(value, path)
    if (operand === null) return null
    const { kind } = operand
    if (operator === 'IN') {
      if (kind === 'list' || kind === 'reference') return operand
      return this.reject(path, '`IN` expects an array, or a parameter or claim that holds one')
    }
    if (kind === 'list' && !(comparisons as readonly string[]).includes(operator)) {
      return this.reject(path, `\`${operator}\` does not accept an array`)
    }
    if (kind === 'instant' && !(comparisons as readonly string[]).includes(operator)) {
      return this.reject(path, `\`${operator}\` does not accept a datetime`)
    }
    if (!(textOperators as readonly string[]).includes(operator) || kind !== 'literal') return operand
    // `CONTAINS` also looks for an item of a list, which may have any type.
    if (operator === 'CONTAINS') return operand
    if (typeof operand.value !== 'string') return this.reject(path, `\`${operator}\` expects a string`)
    if (operator !== '=~') return operand
    const pattern = compileRegex(operand.value)
    return pattern.ok ? { kind: 'pattern', pattern: pattern.value } : this.reject(path, pattern.error)
  }

  private operand(value: unknown, path: string): FilterOperand | null {
    if (value === undefined) return this.reject(path, 'expected a value, found nothing')
    if (value === null) return this.reject(path, 'null is never equal to a value: use `IS NULL` or `IS NOT NULL`')
    if (typeof value === 'string') return this.text(value, path)
    if (typeof value === 'bigint' && !fitsInt64(value))
      return this.reject(path, `the integer ${value} does not fit 64 bits`)
    if (typeof value !== 'object') return { kind: 'literal', value: fromJson(value) }
    if (Array.isArray(value)) {
      const items = value.map((item, i) => this.operand(item, `${path}[${i}]`)).filter((item) => item !== null)
      if (items.some(({ kind }) => kind === 'instant'))
        return this.reject(path, 'a datetime is not allowed inside an array')
      if (items.length < value.length) return null
      return { kind: 'list', items }
    }
    return this.datetime(value as Record<string, unknown>, path)
  }

  private text(value: string, path: string): FilterOperand | null {
    if (value.startsWith('$')) {
      const reference = this.reference(value, path)
      return reference === null ? null : { kind: 'reference', reference }
    }
    if (/^@[\p{L}_][\p{L}\p{M}\p{N}_]*\./u.test(value)) {
      const kind = this.hasEntities ? 'decision' : 'token'
      return this.reject(
        path,
        `a ${kind} filter is evaluated without the graph and cannot use \`${value.slice(0, 64)}\``,
      )
    }
    return { kind: 'literal', value }
  }

  private datetime(data: Record<string, unknown>, path: string): FilterOperand | null {
    if (data.type !== 'datetime') return this.reject(path, 'expected `{"type": "datetime", "value": …}`')
    this.rejectUnknownMembers(data, ['type', 'value'], path)
    const of = this.operand(data.value, `${path}.value`)
    if (of === null) return null
    if (of.kind !== 'literal' && of.kind !== 'reference') {
      return this.reject(`${path}.value`, 'expected an RFC 3339 timestamp or a parameter')
    }
    if (of.kind === 'literal' && (typeof of.value !== 'string' || instantMs(of.value as Value) === null)) {
      return this.reject(`${path}.value`, 'expected an RFC 3339 timestamp such as `2026-01-31T12:00:00Z`')
    }
    return { kind: 'instant', of }
  }

  private reference(data: unknown, path: string) {
    if (typeof data !== 'string') return this.reject(path, `expected string, found ${jsonKindOf(data)}`)
    const reference = readReference(data)
    if (!reference.ok) return this.reject(path, `${reference.error}, found \`${data.slice(0, 64)}\``)
    if (!this.hasEntities && !data.startsWith('$')) {
      return this.reject(
        path,
        `a token filter is evaluated without the graph: expected \`$token.<claim>\`, \`$svc_token.<path>\` or \`$<parameter>\`, found \`${data.slice(0, 64)}\``,
      )
    }
    this.parameters.add(reference.value.root)
    return reference.value
  }

  private advice(data: unknown, path: string): FilterAdvice | null {
    if (data === undefined || data === null) return null
    if (!isJsonObject(data)) return this.reject(path, `expected object, found ${jsonKindOf(data)}`)
    for (const [name, text] of Object.entries(data)) {
      if (typeof text !== 'string') this.reject(`${path}.${name}`, `expected string, found ${jsonKindOf(text)}`)
    }
    return data as FilterAdvice
  }

  private rejectUnknownMembers(data: Record<string, unknown>, known: readonly string[], path: string): void {
    const others = Object.keys(data).filter((name) => !known.includes(name))
    if (others.length > 0) this.reject(path, `unknown member ${others.map((name) => `\`${name}\``).join(', ')}`)
  }

  private reject(path: string, message: string): null {
    this.issues.push(`${path}: ${message}`)
    return null
  }
}
