// The properties that every formatted text has: the same tree, the same comments, and no change when formatted again.
import { expect } from 'vitest'
import { parse } from '../../grammar/index.ts'
import { lex } from '../../grammar/lexer.ts'
import { formatCypher } from '../../src/language/format/format-cypher.ts'
import type { Random } from '../generate/random.ts'

/** The tree without positions. The text of a column stays if it is the name of the column. */
function tree(text: string): string {
  const parsed = parse(text)
  if (!parsed.ok) throw new Error(`refused: ${text}\n${parsed.diagnostics[0]?.message}`)
  return JSON.stringify(parsed.query, function (this: Record<string, unknown>, key, part) {
    if (key === 'span' || (key === 'text' && 'alias' in this && this.alias !== null)) return undefined
    if (typeof part === 'bigint') return `${part}n`
    return Object.is(part, -0) ? '-0' : part
  })
}

function commentsOf(text: string): string[] {
  const lexed = lex(text)
  return lexed.ok ? lexed.comments.map(({ image }) => image.trimEnd()) : []
}

/** The text with comments and line breaks between some of its tokens. */
function withComments(text: string, random: Random): string {
  const lexed = lex(text)
  if (!lexed.ok) return text
  let [at, result] = [0, '']
  for (const { startOffset, image } of lexed.tokens) {
    const noise = random.odds(0.2)
      ? random.pick(['/* c */', ' // d\n', '\n\n', '\r\n// e\r\n', '\n/* f\n g */', ' /**/ '])
      : ''
    result += text.slice(at, startOffset) + noise + image
    at = startOffset + image.length
  }
  return result + text.slice(at) + (random.odds(0.1) ? ' // end' : '')
}

/** Checks the three properties. Returns false if the text does not parse. */
function holdsFor(text: string): boolean {
  if (!parse(text).ok) return false
  const once = formatCypher(text)
  if (!once.ok) throw new Error(`not formatted: ${text}`)
  if (tree(once.value) !== tree(text)) expect.fail(`another tree:\n${text}\n--- formatted as\n${once.value}`)
  if (commentsOf(once.value).join('\0') !== commentsOf(text).join('\0')) expect.fail(`other comments:\n${text}`)
  const twice = formatCypher(once.value)
  if (!twice.ok || twice.value !== once.value) expect.fail(`not the same when formatted twice:\n${text}`)
  return true
}

/** Checks each text, and the text with comments. Returns the number of texts that parse. */
export function holdsForAll(texts: readonly string[], random: Random): number {
  return texts.filter((text) => holdsFor(text) && holdsFor(withComments(text, random))).length
}
