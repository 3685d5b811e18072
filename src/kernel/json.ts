// JSON in which 1 and 1.0 stay apart and long integers stay exact (ruling G5), and whose faults name line and column.
// A member that is given twice is a fault.
// Text without such numbers goes through the runtime's own parser, after a look at what that one would not tell.
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
import { err, ok, type Result } from './result.ts'

export { JSON_DEPTH_MAX, type JsonNumbers } from './json-parser.ts'
export { writeJson } from './json-writer.ts'

// Conservative: a number outside of strings stands behind a bracket, a comma, a member's colon or nothing at all. What looks
// so within a string costs time and nothing else; a timestamp or an identifier does not look so.
const MAY_NEED_EXACT = /\d(?:[.eE]|\d{15})/
const NEEDS_EXACT = /(?:^|[[,]|"\s*:)\s*-?(?:\d+[.eE]|\d{16})/

/** An integer that a number may not hold, or an exponent beyond all numbers; within a string it costs time and nothing else. */
const MAY_BE_LONG = /\d{16}|\d[eE]\+?\d{3}/

/**
 * Reads a JSON text. Refuses what is nested deeper than `JSON_DEPTH_MAX` and what holds more values than `valuesMax`
 * (objects, lists and all that stands in them; names of members are not counted), before anything is made of it.
 */
export function parseJson(
  text: string,
  numbers: JsonNumbers = 'exact',
  valuesMax: number = Number.POSITIVE_INFINITY,
): Result<unknown, JsonSyntaxError> {
  // n values take 2n - 1 characters or more.
  const isScanned = text.length >= SCAN_THRESHOLD || text.length >= valuesMax * 2
  const size = isScanned ? findExceededLimit(text, valuesMax) : null
  if (size?.kind === 'values') return err(jsonErrorAt(text, size.at, `more than ${valuesMax} values`))
  if (size === null && !needsParser(text, numbers)) {
    try {
      const value: unknown = JSON.parse(text)
      if (countWrittenMembers(text) === countMembers(value, 1)) return ok(value)
    } catch {
      // Read again by the parser that can say where and what.
    }
  }
  return parseExactJson(text, numbers)
}

function needsParser(text: string, numbers: JsonNumbers): boolean {
  if (numbers === 'plain') return false
  if (numbers === 'integers') return MAY_BE_LONG.test(text)
  // The first takes a quarter of the time of the second, and nearly always is enough: 0.2 µs of an evaluation, or an item.
  return MAY_NEED_EXACT.test(text) && NEEDS_EXACT.test(text)
}

/**
 * Of two members of one name a reader would believe the one that another reader does not (I-JSON, RFC 7493), and the
 * runtime keeps the last without a word. Counts each colon behind a quote: every member once, and now and then a string
 * that looks like one, which the exact parser then finds out.
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

/** Not a number where it is nested too deep: the exact parser says so. `depth`: of the value itself. */
function countMembers(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > JSON_DEPTH_MAX) return Number.NaN
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countMembers(item, depth + 1)
    return count
  }
  // What was just parsed inherits nothing that is enumerable; to list its members would make a list of each object.
  for (const name in value) {
    count += 1
    const member = (value as Record<string, unknown>)[name]
    if (typeof member === 'object') count += countMembers(member, depth + 1)
  }
  return count
}

/**
 * Shorter texts are parsed and then found to be too deep, which takes less than to look at each character of all others
 * (0.1 µs of an evaluation in a batch). The runtime's parser takes 0.7 ms for as many brackets, and 40 ms for a megabyte.
 */
const SCAN_THRESHOLD = 16_384

interface ExceededLimit {
  readonly kind: 'depth' | 'values'
  /** Where the limit is passed. */
  readonly at: number
}

/** Looks at each character outside of strings until a limit is passed; null: none is. Faults of syntax are not looked for. */
function findExceededLimit(text: string, valuesMax: number): ExceededLimit | null {
  let depth = 0
  let values = 1
  /** Behind an opening bracket: what comes next, unless it closes, is the first value within. */
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

/** Returns the index of the closing quote of the string that begins at `start`, or the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    // An even number of backslashes before it are characters of their own.
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}
