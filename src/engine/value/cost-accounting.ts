// What work on large values costs. Operators count rows by themselves; copying a list of a million items or comparing two
// long strings happens deep inside an expression, and is counted from there. The engine is synchronous and one run is
// under way at a time, so the budget that started last is the one to charge.
//
// Work is charged before it is done. What takes longer than a millisecond is done in slices, each charged by itself, so
// that the clock is read in between.

export interface CostMeter {
  chargeSteps(steps: number): void
  retainBytes(count: number): void
  checkBytes(count: number): void
  requireLane(reason: string): void
}

let currentMeter: CostMeter | null = null

/** Called when a run starts. */
export function setCurrentMeter(budget: CostMeter): void {
  currentMeter = budget
}

/** Called when a run ends. */
export function clearCurrentMeter(budget: CostMeter): void {
  if (currentMeter === budget) currentMeter = null
}

/** So many items of a list or map were looked at or copied. */
export function chargeItems(count: number): void {
  currentMeter?.chargeSteps(count)
}

/** Items that are copied natively cost a fraction of those that are looked at one by one. */
const COPIES_PER_STEP = 8

export function chargeCopies(count: number): void {
  if (count >= COPIES_PER_STEP) currentMeter?.chargeSteps(Math.ceil(count / COPIES_PER_STEP))
}

/** Characters are cheap: as many as a cache line holds count as one step. */
export const CHARACTERS_PER_STEP = 64

export function chargeText(length: number): void {
  if (length >= CHARACTERS_PER_STEP) currentMeter?.chargeSteps(Math.ceil(length / CHARACTERS_PER_STEP))
}

/** Bytes that a run keeps until it ends. Throws RunFault at the limit. */
export function retainBytes(count: number): void {
  currentMeter?.retainBytes(count)
}

/** Bytes of one value that is being made: refused where no memory is left for it. Throws RunFault. */
export function checkBytes(count: number): void {
  currentMeter?.checkBytes(count)
}

/** Before work that a serving loop never does. Throws LaneRequiredError where the run is inline. */
export function requireLane(reason: string): void {
  currentMeter?.requireLane(reason)
}

/** Items between two charges of a loop. */
export const SLICE_ITEMS = 1024
/** Characters between two charges of a loop over a text. */
export const SLICE_CHARACTERS = 16_384

/** `items[from..to)`, charged while it is copied. */
export function copySlice<T>(items: readonly T[], from = 0, to = items.length): T[] {
  if (to - from <= NATIVE_COPY_MAX) {
    chargeCopies(to - from)
    return items.slice(from, to)
  }
  const copy: T[] = []
  for (let at = from; at < to; at += SLICE_ITEMS) {
    const end = Math.min(to, at + SLICE_ITEMS)
    chargeCopies(end - at)
    for (let i = at; i < end; i++) copy.push(items[i]!)
  }
  return copy
}

const NATIVE_COPY_MAX = 65_536

/** Both lists, one behind the other. */
export function concatLists<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  if (first.length + second.length <= NATIVE_COPY_MAX) {
    chargeCopies(first.length + second.length)
    return first.concat(second)
  }
  const all = copySlice(first)
  for (let at = 0; at < second.length; at += SLICE_ITEMS) {
    const end = Math.min(second.length, at + SLICE_ITEMS)
    chargeCopies(end - at)
    for (let i = at; i < end; i++) all.push(second[i]!)
  }
  return all
}

const SORTED_RUN_LENGTH = 64

/**
 * Sorts in place and keeps equal items in their order, as `Array.prototype.sort` does, which copies all items at once
 * and reads no clock. Charges a step for each comparison.
 */
export function sortWithCharges<T>(items: T[], order: (a: T, b: T) => number): T[] {
  const compare = (a: T, b: T): number => {
    currentMeter?.chargeSteps(1)
    return order(a, b)
  }
  const { length } = items
  if (length <= SORTED_RUN_LENGTH) return items.sort(compare)
  for (let at = 0; at < length; at += SORTED_RUN_LENGTH) {
    const run = items.slice(at, at + SORTED_RUN_LENGTH).sort(compare)
    for (let i = 0; i < run.length; i++) items[at + i] = run[i]!
  }
  let from = items
  let to: T[] = []
  for (let width = SORTED_RUN_LENGTH; width < length; width *= 2) {
    for (let at = 0; at < length; at += 2 * width) mergeRuns(from, to, at, width, compare)
    const spare = from
    from = to
    to = spare
  }
  if (from === items) return items
  for (let i = 0; i < length; i++) {
    if (i % SLICE_ITEMS === 0) chargeCopies(SLICE_ITEMS)
    items[i] = from[i]!
  }
  return items
}

/** Merges the runs `[at, at + width)` and `[at + width, at + 2 width)` of one list into the other. */
function mergeRuns<T>(from: readonly T[], to: T[], at: number, width: number, order: (a: T, b: T) => number): void {
  const middle = Math.min(from.length, at + width)
  const end = Math.min(from.length, at + 2 * width)
  let left = at
  let right = middle
  for (let i = at; i < end; i++) {
    if (i % SLICE_ITEMS === 0) chargeCopies(SLICE_ITEMS)
    const takesLeft = left < middle && (right >= end || order(from[left]!, from[right]!) <= 0)
    to[i] = takesLeft ? from[left++]! : from[right++]!
  }
}
