// Formats Cypher: one clause on each line, keywords in upper case, one kind of spacing. Only the space between tokens and the
// case of keywords change, so comments and literals stay as written and the syntax tree stays the same.
import type { IToken } from 'chevrotain'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { parse } from '../../../grammar/index.ts'
import { lex } from '../../../grammar/lexer.ts'
import * as t from '../../../grammar/tokens.ts'
import { isKeyword, kw } from '../../../grammar/tokens.ts'
import { assert } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { type LineGroup, type LineLayout, layoutOf } from './line-groups.ts'
import { callWords, rolesOf, type TokenRoles, TokenTable } from './token-roles.ts'

/** Characters of a line, beyond which it is broken where possible. */
export const LINE_WIDTH = 80

/**
 * Formats a query or condition. The result has no line break at the end. Formatting it again changes nothing, and its syntax
 * tree is that of the text, apart from positions. The error holds the diagnostics of the text.
 */
export function formatCypher(text: string): Result<string, readonly Diagnostic[]> {
  const parsed = parse(text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const lexed = lex(text)
  assert(lexed.ok, 'a text that parses has tokens')
  const table = new TokenTable(lexed.tokens)
  const printer = new TokenPrinter(
    text,
    withComments(text, lexed.tokens, lexed.comments),
    rolesOf(parsed.query, table),
    layoutOf(parsed.query, table),
  )
  return ok(printer.print())
}

/** A token or comment in the order of the text. */
interface PrintedToken {
  readonly token: IToken
  readonly offset: number
  readonly end: number
  readonly isComment: boolean
  /** A comment on a line of its own. */
  readonly isOwnLine: boolean
  /** A comment that ends with its line. */
  readonly endsLine: boolean
  /** An empty line precedes it. */
  readonly hasBlankLine: boolean
}

function withComments(text: string, tokens: readonly IToken[], comments: readonly IToken[]): readonly PrintedToken[] {
  const own = new Set(comments)
  let end = 0
  return [...tokens, ...comments]
    .sort((a, b) => a.startOffset - b.startOffset)
    .map((token) => {
      const lineBreaks = text.slice(end, token.startOffset).match(/\r\n|\r|\n/g)?.length ?? 0
      const isFirst = end === 0
      end = token.startOffset + token.image.length
      const isComment = own.has(token)
      return {
        token,
        offset: token.startOffset,
        end,
        isComment,
        isOwnLine: isComment && (isFirst || lineBreaks > 0),
        endsLine: isComment && (token.image.startsWith('//') || /^[^\S\r\n]*(?:[\r\n]|$)/.test(text.slice(end))),
        hasBlankLine: !isFirst && lineBreaks > 1,
      }
    })
}

const INDENT = '  '

class TokenPrinter {
  private readonly text: string
  private readonly tokens: readonly PrintedToken[]
  private readonly roles: TokenRoles
  private readonly layout: LineLayout
  private readonly groupsFrom = new Map<number, LineGroup[]>()
  /** The groups around the present place, outermost first. */
  private open: { readonly group: LineGroup; readonly indent: number; readonly isBroken: boolean }[] = []
  private printed = ''
  private column = 0
  private indent = 0

  constructor(text: string, tokens: readonly PrintedToken[], roles: TokenRoles, layout: LineLayout) {
    this.text = text
    this.tokens = tokens
    this.roles = roles
    this.layout = layout
    for (const group of layout.groups) this.groupsFrom.getOrInsertComputed(group.start, () => []).push(group)
    // The outer group is decided first.
    for (const groups of this.groupsFrom.values()) groups.sort((a, b) => b.end - a.end)
  }

  print(): string {
    this.tokens.forEach((token, i) => {
      this.open = this.open.filter(({ group }) => group.end > token.offset)
      const previous = this.tokens[i - 1]
      if (previous !== undefined) this.separate(previous, token, i)
      for (const group of this.groupsFrom.get(token.offset) ?? []) {
        this.open.push({ group, indent: this.indent, isBroken: !this.fits(group, i) })
      }
      this.write(this.imageOf(token, i))
    })
    return this.printed
  }

  private separate(previous: PrintedToken, token: PrintedToken, i: number): void {
    const verbatim = this.verbatimGap(previous, token)
    if (verbatim !== null) {
      this.write(verbatim)
      return
    }
    const indent = this.breakIndent(i)
    const isForced = previous.endsLine || token.isOwnLine
    if (indent === null && !isForced) {
      this.write(this.flatGap(previous, token))
      return
    }
    const isHard = this.layout.breaks.get(this.nextToken(i)?.offset ?? -1)?.group === null
    const blank = token.hasBlankLine && (isHard || token.isComment) && this.open.length === 0 ? '\n' : ''
    this.indent = indent ?? this.continuation()
    this.printed += `${blank}\n${INDENT.repeat(this.indent)}`
    this.column = this.indent * INDENT.length
  }

  /** The indentation of the line that begins before a token, or before the token after a comment; null: no break. */
  private breakIndent(i: number): number | null {
    const next = this.nextToken(i)
    const place = next === undefined ? { group: null, indent: 0 } : this.layout.breaks.get(next.offset)
    if (place === undefined) return null
    // A comment at the end of a line stays there.
    const isTrailing = this.tokens[i]!.isComment && !this.tokens[i]!.isOwnLine && !this.tokens[i - 1]?.endsLine
    if (isTrailing) return null
    if (place.group === null) return place.indent
    const open = this.open.find(({ group }) => group === place.group)
    return open?.isBroken ? open.indent + place.indent : null
  }

  private continuation(): number {
    return (this.open.at(-1)?.indent ?? 0) + (this.open.length === 0 ? 0 : 1)
  }

  private nextToken(i: number): PrintedToken | undefined {
    let at = i
    while (this.tokens[at]?.isComment) at += 1
    return this.tokens[at]
  }

  /** Whether a group that begins with a token fits on the present line. */
  private fits(group: LineGroup, from: number): boolean {
    let column = this.column
    for (let i = from; i < this.tokens.length; i++) {
      const token = this.tokens[i]!
      if (token.offset >= group.end) break
      const previous = this.tokens[i - 1]
      if (i > from && previous !== undefined) {
        if (previous.endsLine || token.isOwnLine) return false
        column += (this.verbatimGap(previous, token) ?? this.flatGap(previous, token)).length
      }
      const image = this.imageOf(token, i)
      if (token.isComment && (token.endsLine || image.includes('\n'))) return false
      column += image.length
      if (column > LINE_WIDTH) return false
    }
    return true
  }

  private write(text: string): void {
    this.printed += text
    const lineBreak = text.lastIndexOf('\n')
    this.column = lineBreak < 0 ? this.column + text.length : text.length - lineBreak - 1
  }

  private verbatimGap(previous: PrintedToken, token: PrintedToken): string | null {
    const isInside = this.roles.verbatim.some(({ start, end }) => start <= previous.offset && token.end <= end)
    return isInside ? this.text.slice(previous.end, token.offset) : null
  }

  private isVerbatim({ offset, end }: PrintedToken): boolean {
    return this.roles.verbatim.some((span) => span.start <= offset && end <= span.end)
  }

  private imageOf(printed: PrintedToken, i: number): string {
    const { token, offset, isComment } = printed
    const { image, tokenType } = token
    if (isComment) return image.trimEnd()
    if (!isKeyword(image) || tokenType === t.Identifier || this.roles.names.has(offset) || this.isVerbatim(printed))
      return image
    if (tokenType === kw.TRUE || tokenType === kw.FALSE || this.roles.nulls.has(offset)) return image.toLowerCase()
    const opensCall = this.nextToken(i + 1)?.token.tokenType === t.OpenParen
    const callWord = opensCall && !this.roles.words.has(offset) ? callWords.get(tokenType) : undefined
    return callWord ?? image.toUpperCase()
  }

  private flatGap(previous: PrintedToken, next: PrintedToken): '' | ' ' {
    return this.isJoined(previous, next) ? '' : ' '
  }

  private isJoined(previous: PrintedToken, next: PrintedToken): boolean {
    if (previous.isComment || next.isComment) return openingBrackets.has(previous.token.tokenType)
    const { names, signs, arrows, joined, spaced, words, mapColons, blocks } = this.roles
    const [before, after] = [previous.token.tokenType, next.token.tokenType]
    if (after === t.Comma || after === t.Semicolon || after === t.CloseParen || after === t.CloseBracket) return true
    if (after === t.CloseBrace) return !blocks.has(next.offset)
    if (before === t.OpenBrace) return !blocks.has(previous.offset)
    if (before === t.OpenParen || before === t.OpenBracket) return true
    if (before === t.Dot || before === t.Dots || after === t.Dots) return true
    if (after === t.Dot) return before !== t.Comma
    if (arrows.has(previous.offset) || arrows.has(next.offset)) return true
    if (spaced.has(previous.offset) || words.has(previous.offset)) return false
    if (joined.has(next.offset)) return true
    if (joined.has(previous.offset) && after === t.OpenParen) return before !== t.CloseParen && !isName(before)
    if (signs.has(previous.offset)) return true
    if (mapColons.has(next.offset)) return true
    if (after === t.OpenParen) return names.has(previous.offset) || before === t.Identifier || callWords.has(before)
    if (after === t.OpenBracket) return endsValue(before) || names.has(previous.offset)
    return false
  }
}

const openingBrackets: ReadonlySet<unknown> = new Set([t.OpenParen, t.OpenBracket])

function isName(type: unknown): boolean {
  return type === t.Identifier || type === t.QuotedName
}

const valueEnds: ReadonlySet<unknown> = new Set([
  ...[t.Identifier, t.QuotedName, t.Parameter, t.Text, t.Integer, t.Float],
  ...[t.CloseParen, t.CloseBracket, t.CloseBrace, kw.TRUE, kw.FALSE, kw.NULL, kw.END],
])

function endsValue(type: unknown): boolean {
  return valueEnds.has(type)
}
