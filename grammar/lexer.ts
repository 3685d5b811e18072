// Tokenizes a text, recognises keywords and pairs brackets, so that the rules can look past a bracket in one step.
import { type IToken, Lexer, type TokenType, tokenMatcher } from 'chevrotain'
import type { Diagnostic } from './diagnostic.ts'
import {
  Bar,
  CloseBrace,
  CloseBracket,
  CloseParen,
  ComprehensionBar,
  Dollar,
  Equal,
  FreeName,
  Identifier,
  keywords,
  kw,
  OpenBrace,
  OpenBracket,
  OpenParen,
  scanned,
} from './tokens.ts'

/** Options that the tests, which build their own lexer, share with this one. */
export const lexerOptions = { positionTracking: 'onlyOffset', ensureOptimizations: true } as const
const lexer = new Lexer(scanned, { ...lexerOptions, skipValidations: true })

/** The tokens and the comments of a text, each in its order, or the diagnostic of its first lexical error. */
type LexResult =
  | { readonly ok: true; readonly tokens: IToken[]; readonly comments: readonly IToken[] }
  | { readonly ok: false; readonly diagnostic: Diagnostic }

/**
 * Tokenizes `text`. The payload of an opening bracket is the distance to its closing bracket. Rejects an unterminated
 * comment and a character that is not part of the language.
 */
export function lex(text: string): LexResult {
  const { tokens, errors, groups } = lexer.tokenize(text)
  const comments = groups.comments ?? []
  // Only the last comment can be open, because it takes the rest of the text.
  const comment = comments.at(-1)
  if (comment?.image.startsWith('/*') && !(comment.image.length >= 4 && comment.image.endsWith('*/'))) {
    return { ok: false, diagnostic: openComment(comment) }
  }
  const error = errors[0]
  if (error !== undefined) return { ok: false, diagnostic: unknownSign(text, error.offset) }
  const dollar = tokens.find(({ tokenType }, i) => tokenType === Dollar && tokens[i + 1]?.tokenType !== OpenParen)
  if (dollar !== undefined) return { ok: false, diagnostic: unknownSign(text, dollar.startOffset) }
  classifyTokens(tokens)
  return { ok: true, tokens, comments }
}

function openComment(comment: IToken): Diagnostic {
  const start = comment.startOffset
  const message = 'unterminated comment, expected `*/`'
  const span = { start, end: start + 2 }
  return { code: 'UnexpectedSyntax', message, span, found: 'end of the query', expected: '`*/`' }
}

function unknownSign(text: string, offset: number): Diagnostic {
  const sign = String.fromCodePoint(text.codePointAt(offset) ?? 0)
  const found = `\`${sign}\``
  const message = sign === '$' ? 'a parameter is written `$name`' : `unexpected character ${found}`
  const expected =
    sign === '$' ? 'a parameter such as `$name`' : 'a character of the language; any other belongs in a string'
  const code = sign > '\x7f' ? 'InvalidUnicodeCharacter' : 'UnexpectedSyntax'
  return { code, message, span: { start: offset, end: offset + sign.length }, found, expected }
}

const closerOf = new Map<TokenType, TokenType>([
  [OpenParen, CloseParen],
  [OpenBracket, CloseBracket],
  [OpenBrace, CloseBrace],
])
const closers = new Set(closerOf.values())

/**
 * Retypes identifiers that are keywords, sets the payload of each opening bracket to the distance to its partner, and
 * separates the `|` of a comprehension, which is the first one, from the `|` of label expressions and types.
 */
function classifyTokens(tokens: IToken[]): void {
  const open: number[] = []
  /** The opening brackets of comprehensions whose `|` was found. */
  const separated = new Set<number>()
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    const type = token.tokenType
    if (type === Identifier) {
      const word = token.image.length <= 16 ? keywords.get(token.image.toUpperCase()) : undefined
      if (word !== undefined) retype(token, word)
    } else if (closerOf.has(type)) {
      open.push(i)
    } else if (closers.has(type)) {
      const opener = open.at(-1)
      if (opener !== undefined && closerOf.get(tokens[opener]!.tokenType) === type) {
        open.pop()
        tokens[opener]!.payload = i - opener
      }
    } else if (type === Bar) {
      const opener = open.at(-1)
      if (opener === undefined || separated.has(opener) || !opensComprehension(tokens, opener)) continue
      separated.add(opener)
      retype(token, ComprehensionBar)
    }
  }
}

function retype(token: IToken, type: TokenType): void {
  token.tokenType = type
  token.tokenTypeIdx = type.tokenTypeIdx!
}

function opensComprehension(tokens: readonly IToken[], opener: number): boolean {
  if (tokens[opener]!.tokenType !== OpenBracket) return false
  const first = tokens[opener + 1]!
  if (first.tokenType === OpenParen) return true
  if (!tokenMatcher(first, FreeName)) return false
  const second = tokens[opener + 2]!.tokenType
  return second === kw.IN || (second === Equal && tokens[opener + 3]?.tokenType === OpenParen)
}
