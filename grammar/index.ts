// The grammar's door: Cypher text in, AST or issues out. Never throws, whatever the text.
import type { Query } from './ast.ts'
import { tooDeep, treeDepthMax } from './depth.ts'
import type { Issue } from './issue.ts'
import { lex } from './lexer.ts'
import { parser } from './parser.ts'
import { Refusal } from './refusal.ts'

export type ParseResult =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly issues: readonly Issue[] }

/** In UTF-16 code units. */
export const textLengthMax = 512_000

export function parse(text: string): ParseResult {
  if (text.length > textLengthMax) {
    const message = `the text has ${text.length} characters, more than ${textLengthMax}`
    return refused({ code: 'TextTooLong', message, span: { start: textLengthMax, end: text.length } })
  }
  const lexed = lex(text)
  if (!lexed.ok) return refused(lexed.issue)
  const query = read(text, lexed.tokens)
  if (!query.ok || lexed.tokens.length <= treeDepthMax) return query
  const span = tooDeep(query.query)
  if (span === null) return query
  return refused({ code: 'NestingTooDeep', message: `more than ${treeDepthMax} operations in one chain`, span })
}

function read(text: string, tokens: Parameters<typeof parser.read>[1]): ParseResult {
  try {
    return { ok: true, query: parser.read(text, tokens) }
  } catch (fault) {
    if (fault instanceof Refusal) return refused(fault.issue)
    throw fault
  }
}

function refused(issue: Issue): ParseResult {
  return { ok: false, issues: [issue] }
}
