// Functions over strings. A character is a Unicode code point; no argument is ever read as a pattern.

import { RunFault } from '../../errors.ts'
import { effortOnSearch } from '../effort.ts'
import { typeOf } from '../static-type.ts'
import type { Value } from '../value.ts'
import { boundedList, boundedText, TEXT_LENGTH_MAX } from '../weight.ts'
import { type CypherFunction, define, smallInteger, stringOf, wrongArgument, wrongKind } from './function.ts'

const STRING = ['string'] as const
const INTEGER = ['integer'] as const
const SURROGATE = /[\ud800-\udfff]/

export const stringFunctions: readonly CypherFunction[] = [
  define('toUpper', 1, [STRING], 'string', (_, a) => stringOf('toUpper', a).toUpperCase()),
  define('toLower', 1, [STRING], 'string', (_, a) => stringOf('toLower', a).toLowerCase()),
  define('char_length', 1, [STRING], 'integer', (_, a) => codePointCount(stringOf('char_length', a))),
  define('trim', 1, [STRING], 'string', (_, a) => stringOf('trim', a).trim()),
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
    return part(stringOf('substring', a), start, c === null ? Number.POSITIVE_INFINITY : start + length('substring', c))
  }),
  define('left', 2, [STRING, INTEGER], 'string', (_, a, b) => part(stringOf('left', a), 0, length('left', b))),
  define('right', 2, [STRING, INTEGER], 'string', (_, a, b) => {
    const text = stringOf('right', a)
    return part(text, Math.max(0, codePointCount(text) - length('right', b)), Number.POSITIVE_INFINITY)
  }),
]

export function codePointCount(text: string): number {
  if (!SURROGATE.test(text)) return text.length
  let count = 0
  for (const _ of text) count += 1
  return count
}

export function reversed(text: string): string {
  return [...text].reverse().join('')
}

function part(text: string, start: number, end: number): string {
  return SURROGATE.test(text) ? [...text].slice(start, end).join('') : text.slice(start, end)
}

function length(name: string, value: Value): number {
  const count = smallInteger(name, value)
  if (count < 0) throw wrongArgument(`${name}() takes no negative number`, 'NegativeIntegerArgument')
  return count
}

function trimming(name: string, atStart: boolean, atEnd: boolean): CypherFunction {
  return define(name, [1, 2], [STRING, STRING], 'string', (_, a, b) => {
    const text = stringOf(name, a)
    if (b === null) return atStart ? (atEnd ? text.trim() : text.trimStart()) : text.trimEnd()
    const unwanted = new Set(stringOf(name, b))
    const characters = [...text]
    let start = 0
    let end = characters.length
    while (atStart && start < end && unwanted.has(characters[start]!)) start += 1
    while (atEnd && start < end && unwanted.has(characters[end - 1]!)) end -= 1
    return characters.slice(start, end).join('')
  })
}

/** The length of the result is known before it is built: a long replacement of a short word could be enormous. */
function replaced(text: string, search: string, replacement: string): string {
  effortOnSearch(text, search)
  const parts = search === '' ? ['', ...text, ''] : text.split(search)
  const length = text.length + (parts.length - 1) * (replacement.length - search.length)
  if (length > TEXT_LENGTH_MAX) {
    throw new RunFault('budget', `a string of more than ${TEXT_LENGTH_MAX} characters`, 'textLengthMax')
  }
  return boundedText(parts.join(replacement))
}

function delimiters(value: Value): readonly string[] {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) throw wrongKind('split', value, 'a string or a list of strings as its second argument')
  return value.map((item: Value) => stringOf('split', item))
}

function splitAt(text: string, all: readonly string[]): readonly string[] {
  const [first = null, ...others] = all
  if (first === null) return [text]
  effortOnSearch(text, first)
  // By character for the empty delimiter, and never through the middle of a surrogate pair.
  const parts = first === '' ? [...text] : text.split(first)
  return others.length === 0 ? parts : parts.flatMap((piece) => splitAt(piece, others))
}
