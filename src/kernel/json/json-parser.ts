// Parses JSON character by character: with exact numbers, without duplicate members, and with line and column in
// errors. Slower than the runtime's parser, which does none of this.
import { Float } from '../float.ts'
import { err, ok, type Result } from '../result.ts'

/** A syntax error in a JSON text. */
export interface JsonSyntaxError {
  /** The whole message, with the position: "malformed JSON at line 1, column 9: …". */
  readonly message: string
  /** 1-based. */
  readonly line: number
  /** 1-based, in UTF-16 units. */
  readonly column: number
}

/** Maximum nesting depth. Code that processes parsed values may therefore recurse. */
export const JSON_DEPTH_MAX = 200

/**
 * How numbers are read. `exact`: a whole number written with `.` or an exponent becomes a Float, an integer beyond 2^53
 * - 1 a bigint, any other number a number. `integers`: only such an integer becomes a bigint. `plain`: every number is
 * a number.
 */
export type JsonNumbers = 'exact' | 'integers' | 'plain'

/** Code unit of `"`. */
export const QUOTE = 0x22
/** Code unit of `,`. */
export const COMMA = 0x2c
const MINUS = 0x2d
/** Code unit of `[`. */
export const OPEN_LIST = 0x5b
/** Code unit of a backslash. */
export const BACKSLASH = 0x5c
/** Code unit of `]`. */
export const CLOSE_LIST = 0x5d
/** Code unit of `{`. */
export const OPEN_OBJECT = 0x7b
/** Code unit of `}`. */
export const CLOSE_OBJECT = 0x7d

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const IDENTIFIER = /[A-Za-z0-9_$]+/y

const LITERALS: readonly (readonly [word: string, value: boolean | null])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Parses `text`. Errors: the first syntax error, a duplicate member, or a depth beyond JSON_DEPTH_MAX. */
export function parseExactJson(text: string, numbers: JsonNumbers): Result<unknown, JsonSyntaxError> {
  try {
    return ok(new ExactJsonParser(text, numbers).document())
  } catch (fault) {
    if (fault instanceof JsonOffsetError) return err(jsonErrorAt(text, fault.offset, fault.message))
    throw fault
  }
}

/** Quotes a text in a message, abbreviated. */
function abbreviated(text: string): string {
  return `\`${text.length > 64 ? `${text.slice(0, 64)}…` : text}\``
}

class JsonOffsetError extends Error {
  readonly offset: number
  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

/** An error at `offset`, in UTF-16 units from the start of the text. */
export function jsonErrorAt(text: string, offset: number, message: string): JsonSyntaxError {
  let line = 1
  let lineStart = 0
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', lineStart)) {
    line += 1
    lineStart = end + 1
  }
  const column = offset - lineStart + 1
  return { message: `malformed JSON at line ${line}, column ${column}: ${message}`, line, column }
}

class ExactJsonParser {
  private readonly text: string
  private readonly numbers: JsonNumbers
  private offset = 0
  private depth = 0

  constructor(text: string, numbers: JsonNumbers) {
    this.text = text
    this.numbers = numbers
  }

  document(): unknown {
    this.space()
    const value = this.value()
    this.space()
    if (this.offset < this.text.length) throw this.unexpected('the end')
    return value
  }

  private value(): unknown {
    const unit = this.text.charCodeAt(this.offset)
    if (unit === OPEN_OBJECT) return this.nested(() => this.object())
    if (unit === OPEN_LIST) return this.nested(() => this.list())
    if (unit === QUOTE) return this.string()
    if (unit === MINUS || (unit >= 0x30 && unit <= 0x39)) return this.number()
    for (const [word, value] of LITERALS) {
      if (!this.text.startsWith(word, this.offset)) continue
      if (this.describeFound() !== `\`${word}\``) break
      this.offset += word.length
      return value
    }
    throw this.unexpected('a value')
  }

  private nested(read: () => unknown): unknown {
    this.depth += 1
    if (this.depth > JSON_DEPTH_MAX) {
      throw new JsonOffsetError(this.offset, `nested deeper than ${JSON_DEPTH_MAX} levels`)
    }
    const value = read()
    this.depth -= 1
    return value
  }

  private object(): Record<string, unknown> {
    const result: Record<string, unknown> = {}
    this.offset += 1
    this.space()
    if (this.consume('}')) return result
    for (;;) {
      if (this.text.charCodeAt(this.offset) !== QUOTE) throw this.unexpected('a key in double quotes')
      const start = this.offset
      const key = this.string()
      if (Object.hasOwn(result, key)) throw new JsonOffsetError(start, `the member ${abbreviated(key)} is given twice`)
      this.space()
      if (!this.consume(':')) throw this.unexpected('`:`')
      this.space()
      const value = this.value()
      // An assignment to this key would change the prototype.
      if (key === '__proto__') {
        Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true })
      } else result[key] = value
      this.space()
      if (this.consume('}')) return result
      if (!this.consume(',')) throw this.unexpected('`,` or `}`')
      this.space()
    }
  }

  private list(): unknown[] {
    const result: unknown[] = []
    this.offset += 1
    this.space()
    if (this.consume(']')) return result
    for (;;) {
      result.push(this.value())
      this.space()
      if (this.consume(']')) return result
      if (!this.consume(',')) throw this.unexpected('`,` or `]`')
      this.space()
    }
  }

  private string(): string {
    const start = this.offset
    let escaped = false
    for (let i = start + 1; i < this.text.length; i++) {
      const unit = this.text.charCodeAt(i)
      if (unit === QUOTE) {
        this.offset = i + 1
        return escaped ? this.unescape(start, i + 1) : this.text.slice(start + 1, i)
      }
      if (unit < 0x20) throw new JsonOffsetError(i, 'a control character inside a string must be escaped')
      if (unit === BACKSLASH) {
        escaped = true
        i += 1
      }
    }
    throw new JsonOffsetError(start, 'the string is not terminated')
  }

  private unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.text.slice(start, end)) as string
    } catch {
      throw new JsonOffsetError(start, 'the string contains an invalid escape')
    }
  }

  private number(): number | bigint | Float {
    NUMBER.lastIndex = this.offset
    const [source = '', fraction, exponent] = NUMBER.exec(this.text) ?? []
    const next = this.text[this.offset + source.length] ?? ''
    if (source === '' || /[\w.+-]/.test(next)) throw new JsonOffsetError(this.offset, 'not a valid JSON number')
    const value = Number(source)
    if (!Number.isFinite(value)) throw new JsonOffsetError(this.offset, 'the number is out of range')
    this.offset += source.length
    if (this.numbers === 'plain') return value
    if (fraction !== undefined || exponent !== undefined) {
      return this.numbers === 'exact' && Number.isInteger(value) ? new Float(value) : value
    }
    // `-0` is the integer zero.
    return Number.isSafeInteger(value) ? value + 0 : BigInt(source)
  }

  private consume(sign: string): boolean {
    if (this.text[this.offset] !== sign) return false
    this.offset += 1
    return true
  }

  private space(): void {
    for (; this.offset < this.text.length; this.offset++) {
      const unit = this.text.charCodeAt(this.offset)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    }
  }

  private unexpected(expected: string): JsonOffsetError {
    return new JsonOffsetError(this.offset, `expected ${expected}, found ${this.describeFound()}`)
  }

  private describeFound(): string {
    if (this.offset >= this.text.length) return 'the end'
    IDENTIFIER.lastIndex = this.offset
    const word = IDENTIFIER.exec(this.text)?.[0] ?? String.fromCodePoint(this.text.codePointAt(this.offset)!)
    return `\`${word.length > 20 ? `${word.slice(0, 20)}…` : word}\``
  }
}
