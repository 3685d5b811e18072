// Copies, concatenations and sorts of lists. Large lists are processed in slices and each slice is charged to the budget,
// because one native call on millions of items would leave the clock unread for too long.
import { type Budget, SLICE_ITEMS } from '../budget.ts'

/** A native copy of more items takes longer than the clock may be left unread. */
const NATIVE_COPY_MAX = 65_536

/** Returns `items[from..to)`. Charges the copy. */
export function copySlice<T>(budget: Budget, items: readonly T[], from = 0, to = items.length): T[] {
  if (to - from <= NATIVE_COPY_MAX) {
    budget.chargeCopies(to - from)
    return items.slice(from, to)
  }
  const copy: T[] = []
  appendSlice(budget, copy, items, from, to)
  return copy
}

/** Returns the items of `first`, then those of `second`. Charges the copy. */
export function concatLists<T>(budget: Budget, first: readonly T[], second: readonly T[]): readonly T[] {
  if (first.length + second.length <= NATIVE_COPY_MAX) {
    budget.chargeCopies(first.length + second.length)
    return first.concat(second)
  }
  const all = copySlice(budget, first)
  appendSlice(budget, all, second, 0, second.length)
  return all
}

/** Appends items `from` to `to` (excluded) to `target`. Charges the copy. */
export function appendSlice<T>(budget: Budget, target: T[], items: readonly T[], from: number, to: number): void {
  for (let start = from; start < to; start += SLICE_ITEMS) {
    const end = Math.min(to, start + SLICE_ITEMS)
    budget.chargeCopies(end - start)
    for (let i = start; i < end; i++) target.push(items[i]!)
  }
}

const SORTED_RUN_LENGTH = 64

/**
 * Sorts in place and returns the same array. Stable, like `Array.prototype.sort`, but charges a step per comparison:
 * the native sort copies all items at once and leaves the clock unread.
 */
export function sortWithCharges<T>(budget: Budget, items: T[], order: (a: T, b: T) => number): T[] {
  const compare = (a: T, b: T): number => {
    budget.chargeSteps(1)
    return order(a, b)
  }
  const { length } = items
  if (length <= SORTED_RUN_LENGTH) return items.sort(compare)
  for (let start = 0; start < length; start += SORTED_RUN_LENGTH) {
    const run = items.slice(start, start + SORTED_RUN_LENGTH).sort(compare)
    for (let i = 0; i < run.length; i++) items[start + i] = run[i]!
  }
  let source = items
  let target: T[] = []
  for (let width = SORTED_RUN_LENGTH; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) mergeRuns(budget, source, target, start, width, compare)
    const spare = source
    source = target
    target = spare
  }
  if (source === items) return items
  for (let i = 0; i < length; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeCopies(SLICE_ITEMS)
    items[i] = source[i]!
  }
  return items
}

/** Merges the sorted runs `[start, start + width)` and `[start + width, start + 2 width)` of `source` into `target`. */
function mergeRuns<T>(
  budget: Budget,
  source: readonly T[],
  target: T[],
  start: number,
  width: number,
  order: (a: T, b: T) => number,
): void {
  const middle = Math.min(source.length, start + width)
  const end = Math.min(source.length, start + 2 * width)
  let left = start
  let right = middle
  for (let i = start; i < end; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeCopies(SLICE_ITEMS)
    const isLeftFirst = left < middle && (right >= end || order(source[left]!, source[right]!) <= 0)
    target[i] = isLeftFirst ? source[left++]! : source[right++]!
  }
}
