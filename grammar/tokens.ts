// The words and signs of the language: which words are keywords, which of them still serve as variable names,
// and how each is shown to a person.
import { createToken, Lexer, type TokenType } from 'chevrotain'

// ---------------------------------------------------------------- kinds of name

/** What may stand after `.`, `:` and as a map key: every word, keyword or not. */
export const AnyName = createToken({ name: 'AnyName', pattern: Lexer.NA, label: 'a name' })

/** What may stand as a variable, an alias or a function: every word that is not reserved. */
export const FreeName = createToken({ name: 'FreeName', pattern: Lexer.NA, label: 'a name' })

const plainName = /[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*/uy
const parameterName = /\$(?:[\p{ID_Start}\p{Pc}][\p{ID_Continue}]*|\d+|`[^`]*(?:``[^`]*)*`?)/uy

const asciiLetters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_']
// Chevrotain sorts the patterns by first character in pages of 256; one code of every page stands for them all.
const beyondAscii = [
  ...Array.from({ length: 128 }, (_, i) => 128 + i),
  ...Array.from({ length: 255 }, (_, i) => 256 * (i + 1)),
]

function at(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset
  return pattern.exec(text)
}

export const Identifier = createToken({
  name: 'Identifier',
  pattern: { exec: (text: string, offset: number) => at(plainName, text, offset) },
  start_chars_hint: [...asciiLetters, ...beyondAscii],
  line_breaks: false,
  categories: [AnyName, FreeName],
})

// Strings, quoted names and comments without an end take the whole rest of the text, so that looking for the end
// is done once and the lexer stays linear; the missing end is refused where the token is read.
export const QuotedName = createToken({
  name: 'QuotedName',
  pattern: /`[^`]*(?:``[^`]*)*`?/,
  line_breaks: true,
  categories: [AnyName, FreeName],
})

export const Parameter = createToken({
  name: 'Parameter',
  pattern: { exec: (text: string, offset: number) => at(parameterName, text, offset) },
  start_chars_hint: ['$'],
  line_breaks: true,
  label: 'a parameter',
})

// ---------------------------------------------------------------- keywords

const reservedWords = [
  ...['MATCH', 'OPTIONAL', 'UNWIND', 'WITH', 'RETURN', 'UNION', 'CALL', 'WHERE'],
  ...['DISTINCT', 'AS', 'ORDER', 'SKIP', 'LIMIT'],
  ...['OR', 'XOR', 'AND', 'NOT', 'IN', 'IS', 'STARTS', 'ENDS', 'CONTAINS'],
  ...['CASE', 'WHEN', 'THEN', 'ELSE', 'TRUE', 'FALSE', 'NULL'],
  ...['CREATE', 'MERGE', 'SET', 'DELETE', 'DETACH', 'REMOVE'],
] as const

// openCypher reserves some of these too; here each stands only where no name could, so both readings are possible.
const freeWords = [
  ...['USE', 'BY', 'ASC', 'ASCENDING', 'DESC', 'DESCENDING', 'OFFSET', 'END'],
  ...['ALL', 'ANY', 'NONE', 'SINGLE', 'REDUCE', 'COUNT', 'COLLECT', 'EXISTS', 'SHORTESTPATH', 'ALLSHORTESTPATHS'],
] as const

type Keyword = (typeof reservedWords)[number] | (typeof freeWords)[number]

function keyword(word: Keyword, categories: TokenType[]): [string, TokenType] {
  return [word, createToken({ name: word, pattern: Lexer.NA, label: `\`${word}\``, categories })]
}

/** Keyword by its upper-case spelling. */
export const keywords: ReadonlyMap<string, TokenType> = new Map([
  ...reservedWords.map((word) => keyword(word, [AnyName])),
  ...freeWords.map((word) => keyword(word, [AnyName, FreeName])),
])

export const kw = Object.fromEntries(keywords) as Readonly<Record<Keyword, TokenType>>

export function isKeyword(word: string): boolean {
  return keywords.has(word.toUpperCase())
}

export function isReserved(word: string): boolean {
  return (reservedWords as readonly string[]).includes(word.toUpperCase())
}

// ---------------------------------------------------------------- literals

const numberCategory = createToken({ name: 'Number', pattern: Lexer.NA, label: 'a number' })
// Both numbers swallow the letters that follow, so that `12x` is one wrong number and not a number and a name.
export const Float = createToken({
  name: 'Float',
  pattern: /(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?\w*|\d+[eE][+-]?\d+\w*/,
  categories: [numberCategory],
  label: 'a number',
})
export const Integer = createToken({
  name: 'Integer',
  pattern: /\d\w*/,
  categories: [numberCategory],
  label: 'a whole number',
})
export const Text = createToken({
  name: 'Text',
  pattern: /'[^'\\]*(?:\\[\s\S]?[^'\\]*)*'?|"[^"\\]*(?:\\[\s\S]?[^"\\]*)*"?/,
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
export const ComparisonOperator = operators('ComparisonOperator')
export const AdditiveOperator = operators('AdditiveOperator')
export const MultiplicativeOperator = operators('MultiplicativeOperator')

export const LessEqual = sign('LessEqual', '<=', [ComparisonOperator])
export const GreaterEqual = sign('GreaterEqual', '>=', [ComparisonOperator])
export const NotEqual = sign('NotEqual', '<>', [ComparisonOperator])
export const Matches = sign('Matches', '=~')
export const Equal = sign('Equal', '=', [ComparisonOperator])
export const Less = sign('Less', '<', [ComparisonOperator])
export const Greater = sign('Greater', '>', [ComparisonOperator])
export const Plus = sign('Plus', '+', [AdditiveOperator])
export const Minus = sign('Minus', '-', [AdditiveOperator])
export const Star = sign('Star', '*', [MultiplicativeOperator])
export const Slash = sign('Slash', '/', [MultiplicativeOperator])
export const Percent = sign('Percent', '%', [MultiplicativeOperator])
export const Caret = sign('Caret', '^')
export const Dots = sign('Dots', '..')
export const Dot = sign('Dot', '.')
export const Comma = sign('Comma', ',')
export const Semicolon = sign('Semicolon', ';')
export const Colon = sign('Colon', ':')
export const Bar = sign('Bar', '|')
/** The `|` of `[x IN list | …]` and `[(a)-->(b) | …]`; told apart from the `|` of labels by the lexer. */
export const ComprehensionBar = createToken({ name: 'ComprehensionBar', pattern: Lexer.NA, label: '`|`' })
export const Ampersand = sign('Ampersand', '&')
export const Exclamation = sign('Exclamation', '!')
export const OpenParen = sign('OpenParen', '(')
export const CloseParen = sign('CloseParen', ')')
export const OpenBracket = sign('OpenBracket', '[')
export const CloseBracket = sign('CloseBracket', ']')
export const OpenBrace = sign('OpenBrace', '{')
export const CloseBrace = sign('CloseBrace', '}')

// ---------------------------------------------------------------- what is skipped

const Space = createToken({ name: 'Space', pattern: /\s+/, group: Lexer.SKIPPED, line_breaks: true })
const LineComment = createToken({ name: 'LineComment', pattern: /\/\/[^\n\r]*/, group: Lexer.SKIPPED })
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

/** In the order in which the lexer tries them: longer signs before their beginnings, `..` before a float. */
export const scanned: TokenType[] = [
  ...[Space, Identifier, LineComment, BlockComment, QuotedName, Parameter, Text, Float, Integer],
  ...[OpenParen, CloseParen, OpenBracket, CloseBracket, OpenBrace, CloseBrace, Comma, Dots, Dot, Colon, Bar],
  ...[LessEqual, GreaterEqual, NotEqual, Matches, Equal, Less, Greater, Minus, Plus, Star, Slash, Percent, Caret],
  ...[Ampersand, Exclamation, Semicolon],
]

export const vocabulary: TokenType[] = [
  ...[AnyName, FreeName, numberCategory, ComparisonOperator, AdditiveOperator, MultiplicativeOperator],
  ...[ComprehensionBar, ...keywords.values(), ...scanned],
]
