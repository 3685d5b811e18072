// Entry point of the grammar: parses Cypher text into an AST or diagnostics.
import type { Query } from './ast.ts'
import type { Diagnostic } from './diagnostic.ts'
import { lex } from './lexer.ts'
import { parser } from './prepared-parser.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { findTooDeep, maxTreeDepth } from './tree-depth.ts'

/** The AST of a text, or the diagnostics that explain why it was rejected. */
type ParseResult =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

/** Maximum length of a query text, in UTF-16 code units. */
export const maxTextLength = 512_000

/**
 * Parses one statement. Returns at most one diagnostic: parsing stops at the first error. Never throws, for any text.
 * The codes `TextTooLong` and `NestingTooDeep` report a text beyond `maxTextLength`, `maxNesting` or `maxTreeDepth`.
 */
export function parse(text: string): ParseResult {
  if (text.length > maxTextLength) {
    const message = `the text has ${text.length} characters, more than ${maxTextLength}`
    return failure({ code: 'TextTooLong', message, span: { start: maxTextLength, end: text.length } })
  }
  const lexed = lex(text)
  if (!lexed.ok) return failure(lexed.diagnostic)
  const query = parseTokens(text, lexed.tokens)
  if (!query.ok || lexed.tokens.length <= maxTreeDepth) return query
  const span = findTooDeep(query.query)
  if (span === null) return query
  return failure({ code: 'NestingTooDeep', message: `more than ${maxTreeDepth} operations in one chain`, span })
}

function parseTokens(text: string, tokens: Parameters<typeof parser.read>[1]): ParseResult {
  try {
    return { ok: true, query: parser.read(text, tokens) }
  } catch (error) {
    if (error instanceof CypherSyntaxError) return failure(error.diagnostic)
    throw error
  }
}

function failure(issue: Diagnostic): ParseResult {
  return { ok: false, diagnostics: [issue] }
}
