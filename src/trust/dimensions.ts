// The formulas of trust scores, as pure functions. docs/explanation/trust-scores.md defines each of them with a worked example.
// A change of a formula needs another FORMULA_VERSION.
import { Budget, type BudgetLimits } from '../engine/budget.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { StoredProperty } from '../engine/store.ts'
import { isNumber } from '../engine/value/compare.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { assertNever } from '../kernel/assert.ts'
import { isTimestamp } from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import type { CompiledRule, DateRole, DateRoles, DimensionName, ScoringRules } from './scoring-rules.ts'

/** The version of the formulas. Scores name it. */
export const FORMULA_VERSION = 1

const DAY_MS = 86_400_000
/** The highest assurance level. */
const ASSURANCE_MAX = 3

/** The parts of a node that its score depends on. */
export interface ScoredNode {
  /** Milliseconds since the epoch. */
  readonly updatedMs: number
  /** By name. */
  readonly properties: ReadonlyMap<string, StoredProperty>
}

/** The score of a node. A dimension for which the node has nothing to judge is absent. */
export interface TrustScore {
  /** From 0 to 1, by dimension. */
  readonly dimensions: ReadonlyMap<DimensionName, number>
  /** Null: no dimension with a weight has a value. */
  readonly final: number | null
}

/** Computes the score of a node at a time, in milliseconds since the epoch. */
export function scoreNode(node: ScoredNode, rules: ScoringRules, nowMs: number): TrustScore {
  const dimensions = new Map<DimensionName, number>()
  let sum = 0
  let weights = 0
  for (const { name, weight } of rules.dimensions) {
    const value = dimensionOf(name, node, rules, nowMs)
    if (value === null) continue
    dimensions.set(name, value)
    sum += weight * value
    weights += weight
  }
  return { dimensions, final: weights === 0 ? null : sum / weights }
}

/** The value of one dimension, from 0 to 1. Null: the node has nothing to judge. */
export function dimensionOf(name: DimensionName, node: ScoredNode, rules: ScoringRules, nowMs: number): number | null {
  switch (name) {
    case 'FRESHNESS':
      return freshness(node, rules, nowMs)
    case 'VERIFICATION':
      return verification(node, rules, nowMs)
    case 'ORIGIN':
      return origin(node, rules)
    case 'COMPLETENESS':
      return completeness(node, rules)
    case 'VALIDITY':
      return validity(node, rules, nowMs)
    default:
      return assertNever(name)
  }
}

/** Age in days of the UTC calendar, so that a score changes at most once a day. A time in the future has age 0. */
export function ageInDays(timeMs: number, nowMs: number): number {
  return Math.max(0, Math.floor(nowMs / DAY_MS) - Math.floor(timeMs / DAY_MS))
}

function decay(days: number, halfLifeDays: number): number {
  return 0.5 ** (days / halfLifeDays)
}

function freshness({ updatedMs, properties }: ScoredNode, rules: ScoringRules, nowMs: number): number {
  const { freshnessHalfLifeDays } = rules
  let sum = decay(ageInDays(updatedMs, nowMs), freshnessHalfLifeDays)
  for (const property of properties.values()) sum += decay(ageInDays(property.updatedMs, nowMs), freshnessHalfLifeDays)
  return sum / (1 + properties.size)
}

function verification({ properties }: ScoredNode, rules: ScoringRules, nowMs: number): number | null {
  if (properties.size === 0) return null
  let sum = 0
  for (const property of properties.values()) sum += verificationOf(property, rules, nowMs)
  return sum / properties.size
}

/** 0 for a property that was not verified, or whose time of verification is in the future. */
export function verificationOf({ metadata }: StoredProperty, rules: ScoringRules, nowMs: number): number {
  const text = metadata?.verifiedTime
  if (text === undefined) return 0
  const verifiedMs = Date.parse(text)
  return verifiedMs <= nowMs ? decay(ageInDays(verifiedMs, nowMs), rules.verificationHalfLifeDays) : 0
}

function origin({ properties }: ScoredNode, rules: ScoringRules): number | null {
  if (properties.size === 0) return null
  let sum = 0
  for (const property of properties.values()) sum += originOf(property, rules)
  return sum / properties.size
}

/** The trust in the source of a property; with an assurance level, the mean of both. */
export function originOf({ metadata }: StoredProperty, rules: ScoringRules): number {
  const { source, assuranceLevel } = metadata ?? {}
  const trust =
    source === undefined || source === ''
      ? rules.unnamedSourceTrust
      : (rules.sources.get(source) ?? rules.namedSourceTrust)
  return assuranceLevel === undefined ? trust : (trust + assuranceLevel / ASSURANCE_MAX) / 2
}

function completeness({ properties }: ScoredNode, { required }: ScoringRules): number | null {
  if (required.length === 0) return null
  let present = 0
  for (const name of required) if (isFilled(properties.get(name))) present += 1
  return present / required.length
}

/** Whether a property is there and is not empty. A value that a resolver supplies counts as filled. */
export function isFilled(property: StoredProperty | undefined): boolean {
  if (property === undefined) return false
  const { value } = property
  if (typeof value === 'string') return value.trim() !== ''
  return !Array.isArray(value) || value.length > 0
}

/** A judged rule of one node. */
export interface JudgedRule {
  readonly property: string
  /** As in a profile; `not_after` has another property. */
  readonly rule: CompiledRule['rule']
  readonly other?: string
  readonly isFulfilled: boolean
}

function validity(node: ScoredNode, rules: ScoringRules, nowMs: number): number | null {
  let judged = 0
  let fulfilled = 0
  judgeRules(node, rules, nowMs, (_, isFulfilled) => {
    judged += 1
    if (isFulfilled) fulfilled += 1
  })
  return judged === 0 ? null : fulfilled / judged
}

/** The rules that apply to a node, judged. */
export function judgedRules(node: ScoredNode, rules: ScoringRules, nowMs: number): JudgedRule[] {
  const all: JudgedRule[] = []
  judgeRules(node, rules, nowMs, (rule, isFulfilled) => {
    const { property } = rule
    all.push({ property, rule: rule.rule, ...(rule.rule === 'not_after' && { other: rule.other }), isFulfilled })
  })
  return all
}

type Judge = (rule: CompiledRule, isFulfilled: boolean) => void

function judgeRules(
  { properties }: ScoredNode,
  { validity: rules, roles }: ScoringRules,
  nowMs: number,
  judge: Judge,
): void {
  if (rules === null) {
    judgeByNames(properties, roles, nowMs, judge)
    return
  }
  for (const rule of rules) {
    const value = properties.get(rule.property)?.value ?? null
    // Without a stored value there is nothing to judge: the property is missing, or a resolver supplies it.
    if (value === null) continue
    if (rule.rule === 'not_after') {
      const other = properties.get(rule.other)?.value ?? null
      if (other !== null) judge(rule, isInOrder(value, other))
    } else judge(rule, isFulfilledBy(rule, value, nowMs))
  }
}

/** Start dates are in the past, end dates in the future, and each start date is not after each end date. */
function judgeByNames(
  properties: ReadonlyMap<string, StoredProperty>,
  roles: DateRoles,
  nowMs: number,
  judge: Judge,
): void {
  const dates: { name: string; role: DateRole; value: PropertyValue }[] = []
  for (const [name, { value }] of properties) {
    const role = roles.of(name)
    if (role !== null && value !== null) dates.push({ name, role, value })
  }
  for (const { name, role, value } of dates) {
    const rule = { property: name, rule: role === 'start' ? 'past' : 'future' } as const
    judge(rule, isFulfilledBy(rule, value, nowMs))
  }
  for (const start of dates) {
    if (start.role !== 'start') continue
    for (const end of dates) {
      if (end.role !== 'end') continue
      judge({ property: start.name, rule: 'not_after', other: end.name }, isInOrder(start.value, end.value))
    }
  }
}

function isFulfilledBy(
  rule: Exclude<CompiledRule, { rule: 'not_after' }>,
  value: PropertyValue,
  nowMs: number,
): boolean {
  switch (rule.rule) {
    case 'date':
      return dateOf(value) !== null
    case 'past': {
      const date = dateOf(value)
      return date !== null && date.firstMs <= nowMs
    }
    case 'future': {
      const date = dateOf(value)
      return date !== null && date.lastMs >= nowMs
    }
    case 'pattern':
      return typeof value === 'string' && matches(rule.regex, value)
    case 'range': {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = rule
      if (!isNumber(value)) return false
      const number = value instanceof Float ? value.value : Number(value)
      return number >= minimum && number <= maximum
    }
    case 'one_of':
      return typeof value === 'string' && rule.values.includes(value)
    default:
      return assertNever(rule)
  }
}

/** Limits for one text; one that takes more steps does not match. The time is no limit in practice. */
const REGEX_LIMITS: BudgetLimits = { stepsMax: 1_000_000, timeMs: 3_600_000 }

function matches(regex: Extract<CompiledRule, { rule: 'pattern' }>['regex'], text: string): boolean {
  const budget = new Budget()
  budget.start(REGEX_LIMITS)
  try {
    return regex.matches(budget, text)
  } catch (error) {
    if (error instanceof ExecutionError) return false
    throw error
  }
}

function isInOrder(first: PropertyValue, second: PropertyValue): boolean {
  const start = dateOf(first)
  const end = dateOf(second)
  return start !== null && end !== null && start.firstMs <= end.lastMs
}

/** The first and the last millisecond of a date. */
interface DateRange {
  readonly firstMs: number
  readonly lastMs: number
}

const DATE = /^\d{4}-\d\d-\d\d$/

/** A day (`2026-11-22`, in UTC) or an RFC 3339 timestamp; null for anything else. */
function dateOf(value: PropertyValue): DateRange | null {
  if (typeof value !== 'string') return null
  if (DATE.test(value)) {
    if (!isTimestamp(`${value}T00:00:00Z`)) return null
    const firstMs = Date.parse(value)
    return { firstMs, lastMs: firstMs + DAY_MS - 1 }
  }
  if (!isTimestamp(value)) return null
  const ms = Date.parse(value)
  return { firstMs: ms, lastMs: ms }
}
