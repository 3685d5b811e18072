// Prints a model: each definition with its head on one line and its body as Cypher is printed. Declared types and the
// comments between definitions keep their text.
import type { DefinitionText } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { parseModel } from '../../../grammar/index.ts'
import { lex } from '../../../grammar/lexer.ts'
import * as t from '../../../grammar/tokens.ts'
import { assert } from '../../kernel/assert.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { formatCypher, LINE_WIDTH } from './format-cypher.ts'

/**
 * Formats a model. The result has no line break at the end. Formatting it again changes nothing, and its syntax tree is that of the
 * text, apart from positions. The error holds the diagnostics of the text.
 */
export function formatModel(text: string): Result<string, readonly Diagnostic[]> {
  const parsed = parseModel(text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const lexed = lex(text)
  assert(lexed.ok, 'a text that parses has tokens')
  let printed = ''
  let at = 0
  for (const definition of parsed.model.definitions) {
    printed = join(printed, text.slice(at, definition.span.start), printedDefinition(text, definition, lexed))
    at = definition.span.end
    const next = lexed.tokens.find(({ startOffset }) => startOffset >= at)
    if (next?.tokenType === t.Semicolon) {
      printed += ';'
      at = next.startOffset + 1
    }
  }
  return ok(join(printed, text.slice(at), ''))
}

/** The text with what follows it. A comment at the end of the last line stays there. */
function join(printed: string, gap: string, next: string): string {
  const [, trailing = '', rest = ''] = /^[^\S\r\n]*(?:(\S[^\r\n]*))?([\s\S]*)$/.exec(gap) ?? []
  const isTrailing = printed !== '' && trailing !== ''
  const between = (isTrailing ? rest : gap).trim()
  const head = isTrailing ? `${printed} ${trailing.trimEnd()}` : printed
  const hasBlankLine = /\n[^\S\n]*\n[^\S\n]*$/.test(gap)
  const parts = [
    head,
    between === '' || next === '' ? between + next : `${between}${hasBlankLine ? '\n\n' : '\n'}${next}`,
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

function printedDefinition(
  text: string,
  { source, target, body, span }: DefinitionText,
  { tokens, comments }: Pick<Extract<ReturnType<typeof lex>, { ok: true }>, 'tokens' | 'comments'>,
): string {
  const own = tokens.filter(({ startOffset }) => span.start <= startOffset && startOffset < span.end)
  const open = own.findLast(({ startOffset, tokenType }) => startOffset < body.span.start && tokenType === t.OpenBrace)
  const close = own.at(-1)
  assert(open !== undefined && close !== undefined, 'a definition has a body in braces')
  const within = (start: number, end: number) =>
    comments.some(({ startOffset }) => start <= startOffset && startOffset < end)
  const pattern = formatCypher(`MATCH ${text.slice(source.span.start, target.span.end)}`)
  const isPlain = !within(span.start, open.startOffset) && pattern.ok && !pattern.value.includes('\n')
  const head = isPlain
    ? `DEFINE ${pattern.value.slice('MATCH '.length)} AS`
    : text.slice(span.start, open.startOffset).trim()
  const inner = text.slice(open.startOffset + 1, close.startOffset)
  const formatted = formatCypher(inner)
  // Indentation would change a text or a comment of several lines.
  const isSpread = [...own, ...comments].some(
    ({ image, startOffset }) => span.start <= startOffset && startOffset < span.end && /[\r\n]/.test(image),
  )
  if (!formatted.ok || isSpread) return `${head} {${inner}}`
  const line = `${head} { ${formatted.value} }`
  const hasComment = within(open.startOffset, span.end)
  if (!hasComment && !formatted.value.includes('\n') && line.length <= LINE_WIDTH) return line
  const lines = formatted.value.split('\n').map((one) => (one === '' ? '' : `  ${one}`))
  return `${head} {\n${lines.join('\n')}\n}`
}
