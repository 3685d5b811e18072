// Radix sort of ids, with each pass charged in slices. The native sort of two million ids takes 0.1 s and does not read
// the clock.
import { type Budget, SLICE_ITEMS } from '../budget.ts'

/** The native sort of so many ids takes less than half a millisecond. */
const NATIVE_SORT_MAX = 8192
const DIGIT_BITS = 11
const DIGIT_VALUES = 1 << DIGIT_BITS

/** Sorts ascending and in place. Returns the same array. Charges the work. */
export function sortIds(budget: Budget, ids: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  if (ids.length <= NATIVE_SORT_MAX) {
    budget.chargeCopies(ids.length * 2)
    return ids.sort()
  }
  let from = ids
  let to = new Uint32Array(ids.length)
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const offsets = digitOffsets(budget, from, shift)
    if (offsets === null) continue
    for (let i = 0; i < from.length; i++) {
      if (i % SLICE_ITEMS === 0) budget.chargeCopies(SLICE_ITEMS)
      const id = from[i]!
      to[offsets[(id >>> shift) & (DIGIT_VALUES - 1)]!++] = id
    }
    const spare = from
    from = to
    to = spare
  }
  if (from !== ids) ids.set(from)
  return ids
}

/** Returns the offset of the first id with each digit; null if all ids have the same digit. */
function digitOffsets(budget: Budget, ids: Uint32Array, shift: number): Uint32Array | null {
  const counts = new Uint32Array(DIGIT_VALUES)
  for (let i = 0; i < ids.length; i++) {
    if (i % SLICE_ITEMS === 0) budget.chargeCopies(SLICE_ITEMS)
    const digit = (ids[i]! >>> shift) & (DIGIT_VALUES - 1)
    counts[digit] = counts[digit]! + 1
  }
  let offset = 0
  for (let digit = 0; digit < DIGIT_VALUES; digit++) {
    const count = counts[digit]!
    if (count === ids.length) return null
    counts[digit] = offset
    offset += count
  }
  return counts
}

/** Longer beginnings are views. */
const COPIED_IDS_MAX = 64

/** The first ids. A view costs more than a short copy. */
export function firstIds(ids: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  if (length > COPIED_IDS_MAX) return ids.subarray(0, length)
  const first = new Uint32Array(length)
  for (let i = 0; i < length; i++) first[i] = ids[i] ?? 0
  return first
}
