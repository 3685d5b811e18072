// String operations. Each charges its work and processes long strings in slices, so that the clock is read in between. A
// character is a Unicode code point; an unpaired surrogate is preserved.
import type { NormalForm } from '../../../grammar/value-types.ts'
import { type Budget, SLICE_CHARACTERS } from '../budget.ts'
import type { Truth, Value } from './value.ts'
import { boundedText } from './value-size.ts'

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

/** The end of a slice that starts at `from` and does not split a surrogate pair. */
function sliceEnd(text: string, from: number): number {
  const end = from + SLICE_CHARACTERS
  if (end >= text.length) return text.length
  return isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end)) ? end + 1 : end
}

function isShort(text: string): boolean {
  return text.length <= SLICE_CHARACTERS
}

/** Returns the number of code points. */
export function codePointCount(budget: Budget, text: string): number {
  if (isShort(text)) {
    budget.chargeText(text.length)
    return text.length - countPairs(text, 0, text.length)
  }
  let pairs = 0
  for (let offset = 0; offset < text.length; ) {
    const end = sliceEnd(text, offset)
    budget.chargeText(end - offset)
    pairs += countPairs(text, offset, end)
    offset = end
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

/** Returns the offset, in UTF-16 units, after `count` code points from offset `from`; at most the length of the text. */
function offsetAfter(budget: Budget, text: string, count: number, from = 0): number {
  let offset = from
  for (let left = count; left > 0 && offset < text.length; ) {
    const characters = Math.min(left, SLICE_CHARACTERS)
    budget.chargeText(characters)
    for (let i = 0; i < characters && offset < text.length; i++) {
      offset +=
        isHighSurrogate(text.charCodeAt(offset)) &&
        offset + 1 < text.length &&
        isLowSurrogate(text.charCodeAt(offset + 1))
          ? 2
          : 1
    }
    left -= characters
  }
  return offset
}

/** Returns the code points from `from` to `to`, exclusive. */
export function sliceCodePoints(budget: Budget, text: string, from: number, to: number): string {
  const start = offsetAfter(budget, text, from)
  const end = to === Number.POSITIVE_INFINITY ? text.length : offsetAfter(budget, text, to - from, start)
  return text.slice(start, end)
}

const UNITS_PER_PART = 4096

/** Returns the code points in reverse order. */
export function reverseText(budget: Budget, text: string): string {
  const parts: string[] = []
  const units: number[] = []
  for (let end = text.length; end > 0; ) {
    let start = Math.max(0, end - UNITS_PER_PART)
    if (start > 0 && isLowSurrogate(text.charCodeAt(start)) && isHighSurrogate(text.charCodeAt(start - 1))) start -= 1
    // Eight times the cost of reading the characters.
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

/** Mapping the case of a character takes several times as long as a comparison. */
const CASE_MAPPING_COST = 4

/** Returns the text in upper case. */
export function upperCase(budget: Budget, text: string): string {
  return mapSlices(budget, text, false, (slice) => slice.toUpperCase())
}

/** Returns the text in lower case. */
export function lowerCase(budget: Budget, text: string): string {
  // A capital sigma at the end of a word maps to another letter, so slices must not split words.
  return mapSlices(budget, text, !isShort(text) && text.includes('\u03a3'), (slice) => slice.toLowerCase())
}

function mapSlices(budget: Budget, text: string, byWords: boolean, map: (slice: string) => string): string {
  if (isShort(text)) {
    budget.chargeText(text.length * CASE_MAPPING_COST)
    return map(text)
  }
  const parts: string[] = []
  for (let offset = 0; offset < text.length; ) {
    let end = sliceEnd(text, offset)
    if (byWords) while (end < text.length && !isWhiteSpace(text.charCodeAt(end))) end += 1
    budget.chargeText((end - offset) * CASE_MAPPING_COST)
    parts.push(map(text.slice(offset, end)))
    offset = end
  }
  return parts.join('')
}

function isWhiteSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
}

/** Removes the characters in `unwanted` from the start, the end or both. */
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

/** Returns the set of code points of a text. */
export function charactersOf(budget: Budget, text: string): Set<string> {
  const characters = new Set<string>()
  for (let offset = 0; offset < text.length; ) {
    const end = sliceEnd(text, offset)
    // About 30 ns per character.
    budget.chargeText((end - offset) * 16)
    for (const character of text.slice(offset, end)) characters.add(character)
    offset = end
  }
  return characters
}

/**
 * Whether a unit is white space that Neo4j trims (`Character.isWhitespace` of Java): not that of JavaScript, which also has U+00A0, U+2007,
 * U+202F and U+FEFF, and lacks U+001C to U+001F.
 */
function isTrimmed(unit: number): boolean {
  if (unit <= 0x20) return unit >= 0x1c || (unit >= 0x09 && unit <= 0x0d)
  if (unit < 0x1680) return false
  if (unit >= 0x2000 && unit <= 0x200a) return unit !== 0x2007
  return unit === 0x1680 || unit === 0x2028 || unit === 0x2029 || unit === 0x205f || unit === 0x3000
}

/** Removes white space from the start, the end or both. The text is short: it is not charged. */
export function trimWhiteSpace(text: string, atStart: boolean, atEnd: boolean): string {
  return trimSlices(text, atStart, atEnd, () => {})
}

/** The same for a text of any length: charges the units that are tested, before each slice of them. */
export function trimCharged(budget: Budget, text: string, atStart: boolean, atEnd: boolean): string {
  return trimSlices(text, atStart, atEnd, (units) => budget.chargeText(units * TRIM_COST))
}

/** Units that are tested between two charges. */
const TRIM_SLICE = 4096
/** A test of one unit costs about as much as this many native comparisons. */
const TRIM_COST = 16

function trimSlices(text: string, atStart: boolean, atEnd: boolean, beforeSlice: (units: number) => void): string {
  let start = 0
  let end = text.length
  let tested = 0
  while (atStart && start < end) {
    if (tested++ % TRIM_SLICE === 0) beforeSlice(Math.min(TRIM_SLICE, end - start))
    if (!isTrimmed(text.charCodeAt(start))) break
    start += 1
  }
  while (atEnd && start < end) {
    if (tested++ % TRIM_SLICE === 0) beforeSlice(Math.min(TRIM_SLICE, end - start))
    if (!isTrimmed(text.charCodeAt(end - 1))) break
    end -= 1
  }
  return text.slice(start, end)
}

// ---------------------------------------------------------------- normal forms

/** Normalization of one character reads its neighbours: it costs about as much as this many comparisons of characters. */
const NORMALIZATION_COST = 16

/** The text in a Unicode normal form. Charges the text. */
export function normalizeText(budget: Budget, text: string, form: NormalForm): string {
  budget.chargeText(text.length * NORMALIZATION_COST)
  return boundedText(budget, text.normalize(form))
}

/** Whether a string is in a Unicode normal form; null for any other value. */
export function isNormalized(budget: Budget, value: Value, form: NormalForm): Truth {
  return typeof value === 'string' ? normalizeText(budget, value, form) === value : null
}

// ---------------------------------------------------------------- search

/** Longer patterns are searched for in linear time: no character of the text is read twice. */
const NATIVE_PATTERN_MAX = 32

/** Finds the occurrences of a pattern in one text, in order. Charges the text once and the pattern once. */
export class SubstringSearch {
  private readonly budget: Budget
  private readonly text: string
  private readonly pattern: string
  /** Knuth-Morris-Pratt: by position, how many characters still match after a mismatch. Null for short patterns. */
  private readonly failureTable: Int32Array | null

  constructor(budget: Budget, text: string, pattern: string) {
    this.budget = budget
    this.text = text
    this.pattern = pattern
    this.failureTable =
      pattern.length > NATIVE_PATTERN_MAX && pattern.length <= text.length ? buildFailureTable(budget, pattern) : null
  }

  /** Returns the first offset at or after `from`, or -1. */
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
    for (let offset = from; offset + pattern.length <= text.length; offset += NATIVE_SLICE) {
      const end = Math.min(text.length, offset + NATIVE_SLICE + pattern.length - 1)
      const found = text.slice(offset, end).indexOf(pattern)
      budget.chargeText((found < 0 ? end - offset : found + pattern.length) * costPerCharacter(pattern))
      if (found >= 0) return offset + found
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

/** The native search may compare the whole pattern at each offset. */
function costPerCharacter(part: string): number {
  return 1 + (part.length >> 3)
}

function buildFailureTable(budget: Budget, pattern: string): Int32Array {
  const borders = new Int32Array(pattern.length)
  let matched = 0
  for (let i = 1; i < pattern.length; i++) {
    if (i % LINEAR_SLICE === 1) budget.chargeSteps(LINEAR_SLICE / 16)
    const unit = pattern.charCodeAt(i)
    while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1]!
    if (pattern.charCodeAt(matched) === unit) matched += 1
    borders[i] = matched
  }
  return borders
}

/** Whether the text contains the part. */
export function includesText(budget: Budget, text: string, part: string): boolean {
  if (part === '') return true
  return new SubstringSearch(budget, text, part).next(0) >= 0
}

/**
 * Visits the pieces between the occurrences of a separator, in order. An empty separator splits the text into code points.
 */
export function forEachPiece(budget: Budget, text: string, separator: string, visit: (piece: string) => void): void {
  if (separator === '') {
    for (let offset = 0; offset < text.length; ) {
      budget.chargeSteps(1)
      const isPair =
        isHighSurrogate(text.charCodeAt(offset)) &&
        offset + 1 < text.length &&
        isLowSurrogate(text.charCodeAt(offset + 1))
      const end = offset + (isPair ? 2 : 1)
      visit(text.slice(offset, end))
      offset = end
    }
    return
  }
  const finder = new SubstringSearch(budget, text, separator)
  let offset = 0
  for (let found = finder.next(0); found >= 0; found = finder.next(offset)) {
    budget.chargeSteps(1)
    visit(text.slice(offset, found))
    offset = found + separator.length
  }
  visit(text.slice(offset))
}

/**
 * Visits the pieces between the separators, none of which is empty. The separator that begins first ends a piece; of several that begin
 * at one place it is the first of the list.
 */
export function forEachPieceOfAny(
  budget: Budget,
  text: string,
  separators: readonly string[],
  visit: (piece: string) => void,
): void {
  const searches = separators.map((separator) => {
    const finder = new SubstringSearch(budget, text, separator)
    return { finder, length: separator.length, at: finder.next(0) }
  })
  for (let offset = 0; ; ) {
    budget.chargeSteps(1 + searches.length)
    let first: (typeof searches)[number] | null = null
    for (const search of searches) {
      if (search.at >= 0 && search.at < offset) search.at = search.finder.next(offset)
      if (search.at >= 0 && (first === null || search.at < first.at)) first = search
    }
    if (first === null) {
      visit(text.slice(offset))
      return
    }
    visit(text.slice(offset, first.at))
    offset = first.at + first.length
  }
}
