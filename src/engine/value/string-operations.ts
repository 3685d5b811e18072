// Work on long texts: each function charges what it does and takes long texts in slices, so that the clock is read while it
// works. A character is a Unicode code point. A text that contains half a surrogate pair keeps it.
import { type Budget, SLICE_CHARACTERS } from '../budget.ts'

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

/** The end of a slice that begins at `from` and does not cut a pair in two. */
function sliceEnd(text: string, from: number): number {
  const end = from + SLICE_CHARACTERS
  if (end >= text.length) return text.length
  return isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end)) ? end + 1 : end
}

function isShort(text: string): boolean {
  return text.length <= SLICE_CHARACTERS
}

export function codePointCount(budget: Budget, text: string): number {
  if (isShort(text)) {
    budget.chargeText(text.length)
    return text.length - countPairs(text, 0, text.length)
  }
  let pairs = 0
  for (let at = 0; at < text.length; ) {
    const end = sliceEnd(text, at)
    budget.chargeText(end - at)
    pairs += countPairs(text, at, end)
    at = end
  }
  return text.length - pairs
}

function countPairs(text: string, from: number, to: number): number {
  let pairs = 0
  for (let i = from + 1; i < to; i++) {
    if (isLowSurrogate(text.charCodeAt(i)) && isHighSurrogate(text.charCodeAt(i - 1))) pairs += 1
  }
  return pairs
}

/** The place behind `count` characters from `from` on, in UTF-16 units; the end of the text where there are fewer. */
export function offsetAfter(budget: Budget, text: string, count: number, from = 0): number {
  let at = from
  for (let left = count; left > 0 && at < text.length; ) {
    const characters = Math.min(left, SLICE_CHARACTERS)
    budget.chargeText(characters)
    for (let i = 0; i < characters && at < text.length; i++) {
      at +=
        isHighSurrogate(text.charCodeAt(at)) && at + 1 < text.length && isLowSurrogate(text.charCodeAt(at + 1)) ? 2 : 1
    }
    left -= characters
  }
  return at
}

/** Characters `from` to `to`, the latter not included. */
export function sliceCodePoints(budget: Budget, text: string, from: number, to: number): string {
  const start = offsetAfter(budget, text, from)
  const end = to === Number.POSITIVE_INFINITY ? text.length : offsetAfter(budget, text, to - from, start)
  return text.slice(start, end)
}

const UNITS_PER_PART = 4096

export function reverseText(budget: Budget, text: string): string {
  const parts: string[] = []
  const units: number[] = []
  for (let end = text.length; end > 0; ) {
    let start = Math.max(0, end - UNITS_PER_PART)
    if (start > 0 && isLowSurrogate(text.charCodeAt(start)) && isHighSurrogate(text.charCodeAt(start - 1))) start -= 1
    // Eight times as much as looking at the characters.
    budget.chargeText((end - start) * 8)
    units.length = 0
    for (let i = end - 1; i >= start; i--) {
      const unit = text.charCodeAt(i)
      const isPair = i > start && isLowSurrogate(unit) && isHighSurrogate(text.charCodeAt(i - 1))
      if (isPair) units.push(text.charCodeAt(--i))
      units.push(unit)
    }
    parts.push(String.fromCharCode(...units))
    end = start
  }
  return parts.join('')
}

/** Mapping the case of a character costs several times as much as comparing it. */
const CASE_MAPPING_COST = 4

export function upperCase(budget: Budget, text: string): string {
  return mapSlices(budget, text, false, (slice) => slice.toUpperCase())
}

export function lowerCase(budget: Budget, text: string): string {
  // A capital sigma becomes another letter at the end of a word: words must not be cut.
  return mapSlices(budget, text, !isShort(text) && text.includes('\u03a3'), (slice) => slice.toLowerCase())
}

function mapSlices(budget: Budget, text: string, byWords: boolean, map: (slice: string) => string): string {
  if (isShort(text)) {
    budget.chargeText(text.length * CASE_MAPPING_COST)
    return map(text)
  }
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    let end = sliceEnd(text, at)
    if (byWords) while (end < text.length && !isWhiteSpace(text.charCodeAt(end))) end += 1
    budget.chargeText((end - at) * CASE_MAPPING_COST)
    parts.push(map(text.slice(at, end)))
    at = end
  }
  return parts.join('')
}

function isWhiteSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
}

/** Without the characters of `unwanted` at its ends. */
export function trimCharacters(
  budget: Budget,
  text: string,
  unwanted: ReadonlySet<string>,
  atStart: boolean,
  atEnd: boolean,
): string {
  let start = 0
  let end = text.length
  let looked = 0
  const charge = (): void => {
    if (looked++ % 64 === 0) budget.chargeSteps(8)
  }
  while (atStart && start < end) {
    charge()
    const character = String.fromCodePoint(text.codePointAt(start)!)
    if (!unwanted.has(character)) break
    start += character.length
  }
  while (atEnd && start < end) {
    charge()
    const isPair =
      end - 1 > start && isLowSurrogate(text.charCodeAt(end - 1)) && isHighSurrogate(text.charCodeAt(end - 2))
    const character = text.slice(isPair ? end - 2 : end - 1, end)
    if (!unwanted.has(character)) break
    end -= character.length
  }
  return text.slice(start, end)
}

/** The set of characters of a text. */
export function charactersOf(budget: Budget, text: string): Set<string> {
  const characters = new Set<string>()
  for (let at = 0; at < text.length; ) {
    const end = sliceEnd(text, at)
    // Some 30 ns for each.
    budget.chargeText((end - at) * 16)
    for (const character of text.slice(at, end)) characters.add(character)
    at = end
  }
  return characters
}

/** White space at both ends, by the native method: it is a comparison of each character. */
export function trimNatively(budget: Budget, text: string, trim: (text: string) => string): string {
  budget.chargeText(text.length)
  return trim(text)
}

// ---------------------------------------------------------------- search

/** Longer parts are searched for by an algorithm that never looks at a character of the text twice. */
const NATIVE_PATTERN_MAX = 32

/** Finds a part in one text, place after place. Charges the text once, and the part once. */
export class SubstringSearch {
  private readonly budget: Budget
  private readonly text: string
  private readonly pattern: string
  /** Knuth, Morris and Pratt: how much of the part still matches when a character does not. Null for short parts. */
  private readonly failureTable: Int32Array | null

  constructor(budget: Budget, text: string, part: string) {
    this.budget = budget
    this.text = text
    this.pattern = part
    this.failureTable =
      part.length > NATIVE_PATTERN_MAX && part.length <= text.length ? buildFailureTable(budget, part) : null
  }

  /** Returns the first index at or after `from`, or -1. */
  next(from: number): number {
    if (this.pattern.length > this.text.length - from) return -1
    return this.failureTable === null ? this.nextNative(from) : this.nextLinear(from, this.failureTable)
  }

  private nextNative(from: number): number {
    const { budget, text, pattern } = this
    if (isShort(text) && from === 0) {
      budget.chargeText(text.length * costPerCharacter(pattern))
      return text.indexOf(pattern)
    }
    for (let at = from; at + pattern.length <= text.length; at += NATIVE_SLICE) {
      const end = Math.min(text.length, at + NATIVE_SLICE + pattern.length - 1)
      const found = text.slice(at, end).indexOf(pattern)
      budget.chargeText((found < 0 ? end - at : found + pattern.length) * costPerCharacter(pattern))
      if (found >= 0) return at + found
    }
    return -1
  }

  private nextLinear(from: number, borders: Int32Array): number {
    const { budget, text, pattern } = this
    let matched = 0
    for (let i = from; i < text.length; i++) {
      if ((i - from) % LINEAR_SLICE === 0) budget.chargeSteps(LINEAR_SLICE / 16)
      const unit = text.charCodeAt(i)
      while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1]!
      if (pattern.charCodeAt(matched) === unit) matched += 1
      if (matched === pattern.length) return i - pattern.length + 1
    }
    return -1
  }
}

const NATIVE_SLICE = 1024
const LINEAR_SLICE = 4096

/** The native search may compare all of the part at each place. */
function costPerCharacter(part: string): number {
  return 1 + (part.length >> 3)
}

function buildFailureTable(budget: Budget, part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let matched = 0
  for (let i = 1; i < part.length; i++) {
    if (i % LINEAR_SLICE === 1) budget.chargeSteps(LINEAR_SLICE / 16)
    const unit = part.charCodeAt(i)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1]!
    if (part.charCodeAt(matched) === unit) matched += 1
    borders[i] = matched
  }
  return borders
}

export function includesText(budget: Budget, text: string, part: string): boolean {
  if (part === '') return true
  return new SubstringSearch(budget, text, part).next(0) >= 0
}

/**
 * The pieces between the places of a separator, one after the other; by character for an empty one, and never through the
 * middle of a surrogate pair.
 */
export function forEachPiece(budget: Budget, text: string, separator: string, visit: (piece: string) => void): void {
  if (separator === '') {
    for (let at = 0; at < text.length; ) {
      budget.chargeSteps(1)
      const isPair =
        isHighSurrogate(text.charCodeAt(at)) && at + 1 < text.length && isLowSurrogate(text.charCodeAt(at + 1))
      const end = at + (isPair ? 2 : 1)
      visit(text.slice(at, end))
      at = end
    }
    return
  }
  const finder = new SubstringSearch(budget, text, separator)
  let at = 0
  for (let found = finder.next(0); found >= 0; found = finder.next(at)) {
    budget.chargeSteps(1)
    visit(text.slice(at, found))
    at = found + separator.length
  }
  visit(text.slice(at))
}
