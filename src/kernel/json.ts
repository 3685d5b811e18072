// JSON in which 1 and 1.0 stay apart and long integers stay exact (ruling G5), and whose faults name line and column.
// A member that is given twice is a fault.
// Text without such numbers goes through the runtime's own parser and writer.
import { Float } from './float.ts'
import { err, ok, type Result } from './result.ts'

export interface JsonFault {
  /** Whole sentence with the position: "malformed JSON at line 1, column 9: …". */
  readonly message: string
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 units. */
  readonly column: number
}

/** Deeper text is refused: everything that walks a value afterwards may then recurse. */
export const JSON_DEPTH_MAX = 200

// Conservative: a number outside of strings stands behind a bracket, a comma, a member's colon or nothing at all. What looks
// so within a string costs time and nothing else; a timestamp or an identifier does not look so.
const MAY_NEED_EXACT = /\d(?:[.eE]|\d{15})/
const NEEDS_EXACT = /(?:^|[[,]|"\s*:)\s*-?(?:\d+[.eE]|\d{16})/

/** An integer that a number may not hold, or an exponent beyond all numbers; within a string it costs time and nothing else. */
const MAY_BE_LONG = /\d{16}|\d[eE]\+?\d{3}/

/**
 * `exact`: a whole-valued number written with `.` or an exponent becomes a Float, an integer beyond 2^53 - 1 a bigint,
 * any other number stays a number. `integers`: only such an integer is not a number. `plain`: all numbers are numbers.
 */
export type JsonNumbers = 'exact' | 'integers' | 'plain'

export function parseJson(text: string, numbers: JsonNumbers = 'exact'): Result<unknown, JsonFault> {
  if (!needsParser(text, numbers) && !mayBeDeep(text)) {
    try {
      const value: unknown = JSON.parse(text)
      if (membersWritten(text) === membersIn(value, 1)) return ok(value)
    } catch {
      // Read again by the parser that can say where and what.
    }
  }
  try {
    return ok(new Parser(text, numbers).document())
  } catch (fault) {
    if (fault instanceof Malformed) return err(describe(text, fault))
    throw fault
  }
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

/** Short enough for a message. */
function shown(text: string): string {
  return `\`${text.length > 64 ? `${text.slice(0, 64)}…` : text}\``
}

class Malformed extends Error {
  readonly offset: number
  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

function describe(text: string, { offset, message }: Malformed): JsonFault {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - before.lastIndexOf('\n')
  return { message: `malformed JSON at line ${line}, column ${column}: ${message}`, line, column }
}

const QUOTE = 0x22
const MINUS = 0x2d
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const WORD = /[A-Za-z0-9_$]+/y

class Parser {
  private readonly text: string
  private readonly numbers: JsonNumbers
  private at = 0
  private depth = 0

  constructor(text: string, numbers: JsonNumbers) {
    this.text = text
    this.numbers = numbers
  }

  document(): unknown {
    this.space()
    const value = this.value()
    this.space()
    if (this.at < this.text.length) throw this.unexpected('the end')
    return value
  }

  private value(): unknown {
    const unit = this.text.charCodeAt(this.at)
    if (unit === OPEN_OBJECT) return this.nested(() => this.object())
    if (unit === OPEN_LIST) return this.nested(() => this.list())
    if (unit === QUOTE) return this.string()
    if (unit === MINUS || (unit >= 0x30 && unit <= 0x39)) return this.number()
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue
      if (this.found() !== `\`${word}\``) break
      this.at += word.length
      return value
    }
    throw this.unexpected('a value')
  }

  private nested(read: () => unknown): unknown {
    this.depth += 1
    if (this.depth > JSON_DEPTH_MAX) {
      throw new Malformed(this.at, `nested deeper than ${JSON_DEPTH_MAX} levels`)
    }
    const value = read()
    this.depth -= 1
    return value
  }

  private object(): Record<string, unknown> {
    const result: Record<string, unknown> = {}
    this.at += 1
    this.space()
    if (this.takes('}')) return result
    for (;;) {
      if (this.text.charCodeAt(this.at) !== QUOTE) throw this.unexpected('a key in double quotes')
      const start = this.at
      const key = this.string()
      if (Object.hasOwn(result, key)) throw new Malformed(start, `the member ${shown(key)} is given twice`)
      this.space()
      if (!this.takes(':')) throw this.unexpected('`:`')
      this.space()
      const value = this.value()
      // Assigned, this one key would change the prototype; defined, it is a key like any other.
      if (key === '__proto__') {
        Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true })
      } else result[key] = value
      this.space()
      if (this.takes('}')) return result
      if (!this.takes(',')) throw this.unexpected('`,` or `}`')
      this.space()
    }
  }

  private list(): unknown[] {
    const result: unknown[] = []
    this.at += 1
    this.space()
    if (this.takes(']')) return result
    for (;;) {
      result.push(this.value())
      this.space()
      if (this.takes(']')) return result
      if (!this.takes(',')) throw this.unexpected('`,` or `]`')
      this.space()
    }
  }

  private string(): string {
    const start = this.at
    let escaped = false
    for (let i = start + 1; i < this.text.length; i++) {
      const unit = this.text.charCodeAt(i)
      if (unit === QUOTE) {
        this.at = i + 1
        return escaped ? this.unescape(start, i + 1) : this.text.slice(start + 1, i)
      }
      if (unit < 0x20) throw new Malformed(i, 'a control character inside a string must be escaped')
      if (unit === BACKSLASH) {
        escaped = true
        i += 1
      }
    }
    throw new Malformed(start, 'the string has no end')
  }

  private unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.text.slice(start, end)) as string
    } catch {
      throw new Malformed(start, 'the string holds an escape that JSON does not have')
    }
  }

  private number(): number | bigint | Float {
    NUMBER.lastIndex = this.at
    const [source = '', fraction, exponent] = NUMBER.exec(this.text) ?? []
    const next = this.text[this.at + source.length] ?? ''
    if (source === '' || /[\w.+-]/.test(next)) throw new Malformed(this.at, 'not a number as JSON writes it')
    const value = Number(source)
    if (!Number.isFinite(value)) throw new Malformed(this.at, 'the number is out of range')
    this.at += source.length
    if (this.numbers === 'plain') return value
    if (fraction !== undefined || exponent !== undefined) {
      return this.numbers === 'exact' && Number.isInteger(value) ? new Float(value) : value
    }
    // `-0` is an integer, and there is only one integer zero.
    return Number.isSafeInteger(value) ? value + 0 : BigInt(source)
  }

  private takes(sign: string): boolean {
    if (this.text[this.at] !== sign) return false
    this.at += 1
    return true
  }

  private space(): void {
    for (; this.at < this.text.length; this.at++) {
      const unit = this.text.charCodeAt(this.at)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    }
  }

  private unexpected(expected: string): Malformed {
    return new Malformed(this.at, `expected ${expected}, found ${this.found()}`)
  }

  private found(): string {
    if (this.at >= this.text.length) return 'the end'
    WORD.lastIndex = this.at
    const word = WORD.exec(this.text)?.[0] ?? String.fromCodePoint(this.text.codePointAt(this.at)!)
    return `\`${word.length > 20 ? `${word.slice(0, 20)}…` : word}\``
  }
}

const WORDS: readonly (readonly [word: string, value: boolean | null])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/**
 * Floats with a `.` or an exponent, bigints as digits, Maps as objects; a number that JSON cannot write (NaN, infinite)
 * is null. Members that are undefined are left out.
 */
export function writeJson(value: unknown): string {
  return isPlain(value) ? (JSON.stringify(value) ?? 'null') : write(value)
}

/** Nothing in it that the runtime's own writer would get wrong. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'bigint') return false
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isPlain)
  if (value instanceof Float || value instanceof Map) return false
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) return false
  return true
}

function write(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Float) return writeFloat(value.value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null || hasOwnWriter(value)) return JSON.stringify(value) ?? 'null'
  const members: string[] = []
  for (const [key, member] of value instanceof Map ? value : Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(String(key))}:${write(member)}`)
  }
  return `{${members.join(',')}}`
}

/** A date, for one. A member of that name in somebody's data is data. */
function hasOwnWriter(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function writeFloat(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}
