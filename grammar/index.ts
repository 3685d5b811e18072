// The grammar's door: Cypher text in, AST or issues out.
import type { Query } from './ast.ts'
import type { Issue } from './issue.ts'

export type ParseResult =
  | { readonly ok: true; readonly query: Query }
  | { readonly ok: false; readonly issues: readonly Issue[] }

export function parse(_text: string): ParseResult {
  throw new Error('grammar helper: replace me')
}
