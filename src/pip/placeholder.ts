// Placeholders of resolver templates: `{$name}` and `{$name || default}`.
import { parseJson } from '../kernel/json/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** The replacement of a placeholder without a value. */
interface PlaceholderDefault {
  /** The text as written, without surrounding white space and quotes. */
  readonly text: string
  /**
   * The value where JSON is expected: the text if it is quoted; otherwise the number, boolean, null or list that it
   * spells, or else the text. Undefined if nothing is written.
   */
  readonly data: unknown
}

/** A placeholder in a template. */
export interface Placeholder {
  readonly name: string
  readonly start: number
  /** Offset of the template text after the placeholder. */
  readonly end: number
  /** Whether it is inside a string of a JSON template. */
  readonly isInString: boolean
  /** Null: the placeholder needs a value. */
  readonly fallback: PlaceholderDefault | null
}

/**
 * Finds the placeholders of a URL (`text`) or of a payload (`json`). Within a JSON string, a default is JSON string
 * content: `\"` may be its quote. The error is a message for the author.
 */
export function findPlaceholders(template: string, form: 'text' | 'json'): Result<readonly Placeholder[], string> {
  const placeholders: Placeholder[] = []
  const opening = /\{\$([\p{L}_][\p{L}\p{M}\p{N}_.]*)(\}|\s*\|)/uy
  let isInString = false
  for (let at = 0; at < template.length; ) {
    opening.lastIndex = at
    const found = template[at] === '{' ? opening.exec(template) : null
    if (found !== null) {
      const [, name = '', mark] = found
      const start = at
      let fallback: PlaceholderDefault | null = null
      at = opening.lastIndex
      if (mark !== '}') {
        const read = template[at] === '|' ? readDefault(template, at + 1, isInString) : err('expected `||`')
        if (!read.ok) return err(`the placeholder \`{$${name}\`: ${read.error}`)
        fallback = read.value.fallback
        at = read.value.end
      }
      placeholders.push({ name, start, end: at, isInString, fallback })
    } else {
      if (form === 'json') {
        if (isInString && template[at] === '\\') at += 1
        else if (template[at] === '"') isInString = !isInString
      }
      at += 1
    }
  }
  return ok(placeholders)
}

interface ReadDefault {
  readonly fallback: PlaceholderDefault
  readonly end: number
}

/** Reads a default and the brace that closes its placeholder. */
function readDefault(template: string, from: number, isInString: boolean): Result<ReadDefault, string> {
  const first = skipSpace(template, from)
  const quote = characterAt(template, first, isInString)
  if (quote?.text === '"' || quote?.text === "'") return readQuoted(template, quote.end, quote.text, isInString)
  let text = ''
  for (let at = first; ; ) {
    const next = characterAt(template, at, isInString)
    if (next === null || (isInString && template[at] === '"')) return err('expected `}` after the default')
    if (next.text === '}') return ok({ fallback: unquotedDefault(text.trimEnd()), end: next.end })
    if (next.text === '{') return err('a default with braces must be quoted')
    text += next.text
    at = next.end
  }
}

/** Reads up to the closing quote. A backslash before a quote or a backslash stands for that character. */
function readQuoted(template: string, from: number, quote: string, isInString: boolean): Result<ReadDefault, string> {
  let text = ''
  for (let at = from; ; ) {
    let next = characterAt(template, at, isInString)
    if (next === null) return err(`expected a closing ${quote} in the default`)
    if (next.text === quote) {
      const end = skipSpace(template, next.end)
      if (template[end] !== '}') return err('expected `}` after the quoted default')
      return ok({ fallback: { text, data: text }, end: end + 1 })
    }
    if (next.text === '\\') {
      const escaped = characterAt(template, next.end, isInString)
      if (escaped?.text === quote || escaped?.text === '\\') next = escaped
    }
    text += next.text
    at = next.end
  }
}

function unquotedDefault(text: string): PlaceholderDefault {
  const json = parseJson(text)
  return { text, data: json.ok ? json.value : text || undefined }
}

function skipSpace(template: string, from: number): number {
  let at = from
  while (/\s/.test(template[at] ?? '')) at += 1
  return at
}

interface Character {
  readonly text: string
  readonly end: number
}

/** The character at a position; in a JSON string, an escape is one. Null at the end, and for an invalid escape. */
function characterAt(template: string, at: number, isInString: boolean): Character | null {
  const text = template[at]
  if (text === undefined) return null
  if (!isInString || text !== '\\') return { text, end: at + 1 }
  const pattern = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y
  pattern.lastIndex = at
  const [found] = pattern.exec(template) ?? []
  return found === undefined ? null : { text: JSON.parse(`"${found}"`) as string, end: pattern.lastIndex }
}
