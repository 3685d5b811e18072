// Reads the text of one token as a value: numbers within their range, strings with their escapes, names without back-ticks.
import type { IToken } from 'chevrotain'
import type { Span } from './ast.ts'
import { refuse } from './refusal.ts'

const int64Max = 2n ** 63n - 1n

export function spanOf(token: IToken): Span {
  return { start: token.startOffset, end: token.startOffset + token.image.length }
}

/** `negative`: the literal stands right after a minus sign that belongs to it; only so is -2^63 within range. */
export function readInteger(token: IToken, negative: boolean): number | bigint {
  const image = token.image
  if (!/^(?:0|[1-9]\d*|0x[\da-fA-F]+|0o[0-7]+)$/.test(image)) refuseNumber(token)
  // No 64-bit number needs more digits in any base, leading zeros apart.
  const magnitude = image.length <= 15 ? Number(image) : exactly(image)
  if (magnitude === null || magnitude > int64Max + (negative ? 1n : 0n)) {
    const shown = `${negative ? '-' : ''}${shorten(image)}`
    refuse('IntegerOverflow', `integer \`${shown}\` is outside the 64-bit range`, spanOf(token))
  }
  if (magnitude === 0 || magnitude === 0n) return 0
  const value = negative ? -magnitude : magnitude
  return typeof value === 'bigint' && value >= -(2n ** 53n) + 1n && value < 2n ** 53n ? Number(value) : value
}

function exactly(image: string): bigint | null {
  const digits = image.replace(/^0[xo]?0*/, '')
  return digits.length > 22 ? null : BigInt(image)
}

function refuseNumber(token: IToken): never {
  const image = token.image
  const hint = /^0\d+$/.test(image) ? '; an octal number is written `0o17`' : ''
  refuse('InvalidNumberLiteral', `invalid number \`${shorten(image)}\`${hint}`, spanOf(token))
}

export function readFloat(token: IToken, negative: boolean): number {
  if (!/^(?:\d*\.\d+|\d+)(?:[eE][+-]?\d+)?$/.test(token.image)) refuseNumber(token)
  const value = Number(token.image)
  if (!Number.isFinite(value)) {
    refuse('FloatingPointOverflow', `float \`${shorten(token.image)}\` is too large`, spanOf(token))
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
  const start = token.startOffset
  refuse('UnexpectedSyntax', `unterminated string, expected \`${quote}\``, { start, end: start + 1 })
}

function readCodePoint(token: IToken, at: number, digits: number): string {
  const hex = token.image.slice(at + 2, at + 2 + digits)
  const code = /^[\da-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : Number.NaN
  if (code <= 0x10ffff) return String.fromCodePoint(code)
  const start = token.startOffset + at
  const letter = token.image.charAt(at + 1)
  const form = letter === 'u' ? '`\\u` and four hexadecimal digits' : '`\\U` and eight hexadecimal digits'
  refuse('InvalidUnicodeLiteral', `invalid Unicode escape, it is written ${form}`, { start, end: start + 2 })
}

function readSimpleEscape(token: IToken, at: number): string {
  const letter = token.image.charAt(at + 1)
  const value = simpleEscapes[letter]
  if (value !== undefined) return value
  const start = token.startOffset + at
  const hint = letter === '' ? '' : `; a back-slash itself is written \`\\\\\``
  refuse('InvalidEscape', `invalid escape \`\\${letter}\` in a string${hint}`, {
    start,
    end: start + 1 + letter.length,
  })
}

/** The name of an identifier, a keyword or a quoted name. */
export function readName(token: IToken): string {
  return unquote(token, token.image)
}

export function readParameter(token: IToken): string {
  return unquote(token, token.image.slice(1))
}

function unquote(token: IToken, image: string): string {
  if (image.charCodeAt(0) !== 96 /* ` */) return image
  const name = image.slice(1, -1)
  // A lone closing back-tick is left after the pairs within: an odd number of them before the end means none closes.
  if (image.length < 2 || !/^[^`]*(?:``[^`]*)*$/.test(name) || !image.endsWith('`')) {
    const start = token.startOffset
    refuse('UnexpectedSyntax', 'unterminated name, expected a back-tick', { start, end: start + 1 })
  }
  if (name === '') refuse('UnexpectedSyntax', 'empty name', spanOf(token))
  return name.replaceAll('``', '`')
}

export function shorten(image: string): string {
  return image.length <= 40 ? image : `${image.slice(0, 37)}...`
}
