// Reads JSON in which 1 and 1.0 stay distinct and long integers stay exact
// (docs/decisions/0004-element-fields-and-values.md). Errors have line and column; a duplicate member is an error.
// Texts without such numbers go through the runtime's parser, after checks for what that parser accepts silently.

import { err, ok, type Result } from '../result.ts'
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  JSON_DEPTH_MAX,
  type JsonNumbers,
  type JsonSyntaxError,
  jsonErrorAt,
  OPEN_LIST,
  OPEN_OBJECT,
  parseExactJson,
  QUOTE,
} from './json-parser.ts'

export { JSON_DEPTH_MAX, type JsonNumbers } from './json-parser.ts'
export { writeJson } from './json-writer.ts'

// Conservative: outside of strings, a number follows a bracket, a comma, a colon or nothing. A match within a string
// costs time only; timestamps and identifiers do not match.
const MAY_NEED_EXACT = /\d(?:[.eE]|\d{15})/
const NEEDS_EXACT = /(?:^|[[,]|"\s*:)\s*-?(?:\d+[.eE]|\d{16})/

/**
 * An integer beyond the safe range, or an exponent beyond the range of doubles. A match within a string costs time
 * only.
 */
const MAY_BE_LONG = /\d{16}|\d[eE]\+?\d{3}/

/**
 * Parses a JSON text. Errors: invalid syntax, a duplicate member, nesting deeper than JSON_DEPTH_MAX, or more than
 * `valuesMax` values (objects, lists and everything in them; member names are not counted). The limits are checked
 * before anything is allocated.
 */
export function parseJson(
  text: string,
  numbers: JsonNumbers = 'exact',
  valuesMax: number = Number.POSITIVE_INFINITY,
): Result<unknown, JsonSyntaxError> {
  // n values need at least 2n - 1 characters.
  const isScanned = text.length >= SCAN_THRESHOLD || text.length >= valuesMax * 2
  const size = isScanned ? findExceededLimit(text, valuesMax) : null
  if (size?.kind === 'values') return err(jsonErrorAt(text, size.at, `more than ${valuesMax} values`))
  if (size === null && !needsParser(text, numbers)) {
    try {
      const value: unknown = JSON.parse(text)
      if (countWrittenMembers(text) === countMembers(value, 1)) return ok(value)
    } catch {
      // The exact parser finds the position of the error.
    }
  }
  return parseExactJson(text, numbers)
}

function needsParser(text: string, numbers: JsonNumbers): boolean {
  if (numbers === 'plain') return false
  if (numbers === 'integers') return MAY_BE_LONG.test(text)
  // The first pattern takes a quarter of the time of the second, and is nearly always enough: 0.2 µs of an evaluation
  // or an item.
  return MAY_NEED_EXACT.test(text) && NEEDS_EXACT.test(text)
}

/**
 * Counts the members in the text: each colon after a quote. JSON readers disagree about duplicate members (I-JSON, RFC
 * 7493), and the runtime silently keeps the last one. A string that looks like a member makes the count too high; the
 * exact parser then decides.
 */
function countWrittenMembers(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let before = at - 1
    while (text.charCodeAt(before) <= 0x20) before -= 1
    if (text.charCodeAt(before) === QUOTE) count += 1
  }
  return count
}

/**
 * Counts the members of a value. NaN if it is nested too deep; the exact parser then reports that. `depth`: of the
 * value itself.
 */
function countMembers(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > JSON_DEPTH_MAX) return Number.NaN
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countMembers(item, depth + 1)
    return count
  }
  // A parsed object inherits nothing enumerable. Object.keys would allocate a list per object.
  for (const name in value) {
    count += 1
    const member = (value as Record<string, unknown>)[name]
    if (typeof member === 'object') count += countMembers(member, depth + 1)
  }
  return count
}

/**
 * Texts from this length are scanned for the limits first. Shorter texts are parsed and then found too deep, which
 * costs less than scanning all others (0.1 µs of an evaluation in a batch). The runtime's parser needs 0.7 ms for this
 * many brackets, and 40 ms for a megabyte.
 */
const SCAN_THRESHOLD = 16_384

interface ExceededLimit {
  readonly kind: 'depth' | 'values'
  /** Offset at which the limit is exceeded. */
  readonly at: number
}

/** Scans the characters outside of strings until a limit is exceeded; null: none is. Does not detect syntax errors. */
function findExceededLimit(text: string, valuesMax: number): ExceededLimit | null {
  let depth = 0
  let values = 1
  /** After an opening bracket: the next character, unless it closes, starts the first value inside. */
  let isOpened = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit <= 0x20) continue
    if (isOpened) {
      isOpened = false
      if (unit !== CLOSE_LIST && unit !== CLOSE_OBJECT) values += 1
    }
    if (unit === QUOTE) i = endOfString(text, i)
    else if (unit === COMMA) values += 1
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1
      isOpened = true
      if (depth > JSON_DEPTH_MAX) return { kind: 'depth', at: i }
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1
    if (values > valuesMax) return { kind: 'values', at: i }
  }
  return null
}

/** Returns the index of the closing quote of the string that starts at `start`, or the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    // An even number of backslashes before the quote escape each other.
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}
