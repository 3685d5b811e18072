// From the JSON of `condition.filter` to a Filter, or to what its author has to mend, each fault with its path.
import { fitsInt64 } from '../engine/value/arithmetic.ts'
import { instantMs } from '../engine/value/instant.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import { compileRegex } from '../engine/value/regular-expression.ts'
import type { Value } from '../engine/value/value.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'
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
import { readReference } from './value-reference.ts'

const branches = ['AND', 'OR', 'NOT'] as const
const leafOperators: readonly string[] = [...comparisons, 'IN', ...textOperators, ...nullTests]
const operators: readonly string[] = [...branches, ...leafOperators]

/**
 * Null: there is no filter. An empty one filters nothing. `ends`: whether the question has a subject and a resource that it
 * names, as a decision has; the subject of a context query is of the graph, and what a caller sends must not stand for it.
 */
export function readPolicyFilter(
  given: unknown,
  path: string,
  ends = true,
): Result<PolicyFilter | null, readonly string[]> {
  if (given === undefined || given === null) return ok(null)
  if (typeof given === 'object' && Object.keys(given).length === 0) return ok(null)
  const reader = new PolicyFilterReader(ends)
  const root = reader.node(given, path)
  return root === null || reader.faults.length > 0
    ? err(reader.faults)
    : ok(new PolicyFilter(root, [...reader.parameters]))
}

class PolicyFilterReader {
  readonly faults: string[] = []
  readonly parameters = new Set<string>()
  private readonly ends: boolean

  constructor(ends: boolean) {
    this.ends = ends
  }

  node(given: unknown, path: string): PolicyFilterNode | null {
    if (!isJsonObject(given)) return this.fault(path, `expected object, found ${jsonKindOf(given)}`)
    const { operator } = given
    if (typeof operator !== 'string' || !operators.includes(operator)) {
      const found = typeof operator === 'string' ? `\`${operator.slice(0, 64)}\`` : jsonKindOf(operator)
      return this.fault(`${path}.operator`, `expected one of ${operators.join(', ')}, found ${found}`)
    }
    if (given.app !== undefined && typeof given.app !== 'string') {
      this.fault(`${path}.app`, `expected string, found ${jsonKindOf(given.app)}`)
    }
    const advice = this.advice(given.advice, `${path}.advice`)
    if (operator === 'AND' || operator === 'OR' || operator === 'NOT') return this.branch(given, operator, path, advice)
    return this.leaf(given, operator as FilterLeafOperator, path, advice)
  }

  private branch(
    given: Record<string, unknown>,
    operator: (typeof branches)[number],
    path: string,
    advice: FilterAdvice | null,
  ): PolicyFilterNode | null {
    this.refuseOthers(given, ['operator', 'operands', 'app', 'advice'], path)
    const { operands } = given
    if (!Array.isArray(operands)) return this.fault(`${path}.operands`, `expected array, found ${jsonKindOf(operands)}`)
    // Facts 1.5.2: of a decision at least two, of a context query one or more.
    const [least, most] = operator === 'NOT' ? [1, 1] : [this.ends ? 2 : 1, Number.POSITIVE_INFINITY]
    if (operands.length < least || operands.length > most) {
      const wanted = operator === 'NOT' ? 'exactly 1 item' : `at least ${least} item${least === 1 ? '' : 's'}`
      this.fault(`${path}.operands`, `expected ${wanted}, found ${operands.length}`)
    }
    const read = operands.map((operand, i) => this.node(operand, `${path}.operands[${i}]`))
    const nodes = read.filter((node) => node !== null)
    if (nodes.length < read.length || nodes.length < least) return null
    if (operator === 'NOT') return { kind: 'not', operand: nodes[0] as PolicyFilterNode, path, advice }
    return { kind: operator === 'AND' ? 'and' : 'or', operands: nodes, path, advice }
  }

  private leaf(
    given: Record<string, unknown>,
    operator: FilterLeafOperator,
    path: string,
    advice: FilterAdvice | null,
  ): PolicyFilterNode | null {
    this.refuseOthers(given, ['operator', 'attribute', 'value', 'app', 'advice'], path)
    const attribute = this.reference(given.attribute, `${path}.attribute`)
    const place = `${path}.value`
    if ((nullTests as readonly string[]).includes(operator)) {
      if (given.value !== undefined) return this.fault(place, `\`${operator}\` takes no value`)
      return attribute === null ? null : { kind: 'leaf', operator, attribute, operand: null, path, advice }
    }
    const operand = this.operandFor(operator, given.value, place)
    return attribute === null || operand === null ? null : { kind: 'leaf', operator, attribute, operand, path, advice }
  }

  private operandFor(operator: FilterLeafOperator, value: unknown, path: string): FilterOperand | null {
    const operand = this.operand(value, path)
    if (operand === null) return null
    const { kind } = operand
    if (operator === 'IN') {
      if (kind === 'list' || kind === 'reference') return operand
      return this.fault(path, '`IN` takes an array, or a parameter or claim that is one')
    }
    if (kind === 'list' && !(comparisons as readonly string[]).includes(operator)) {
      return this.fault(path, `\`${operator}\` takes no array`)
    }
    if (kind === 'instant' && !(comparisons as readonly string[]).includes(operator)) {
      return this.fault(path, `\`${operator}\` takes no datetime`)
    }
    if (!(textOperators as readonly string[]).includes(operator) || kind !== 'literal') return operand
    // `CONTAINS` also looks for an item of a list, which may be of any kind.
    if (operator === 'CONTAINS') return operand
    if (typeof operand.value !== 'string') return this.fault(path, `\`${operator}\` takes a string`)
    if (operator !== '=~') return operand
    const pattern = compileRegex(operand.value)
    return pattern.ok ? { kind: 'pattern', pattern: pattern.value } : this.fault(path, pattern.error)
  }

  private operand(value: unknown, path: string): FilterOperand | null {
    if (value === undefined) return this.fault(path, 'expected a value, found nothing')
    if (value === null) return this.fault(path, 'null equals nothing: use `IS NULL` or `IS NOT NULL`')
    if (typeof value === 'string') return this.text(value, path)
    if (typeof value === 'bigint' && !fitsInt64(value))
      return this.fault(path, `the integer ${value} does not fit 64 bits`)
    if (typeof value !== 'object') return { kind: 'literal', value: fromJson(value) }
    if (Array.isArray(value)) {
      const items = value.map((item, i) => this.operand(item, `${path}[${i}]`)).filter((item) => item !== null)
      if (items.some(({ kind }) => kind === 'instant')) return this.fault(path, 'a datetime stands alone')
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
    if (/^@[A-Za-z_]\w*\./.test(value)) {
      const kind = this.ends ? 'decision' : 'token'
      return this.fault(path, `a ${kind} filter is evaluated without the graph: \`${value.slice(0, 64)}\` is in it`)
    }
    return { kind: 'literal', value }
  }

  private datetime(given: Record<string, unknown>, path: string): FilterOperand | null {
    if (given.type !== 'datetime') return this.fault(path, 'expected `{"type": "datetime", "value": …}`')
    this.refuseOthers(given, ['type', 'value'], path)
    const of = this.operand(given.value, `${path}.value`)
    if (of === null) return null
    if (of.kind !== 'literal' && of.kind !== 'reference') {
      return this.fault(`${path}.value`, 'expected an RFC 3339 timestamp or a parameter')
    }
    if (of.kind === 'literal' && (typeof of.value !== 'string' || instantMs(of.value as Value) === null)) {
      return this.fault(`${path}.value`, 'expected an RFC 3339 timestamp such as `2026-01-31T12:00:00Z`')
    }
    return { kind: 'instant', of }
  }

  private reference(given: unknown, path: string) {
    if (typeof given !== 'string') return this.fault(path, `expected string, found ${jsonKindOf(given)}`)
    const reference = readReference(given)
    if (!reference.ok) return this.fault(path, `${reference.error}, found \`${given.slice(0, 64)}\``)
    if (!this.ends && !given.startsWith('$')) {
      return this.fault(
        path,
        `a token filter is evaluated without the graph: expected \`$token.<claim>\`, \`$svc_token.<path>\` or \`$<parameter>\`, found \`${given.slice(0, 64)}\``,
      )
    }
    this.parameters.add(reference.value.root)
    return reference.value
  }

  private advice(given: unknown, path: string): FilterAdvice | null {
    if (given === undefined || given === null) return null
    if (!isJsonObject(given)) return this.fault(path, `expected object, found ${jsonKindOf(given)}`)
    for (const [name, text] of Object.entries(given)) {
      if (typeof text !== 'string') this.fault(`${path}.${name}`, `expected string, found ${jsonKindOf(text)}`)
    }
    return given as FilterAdvice
  }

  private refuseOthers(given: Record<string, unknown>, known: readonly string[], path: string): void {
    const others = Object.keys(given).filter((name) => !known.includes(name))
    if (others.length > 0) this.fault(path, `unknown member ${others.map((name) => `\`${name}\``).join(', ')}`)
  }

  private fault(path: string, message: string): null {
    this.faults.push(`${path}: ${message}`)
    return null
  }
}
