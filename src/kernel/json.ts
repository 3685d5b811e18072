// JSON in which 1 and 1.0 stay apart and long integers stay exact (ruling G5), and whose faults name line and column.
// A member that is given twice is a fault.
// Text without such numbers goes through the runtime's own parser, after a look at what that one would not tell.
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  JSON_DEPTH_MAX,
  type JsonFault,
  type JsonNumbers,
  OPEN_LIST,
  OPEN_OBJECT,
  parseExactly,
  QUOTE,
} from './json-parser.ts'
import { ok, type Result } from './result.ts'

export { JSON_DEPTH_MAX, type JsonNumbers } from './json-parser.ts'
export { writeJson } from './json-writer.ts'

// Conservative: a number outside of strings stands behind a bracket, a comma, a member's colon or nothing at all. What looks
// so within a string costs time and nothing else; a timestamp or an identifier does not look so.
const MAY_NEED_EXACT = /\d(?:[.eE]|\d{15})/
const NEEDS_EXACT = /(?:^|[[,]|"\s*:)\s*-?(?:\d+[.eE]|\d{16})/

/** An integer that a number may not hold, or an exponent beyond all numbers; within a string it costs time and nothing else. */
const MAY_BE_LONG = /\d{16}|\d[eE]\+?\d{3}/

export function parseJson(text: string, numbers: JsonNumbers = 'exact'): Result<unknown, JsonFault> {
  if (!needsParser(text, numbers) && !mayBeDeep(text)) {
    try {
      const value: unknown = JSON.parse(text)
      if (membersWritten(text) === membersIn(value, 1)) return ok(value)
    } catch {
      // Read again by the parser that can say where and what.
    }
  }
  return parseExactly(text, numbers)
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
function membersWritten(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    let before = at - 1
    while (text.charCodeAt(before) <= 0x20) before -= 1
    if (text.charCodeAt(before) === QUOTE) count += 1
  }
  return count
}

/** Not a number where it is nested too deep: the exact parser says so. `depth`: of the value itself. */
function membersIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > JSON_DEPTH_MAX) return Number.NaN
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += membersIn(item, depth + 1)
    return count
  }
  // What was just parsed inherits nothing that is enumerable; to list its members would make a list of each object.
  for (const name in value) {
    count += 1
    const member = (value as Record<string, unknown>)[name]
    if (typeof member === 'object') count += membersIn(member, depth + 1)
  }
  return count
}

/**
 * Shorter texts are parsed and then found to be too deep, which takes less than to look at each character of all others
 * (0.1 µs of an evaluation in a batch). A megabyte of nothing but brackets would take the parser a tenth of a second.
 */
const SCANNED_FROM = 65_536

/** Brackets inside strings are counted too; the exact parser then finds out. */
function mayBeDeep(text: string): boolean {
  if (text.length < SCANNED_FROM) return false
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1
      if (depth > JSON_DEPTH_MAX) return true
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1
  }
  return false
}
