// Completion in Cypher: the names that may follow a place, by the tokens before it. The text after the place need not parse.
import type { IToken } from 'chevrotain'
import { lex } from '../../../grammar/lexer.ts'
import * as t from '../../../grammar/tokens.ts'
import { keywords, kw } from '../../../grammar/tokens.ts'
import { valueTypeNames } from '../../../grammar/type-names.ts'
import { platformParameters } from '../../engine/bind/dialect.ts'
import { aggregateNames } from '../../engine/value/aggregate-signatures.ts'
import { functionNames } from '../../engine/value/functions/function-table.ts'
import { cypherName, parametersIn, WORD } from '../../kernel/text/cypher-names.ts'
import { type DataNames, ownFields } from '../lint/data-names.ts'

/** The kind of a completion. */
export type CompletionKind =
  | 'label'
  | 'relationship-type'
  | 'property'
  | 'parameter'
  | 'variable'
  | 'function'
  | 'keyword'

/** A text that may stand at a place. */
export interface Completion {
  readonly text: string
  readonly kind: CompletionKind
}

/** The completions at an offset of a Cypher text, each once. `names`: those of the data; null: unknown. */
export function completionsAt(text: string, offset: number, names: DataNames | null): readonly Completion[] {
  const word = /[\p{L}\p{M}\p{N}_$]*$/u.exec(text.slice(0, offset))?.[0] ?? ''
  const lexed = lex(text.slice(0, offset - word.length))
  // Inside a string or comment nothing is completed.
  if (!lexed.ok || lexed.tokens.some(isOpen) || endsInComment(text, offset - word.length, lexed.comments)) return []
  const { tokens } = lexed
  const found = word.startsWith('$') ? parameters(text) : candidates(text, tokens, names)
  const unique = new Map(found.map((one) => [`${one.kind} ${one.text}`, one]))
  return [...unique.values()].filter(({ text: one }) => one !== word)
}

/** A completion as it is inserted: names of data may need backticks. */
export function insertedText({ text, kind }: Completion): string {
  return quotedKinds.has(kind) ? cypherName(text) : text
}

const quotedKinds: ReadonlySet<CompletionKind> = new Set(['label', 'relationship-type', 'property'])

/** A string or quoted name without its end takes the rest of the text. */
function isOpen({ tokenType, image }: IToken): boolean {
  const quote = image.charAt(0)
  return (tokenType === t.Text || tokenType === t.QuotedName) && (image.length < 2 || !image.endsWith(quote))
}

function endsInComment(text: string, end: number, comments: readonly IToken[]): boolean {
  const last = comments.at(-1)
  if (last === undefined) return false
  return last.image.startsWith('//') && !/[\r\n]/.test(text.slice(last.startOffset, end))
}

function candidates(text: string, tokens: readonly IToken[], names: DataNames | null): Completion[] {
  const last = tokens.at(-1)?.tokenType
  const bracket = innermost(tokens)
  if (last === t.Dot) return [...ofKind('property', names?.property), ...ofKind('property', ownFields)]
  if (isInType(tokens)) return ofKind('keyword', valueTypeNames())
  const brace = bracket?.tokenType === t.OpenBrace ? roleOf(tokens, bracket) : null
  if (brace === 'quantifier') return []
  if (brace === 'map' && (last === t.OpenBrace || last === t.Comma))
    return ofKind('property', [...(names?.property ?? []), 'external_id'])
  const isLabel = last === t.Colon && bracket?.tokenType !== t.OpenBrace
  const afterIs = last === kw.IS ? ofKind('keyword', ['NULL', 'NOT', 'TYPED', 'NORMALIZED']) : []
  if (
    isLabel ||
    last === kw.IS ||
    last === t.Ampersand ||
    last === t.Exclamation ||
    (last === t.Bar && bracket?.tokenType !== t.OpenBrace)
  ) {
    return bracket?.tokenType === t.OpenBracket
      ? [...afterIs, ...ofKind('relationship-type', names?.type)]
      : [...afterIs, ...ofKind('label', names?.label)]
  }
  return [
    ...ofKind('variable', variables(text)),
    ...ofKind('keyword', keywords.keys()),
    ...ofKind('function', [...functionNames(), ...aggregateNames()]),
  ]
}

function ofKind(kind: CompletionKind, texts: Iterable<string> | undefined): Completion[] {
  return Array.from(texts ?? [], (text) => ({ kind, text }))
}

/** The bracket around the end of the tokens; undefined: none is open. */
function innermost(tokens: readonly IToken[]): IToken | undefined {
  const open: IToken[] = []
  for (const token of tokens) {
    const { tokenType } = token
    if (tokenType === t.OpenParen || tokenType === t.OpenBracket || tokenType === t.OpenBrace) open.push(token)
    else if (tokenType === t.CloseParen || tokenType === t.CloseBracket || tokenType === t.CloseBrace) open.pop()
  }
  return open.at(-1)
}

const blockWords: ReadonlySet<unknown> = new Set([
  ...[kw.CALL, kw.EXISTS, kw.COUNT, kw.COLLECT, kw.THEN, kw.ELSE, kw.NEXT, kw.UNION, kw.ALL, kw.DISTINCT],
])

/** What a brace opens: a query, the bounds of a quantifier, or a map. */
function roleOf(tokens: readonly IToken[], brace: IToken): 'block' | 'quantifier' | 'map' {
  const at = tokens.indexOf(brace)
  const before = tokens[at - 1]
  if (before === undefined || blockWords.has(before.tokenType)) return 'block'
  // After a relationship, `-[:R]->{1,3}`.
  if (before.tokenType === t.Greater || before.tokenType === t.Minus) return 'quantifier'
  if (before.tokenType !== t.CloseParen) return 'map'
  // `CALL (a) {`, else `((a)-[:R]->(b)){`.
  const opening = innermost(tokens.slice(0, at - 1))
  const word = opening && tokens[tokens.indexOf(opening) - 1]
  return word?.tokenType === kw.CALL ? 'block' : 'quantifier'
}

/** Whether a type follows: after `::` or `TYPED`, and after the `|` or `<` of a type that began there. */
function isInType(tokens: readonly IToken[]): boolean {
  for (let at = tokens.length - 1; at >= 0; at--) {
    const { tokenType } = tokens[at]!
    if (tokenType === kw.TYPED) return true
    if (tokenType === t.Colon) return tokens[at - 1]?.tokenType === t.Colon
    const isLast = at === tokens.length - 1
    if (tokenType === t.Bar || tokenType === t.Less) continue
    if (isLast || !isPartOfType(tokens[at]!)) return false
  }
  return false
}

const typeWords = new Set([...valueTypeNames()].flatMap((name) => name.split(' ')))

function isPartOfType({ tokenType, image }: IToken): boolean {
  return tokenType === t.Exclamation || tokenType === kw.NOT || typeWords.has(image.toUpperCase())
}

const VARIABLE = new RegExp(`(?:[([]\\s*|\\b(?:AS|LET|FOR)\\s+)(${WORD})`, 'giu')

/** Names at the beginning of an element of a pattern, and aliases. */
function variables(text: string): string[] {
  const found = text.matchAll(VARIABLE)
  return ['subject', 'resource', ...Array.from(found, ([, name = '']) => name)].filter((name) => !t.isReserved(name))
}

function parameters(text: string): Completion[] {
  return ofKind(
    'parameter',
    [...platformParameters, ...parametersIn(text)].map((name) => `$${cypherName(name)}`),
  )
}
