// The grammar's door: Cypher text in, AST or issues out. Never throws, whatever the text.
import type { Query } from './ast.ts'
import type { Diagnostic } from './diagnostic.ts'
import { lex } from './lexer.ts'
import { parser } from './parser.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { findTooDeep, maxTreeDepth } from './tree-depth.ts'

export type ParseResult =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

/** In UTF-16 code units. */
export const maxTextLength = 512_000

export function parse(text: string): ParseResult {
  if (text.length > maxTextLength) {
    const message = `the text has ${text.length} characters, more than ${maxTextLength}`
    return refused({ code: 'TextTooLong', message, span: { start: maxTextLength, end: text.length } })
  }
  const lexed = lex(text)
  if (!lexed.ok) return refused(lexed.diagnostic)
  const query = read(text, lexed.tokens)
  if (!query.ok || lexed.tokens.length <= maxTreeDepth) return query
  const span = findTooDeep(query.query)
  if (span === null) return query
  return refused({ code: 'NestingTooDeep', message: `more than ${maxTreeDepth} operations in one chain`, span })
}

function read(text: string, tokens: Parameters<typeof parser.read>[1]): ParseResult {
  try {
    return { ok: true, query: parser.read(text, tokens) }
  } catch (fault) {
    if (fault instanceof CypherSyntaxError) return refused(fault.diagnostic)
    throw fault
  }
}

function refused(issue: Diagnostic): ParseResult {
  return { ok: false, diagnostics: [issue] }
}
