// Functions over strings. A character is a Unicode code point; no argument is ever read as a pattern.

import { effortOnItems, effortOnText } from '../effort.ts'
import { typeOf } from '../static-type.ts'
import {
  charactersOf,
  codePointCount,
  eachPiece,
  lowerCase,
  partOf,
  trimmed,
  trimmedBy,
  upperCase,
} from '../text-work.ts'
import type { Value } from '../value.ts'
import { boundedList, boundedText, boundedTextLength, GrowingList } from '../weight.ts'
import { type CypherFunction, define, smallInteger, stringOf, wrongArgument, wrongKind } from './function.ts'

const STRING = ['string'] as const
const INTEGER = ['integer'] as const

export const stringFunctions: readonly CypherFunction[] = [
  define('toUpper', 1, [STRING], 'string', (_, a) => upperCase(stringOf('toUpper', a))),
  define('toLower', 1, [STRING], 'string', (_, a) => lowerCase(stringOf('toLower', a))),
  define('char_length', 1, [STRING], 'integer', (_, a) => codePointCount(stringOf('char_length', a))),
  define('trim', 1, [STRING], 'string', (_, a) => trimmedBy(stringOf('trim', a), (text) => text.trim())),
  trimming('btrim', true, true),
  trimming('ltrim', true, false),
  trimming('rtrim', false, true),
  define('replace', 3, [STRING, STRING, STRING], 'string', (_, a, b, c) => {
    return replaced(stringOf('replace', a), stringOf('replace', b), stringOf('replace', c))
  }),
  define('split', 2, [STRING, ['string', 'list']], typeOf('list', typeOf('string')), (_, a, b) => {
    return boundedList(splitAt(stringOf('split', a), delimiters(b)))
  }),
  define('substring', [2, 3], [STRING, INTEGER, INTEGER], 'string', (_, a, b, c) => {
    const start = length('substring', b)
    return partOf(
      stringOf('substring', a),
      start,
      c === null ? Number.POSITIVE_INFINITY : start + length('substring', c),
    )
  }),
  define('left', 2, [STRING, INTEGER], 'string', (_, a, b) => partOf(stringOf('left', a), 0, length('left', b))),
  define('right', 2, [STRING, INTEGER], 'string', (_, a, b) => {
    const text = stringOf('right', a)
    return partOf(text, Math.max(0, codePointCount(text) - length('right', b)), Number.POSITIVE_INFINITY)
  }),
]

function length(name: string, value: Value): number {
  const count = smallInteger(name, value)
  if (count < 0) throw wrongArgument(`${name}() takes no negative number`, 'NegativeIntegerArgument')
  return count
}

function trimming(name: string, atStart: boolean, atEnd: boolean): CypherFunction {
  return define(name, [1, 2], [STRING, STRING], 'string', (_, a, b) => {
    const text = stringOf(name, a)
    if (b === null) return trimmedBy(text, atStart ? (atEnd ? trimBoth : trimStart) : trimEnd)
    return trimmed(text, charactersOf(stringOf(name, b)), atStart, atEnd)
  })
}

const trimBoth = (text: string): string => text.trim()
const trimStart = (text: string): string => text.trimStart()
const trimEnd = (text: string): string => text.trimEnd()

/** Pieces are joined so many at a time. */
const JOINED_AT_ONCE = 1024

/** Refused as soon as the result is too long: a long replacement of a short word could be enormous. */
function replaced(text: string, search: string, replacement: string): string {
  const joined: string[] = []
  let pieces: string[] = []
  let length = 0
  const add = (piece: string): void => {
    length += piece.length
    boundedTextLength(length)
    if (pieces.push(piece) < JOINED_AT_ONCE) return
    joined.push(pieces.join(''))
    pieces = []
  }
  let isFirst = true
  eachPiece(text, search, (piece) => {
    // Between two places of the text; around each character for the empty one.
    if (!isFirst || search === '') add(replacement)
    isFirst = false
    add(piece)
  })
  if (search === '') add(replacement)
  effortOnText(length)
  return boundedText(joined.join('') + pieces.join(''))
}

function delimiters(value: Value): readonly string[] {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) throw wrongKind('split', value, 'a string or a list of strings as its second argument')
  effortOnItems(value.length)
  return value.map((item: Value) => stringOf('split', item))
}

/** By one delimiter after the other. */
function splitAt(text: string, all: readonly string[]): readonly string[] {
  let pieces: readonly string[] = [text]
  for (const delimiter of all) {
    const next = new GrowingList()
    for (const piece of pieces) {
      effortOnItems(1)
      eachPiece(piece, delimiter, (part) => next.push(part))
    }
    pieces = next.items as readonly string[]
  }
  return pieces
}
