// Entry point of the grammar: parses Cypher text into an AST or diagnostics.
import type { IToken } from 'chevrotain'
import type { ModelText, Query } from './ast.ts'
import type { Diagnostic } from './diagnostic.ts'
import { lex } from './lexer.ts'
import { parser } from './prepared-parser.ts'
import { CypherSyntaxError } from './syntax-error.ts'
import { findTooDeep, maxTreeDepth } from './tree-depth.ts'

/** A syntax tree, or the diagnostics that explain why the text was rejected. */
type Parsed<Name extends string, Tree> =
  | ({ readonly ok: true } & { readonly [N in Name]: Tree })
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

/** Maximum length of a text, in UTF-16 code units. */
export const maxTextLength = 512_000

/**
 * Parses one statement. Returns at most one diagnostic: parsing stops at the first error. Never throws, for any text.
 * The codes `TextTooLong` and `NestingTooDeep` report a text beyond `maxTextLength`, `maxNesting` or `maxTreeDepth`.
 */
export function parse(text: string): Parsed<'query', Query> {
  const parsed = parseAs(text, (tokens) => parser.read(text, tokens))
  return parsed.ok ? { ok: true, query: parsed.tree } : parsed
}

/** Parses a model: declared types, and definitions of derived relationships. As `parse`. */
export function parseModel(text: string): Parsed<'model', ModelText> {
  const parsed = parseAs(text, (tokens) => parser.readModel(text, tokens))
  return parsed.ok ? { ok: true, model: parsed.tree } : parsed
}

function parseAs<Tree extends Query | ModelText>(text: string, read: (tokens: IToken[]) => Tree): Parsed<'tree', Tree> {
  if (text.length > maxTextLength) {
    const message = `the text has ${text.length} characters, more than ${maxTextLength}`
    return failure({ code: 'TextTooLong', message, span: { start: maxTextLength, end: text.length } })
  }
  const lexed = lex(text)
  if (!lexed.ok) return failure(lexed.diagnostic)
  try {
    const tree = read(lexed.tokens)
    const span = lexed.tokens.length <= maxTreeDepth ? null : findTooDeep(tree)
    if (span === null) return { ok: true, tree } as Parsed<'tree', Tree>
    return failure({ code: 'NestingTooDeep', message: `more than ${maxTreeDepth} operations in one chain`, span })
  } catch (error) {
    if (error instanceof CypherSyntaxError) return failure(error.diagnostic)
    throw error
  }
}

function failure(issue: Diagnostic): { readonly ok: false; readonly diagnostics: readonly Diagnostic[] } {
  return { ok: false, diagnostics: [issue] }
}
