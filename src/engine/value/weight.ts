// Bounds what one value may grow to. Values share their parts, so `WITH [l, l] AS l` repeated 60 times costs nothing to
// build and for ever to compare: the weight of a composed value counts shared parts as often as they would be walked.
import { RunFault } from '../errors.ts'
import { effortOnItems, effortOnText } from './effort.ts'
import type { Value } from './value.ts'

/** Items of a list or entries of a map, those of nested ones included. */
export const VALUE_ITEMS_MAX = 4_000_000
/** UTF-16 units of a string that an expression makes. */
export const TEXT_LENGTH_MAX = 1024 * 1024

// Only values that hold lists or maps are remembered: the weight of any other is its length.
const weights = new WeakMap<object, number>()

function weigh(value: Value): number {
  if (value === null || typeof value !== 'object') return 1
  if (!Array.isArray(value) && !(value instanceof Map)) return 1
  const known = weights.get(value)
  if (known !== undefined) return known
  effortOnItems(Array.isArray(value) ? value.length : (value as ReadonlyMap<string, Value>).size)
  let weight = 1
  let nested = false
  for (const item of value.values() as Iterable<Value>) {
    nested ||= Array.isArray(item) || item instanceof Map
    weight += nested ? weigh(item) : 1
  }
  if (nested) weights.set(value, weight)
  return weight
}

function guard(value: readonly Value[] | ReadonlyMap<string, Value>): void {
  if (weigh(value) > VALUE_ITEMS_MAX) {
    throw new RunFault('budget', `a list or map of more than ${VALUE_ITEMS_MAX} items`, 'valueItemsMax')
  }
}

/** To be called on every list that an expression makes. */
export function boundedList(list: readonly Value[]): readonly Value[] {
  guard(list)
  return list
}

export function boundedMap(map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  guard(map)
  return map
}

export function boundedText(text: string): string {
  effortOnText(text.length)
  if (text.length > TEXT_LENGTH_MAX) {
    throw new RunFault('budget', `a string of more than ${TEXT_LENGTH_MAX} characters`, 'textLengthMax')
  }
  return text
}
