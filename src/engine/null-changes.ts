// How the value of an expression changes if a value becomes null: the possible pairs of values before and after, each with the
// expressions that cause it. An operator combines all pairs of its operands.
import type { ComparisonOperator } from '../../grammar/ast.ts'

/** A value of an analysis: a known one, an empty list, or one of which little is known. */
export type AbstractValue =
  | boolean
  | number
  | bigint
  | string
  | null
  | typeof EMPTY
  | typeof UNKNOWN
  | typeof FEWER
  | typeof WITH_NULL

/** An empty list. */
export const EMPTY = { is: 'an empty list' } as const
/** Any value. */
export const UNKNOWN = { is: 'unknown' } as const
/** A number or a list that is less than the other value. */
export const FEWER = { is: 'fewer' } as const
/** A list or a map that holds a null. */
export const WITH_NULL = { is: 'with null' } as const

/** The cause of a change: an expression, or two causes. A tree, because sets of many would be copied at each step. */
type Cause = { readonly expression: object } | { readonly left: Cause; readonly right: Cause } | typeof DECIDED

/** The author of the text has decided what a null means, with IS NULL or coalesce. */
export const DECIDED = { is: 'decided' } as const

/** A value before and after. */
export interface NullChange {
  readonly before: AbstractValue
  readonly after: AbstractValue
  /** Null if nothing changes. */
  readonly causes: Cause | null
  /** Whether `after` is, or holds, the null of the absent value, not that of an element that was not found. */
  readonly isDirect: boolean
}

/** The possible changes of a value. */
export type NullChanges = readonly NullChange[]

/** Adds the expressions of a cause. */
export function addExpressions(cause: Cause | null, to: Set<object>): void {
  const seen = new Set<Cause>()
  const pending = cause === null ? [] : [cause]
  for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
    if (seen.has(one)) continue
    seen.add(one)
    if ('expression' in one) to.add(one.expression)
    else if ('left' in one) pending.push(one.left, one.right)
  }
}

/** The changes of a value that stays as it is. */
export function always(value: AbstractValue): NullChanges {
  return [{ before: value, after: value, causes: null, isDirect: false }]
}

/** The changes of a value of which nothing is known but that it stays as it is. */
export const ANY_VALUE: NullChanges = always(UNKNOWN)

const CHANGES_MAX = 16

/** Each change once. A value that stays one of several is unknown. */
export function distinct(changes: NullChanges): NullChanges {
  let merged = mergedBy(changes, (change) => change)
  if (merged.every(({ causes }) => causes === null)) return merged.length === 1 ? merged : ANY_VALUE
  if (merged.length > CHANGES_MAX) merged = widened(merged, false)
  return merged.length > CHANGES_MAX ? widened(merged, true) : merged
}

/** The changes with unknown values in place of known texts and numbers. */
function widened(changes: NullChanges, alsoAfter: boolean): NullChanges {
  return mergedBy(changes, (change) => {
    if (change.causes === null) return typeof change.before === 'boolean' ? change : ANY_VALUE[0]!
    return { ...change, before: widen(change.before), after: alsoAfter ? widen(change.after) : change.after }
  })
}

function widen(value: AbstractValue): AbstractValue {
  return value === null || typeof value === 'boolean' || typeof value === 'object' ? value : UNKNOWN
}

function mergedBy(changes: NullChanges, of: (change: NullChange) => NullChange): NullChanges {
  const merged = new Map<string, NullChange>()
  for (const given of changes) {
    const change = settled(of(given))
    const { before, after, causes, isDirect } = change
    const state = causes === null ? '=' : causes === DECIDED ? 'decided' : isDirect
    const key = `${keyOf(before)} ${keyOf(after)} ${state}`
    const known = merged.get(key)
    if (known === undefined) merged.set(key, change)
    else if (known.causes !== causes) merged.set(key, { ...change, causes: united(known.causes, causes) })
  }
  return [...merged.values()]
}

/** A known value that is the same after as before does not change. */
function settled(change: NullChange): NullChange {
  const { before, after, causes } = change
  const isKnown = typeof before !== 'object' || before === null || before === EMPTY
  if (causes !== null && isKnown && before === after) return { before, after, causes: null, isDirect: false }
  return change.isDirect && after !== null && after !== WITH_NULL ? { ...change, isDirect: false } : change
}

function keyOf(value: AbstractValue): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? value.is : `${typeof value}:${value}`
}

/** The changes of a function of one value. */
export function mapped(changes: NullChanges, apply: (value: AbstractValue) => AbstractValue): NullChanges {
  return distinct(changes.map((change) => ({ ...change, before: apply(change.before), after: apply(change.after) })))
}

/** The changes of a function of two values. `apply`: its possible results. `special`: the changes of pairs that it knows better. */
export function combined(
  left: NullChanges,
  right: NullChanges,
  apply: (left: AbstractValue, right: AbstractValue) => readonly AbstractValue[],
  special: (left: NullChange, right: NullChange) => NullChanges | null = () => null,
): NullChanges {
  const found: NullChange[] = []
  for (const l of left) {
    for (const r of right) {
      const known = special(l, r)
      if (known !== null) {
        found.push(...known)
        continue
      }
      const befores = apply(l.before, r.before)
      if (l.causes === null && r.causes === null) {
        for (const value of befores) found.push(...always(value))
        continue
      }
      const afters = apply(l.after, r.after)
      for (const after of afters) {
        const isDirect = l.isDirect || r.isDirect
        const causes = blamed(l, r, after, apply)
        for (const before of befores) found.push({ before, after, causes, isDirect })
      }
    }
  }
  return distinct(found)
}

/** The causes of a result: of the changes without which it would be another one, or of both. */
function blamed(
  left: NullChange,
  right: NullChange,
  result: AbstractValue,
  apply: (left: AbstractValue, right: AbstractValue) => readonly AbstractValue[],
): Cause | null {
  if (left.causes === null || right.causes === null) return left.causes ?? right.causes
  const isLeftNeeded = !apply(left.before, right.after).includes(result)
  const isRightNeeded = !apply(left.after, right.before).includes(result)
  if (isLeftNeeded !== isRightNeeded) return isLeftNeeded ? left.causes : right.causes
  return united(left.causes, right.causes)
}

/** Both causes; decided if one of them is. */
export function united(left: Cause | null, right: Cause | null): Cause | null {
  if (left === null || right === null || left === right) return left ?? right
  return left === DECIDED || right === DECIDED ? DECIDED : { left, right }
}

// ---------------------------------------------------------------- conditions

const BOTH: readonly boolean[] = [true, false]

/** The changes of a condition: true, false or null. */
export function truths(changes: NullChanges): NullChanges {
  if (changes.every(({ before, after }) => isTruth(before) && isTruth(after))) return changes
  return mergedBy(
    changes.flatMap((change) => {
      if (change.causes === null) return isTruth(change.before) ? [change] : BOTH.flatMap(always)
      const befores = isTruth(change.before) ? [change.before] : BOTH
      const afters = isTruth(change.after) ? [change.after] : BOTH
      return befores.flatMap((before) => afters.map((after) => ({ ...change, before, after })))
    }),
    (change) => change,
  )
}

function isTruth(value: AbstractValue): boolean {
  return value === null || typeof value === 'boolean'
}

/** NOT. */
export function negated(changes: NullChanges): NullChanges {
  return mapped(truths(changes), (value) => (value === null ? null : !value))
}

/** AND. */
export function both(left: NullChanges, right: NullChanges): NullChanges {
  return combined(truths(left), truths(right), (l, r) => [
    l === false || r === false ? false : l === null || r === null ? null : true,
  ])
}

/** OR. */
export function either(left: NullChanges, right: NullChanges): NullChanges {
  return combined(truths(left), truths(right), (l, r) => [
    l === true || r === true ? true : l === null || r === null ? null : false,
  ])
}

/** XOR. */
export function differing(left: NullChanges, right: NullChanges): NullChanges {
  return combined(truths(left), truths(right), (l, r) => [l === null || r === null ? null : l !== r])
}

/** Whether there is an item for which a condition holds (`either`), or none for which it does not (`both`). */
export function folded(item: NullChanges, start: boolean, step: typeof both): NullChanges {
  return repeated(always(start), (state) => step(state, item))
}

/** The states that repeated steps reach. */
export function repeated(start: NullChanges, step: (state: NullChanges) => NullChanges): NullChanges {
  let state = start
  for (let round = 0; round < 6; round += 1) {
    const merged = distinct([...state, ...step(state)])
    const next = round < 2 ? merged : widened(merged, round > 3)
    if (next.length === state.length && next.every((one, i) => isSame(one, state[i]!))) return next
    state = next
  }
  return state
}

function isSame(a: NullChange, b: NullChange): boolean {
  return (
    a.before === b.before &&
    a.after === b.after &&
    (a.causes === null) === (b.causes === null) &&
    a.isDirect === b.isDirect
  )
}

/** CASE: `yes` where the condition is true, otherwise `no`. */
export function chosen(condition: NullChanges, yes: NullChanges, no: NullChanges): NullChanges {
  const found: NullChange[] = []
  for (const { before, after, causes } of truths(condition)) {
    const from = before === true ? yes : no
    const to = after === true ? yes : no
    if (from === to) found.push(...from)
    else {
      for (const was of from) {
        for (const is of to) {
          // Of two values of which nothing is known, neither is the one that denies.
          const isOpen = was.before !== UNKNOWN || is.after !== UNKNOWN
          const all = united(causes, is.causes)
          found.push({ before: was.before, after: is.after, causes: isOpen ? all : DECIDED, isDirect: false })
        }
      }
    }
  }
  return distinct(found)
}

// ---------------------------------------------------------------- rows and lists

/** The changes of a count (`zero` is 0) or a list (`zero` is EMPTY) of rows. `rows`: whether a row is there. */
export function collected(rows: NullChanges, zero: 0 | typeof EMPTY): NullChanges {
  const found: NullChange[] = []
  const conditions = truths(rows)
  const mayStay = conditions.some(({ before, after }) => before === true && after === true)
  for (const { before, after, causes } of conditions) {
    const isDirect = false
    if (before === true && after === true) found.push(...ANY_VALUE)
    else if (before === true) {
      found.push({ before: UNKNOWN, after: zero, causes, isDirect })
      if (mayStay) found.push({ before: UNKNOWN, after: FEWER, causes, isDirect })
    } else if (after === true) found.push({ before: zero, after: UNKNOWN, causes, isDirect })
    else found.push(...always(zero))
  }
  return distinct(found)
}

/** The changes of whether a row exists. */
export function existing(rows: NullChanges): NullChanges {
  return mapped(truths(rows), (value) => value === true)
}

/** The rows with those that the null removes. */
export function withoutLosses(rows: NullChanges): NullChanges {
  return distinct(
    truths(rows).flatMap((change) => (change.before === true && change.after !== true ? always(true) : [change])),
  )
}

// ---------------------------------------------------------------- comparisons

/** The changes of `left operator right`. */
export function compared(left: NullChanges, operator: ComparisonOperator, right: NullChanges): NullChanges {
  return combined(
    left,
    right,
    (l, r) => compareValues(l, operator, r),
    (l, r) => {
      if (l.causes !== null && r.causes === null) return compareChange(l, operator, r.before)
      return l.causes === null && r.causes !== null ? compareChange(r, mirrored[operator], l.before) : null
    },
  )
}

function compareValues(
  left: AbstractValue,
  operator: ComparisonOperator,
  right: AbstractValue,
): readonly AbstractValue[] {
  if (left === null || right === null || left === WITH_NULL || right === WITH_NULL) return [null]
  if (left === EMPTY && right === EMPTY) return [operator === '=']
  if (typeof left === 'object' || typeof right === 'object') return BOTH
  return [holds(left, operator, right)]
}

/** A changed value, compared with one that stays, where more is known than of single values. */
function compareChange(change: NullChange, operator: ComparisonOperator, other: AbstractValue): NullChanges | null {
  const { before, after, causes } = change
  if (other === null) return null
  const to = (from: boolean, now: boolean): NullChange => ({ before: from, after: now, causes, isDirect: false })
  const isEquality = operator === '=' || operator === '<>'
  const isUpper = operator === '<' || operator === '<='
  const same = BOTH.flatMap(always)
  // It is assumed that a required number was not exceeded, and that some become none.
  const isLess = isEquality ? (operator === '<>') !== isNothing(other) : isUpper
  if (after === FEWER) return [...same, to(!isLess, isLess)]
  if (before === FEWER) return [...same, to(isLess, !isLess)]
  if (other !== UNKNOWN) return null
  // The unknown one is hardly empty too.
  if (isNothing(after)) return BOTH.map((from) => to(from, operator === '<>' || isUpper))
  if (isNothing(before)) return BOTH.map((now) => to(operator === '<>' || isUpper, now))
  if (typeof before === 'number' && typeof after === 'number' && !isEquality) {
    const isMore = isUpper ? after < before : after > before
    return [...same, to(!isMore, isMore)]
  }
  const areTexts = [before, after].every((value) => typeof value === 'string' || typeof value === 'number')
  return areTexts ? BOTH.flatMap((from) => BOTH.map((now) => ({ ...to(from, now), causes: DECIDED }))) : null
}

function isNothing(value: AbstractValue): boolean {
  return value === 0 || value === EMPTY
}

const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

type Known = boolean | number | bigint | string

function holds(left: Known, operator: ComparisonOperator, right: Known): boolean {
  switch (operator) {
    case '=':
      return left === right
    case '<>':
      return left !== right
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}
