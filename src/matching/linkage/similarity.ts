// Similarities of values by kind, on the codes of a dictionary. Every similarity is symmetric and from 0 to 1, and 1 only for
// equal values.
import { assertNever } from '../../kernel/assert.ts'
import { EditBuffers, editDistance, isEqual, jaroWinkler } from './text-distance.ts'
import type { ValueKind } from './types.ts'
import type { ValueDictionary } from './value-dictionary.ts'

/** Different values are never fully similar. */
const HIGHEST_OF_DIFFERENT = 0.99
/** Longest texts whose edit distance is computed. */
const EDIT_LENGTH = 64
const MAX_TOKENS = 16
/** Tokens that are less similar do not correspond. */
const TOKEN_SIMILARITY = 0.85
/** The shortest common end of two phone numbers that differ in their country or area prefix. */
const PHONE_SUFFIX = 7
const SPACE = 32
const AT_SIGN = 64
const DIGIT_ZERO = 48

/** Computes similarities. It has its own buffers: one for each thread of execution. */
export class Similarity {
  readonly #buffers = new EditBuffers(EDIT_LENGTH)
  readonly #compactA = new Uint16Array(EDIT_LENGTH)
  readonly #compactB = new Uint16Array(EDIT_LENGTH)
  readonly #tokensA = new Int32Array(2 * MAX_TOKENS)
  readonly #tokensB = new Int32Array(2 * MAX_TOKENS)
  readonly #used = new Uint8Array(MAX_TOKENS)

  /** The similarity of two values of a dictionary, from 0 to 1. */
  of(kind: ValueKind, dictionary: ValueDictionary, a: number, b: number): number {
    if (a === b) return 1
    const { codes, starts } = dictionary
    // The order of the arguments does not matter, also where a tie between tokens is broken by their order.
    const isInOrder = this.#isBefore(dictionary, a, b)
    const first = isInOrder ? a : b
    const second = isInOrder ? b : a
    const value = this.#different(kind, codes, starts[first]!, starts[first + 1]!, starts[second]!, starts[second + 1]!)
    return Math.min(HIGHEST_OF_DIFFERENT, value)
  }

  #isBefore({ codes, starts }: ValueDictionary, a: number, b: number): boolean {
    const lengthA = starts[a + 1]! - starts[a]!
    const lengthB = starts[b + 1]! - starts[b]!
    if (lengthA !== lengthB) return lengthA < lengthB
    for (let at = 0; at < lengthA; at += 1) {
      const difference = codes[starts[a]! + at]! - codes[starts[b]! + at]!
      if (difference !== 0) return difference < 0
    }
    return true
  }

  #different(kind: ValueKind, codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    switch (kind) {
      case 'name':
        return this.#names(codes, a, endA, b, endB)
      case 'text':
      case 'address':
      case 'tokens':
        return this.#texts(codes, a, endA, b, endB)
      case 'email':
        return this.#emails(codes, a, endA, b, endB)
      case 'phone':
        return this.#phones(codes, a, endA, b, endB)
      case 'date':
        return this.#dates(codes, a, endA, b, endB)
      case 'number':
        return numbers(codes, a, endA, b, endB)
      case 'code':
        return this.#edits(codes, a, endA, b, endB)
      case 'exact':
        return 0
      default:
        return assertNever(kind)
    }
  }

  /** Jaro-Winkler of the whole, or the best correspondence of the parts: "ann lee" and "lee ann". */
  #names(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const whole = jaroWinkler(codes, a, endA, b, endB)
    if (whole >= 0.95 || !hasSpace(codes, a, endA) || !hasSpace(codes, b, endB)) return whole
    return Math.max(whole, this.#tokenOverlap(codes, a, endA, b, endB))
  }

  /** The corresponding tokens, or the edit distance without spaces: "pridhamstreet" and "pridham street". */
  #texts(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const overlap = this.#tokenOverlap(codes, a, endA, b, endB)
    if (overlap >= 0.9) return overlap
    const lengthA = compact(codes, a, endA, this.#compactA)
    const lengthB = compact(codes, b, endB, this.#compactB)
    if (lengthA === EDIT_LENGTH || lengthB === EDIT_LENGTH) return overlap
    const longest = Math.max(lengthA, lengthB)
    const edits = editDistance(this.#buffers, this.#compactA, 0, lengthA, this.#compactB, 0, lengthB)
    return Math.max(overlap, 1 - edits / longest)
  }

  #emails(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const localA = indexOf(codes, AT_SIGN, a, endA)
    const localB = indexOf(codes, AT_SIGN, b, endB)
    const local = isEqual(codes, a, localA, b, localB) ? 1 : this.#edits(codes, a, localA, b, localB)
    const domain = isEqual(codes, localA, endA, localB, endB) ? 1 : this.#edits(codes, localA, endA, localB, endB)
    // The same domain alone is little evidence: one provider has millions of addresses.
    return local < 0.5 ? local / 2 : 0.8 * local + 0.2 * domain
  }

  #phones(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const shorter = Math.min(endA - a, endB - b)
    if (shorter >= PHONE_SUFFIX && isEqual(codes, endA - shorter, endA, endB - shorter, endB)) return 0.98
    if (shorter < PHONE_SUFFIX) return this.#edits(codes, a, endA, b, endB)
    // All numbers of an area have the same first digits: only the subscriber part is evidence for the same entity.
    return this.#edits(codes, endA - PHONE_SUFFIX, endA, endB - PHONE_SUFFIX, endB)
  }

  /** YYYYMMDD: one digit, two adjacent digits, or day and month exchanged; else the parts that are equal. */
  #dates(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    if (endA - a !== 8 || endB - b !== 8) return this.#edits(codes, a, endA, b, endB)
    const edits = editDistance(this.#buffers, codes, a, endA, codes, b, endB)
    if (edits === 1) return 0.92
    const isYear = isEqual(codes, a, a + 4, b, b + 4)
    if (isYear && isEqual(codes, a + 4, a + 6, b + 6, b + 8) && isEqual(codes, a + 6, a + 8, b + 4, b + 6)) return 0.92
    const isMonth = isEqual(codes, a + 4, a + 6, b + 4, b + 6)
    const isDay = isEqual(codes, a + 6, a + 8, b + 6, b + 8)
    if (Number(isYear) + Number(isMonth) + Number(isDay) === 2) return 0.8
    return edits === 2 ? 0.75 : isYear ? 0.4 : 0
  }

  /** 1 minus the share of the characters that edits change; adjacent exchanged characters are one edit. */
  #edits(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const longest = Math.max(endA - a, endB - b)
    if (longest === 0) return 1
    if (longest > EDIT_LENGTH) return jaroWinkler(codes, a, endA, b, endB)
    return 1 - editDistance(this.#buffers, codes, a, endA, codes, b, endB) / longest
  }

  /** Twice the similarity of the corresponding tokens over the number of tokens of both. */
  #tokenOverlap(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
    const countA = tokenise(codes, a, endA, this.#tokensA)
    const countB = tokenise(codes, b, endB, this.#tokensB)
    if (countA === 0 || countB === 0) return 0
    const used = this.#used.fill(0)
    let sum = 0
    for (let i = 0; i < countA; i += 1) {
      let best = TOKEN_SIMILARITY
      let bestAt = -1
      for (let j = 0; j < countB; j += 1) {
        if (used[j] === 1) continue
        const similarity = tokenSimilarity(
          codes,
          this.#tokensA[2 * i]!,
          this.#tokensA[2 * i + 1]!,
          this.#tokensB[2 * j]!,
          this.#tokensB[2 * j + 1]!,
        )
        if (similarity > best) {
          best = similarity
          bestAt = j
          if (similarity === 1) break
        }
      }
      if (bestAt < 0) continue
      used[bestAt] = 1
      sum += best
    }
    return (2 * sum) / (countA + countB)
  }
}

/** Tokens that contain digits must be equal: house numbers 12 and 13 are different. A letter abbreviates a word. */
function tokenSimilarity(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
  if (isEqual(codes, a, endA, b, endB)) return 1
  if (hasDigit(codes, a, endA) || hasDigit(codes, b, endB)) return 0
  if (codes[a] === codes[b] && (endA - a === 1 || endB - b === 1)) return 0.9
  return jaroWinkler(codes, a, endA, b, endB)
}

/** Writes the starts and ends of the tokens; returns how many there are. */
function tokenise(codes: Uint16Array, start: number, end: number, tokens: Int32Array): number {
  let count = 0
  let from = start
  for (let at = start; at <= end && count * 2 < tokens.length; at += 1) {
    if (at < end && codes[at] !== SPACE) continue
    if (at > from) {
      tokens[2 * count] = from
      tokens[2 * count + 1] = at
      count += 1
    }
    from = at + 1
  }
  return count
}

/** Copies the codes without spaces; returns how many there are, at most the length of `into`. */
function compact(codes: Uint16Array, start: number, end: number, into: Uint16Array): number {
  let length = 0
  for (let at = start; at < end && length < into.length; at += 1) {
    if (codes[at] === SPACE) continue
    into[length] = codes[at]!
    length += 1
  }
  return length
}

/** The relative difference: 0.9 for one percent, 0.5 for a half. */
function numbers(codes: Uint16Array, a: number, endA: number, b: number, endB: number): number {
  const first = Number(String.fromCharCode(...codes.subarray(a, endA)))
  const second = Number(String.fromCharCode(...codes.subarray(b, endB)))
  const difference = Math.abs(first - second) / Math.max(Math.abs(first), Math.abs(second))
  return difference >= 0 ? Math.max(0, 1 - Math.sqrt(difference)) : 0
}

function indexOf(codes: Uint16Array, code: number, start: number, end: number): number {
  let at = start
  while (at < end && codes[at] !== code) at += 1
  return at
}

function hasSpace(codes: Uint16Array, start: number, end: number): boolean {
  return indexOf(codes, SPACE, start, end) < end
}

function hasDigit(codes: Uint16Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (codes[at]! >= DIGIT_ZERO && codes[at]! < DIGIT_ZERO + 10) return true
  return false
}
