// Jaro-Winkler similarity and edit distance on ranges of UTF-16 codes. The libraries for them take strings, which would have
// to be made for each comparison; docs/decisions/0043-entity-matching.md has the measurement.

/** Jaro-Winkler compares at most this many characters, so that its flags fit into an integer. */
const JARO_LENGTH = 31
/** Ranges up to this length are compared as bits of one integer. */
const WORD_BITS = 32
const ASCII = 128
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

/** The buffers of edit distances, for reuse. */
export class EditBuffers {
  /** By code below 128, the positions of the pattern that have it, as bits; empty between calls. */
  readonly positions = new Int32Array(ASCII)
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
 * alignment). The ranges are not longer than the buffers.
 */
export function editDistance(
  buffers: EditBuffers,
  codesA: Uint16Array,
  a: number,
  endA: number,
  codesB: Uint16Array,
  b: number,
  endB: number,
): number {
  let startA = a
  let startB = b
  let lastA = endA
  let lastB = endB
  while (startA < lastA && startB < lastB && codesA[startA] === codesB[startB]) {
    startA += 1
    startB += 1
  }
  while (startA < lastA && startB < lastB && codesA[lastA - 1] === codesB[lastB - 1]) {
    lastA -= 1
    lastB -= 1
  }
  if (startA === lastA || startB === lastB) return lastA - startA + lastB - startB
  const isPattern = lastA - startA <= WORD_BITS && isAscii(codesA, startA, lastA)
  return isPattern
    ? bitDistance(buffers.positions, codesA, startA, lastA, codesB, startB, lastB)
    : matrixDistance(buffers, codesA, startA, lastA, codesB, startB, lastB)
}

function isAscii(codes: Uint16Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (codes[at]! >= ASCII) return false
  return true
}

/** Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", Nordic Journal of Computing 2003. */
function bitDistance(
  positions: Int32Array,
  codesA: Uint16Array,
  a: number,
  endA: number,
  codesB: Uint16Array,
  b: number,
  endB: number,
): number {
  for (let at = a; at < endA; at += 1) positions[codesA[at]!]! |= 1 << (at - a)
  const lastBit = 1 << (endA - a - 1)
  let edits = endA - a
  let positive = -1
  let negative = 0
  let diagonal = 0
  let matchesBefore = 0
  for (let at = b; at < endB; at += 1) {
    const code = codesB[at]!
    const matches = code < ASCII ? positions[code]! : 0
    const exchanged = ((~diagonal & matches) << 1) & matchesBefore
    diagonal = exchanged | ((((matches & positive) + positive) ^ positive) | matches | negative)
    let horizontal = negative | ~(diagonal | positive)
    let falling = diagonal & positive
    if ((horizontal & lastBit) !== 0) edits += 1
    if ((falling & lastBit) !== 0) edits -= 1
    horizontal = (horizontal << 1) | 1
    falling <<= 1
    positive = falling | ~(diagonal | horizontal)
    negative = horizontal & diagonal
    matchesBefore = matches
  }
  for (let at = a; at < endA; at += 1) positions[codesA[at]!] = 0
  return edits
}

function matrixDistance(
  buffers: EditBuffers,
  codesA: Uint16Array,
  a: number,
  endA: number,
  codesB: Uint16Array,
  b: number,
  endB: number,
): number {
  const lengthA = endA - a
  const lengthB = endB - b
  let { before, last, next } = buffers
  for (let j = 0; j <= lengthB; j += 1) last[j] = j
  for (let i = 1; i <= lengthA; i += 1) {
    const code = codesA[a + i - 1]
    next[0] = i
    for (let j = 1; j <= lengthB; j += 1) {
      const other = codesB[b + j - 1]
      let edits = last[j - 1]! + (code === other ? 0 : 1)
      if (last[j]! + 1 < edits) edits = last[j]! + 1
      if (next[j - 1]! + 1 < edits) edits = next[j - 1]! + 1
      if (i > 1 && j > 1 && code === codesB[b + j - 2] && codesA[a + i - 2] === other) {
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
