// Converts the text of one token to a value: numbers with range checks, strings with their escapes, names without
// back-ticks. Each function throws CypherSyntaxError for a malformed token.
import type { IToken } from 'chevrotain'
import type { Span } from './ast.ts'
import { throwSyntaxError } from './syntax-error.ts'

const int64Max = 2n ** 63n - 1n

/** Returns the span of a token. */
export function spanOf(token: IToken): Span {
  return { start: token.startOffset, end: token.startOffset + token.image.length }
}

/**
 * Reads a decimal, hexadecimal or octal integer. Returns a bigint beyond 2^53 - 1.
 * `negative`: a minus sign directly before the literal belongs to it; only then -2^63 is in range.
 */
export function readInteger(token: IToken, negative: boolean): number | bigint {
  if (!/^(?:0|[1-9](?:_?\d)*|0x(?:_?[\da-fA-F])+|0o(?:_?[0-7])+)$/.test(token.image)) invalidNumber(token)
  const image = token.image.replaceAll('_', '')
  // A 64-bit number has at most 22 digits in any base, without leading zeros.
  const magnitude = image.length <= 15 ? Number(image) : exactInteger(image)
  if (magnitude === null || magnitude > int64Max + (negative ? 1n : 0n)) {
    const shown = `${negative ? '-' : ''}${shorten(image)}`
    throwSyntaxError({
      code: 'IntegerOverflow',
      message: `integer \`${shown}\` is outside the 64-bit range`,
      span: spanOf(token),
      found: `\`${shown}\``,
      expected: 'an integer from -2^63 to 2^63 - 1',
    })
  }
  if (magnitude === 0 || magnitude === 0n) return 0
  const value = negative ? -magnitude : magnitude
  return typeof value === 'bigint' && value >= -(2n ** 53n) + 1n && value < 2n ** 53n ? Number(value) : value
}

function exactInteger(image: string): bigint | null {
  const digits = image.replace(/^0[xo]?0*/, '')
  return digits.length > 22 ? null : BigInt(image)
}

function invalidNumber(token: IToken): never {
  const image = token.image
  const hint = /^0\d+$/.test(image) ? '; an octal number is written `0o17`' : ''
  const found = `\`${shorten(image)}\``
  const expected = 'a number such as `12`, `1.5`, `1e9`, `0x1F` or `0o17`'
  throwSyntaxError({
    code: 'InvalidNumberLiteral',
    message: `invalid number ${found}${hint}`,
    span: spanOf(token),
    found,
    expected,
  })
}

/** Reads a float. `negative`: a minus sign directly before the literal belongs to it. */
export function readFloat(token: IToken, negative: boolean): number {
  if (!/^(?:(?:\d(?:_?\d)*)?\.\d(?:_?\d)*|\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?$/.test(token.image))
    invalidNumber(token)
  const value = Number(token.image.replaceAll('_', ''))
  if (!Number.isFinite(value)) {
    const found = `\`${shorten(token.image)}\``
    const expected = 'a float below 1.8e308'
    throwSyntaxError({
      code: 'FloatingPointOverflow',
      message: `float ${found} is too large`,
      span: spanOf(token),
      found,
      expected,
    })
  }
  return negative ? -value : value
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** Reads a quoted string and resolves its escapes. */
export function readString(token: IToken): string {
  const image = token.image
  const quote = image.charAt(0)
  const escaped = image.includes('\\')
  if (!escaped && image.length > 1 && image.endsWith(quote)) return image.slice(1, -1)

  let value = ''
  let from = 1
  for (let i = 1; i < image.length; i++) {
    const char = image.charAt(i)
    if (char === quote) return value + image.slice(from, i)
    if (char !== '\\') continue
    value += image.slice(from, i)
    const letter = image.charAt(i + 1)
    const digits = letter === 'u' ? 4 : letter === 'U' ? 8 : 0
    value += digits > 0 ? readCodePoint(token, i, digits) : readSimpleEscape(token, i)
    i += 1 + digits
    from = i + 1
  }
  unterminated('string', token, `\`${quote}\``)
}

function readCodePoint(token: IToken, at: number, digits: number): string {
  const hex = token.image.slice(at + 2, at + 2 + digits)
  const code = /^[\da-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : Number.NaN
  if (code <= 0x10ffff) return String.fromCodePoint(code)
  const start = token.startOffset + at
  const letter = token.image.charAt(at + 1)
  const form = letter === 'u' ? '`\\u` and four hexadecimal digits' : '`\\U` and eight hexadecimal digits'
  throwSyntaxError({
    code: 'InvalidUnicodeLiteral',
    message: `invalid Unicode escape, it is written ${form}`,
    span: { start, end: start + 2 },
    found: `\`\\${letter}${hex}\``,
    expected: form,
  })
}

function readSimpleEscape(token: IToken, at: number): string {
  const letter = token.image.charAt(at + 1)
  const value = simpleEscapes[letter]
  if (value !== undefined) return value
  const start = token.startOffset + at
  const hint = letter === '' ? '' : `; a back-slash itself is written \`\\\\\``
  const found = `\`\\${letter}\``
  throwSyntaxError({
    code: 'InvalidEscape',
    message: `invalid escape ${found} in a string${hint}`,
    span: { start, end: start + 1 + letter.length },
    found,
    expected: "an escape such as `\\n`, `\\\\` or `\\'`",
  })
}

/** Reads the name of an identifier, a keyword or a quoted name. */
export function readName(token: IToken): string {
  return unquote(token, token.image)
}

/** Reads the name of a parameter, without `$`. */
export function readParameter(token: IToken): string {
  return unquote(token, token.image.slice(1))
}

function unquote(token: IToken, image: string): string {
  if (image.charCodeAt(0) !== 96 /* ` */) return image
  const name = image.slice(1, -1)
  // Inside a name a back-tick is written twice. If a single one remains between the first and the last, the name does not end.
  if (image.length < 2 || !/^[^`]*(?:``[^`]*)*$/.test(name) || !image.endsWith('`')) {
    unterminated('name', token, 'a back-tick')
  }
  return name.replaceAll('``', '`')
}

/** Nothing closes the token, so it spans the rest of the text. */
function unterminated(what: string, token: IToken, expected: string): never {
  const start = token.startOffset
  const span = { start, end: start + 1 }
  const message = `unterminated ${what}, expected ${expected}`
  throwSyntaxError({ code: 'UnexpectedSyntax', message, span, found: 'end of the query', expected })
}

/** Shortens a token text to 40 characters for a message. */
export function shorten(image: string): string {
  return image.length <= 40 ? image : `${image.slice(0, 37)}...`
}
