// Decides between constructs that begin alike: a pattern and a parenthesised expression, a comprehension and a list, a
// call and a variable. Each decision reads a few tokens and skips brackets by their paired distance, so its cost does
// not depend on nesting.
import { type IToken, tokenMatcher } from 'chevrotain'
import * as t from '../tokens.ts'
import { kw } from '../tokens.ts'
import { asNormalForm } from '../value-types.ts'

/** Returns the token at a distance: 1 is the next one; an end-of-file token beyond the last. */
export type Peek = (distance: number) => IToken

/** Returns whether a path of at least one relationship begins at `from`, the distance of an opening parenthesis. */
export function startsPath(peek: Peek, from: number): boolean {
  const afterNode = pastNode(peek, from)
  if (afterNode === 0) return false
  const afterRelationship = pastRelationship(peek, afterNode)
  return afterRelationship > 0 && pastNode(peek, afterRelationship) > 0
}

/** Returns the distance of the token after the matching bracket; 0 if there is no match. */
function pastBracket(peek: Peek, from: number): number {
  const length: number | undefined = peek(from).payload
  return length === undefined ? 0 : from + length + 1
}

function pastNode(peek: Peek, from: number): number {
  if (peek(from).tokenType !== t.OpenParen) return 0
  let next = from + 1
  if (tokenMatcher(peek(next), t.FreeName)) next++
  const type = peek(next).tokenType
  const nodeLike =
    type === t.CloseParen ||
    type === t.Colon ||
    startsLabelAfterIs(peek, next) ||
    type === kw.WHERE ||
    (type === t.OpenBrace && peek(next + 1).tokenType !== t.Dot) ||
    (type === t.Parameter && peek(next + 1).tokenType === t.CloseParen)
  return nodeLike ? pastBracket(peek, from) : 0
}

/** Returns whether `IS` is at a distance and a label follows: `IS NULL`, `IS :: INTEGER` and `IS NORMALIZED` test values. */
export function startsLabelAfterIs(peek: Peek, distance: number): boolean {
  if (peek(distance).tokenType !== kw.IS) return false
  const next = peek(distance + 1)
  if (tokenMatcher(next, t.AnyName))
    return ![kw.NULL, kw.NOT, kw.TYPED, kw.NORMALIZED].includes(next.tokenType) && asNormalForm(next.image) === null
  return [t.Exclamation, t.Percent, t.OpenParen, t.Dollar, t.Parameter].includes(next.tokenType)
}

function pastRelationship(peek: Peek, from: number): number {
  let next = from
  if (peek(next).tokenType === t.Less) next++
  if (peek(next).tokenType !== t.Minus) return 0
  next++
  if (peek(next).tokenType === t.OpenBracket) {
    if (!detailLike(peek, next + 1)) return 0
    next = pastBracket(peek, next)
    if (next === 0) return 0
  }
  if (peek(next).tokenType !== t.Minus) return 0
  next++
  if (peek(next).tokenType === t.Greater) next++
  const quantifier = peek(next).tokenType
  if (quantifier === t.Plus || quantifier === t.Star) next++
  else if (quantifier === t.OpenBrace) next = pastBracket(peek, next)
  return next
}

function detailLike(peek: Peek, from: number): boolean {
  const next = tokenMatcher(peek(from), t.FreeName) ? from + 1 : from
  const type = peek(next).tokenType
  return (
    type === t.CloseBracket ||
    type === t.Colon ||
    startsLabelAfterIs(peek, next) ||
    type === t.Star ||
    type === t.OpenBrace ||
    type === kw.WHERE ||
    (type === t.Parameter && peek(next + 1).tokenType === t.CloseBracket)
  )
}

/** The constructs that begin with `[`. */
export type BracketedForm = 'list' | 'list-comprehension' | 'pattern-comprehension'

/** Returns which construct the opening bracket at distance 1 begins. */
export function classifyBracketed(peek: Peek): BracketedForm {
  const second = peek(3).tokenType
  if (peek(2).tokenType === t.OpenParen) return startsPath(peek, 2) ? 'pattern-comprehension' : 'list'
  if (second === kw.IN && tokenMatcher(peek(2), t.FreeName)) return 'list-comprehension'
  if (second === t.Equal && startsPath(peek, 4)) return 'pattern-comprehension'
  return 'list'
}

/** The constructs that begin with a name. */
export type NamedForm =
  | 'variable'
  | 'function'
  | 'map-projection'
  | 'quantifier'
  | 'reduce'
  | 'all-reduce'
  | 'trim'
  | 'count-star'
  | 'exists'
  | 'count'
  | 'collect'

/** Returns which construct the name at distance 1 begins. */
export function classifyNamed(peek: Peek): NamedForm {
  const word = peek(1).tokenType
  const next = peek(2).tokenType
  if (next === t.OpenBrace) {
    if (word === kw.EXISTS) return 'exists'
    if (word === kw.COUNT) return 'count'
    if (word === kw.COLLECT) return 'collect'
    return 'map-projection'
  }
  if (next === t.OpenParen) {
    const third = peek(4).tokenType
    if (word === kw.COUNT && peek(3).tokenType === t.Star && third === t.CloseParen) return 'count-star'
    if (word === kw.REDUCE && third === t.Equal) return 'reduce'
    if (word === kw.ALLREDUCE && third === t.Equal) return 'all-reduce'
    if (peek(1).image.toLowerCase() === 'trim' && hasFrom(peek)) return 'trim'
    if (third === kw.IN && (word === kw.ALL || word === kw.ANY || word === kw.NONE || word === kw.SINGLE)) {
      return 'quantifier'
    }
    return 'function'
  }
  let dot = 2
  while (peek(dot).tokenType === t.Dot && tokenMatcher(peek(dot + 1), t.AnyName)) dot += 2
  return dot > 2 && peek(dot).tokenType === t.OpenParen ? 'function' : 'variable'
}

/** Whether the brackets of a call contain FROM, outside of inner brackets. The name of the function is at distance 1. */
function hasFrom(peek: Peek): boolean {
  const end = pastBracket(peek, 2)
  let next = 3
  while (next < end) {
    if (peek(next).tokenType === kw.FROM && peek(next - 1).tokenType !== t.OpenParen) return true
    next = Math.max(next + 1, pastBracket(peek, next))
  }
  return false
}
