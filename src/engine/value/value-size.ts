// Limits the size of a single value. Values share their parts: `WITH [l, l] AS l`, repeated 60 times, is cheap to build and
// would take for ever to compare. The size of a list or map therefore counts a shared part as often as a walk reads it.
import { type Budget, SLICE_ITEMS, type ValueSize } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { PathValue, type Value } from './value.ts'

/** Items of a list or entries of a map, including those of nested lists and maps. */
export const VALUE_ITEMS_MAX = 4_000_000
/** Levels of lists and maps in each other. Walks over values are recursive, and the stack is limited. */
const VALUE_DEPTH_MAX = 1000
/** UTF-16 units of a string that an expression creates. */
export const TEXT_LENGTH_MAX = 1024 * 1024

/** Estimated bytes of an item of a list without its text, of an entry of a map, and of a handle, float or temporal. */
const ITEM_BYTES = 8
const ENTRY_BYTES = 32
const OBJECT_BYTES = 32

/** Smaller values are created and dropped without a check of the memory. */
const UNCHECKED_BYTES_MAX = 65_536

/** Adds the size of a value that is an item of a list or a value of a map. */
function addSize(budget: Budget, value: Value, total: ValueSize): void {
  if (typeof value === 'string') {
    total.items += 1
    total.bytes += ITEM_BYTES + value.length
    return
  }
  if (value === null || typeof value !== 'object') {
    total.items += 1
    total.bytes += ITEM_BYTES
    return
  }
  if (!isListOrMap(value)) {
    total.items += 1
    total.bytes += objectBytes(value)
    return
  }
  const { items, bytes, depth } = measure(budget, value)
  total.items += items
  total.bytes += bytes
  if (depth >= total.depth) total.depth = depth + 1
}

/** A path contains a handle for each of its nodes and relationships. */
function objectBytes(value: object): number {
  return value instanceof PathValue ? OBJECT_BYTES * (2 * value.nodes.length) : OBJECT_BYTES
}

function isListOrMap(value: object): value is readonly Value[] | ReadonlyMap<string, Value> {
  return Array.isArray(value) || value instanceof Map
}

function measure(budget: Budget, value: readonly Value[] | ReadonlyMap<string, Value>): ValueSize {
  const measured = budget.measuredSize(value)
  if (measured !== undefined) return measured
  const size: ValueSize = { items: 1, bytes: ITEM_BYTES, depth: 1 }
  let isNested = false
  const length = Array.isArray(value) ? value.length : (value as ReadonlyMap<string, Value>).size
  let remaining = length
  for (const item of value.values() as Iterable<Value>) {
    // Charged in slices: a list of millions takes milliseconds.
    if (remaining % SLICE_ITEMS === 0 || remaining === length) budget.chargeSteps(Math.min(remaining, SLICE_ITEMS))
    remaining -= 1
    isNested ||= typeof item === 'object' && item !== null && isListOrMap(item)
    addSize(budget, item, size)
  }
  if (value instanceof Map) size.bytes += ENTRY_BYTES * length
  if (size.depth > VALUE_DEPTH_MAX) {
    throw new ExecutionError('budget', `a list or map of more than ${VALUE_DEPTH_MAX} levels`, 'valueDepthMax')
  }
  // Only nested values are remembered: a flat one is measured again in linear time.
  if (isNested) budget.rememberSize(value, size)
  return size
}

/** Estimates the bytes of memory that a value takes. Nodes and relationships count as handles. Charges the walk. */
export function estimateBytes(budget: Budget, value: Value): number {
  if (typeof value === 'string') return ITEM_BYTES + value.length
  if (value === null || typeof value !== 'object') return ITEM_BYTES
  return isListOrMap(value) ? measure(budget, value).bytes : objectBytes(value)
}

function checkSize(budget: Budget, value: readonly Value[] | ReadonlyMap<string, Value>): void {
  const { items, bytes } = measure(budget, value)
  if (items > VALUE_ITEMS_MAX) {
    throw new ExecutionError('budget', `a list or map of more than ${VALUE_ITEMS_MAX} items`, 'valueItemsMax')
  }
  if (bytes > UNCHECKED_BYTES_MAX) budget.checkBytes(bytes)
}

/** Builds a list and checks its size with each item, so that a list that is too large never gets all its items. */
export class BoundedListBuilder {
  readonly items: Value[] = []
  private bytes = 0
  private readonly budget: Budget

  constructor(budget: Budget) {
    this.budget = budget
  }

  /** Appends an item. Throws ExecutionError `budget` if the list is too large. */
  push(value: Value): void {
    const { budget, items } = this
    items.push(value)
    this.bytes += estimateBytes(budget, value)
    if (items.length > VALUE_ITEMS_MAX) boundedList(budget, items)
    if (this.bytes > UNCHECKED_BYTES_MAX) budget.checkBytes(this.bytes)
  }
}

/** Returns the list. Throws ExecutionError `budget` if it is too large. Called for every list that an expression creates. */
export function boundedList(budget: Budget, list: readonly Value[]): readonly Value[] {
  checkSize(budget, list)
  return list
}

/** Returns the map. Throws ExecutionError `budget` if it is too large. Called for every map that an expression creates. */
export function boundedMap(budget: Budget, map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  checkSize(budget, map)
  return map
}

/** Throws ExecutionError `budget` for a string of too many UTF-16 units; called before the string is created if possible. */
export function checkTextLength(length: number): void {
  if (length > TEXT_LENGTH_MAX) {
    throw new ExecutionError('budget', `a string of more than ${TEXT_LENGTH_MAX} characters`, 'textLengthMax')
  }
}

/** Returns the string. Throws as `checkTextLength` does. Called for every string that an expression creates. */
export function boundedText(budget: Budget, text: string): string {
  budget.chargeText(text.length)
  checkTextLength(text.length)
  return text
}
