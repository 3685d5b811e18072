// The four comparisons of Cypher: equality (three-valued), comparability (`<`), orderability (ORDER BY, min, max) and
// equivalence (DISTINCT, grouping). Integers and floats are compared by exact value; neither is rounded to the other.
// Every comparison charges the characters and items that it reads to a budget.
import { Float } from '../../kernel/float.ts'
import { type Budget, SLICE_CHARACTERS, SLICE_ITEMS } from '../budget.ts'
import { sortWithCharges } from './list-operations.ts'
import { compareTemporals, kindRank, orderTemporals, sameTemporal } from './temporal/order.ts'
import { type AnyTemporal, isTemporal } from './temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Truth, type Value } from './value.ts'

type CypherNumber = number | bigint | Float

/** A key for a Map or Set. Two values have equal keys if and only if they are equivalent. */
export type GroupingKey = string | number | bigint | boolean | null

/** Whether a value is an INTEGER or a FLOAT. */
export function isNumber(value: Value): value is CypherNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Float
}

/** Whether a value is a LIST. */
export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

/** Whether a value is a MAP. */
export function isMap(value: Value): value is ReadonlyMap<string, Value> {
  return value instanceof Map
}

// ---------------------------------------------------------------- numbers and strings

/** Returns -1, 0 or 1; NaN if an operand is NaN. JavaScript compares a bigint with a double by exact value. */
export function compareNumbers(a: CypherNumber, b: CypherNumber): number {
  const x = a instanceof Float ? a.value : a
  const y = b instanceof Float ? b.value : b
  return x < y ? -1 : x > y ? 1 : x >= y ? 0 : Number.NaN
}

/** Compares by code point. The native order of JavaScript is by UTF-16 unit and puts U+1F600 before U+FF5E. */
export function compareStrings(budget: Budget, a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  budget.chargeText(shared)
  if (a === b) return 0
  for (let i = 0; i < shared; i++) {
    if (i % SLICE_CHARACTERS === SLICE_CHARACTERS - 1) budget.chargeText(SLICE_CHARACTERS)
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates (D800 to DFFF) encode code points above FFFF, which are greater than E000 to FFFF.
    return liftSurrogate(x) < liftSurrogate(y) ? -1 : 1
  }
  return a.length < b.length ? -1 : 1
}

function liftSurrogate(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

// ---------------------------------------------------------------- equality

/** `a = b`: null if an operand is null, or if nested nulls leave the result unknown. */
export function equals(budget: Budget, a: Value, b: Value): Truth {
  if (a === null || b === null) return null
  if (typeof a === 'string') {
    if (typeof b !== 'string' || a.length !== b.length) return false
    budget.chargeText(a.length)
    return a === b
  }
  if (typeof a === 'boolean') return a === b
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0
  if (isList(a)) return isList(b) ? listsEqual(budget, a, b) : false
  if (a instanceof NodeValue) return b instanceof NodeValue && a.id === b.id && a.graph === b.graph
  if (a instanceof RelationshipValue) return b instanceof RelationshipValue && a.id === b.id && a.graph === b.graph
  if (a instanceof PathValue) return b instanceof PathValue && comparePaths(budget, a, b) === 0
  if (isTemporal(a)) return isTemporal(b) && sameTemporal(a, b)
  return isMap(b) ? mapsEqual(budget, a, b) : false
}

function listsEqual(budget: Budget, a: readonly Value[], b: readonly Value[]): Truth {
  if (a.length !== b.length) return false
  let truth: Truth = true
  for (let i = 0; i < a.length; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeSteps(Math.min(SLICE_ITEMS, a.length - i))
    const same = equals(budget, a[i]!, b[i]!)
    if (same === false) return false
    if (same === null) truth = null
  }
  return truth
}

/** Maps with different keys differ, even if the value of the additional key is null. */
function mapsEqual(budget: Budget, a: ReadonlyMap<string, Value>, b: ReadonlyMap<string, Value>): Truth {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    chargeKeyLookup(budget, key)
    if (!b.has(key)) return false
  }
  let truth: Truth = true
  for (const [key, value] of a) {
    chargeKeyLookup(budget, key)
    const same = equals(budget, value, b.get(key)!)
    if (same === false) return false
    if (same === null) truth = null
  }
  return truth
}

/** `value IN list`: true if an item equals the value, else null if an item leaves the result unknown, else false. */
export function contains(budget: Budget, list: readonly Value[], value: Value): Truth {
  let truth: Truth = false
  for (let i = 0; i < list.length; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeSteps(Math.min(SLICE_ITEMS, list.length - i))
    const same = equals(budget, value, list[i]!)
    if (same === true) return true
    if (same === null) truth = null
  }
  return truth
}

// ---------------------------------------------------------------- comparability

/**
 * Compares for `<`, `<=`, `>` and `>=`. Returns a negative number, 0 or a positive number; null if the operands are not
 * comparable or a null leaves the result unknown; NaN if all four operators give false.
 */
function compareForInequality(budget: Budget, a: Value, b: Value): number | null {
  if (a === null || b === null) return null
  if (isNumber(a)) return isNumber(b) ? compareNumbers(a, b) : null
  if (typeof a === 'string') return typeof b === 'string' ? compareStrings(budget, a, b) : null
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : null
  if (isList(a) && isList(b)) {
    const shared = Math.min(a.length, b.length)
    for (let i = 0; i < shared; i++) {
      if (i % SLICE_ITEMS === 0) budget.chargeSteps(Math.min(SLICE_ITEMS, shared - i))
      const difference = compareForInequality(budget, a[i]!, b[i]!)
      if (difference !== 0) return difference
    }
    return a.length - b.length
  }
  return isTemporal(a) && isTemporal(b) ? compareTemporals(a, b) : null
}

/** `a < b`: null if the operands are not comparable. */
export function lessThan(budget: Budget, a: Value, b: Value): Truth {
  const difference = compareForInequality(budget, a, b)
  return difference === null ? null : difference < 0
}

/** `a <= b`: null if the operands are not comparable. */
export function lessOrEqual(budget: Budget, a: Value, b: Value): Truth {
  const difference = compareForInequality(budget, a, b)
  return difference === null ? null : difference <= 0
}

// ---------------------------------------------------------------- orderability

/** The position of a kind in an ascending ORDER BY. */
function orderRank(value: Value): number {
  if (value === null) return 100
  if (typeof value === 'string') return 60
  if (typeof value === 'boolean') return 70
  if (isNumber(value)) return 80
  if (isList(value)) return 30
  if (value instanceof NodeValue) return 10
  if (value instanceof RelationshipValue) return 20
  if (value instanceof PathValue) return 40
  if (isTemporal(value)) return 50 + kindRank(value)
  return 0
}

/** A total order over all values: negative, 0 or positive. 0 if and only if the values are equivalent. */
export function order(budget: Budget, a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(budget, a, b)
  const ranks = orderRank(a) - orderRank(b)
  if (ranks !== 0 || a === null || b === null) return ranks
  if (isNumber(a)) return orderNumbers(a, b as CypherNumber)
  if (typeof a === 'boolean') return Number(a) - Number(b as boolean)
  if (isList(a)) return orderLists(budget, a, b as readonly Value[])
  if (a instanceof NodeValue || a instanceof RelationshipValue) return compareElements(a, b as NodeValue)
  if (a instanceof PathValue) return comparePaths(budget, a, b as PathValue)
  if (isTemporal(a)) return orderTemporals(a, b as AnyTemporal)
  return orderMaps(budget, a as ReadonlyMap<string, Value>, b as ReadonlyMap<string, Value>)
}

/** NaN is greater than every number and equal to itself. */
function orderNumbers(a: CypherNumber, b: CypherNumber): number {
  const difference = compareNumbers(a, b)
  return Number.isNaN(difference) ? Number(isNaNFloat(a)) - Number(isNaNFloat(b)) : difference
}

function isNaNFloat(value: CypherNumber): boolean {
  return value instanceof Float && Number.isNaN(value.value)
}

function orderLists(budget: Budget, a: readonly Value[], b: readonly Value[]): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeSteps(Math.min(SLICE_ITEMS, shared - i))
    const difference = order(budget, a[i]!, b[i]!)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Maps with fewer entries first, then by their sorted keys, then by the values of these keys. */
function orderMaps(budget: Budget, a: ReadonlyMap<string, Value>, b: ReadonlyMap<string, Value>): number {
  if (a.size !== b.size) return a.size - b.size
  const keys = sortedKeys(budget, a)
  const otherKeys = sortedKeys(budget, b)
  for (let i = 0; i < keys.length; i++) {
    const difference = compareStrings(budget, keys[i]!, otherKeys[i]!)
    if (difference !== 0) return difference
  }
  for (const key of keys) {
    chargeKeyLookup(budget, key)
    const difference = order(budget, a.get(key)!, b.get(key)!)
    if (difference !== 0) return difference
  }
  return 0
}

function sortedKeys(budget: Budget, map: ReadonlyMap<string, Value>): readonly string[] {
  const keys: string[] = []
  for (const key of map.keys()) {
    chargeKeyLookup(budget, key)
    keys.push(key)
  }
  return sortWithCharges(budget, keys, (a, b) => compareStrings(budget, a, b))
}

/** Charges a look-up in a map. */
function chargeKeyLookup(budget: Budget, key: string): void {
  budget.chargeSteps(1)
  budget.chargeText(key.length)
}

function compareElements(a: NodeValue | RelationshipValue, b: NodeValue | RelationshipValue): number {
  return a.graph - b.graph || a.id - b.id
}

/** Compares the elements from the start: node, relationship, node, … A prefix comes first. */
function comparePaths(budget: Budget, a: PathValue, b: PathValue): number {
  const shared = Math.min(a.nodes.length, b.nodes.length)
  budget.chargeSteps(shared)
  for (let i = 0; i < shared; i++) {
    const node = compareElements(a.nodes[i]!, b.nodes[i]!)
    if (node !== 0) return node
    const ours = a.relationships[i]
    const theirs = b.relationships[i]
    if (ours === undefined || theirs === undefined) break
    const relationship = compareElements(ours, theirs)
    if (relationship !== 0) return relationship
  }
  return a.nodes.length - b.nodes.length
}

// ---------------------------------------------------------------- equivalence

/** Equality for DISTINCT and grouping: null equals null, NaN equals NaN and 1 equals 1.0. */
export function equivalent(budget: Budget, a: Value, b: Value): boolean {
  return a === b || order(budget, a, b) === 0
}

// The key of a composed value is a string that starts with NUL. A string value that starts with NUL gets a second NUL, so that
// no two kinds share a key.
const COMPOSED_PREFIX = '\u0000'

/** Returns the grouping key of a value. Scalars are their own keys. Charges the characters of strings and keys. */
export function groupingKey(budget: Budget, value: Value): GroupingKey {
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return value
  if (typeof value === 'string') {
    // The hash of a string reads all its characters.
    budget.chargeText(value.length)
    return value.startsWith(COMPOSED_PREFIX) ? COMPOSED_PREFIX + value : value
  }
  if (value instanceof Float) return floatKey(value.value)
  const parts = new KeyBuilder()
  parts.append(COMPOSED_PREFIX)
  appendKey(budget, value, parts)
  const key = parts.build()
  budget.chargeText(key.length)
  return key
}

/** The key of the integer with the same value if there is one. A Map treats -0 as 0 and NaN as equal to NaN. */
function floatKey(value: number): number | bigint {
  const couldBeBigint =
    !Number.isSafeInteger(value) && Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
  return couldBeBigint ? BigInt(value) : value
}

/** Joins parts in batches: one join of a million parts would leave the clock unread for too long. */
class KeyBuilder {
  private text = ''
  private parts: string[] = []

  append(part: string): void {
    if (this.parts.push(part) >= SLICE_ITEMS) this.flush()
  }

  build(): string {
    this.flush()
    return this.text
  }

  private flush(): void {
    this.text += this.parts.join('')
    this.parts = []
  }
}

/** Appends a self-delimiting key, so that the keys of two items cannot run into each other. */
function appendKey(budget: Budget, value: Value, parts: KeyBuilder): void {
  budget.chargeSteps(1)
  if (value === null) parts.append('z')
  else if (typeof value === 'boolean') parts.append(value ? 't' : 'f')
  else if (typeof value === 'string') appendText(budget, value, parts)
  else if (value instanceof Float) parts.append(`n${floatKey(value.value)};`)
  else if (typeof value === 'number' || typeof value === 'bigint') parts.append(`n${value};`)
  else if (isList(value)) {
    parts.append('[')
    for (const item of value) appendKey(budget, item, parts)
    parts.append(']')
  } else if (value instanceof NodeValue) parts.append(`(${value.graph}.${value.id})`)
  else if (value instanceof RelationshipValue) parts.append(`r${value.graph}.${value.id};`)
  else if (value instanceof PathValue) {
    parts.append('p')
    for (const node of value.nodes) appendKey(budget, node, parts)
    for (const relationship of value.relationships) appendKey(budget, relationship, parts)
    parts.append(';')
  } else if (isTemporal(value)) parts.append(`@${value.kind} ${value};`)
  else {
    const map = value as ReadonlyMap<string, Value>
    parts.append('{')
    for (const key of sortedKeys(budget, map)) {
      appendText(budget, key, parts)
      appendKey(budget, map.get(key)!, parts)
    }
    parts.append('}')
  }
}

function appendText(budget: Budget, text: string, parts: KeyBuilder): void {
  budget.chargeText(text.length)
  parts.append(`s${text.length}:${text}`)
}
