// The tokens of the language: keywords, which keywords may also be names, operators and punctuation, and the label of
// each token in messages.
import { createToken, Lexer, type TokenType } from 'chevrotain'
import { type FreeWord, freeWords, type ReservedWord, reservedWords } from './words.ts'

// ---------------------------------------------------------------- kinds of name

/** A name after `.` or `:` and as a map key: every word, keyword or not. */
export const AnyName = createToken({ name: 'AnyName', pattern: Lexer.NA, label: 'a name' })

/** A variable, an alias or a function name: every word that is not reserved. */
export const FreeName = createToken({ name: 'FreeName', pattern: Lexer.NA, label: 'a name' })

const plainName = /[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*/uy
const parameterName = /\$(?:[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*|\d+|`[^`]*(?:``[^`]*)*`?)/uy

const asciiLetters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_']
// Chevrotain groups patterns by their first character in pages of 255; one code of each page represents the page.
const beyondAscii = [
  ...Array.from({ length: 128 }, (_, i) => 128 + i),
  ...Array.from({ length: 257 }, (_, i) => Math.min(255 * (i + 1) + 1, 0xffff)),
]

// With these, and with sticky patterns, Chevrotain does not parse the regular expressions to find out what they begin with.
const digits = [...'0123456789']
const spaces = [
  ...'\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
]

function at(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset
  return pattern.exec(text)
}

/** An unquoted name; the lexer retypes keywords. */
export const Identifier = createToken({
  name: 'Identifier',
  pattern: { exec: (text: string, offset: number) => at(plainName, text, offset) },
  start_chars_hint: [...asciiLetters, ...beyondAscii],
  line_breaks: false,
  categories: [AnyName, FreeName],
})

// An unterminated string, quoted name or comment takes the whole rest of the text, so that the lexer looks for the end
// once and stays linear. The missing end is reported when the token is read.
/** A name in back-ticks. */
export const QuotedName = createToken({
  name: 'QuotedName',
  pattern: /`[^`]*(?:``[^`]*)*`?/y,
  start_chars_hint: ['`'],
  line_breaks: true,
  categories: [AnyName, FreeName],
})

/** `$name`. */
export const Parameter = createToken({
  name: 'Parameter',
  pattern: { exec: (text: string, offset: number) => at(parameterName, text, offset) },
  start_chars_hint: ['$'],
  line_breaks: true,
  label: 'a parameter',
})

// ---------------------------------------------------------------- keywords

type Keyword = ReservedWord | FreeWord

function keyword(word: Keyword, categories: TokenType[]): [string, TokenType] {
  return [word, createToken({ name: word, pattern: Lexer.NA, label: `\`${word}\``, categories })]
}

/** Keyword token by its upper-case spelling. */
export const keywords: ReadonlyMap<string, TokenType> = new Map([
  ...reservedWords.map((word) => keyword(word, [AnyName])),
  ...freeWords.map((word) => keyword(word, [AnyName, FreeName])),
])

/** Keyword tokens by their upper-case spelling, for the rules. */
export const kw = Object.fromEntries(keywords) as Readonly<Record<Keyword, TokenType>>

/** Returns whether the word is a keyword, ignoring case. */
export function isKeyword(word: string): boolean {
  return keywords.has(word.toUpperCase())
}

/** Returns whether the word is reserved, ignoring case: as a name it needs back-ticks. */
export function isReserved(word: string): boolean {
  return (reservedWords as readonly string[]).includes(word.toUpperCase())
}

// ---------------------------------------------------------------- literals

const numberCategory = createToken({ name: 'Number', pattern: Lexer.NA, label: 'a number' })
// Both number tokens include the letters that follow, so that `12x` is one invalid number and not a number and a name.
/** A float, before its range check. */
export const Float = createToken({
  name: 'Float',
  pattern: /(?:\d[\d_]*\.\d+|\.\d+)(?:[eE][+-]?\d+)?\w*|\d[\d_]*[eE][+-]?\d+\w*/y,
  start_chars_hint: ['.', ...digits],
  categories: [numberCategory],
  label: 'a number',
})
/** A decimal, hexadecimal or octal integer, before its range check. */
export const Integer = createToken({
  name: 'Integer',
  pattern: /\d\w*/y,
  start_chars_hint: digits,
  categories: [numberCategory],
  label: 'a whole number',
})
/** A string in single or double quotes. */
export const Text = createToken({
  name: 'Text',
  pattern: /'[^'\\]*(?:\\[\s\S]?[^'\\]*)*'?|"[^"\\]*(?:\\[\s\S]?[^"\\]*)*"?/y,
  start_chars_hint: ["'", '"'],
  line_breaks: true,
  label: 'a string',
})

// ---------------------------------------------------------------- signs

function sign(name: string, text: string, categories: TokenType[] = []): TokenType {
  return createToken({ name, pattern: text, label: `\`${text}\``, categories })
}

function operators(name: string): TokenType {
  return createToken({ name, pattern: Lexer.NA, label: 'an operator' })
}
/** Category of `=`, `<>`, `<`, `<=`, `>` and `>=`. */
export const ComparisonOperator = operators('ComparisonOperator')
/** Category of `+`, `-` and `||`. */
export const AdditiveOperator = operators('AdditiveOperator')
/** Category of `+` and `-`, which are also signs with one operand. */
export const SignOperator = operators('SignOperator')
/** Category of `*`, `/` and `%`. */
export const MultiplicativeOperator = operators('MultiplicativeOperator')

const LessEqual = sign('LessEqual', '<=', [ComparisonOperator])
const GreaterEqual = sign('GreaterEqual', '>=', [ComparisonOperator])
const NotEqual = sign('NotEqual', '<>', [ComparisonOperator])
/** The regular-expression operator `=~`. */
export const Matches = sign('Matches', '=~')
export const Equal = sign('Equal', '=', [ComparisonOperator])
export const Less = sign('Less', '<', [ComparisonOperator])
export const Greater = sign('Greater', '>', [ComparisonOperator])
export const Plus = sign('Plus', '+', [AdditiveOperator, SignOperator])
export const Minus = sign('Minus', '-', [AdditiveOperator, SignOperator])
export const Star = sign('Star', '*', [MultiplicativeOperator])
const Slash = sign('Slash', '/', [MultiplicativeOperator])
export const Percent = sign('Percent', '%', [MultiplicativeOperator])
export const Caret = sign('Caret', '^')
export const Dots = sign('Dots', '..')
export const Dot = sign('Dot', '.')
export const Comma = sign('Comma', ',')
export const Semicolon = sign('Semicolon', ';')
export const Colon = sign('Colon', ':')
const DoubleBar = sign('DoubleBar', '||', [AdditiveOperator])
export const Bar = sign('Bar', '|')
/** The `|` of `[x IN list | …]` and `[(a)-->(b) | …]`; the lexer separates it from the `|` of labels. */
export const ComprehensionBar = createToken({ name: 'ComprehensionBar', pattern: Lexer.NA, label: '`|`' })
/** The `$` of a dynamic label, `$(…)`; the lexer refuses it elsewhere. */
export const Dollar = sign('Dollar', '$')
export const Ampersand = sign('Ampersand', '&')
export const Exclamation = sign('Exclamation', '!')
export const OpenParen = sign('OpenParen', '(')
export const CloseParen = sign('CloseParen', ')')
export const OpenBracket = sign('OpenBracket', '[')
export const CloseBracket = sign('CloseBracket', ']')
export const OpenBrace = sign('OpenBrace', '{')
export const CloseBrace = sign('CloseBrace', '}')

// ---------------------------------------------------------------- what is skipped

const Space = createToken({
  name: 'Space',
  pattern: /\s+/y,
  start_chars_hint: spaces,
  group: Lexer.SKIPPED,
  line_breaks: true,
})
const LineComment = createToken({
  name: 'LineComment',
  pattern: /\/\/[^\n\r]*/y,
  start_chars_hint: ['/'],
  group: 'comments',
})
const BlockComment = createToken({
  name: 'BlockComment',
  pattern: {
    exec: (text: string, offset: number): [string] | null => {
      if (text.charCodeAt(offset + 1) !== 42 /* * */) return null
      const end = text.indexOf('*/', offset + 2)
      return [end < 0 ? text.slice(offset) : text.slice(offset, end + 2)]
    },
  },
  start_chars_hint: ['/'],
  line_breaks: true,
  group: 'comments',
})

/**
 * The tokens in the order in which the lexer tries them: longer operators before their prefixes, `..` before a float.
 */
export const scanned: TokenType[] = [
  ...[Space, Identifier, LineComment, BlockComment, QuotedName, Parameter, Text, Float, Integer],
  ...[OpenParen, CloseParen, OpenBracket, CloseBracket, OpenBrace, CloseBrace, Comma, Dots, Dot, Colon, DoubleBar, Bar],
  ...[LessEqual, GreaterEqual, NotEqual, Matches, Equal, Less, Greater, Minus, Plus, Star, Slash, Percent, Caret],
  ...[Ampersand, Exclamation, Semicolon, Dollar],
]

/** All tokens and categories, as Chevrotain's parser takes them. */
export const vocabulary: TokenType[] = [
  ...[AnyName, FreeName, numberCategory, ComparisonOperator, AdditiveOperator, SignOperator],
  ...[MultiplicativeOperator, ComprehensionBar, ...keywords.values(), ...scanned],
]
