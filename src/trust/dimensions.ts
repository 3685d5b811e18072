// The formulas of trust scores, as pure functions. docs/explanation/trust-scores.md defines each of them with a worked example.
// A change of a formula needs another FORMULA_VERSION.
import { Budget, type BudgetLimits } from '../engine/budget.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { ScannedProperty, StoredProperty } from '../engine/store.ts'
import { isNumber } from '../engine/value/compare.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { assertNever } from '../kernel/assert.ts'
import { Float } from '../kernel/float.ts'
import { type DateRange, dateOf, timestampMs } from './dates.ts'
import type { CompiledRule, DateRoles, DimensionName, ScoringRules } from './scoring-rules.ts'

/** The version of the formulas. Scores name it. */
export const FORMULA_VERSION = 1

const DAY_MS = 86_400_000
/** The highest assurance level. */
const ASSURANCE_MAX = 3

/** The parts of a node that its score depends on. */
export interface ScoredNode {
  /** Milliseconds since the epoch. */
  readonly updatedMs: number
  readonly properties: readonly ScannedProperty[]
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
function dimensionOf(name: DimensionName, node: ScoredNode, rules: ScoringRules, nowMs: number): number | null {
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
function ageInDays(timeMs: number, nowMs: number): number {
  return Math.max(0, Math.floor(nowMs / DAY_MS) - Math.floor(timeMs / DAY_MS))
}

function decay(days: number, halfLifeDays: number): number {
  return 0.5 ** (days / halfLifeDays)
}

function freshness({ updatedMs, properties }: ScoredNode, rules: ScoringRules, nowMs: number): number {
  const { freshnessHalfLifeDays } = rules
  let sum = decay(ageInDays(updatedMs, nowMs), freshnessHalfLifeDays)
  for (const property of properties) sum += decay(ageInDays(property.updatedMs, nowMs), freshnessHalfLifeDays)
  return sum / (1 + properties.length)
}

function verification({ properties }: ScoredNode, rules: ScoringRules, nowMs: number): number | null {
  if (properties.length === 0) return null
  let sum = 0
  for (const property of properties) sum += verificationOf(property, rules, nowMs)
  return sum / properties.length
}

/** 0 for a property that was not verified, or whose time of verification is in the future. */
export function verificationOf({ metadata }: StoredProperty, rules: ScoringRules, nowMs: number): number {
  const text = metadata?.verifiedTime
  if (text === undefined) return 0
  const verifiedMs = timestampMs(text)
  return verifiedMs <= nowMs ? decay(ageInDays(verifiedMs, nowMs), rules.verificationHalfLifeDays) : 0
}

function origin({ properties }: ScoredNode, rules: ScoringRules): number | null {
  if (properties.length === 0) return null
  let sum = 0
  for (const property of properties) sum += originOf(property, rules)
  return sum / properties.length
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
  if (required.size === 0) return null
  let present = 0
  for (const property of properties) if (required.has(property.name) && isFilled(property)) present += 1
  return present / required.size
}

/** Whether a property is not empty. A value that a resolver supplies counts as filled. */
export function isFilled({ value }: StoredProperty): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  return !Array.isArray(value) || value.length > 0
}

/** A judged rule of one node. */
interface JudgedRule {
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
  const values = new Map<string, PropertyValue | null>()
  for (const property of properties) values.set(property.name, property.value)
  for (const rule of rules) {
    const value = values.get(rule.property) ?? null
    // Without a stored value there is nothing to judge: the property is missing, or a resolver supplies it.
    if (value === null) continue
    if (rule.rule === 'not_after') {
      const other = values.get(rule.other) ?? null
      if (other !== null) judge(rule, isInOrder(dateOf(value), dateOf(other)))
    } else judge(rule, isFulfilledBy(rule, value, nowMs))
  }
}

/** Start dates are in the past, end dates in the future, and each start date is not after each end date. */
function judgeByNames(properties: readonly ScannedProperty[], roles: DateRoles, nowMs: number, judge: Judge): void {
  const starts: NamedDate[] = []
  const ends: NamedDate[] = []
  for (const property of properties) {
    const { name } = property
    const role = roles.of(name)
    if (role === null) continue
    const { value } = property
    if (value === null) continue
    const date = dateOf(value)
    const isStart = role === 'start'
    ;(isStart ? starts : ends).push({ name, date })
    judge({ property: name, rule: isStart ? 'past' : 'future' }, (isStart ? isPast : isFuture)(date, nowMs))
  }
  for (const start of starts) {
    for (const end of ends)
      judge({ property: start.name, rule: 'not_after', other: end.name }, isInOrder(start.date, end.date))
  }
}

interface NamedDate {
  readonly name: string
  readonly date: DateRange | null
}

function isPast(date: DateRange | null, nowMs: number): boolean {
  return date !== null && date.firstMs <= nowMs
}

function isFuture(date: DateRange | null, nowMs: number): boolean {
  return date !== null && date.lastMs >= nowMs
}

function isFulfilledBy(
  rule: Exclude<CompiledRule, { rule: 'not_after' }>,
  value: PropertyValue,
  nowMs: number,
): boolean {
  switch (rule.rule) {
    case 'date':
      return dateOf(value) !== null
    case 'past':
      return isPast(dateOf(value), nowMs)
    case 'future':
      return isFuture(dateOf(value), nowMs)
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

function isInOrder(start: DateRange | null, end: DateRange | null): boolean {
  return start !== null && end !== null && start.firstMs <= end.lastMs
}
