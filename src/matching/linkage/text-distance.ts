// Jaro-Winkler similarity and edit distance on ranges of UTF-16 codes. The libraries for them take strings, which would have
// to be made for each comparison; docs/decisions/0043-entity-matching.md has the measurement.

/** Jaro-Winkler compares at most this many characters, so that its flags fit into an integer. */
const JARO_LENGTH = 31
const WINKLER_PREFIX = 4
const WINKLER_SCALE = 0.1

/** Jaro-Winkler similarity (Winkler 1990) of two ranges, from 0 to 1, with prefixes of four characters and scale 0.1. */
export function jaroWinkler(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
  const lengthA = Math.min(endA - a, JARO_LENGTH)
  const lengthB = Math.min(endB - b, JARO_LENGTH)
  if (lengthA === 0 || lengthB === 0) return lengthA === lengthB ? 1 : 0
  const window = Math.max(0, (Math.max(lengthA, lengthB) >> 1) - 1)
  let flagsA = 0
  let flagsB = 0
  let matches = 0
  for (let i = 0; i < lengthA; i += 1) {
    const code = codes[a + i]
    const last = Math.min(lengthB - 1, i + window)
    for (let j = Math.max(0, i - window); j <= last; j += 1) {
      if ((flagsB & (1 << j)) !== 0 || codes[b + j] !== code) continue
      flagsA |= 1 << i
      flagsB |= 1 << j
      matches += 1
      break
    }
  }
  if (matches === 0) return 0
  let outOfOrder = 0
  let j = 0
  for (let i = 0; i < lengthA; i += 1) {
    if ((flagsA & (1 << i)) === 0) continue
    while ((flagsB & (1 << j)) === 0) j += 1
    if (codes[a + i] !== codes[b + j]) outOfOrder += 1
    j += 1
  }
  const jaro = (matches / lengthA + matches / lengthB + (matches - outOfOrder / 2) / matches) / 3
  let prefix = 0
  while (prefix < WINKLER_PREFIX && prefix < lengthA && prefix < lengthB && codes[a + prefix] === codes[b + prefix]) {
    prefix += 1
  }
  return jaro + prefix * WINKLER_SCALE * (1 - jaro)
}

/** The rows of the matrix of edit distances, for reuse. */
export class EditRows {
  before: Uint8Array
  last: Uint8Array
  next: Uint8Array
  /** `length`: the longest range, at most 255. */
  constructor(length: number) {
    this.before = new Uint8Array(length + 1)
    this.last = new Uint8Array(length + 1)
    this.next = new Uint8Array(length + 1)
  }
}

/**
 * Edit distance of two ranges: insertions, deletions, replacements, and exchanges of adjacent characters (optimal string
 * alignment). The ranges are not longer than the rows.
 */
export function editDistance(
  rows: EditRows,
  codesA: Uint16Array,
  a: number,
  endA: number,
  codesB: Uint16Array,
  b: number,
  endB: number,
): number {
  let [startA, startB, lengthA, lengthB] = [a, b, endA - a, endB - b]
  while (lengthA > 0 && lengthB > 0 && codesA[startA] === codesB[startB]) {
    startA += 1
    startB += 1
    lengthA -= 1
    lengthB -= 1
  }
  while (lengthA > 0 && lengthB > 0 && codesA[startA + lengthA - 1] === codesB[startB + lengthB - 1]) {
    lengthA -= 1
    lengthB -= 1
  }
  if (lengthA === 0 || lengthB === 0) return lengthA + lengthB
  let { before, last, next } = rows
  for (let j = 0; j <= lengthB; j += 1) last[j] = j
  for (let i = 1; i <= lengthA; i += 1) {
    const code = codesA[startA + i - 1]
    next[0] = i
    for (let j = 1; j <= lengthB; j += 1) {
      const other = codesB[startB + j - 1]
      let edits = last[j - 1]! + (code === other ? 0 : 1)
      if (last[j]! + 1 < edits) edits = last[j]! + 1
      if (next[j - 1]! + 1 < edits) edits = next[j - 1]! + 1
      if (i > 1 && j > 1 && code === codesB[startB + j - 2] && codesA[startA + i - 2] === other) {
        if (before[j - 2]! + 1 < edits) edits = before[j - 2]! + 1
      }
      next[j] = edits
    }
    const freed = before
    before = last
    last = next
    next = freed
  }
  return last[lengthB]!
}

/** Whether two ranges have the same codes. */
export function isEqual(codes: Uint16Array, a: number, endA: number, b: number, endB: number): boolean {
  if (endA - a !== endB - b) return false
  for (let at = 0; at < endA - a; at += 1) if (codes[a + at] !== codes[b + at]) return false
  return true
}
