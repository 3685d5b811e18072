// A text inside a file, such as the Cypher in a JSON document, and where each of its characters is in the file.

import type { Span } from '../../../grammar/ast.ts'
import { type Position, positionOf } from '../../../grammar/diagnostic.ts'

/** A text, and the file in which it stands. */
export interface LocatedText {
  readonly text: string
  /** The offset in the file of the character at an offset of the text. Increases with the offset; an end may be given. */
  offsetAt(offset: number): number
}

/** A text that is a whole file, or a part of it as written. `start`: where it begins. */
export function plainText(text: string, start = 0): LocatedText {
  return { text, offsetAt: (offset) => start + offset }
}

/** A text whose characters are at these offsets of `outer`; the last entry is the end. */
function mappedText(text: string, offsets: readonly number[], outer: LocatedText): LocatedText {
  return { text, offsetAt: (offset) => outer.offsetAt(offsets[Math.max(0, Math.min(offset, text.length))]!) }
}

/** The span in the file of a span of the text. It has at least one character, so that an editor can show it. */
export function spanInFile({ offsetAt }: LocatedText, { start, end }: Span): Span {
  const first = offsetAt(start)
  return { start: first, end: Math.max(end > start ? offsetAt(end - 1) + 1 : first, first + 1) }
}

/** Where a scalar of a YAML or JSON document stands: its source with its quotes or block header. */
export interface ScalarSource {
  readonly value: string
  readonly span: Span
  readonly style: 'double' | 'single' | 'block' | 'plain'
}

/** The text of a scalar with the places of its characters. `outer`: the document that contains the scalar. */
export function scalarText({ value, span, style }: ScalarSource, outer: LocatedText): LocatedText {
  const source = outer.text
  const offsets: number[] = []
  let at = span.start
  if (style === 'block') at = source.indexOf('\n', at) + 1
  else if (style !== 'plain') at += 1
  for (let i = 0; i < value.length; ) {
    if (style === 'double' && source[at] === '\\') {
      const length = escapeLength(source, at)
      // An escaped line break stands for nothing.
      if (length.value > 0) offsets.push(...Array<number>(length.value).fill(at))
      i += length.value
      at += length.source
      continue
    }
    at = nextMatch(source, at, value[i]!, span.end)
    offsets.push(at)
    at += style === 'single' && value[i] === "'" ? 2 : 1
    i += 1
  }
  offsets.push(Math.min(at, span.end))
  return mappedText(value, offsets, outer)
}

/** Indentation and folded line breaks are in the source only. */
function nextMatch(source: string, from: number, character: string, end: number): number {
  let at = from
  while (
    at < end &&
    source[at] !== character &&
    /\s/.test(source[at]!) &&
    !(/\s/.test(character) && source[at] === '\n')
  )
    at += 1
  return at
}

const codeDigits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

function escapeLength(source: string, at: number): { readonly source: number; readonly value: number } {
  const letter = source[at + 1] ?? ''
  const digits = codeDigits[letter]
  if (digits !== undefined) {
    const code = Number.parseInt(source.slice(at + 2, at + 2 + digits), 16)
    return { source: 2 + digits, value: code > 0xffff ? 2 : 1 }
  }
  if (letter === '\n') return { source: 2 + /^[ \t]*/.exec(source.slice(at + 2))![0].length, value: 0 }
  return { source: 2, value: 1 }
}

/** The line and column of an offset of a file. */
export function filePosition(text: string, offset: number): Position {
  return positionOf(text, Math.min(offset, text.length))
}
