// Bounds what one value may grow to. Values share their parts, so `WITH [l, l] AS l` repeated 60 times costs nothing to
// build and for ever to compare: the weight of a composed value counts shared parts as often as they would be walked.
import { ExecutionError } from '../errors.ts'
import { chargeItems, chargeText, checkBytes, SLICE_ITEMS } from './cost-accounting.ts'
import { PathValue, type Value } from './value.ts'

/** Items of a list or entries of a map, those of nested ones included. */
export const VALUE_ITEMS_MAX = 4_000_000
/** UTF-16 units of a string that an expression makes. */
export const TEXT_LENGTH_MAX = 1024 * 1024

/** What an item of a list takes beside its text, and what an entry of a map takes; bytes. */
const ITEM_BYTES = 8
const ENTRY_BYTES = 32
const OBJECT_BYTES = 32

/** Items, those of nested lists and maps included, and an estimate of the bytes they take. */
interface ValueSize {
  items: number
  bytes: number
}

// Only values that hold lists or maps are remembered: the weight of any other is counted anew.
const sizesOfNested = new WeakMap<object, ValueSize>()

/** Adds the weight of a value that stands in a list or map. */
function addSize(value: Value, to: ValueSize): void {
  if (typeof value === 'string') {
    to.items += 1
    to.bytes += ITEM_BYTES + value.length
    return
  }
  if (value === null || typeof value !== 'object') {
    to.items += 1
    to.bytes += ITEM_BYTES
    return
  }
  if (!isListOrMap(value)) {
    to.items += 1
    to.bytes += objectBytes(value)
    return
  }
  const { items, bytes } = measure(value)
  to.items += items
  to.bytes += bytes
}

/** Handles, floats and temporals take about as much each; a path holds handles. */
function objectBytes(value: object): number {
  return value instanceof PathValue ? OBJECT_BYTES * (2 * value.nodes.length) : OBJECT_BYTES
}

function isListOrMap(value: object): value is readonly Value[] | ReadonlyMap<string, Value> {
  return Array.isArray(value) || value instanceof Map
}

function measure(value: readonly Value[] | ReadonlyMap<string, Value>): ValueSize {
  const known = sizesOfNested.get(value)
  if (known !== undefined) return known
  const weight: ValueSize = { items: 1, bytes: ITEM_BYTES }
  let nested = false
  const { length } = Array.isArray(value) ? value : { length: (value as ReadonlyMap<string, Value>).size }
  let left = length
  for (const item of value.values() as Iterable<Value>) {
    // Charged as the walk goes on: a list of millions takes milliseconds.
    if (left % SLICE_ITEMS === 0 || left === length) chargeItems(Math.min(left, SLICE_ITEMS))
    left -= 1
    nested ||= typeof item === 'object' && item !== null && isListOrMap(item)
    addSize(item, weight)
  }
  if (value instanceof Map) weight.bytes += ENTRY_BYTES * length
  if (nested) sizesOfNested.set(value, weight)
  return weight
}

/** An estimate of what keeping the value takes, bytes. Elements of the graph are held as ids. */
export function estimateBytes(value: Value): number {
  if (typeof value === 'string') return ITEM_BYTES + value.length
  if (value === null || typeof value !== 'object') return ITEM_BYTES
  return isListOrMap(value) ? measure(value).bytes : objectBytes(value)
}

function checkSize(value: readonly Value[] | ReadonlyMap<string, Value>): void {
  const { items, bytes } = measure(value)
  if (items > VALUE_ITEMS_MAX) {
    throw new ExecutionError('budget', `a list or map of more than ${VALUE_ITEMS_MAX} items`, 'valueItemsMax')
  }
  if (bytes > UNCHECKED_BYTES_MAX) checkBytes(bytes)
}

/** Smaller values are made and dropped without asking for memory. */
const UNCHECKED_BYTES_MAX = 65_536

/** A list that grows: refused as soon as it is too large, before it has all its items. */
export class BoundedListBuilder {
  readonly items: Value[] = []
  private bytes = 0

  push(value: Value): void {
    const { items } = this
    items.push(value)
    this.bytes += estimateBytes(value)
    if (items.length > VALUE_ITEMS_MAX) boundedList(items)
    if (this.bytes > UNCHECKED_BYTES_MAX) checkBytes(this.bytes)
  }
}

/** To be called on every list that an expression makes. */
export function boundedList(list: readonly Value[]): readonly Value[] {
  checkSize(list)
  return list
}

export function boundedMap(map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  checkSize(map)
  return map
}

/** To be called on every text that an expression makes, before it is made where its length is known. */
export function checkTextLength(length: number): void {
  if (length > TEXT_LENGTH_MAX) {
    throw new ExecutionError('budget', `a string of more than ${TEXT_LENGTH_MAX} characters`, 'textLengthMax')
  }
}

export function boundedText(text: string): string {
  chargeText(text.length)
  checkTextLength(text.length)
  return text
}
