// Filters of decision policies in the oracle: random ones, their truth for given parameters, and their advice.
import type { Random } from '../../generate/random.ts'
import type { NaiveCell } from './graph.ts'
import { type NaiveTruth, same } from './terms.ts'

export interface DecisionFilter {
  readonly operator: string
  readonly operands?: readonly DecisionFilter[]
  readonly attribute?: string
  readonly value?: unknown
  readonly advice?: object
  readonly app?: string
}

export type DecisionParameters = ReadonlyMap<string, unknown>

/** A parameter has a value that the operator does not accept: the policy is skipped, and the parameter is reported. */
export class WrongParameterError extends Error {
  readonly parameter: string
  constructor(parameter: string) {
    super(parameter)
    this.parameter = parameter
  }
}

const ENDS: Readonly<Record<string, string>> = {
  'subject.external_id': 'subject_external_id',
  'subject.type': 'subject_type',
  'resource.external_id': 'resource_external_id',
  'resource.type': 'resource_type',
}

/** `$name.member`, or one of the keywords for the two ends. */
export function referenced(text: string, parameters: DecisionParameters): unknown {
  const end = ENDS[text]
  if (end !== undefined) return parameters.get(end) ?? null
  const [root = '', ...path] = text.slice(1).split('.')
  let value: unknown = parameters.get(root) ?? null
  for (const step of path) {
    if (value === null || typeof value !== 'object' || Array.isArray(value) || !Object.hasOwn(value, step)) return null
    value = (value as Record<string, unknown>)[step] ?? null
  }
  return value
}

function sentValue(value: unknown, parameters: DecisionParameters): unknown {
  if (Array.isArray(value)) return value.map((item) => sentValue(item, parameters))
  return typeof value === 'string' && value.startsWith('$') ? referenced(value, parameters) : value
}

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value)
const not = (truth: NaiveTruth): NaiveTruth => (truth === null ? null : !truth)
const rootOf = (value: unknown): string | null =>
  typeof value === 'string' && value.startsWith('$') ? (value.slice(1).split('.')[0] ?? null) : null

/** Claims are not parameters that a caller could send. */
function refuseParameter(value: unknown): void {
  const root = rootOf(value)
  if (root !== null && root !== 'token') throw new WrongParameterError(root)
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

function momentOf(value: unknown): number | null {
  if (typeof value === 'number') return value * 1000
  return typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) : null
}

/** Compares lists by their first different items; a prefix is less than the longer list. */
function less(a: unknown, b: unknown): NaiveTruth {
  if (!Array.isArray(a) || !Array.isArray(b)) {
    if (a === null || b === null || kindOf(a) !== kindOf(b)) return null
    return (a as string | number | boolean) < (b as string | number | boolean)
  }
  for (const [i, item] of a.slice(0, b.length).entries()) {
    const isSame = same(item, b[i])
    if (isSame !== true) return isSame === null ? null : less(item, b[i])
  }
  return a.length < b.length
}

function ordered(operator: string, left: unknown, right: unknown): NaiveTruth {
  if (left === null || right === null || kindOf(left) !== kindOf(right)) return null
  switch (operator) {
    case '=':
      return same(left as NaiveCell, right as NaiveCell)
    case '<>':
      return not(same(left as NaiveCell, right as NaiveCell))
    case '<':
      return less(left, right)
    case '>':
      return less(right, left)
    case '<=':
      return not(less(right, left))
    case '>=':
      return not(less(left, right))
    default:
      throw new Error(`no operator: ${operator}`)
  }
}

function amongst(value: unknown, list: readonly unknown[]): NaiveTruth {
  const truths = list.map((item) =>
    kindOf(item) === kindOf(value) ? same(value as NaiveCell, item as NaiveCell) : null,
  )
  if (truths.includes(true)) return true
  return truths.includes(null) ? null : false
}

export function filterTruth(filter: DecisionFilter, parameters: DecisionParameters): NaiveTruth {
  const { operator, operands = [], attribute = '', value } = filter
  if (operator === 'NOT') return not(filterTruth(operands[0] as DecisionFilter, parameters))
  if (operator === 'AND' || operator === 'OR') {
    const decisive = operator === 'OR'
    let isOpen = false
    for (const operand of operands) {
      const truth = filterTruth(operand, parameters)
      if (truth === decisive) return decisive
      if (truth === null) isOpen = true
    }
    return isOpen ? null : !decisive
  }
  const left = referenced(attribute, parameters)
  if (operator === 'IS NULL') return left === null
  if (operator === 'IS NOT NULL') return left !== null
  if (left === null) return null
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const given = (value as { value: unknown }).value
    const right = sentValue(given, parameters)
    const moment = momentOf(right)
    if (moment === null && right !== null) refuseParameter(given)
    return ordered(operator, momentOf(left), moment)
  }
  const right = sentValue(value, parameters)
  if (right === null) return null
  const [text, part] = [left, right].map((one) => (typeof one === 'string' ? one : null)) as [
    string | null,
    string | null,
  ]
  switch (operator) {
    case 'IN':
      return Array.isArray(right) ? amongst(left, right) : null
    case 'STARTS WITH':
      return text === null || part === null ? null : text.startsWith(part)
    case 'ENDS WITH':
      return text === null || part === null ? null : text.endsWith(part)
    case 'CONTAINS':
      if (Array.isArray(left)) return amongst(right, left)
      return text === null || part === null ? null : text.includes(part)
    case '=~': {
      if (text === null) return null
      const pattern = part === null ? null : patternOf(part)
      if (pattern !== null) return pattern.test(text)
      refuseParameter(value)
      return false
    }
    default:
      return ordered(operator, left, right)
  }
}

function patternOf(text: string): RegExp | null {
  try {
    return new RegExp(`^(?:${text})$`, 'su')
  } catch {
    return null
  }
}

/** For a filter that is not true: its advice and that of the responsible operands, in the order of the document. */
export function adviceOf(filter: DecisionFilter, parameters: DecisionParameters, wanted = true): object[] {
  const own = filter.advice === undefined ? [] : [filter.advice]
  if (filter.operator === 'NOT') {
    return [...own, ...adviceOf(filter.operands?.[0] as DecisionFilter, parameters, !wanted)]
  }
  const blamed = (filter.operands ?? []).filter((operand) => truthIfAny(operand, parameters) !== wanted)
  return [...own, ...blamed.flatMap((operand) => adviceOf(operand, parameters, wanted))]
}

function truthIfAny(filter: DecisionFilter, parameters: DecisionParameters): NaiveTruth {
  try {
    return filterTruth(filter, parameters)
  } catch (fault) {
    if (fault instanceof WrongParameterError) return null
    throw fault
  }
}

/** The names of the parameters that it refers to. */
export function parametersOfFilter({ operands = [], attribute, value }: DecisionFilter): string[] {
  const referredTo = (given: unknown): string[] => {
    if (Array.isArray(given)) return given.flatMap(referredTo)
    if (typeof given === 'object' && given !== null) return referredTo((given as { value: unknown }).value)
    const root = rootOf(given)
    return root === null ? [] : [root]
  }
  return [...operands.flatMap(parametersOfFilter), ...referredTo(attribute), ...referredTo(value)]
}

// biome-ignore format: a list of words
const ATTRIBUTES = ['$num', '$num', '$str', '$str', '$list', '$obj.a.b', '$obj.missing.x', '$token.sub', '$token.role',
  '$token.roles', '$token.level', '$token.flag', 'subject.external_id', 'resource.external_id', 'subject.type',
  'resource.type', '$subject_properties.k', '$resource_properties.n', '$action_properties.soft', '$when',
  '$subject_external_id', '$resource_external_id']
// biome-ignore format: a list of words
const OPERATORS = ['=', '<>', '<', '<=', '>', '>=', 'IN', '=~', 'STARTS WITH', 'ENDS WITH', 'CONTAINS', 'IS NULL',
  'IS NOT NULL', '=', 'IN', 'CONTAINS']
const LITERALS = [0, 1, 2, 1.5, 'a', 'ab', 'u0', 'u1', 'd0', 'd2', 'User', 'admin', true, false]
// biome-ignore format: a list of words
const REFERENCES = ['$num', '$str', '$obj.a.b', '$token.sub', '$token.role', '$token.level', '$subject_external_id',
  '$resource_properties.n', '$when']

export function randomDecisionFilter(random: Random, depth: number, more: readonly string[]): DecisionFilter {
  const advised = (odds: number) =>
    random.odds(odds) ? { advice: { error: `e${random.between(0, 1e9)}`, error_description: 'd' } } : {}
  if (depth > 0 && random.odds(0.55)) {
    const operator = random.pick(['AND', 'OR', 'NOT'])
    const length = operator === 'NOT' ? 1 : random.between(2, 3)
    const operands = Array.from({ length }, () => randomDecisionFilter(random, depth - 1, more))
    return { operator, operands, ...advised(0.3) }
  }
  const attribute = random.pick([...ATTRIBUTES, ...more])
  const operator = random.pick(OPERATORS)
  if (operator.startsWith('IS')) return { operator, attribute, ...advised(0.4) }
  return { operator, attribute, value: randomValue(random, operator), ...advised(0.4) }
}

function randomValue(random: Random, operator: string): unknown {
  if (operator === 'IN') {
    if (random.odds(0.4)) return random.pick(['$list', '$token.roles', '$str'])
    const length = random.between(0, 3)
    return Array.from({ length }, () => (random.odds(0.2) ? random.pick(REFERENCES) : random.pick(LITERALS)))
  }
  if (operator === '=~' || operator.endsWith('WITH')) {
    if (random.odds(0.3)) return random.pick(['$str', '$token.role', '$num', '$pat'])
    return random.pick(
      operator === '=~' ? ['a.*', '.*', 'u[01]', '', 'd.', '(a|b)+'] : ['a', '', 'u', 'd', 'b', 'dmin'],
    )
  }
  if (operator === 'CONTAINS') return random.pick<unknown>(random.odds(0.3) ? REFERENCES : LITERALS)
  return random.weighted<() => unknown>([
    [20, () => ({ type: 'datetime', value: random.odds(0.5) ? '$when' : '2026-01-01T00:00:00Z' })],
    [20, () => random.pick(REFERENCES)],
    [5, () => [1, 'a']],
    [55, () => random.pick<unknown>(LITERALS)],
  ])()
}
