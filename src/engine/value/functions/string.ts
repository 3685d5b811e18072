// Functions over strings. A character is a Unicode code point. No argument is interpreted as a regular expression.
import { asNormalForm } from '../../../../grammar/value-types.ts'
import type { Budget } from '../../budget.ts'
import { staticType } from '../static-type.ts'
import {
  charactersOf,
  codePointCount,
  forEachPiece,
  forEachPieceOfAny,
  lowerCase,
  normalizeText,
  sliceCodePoints,
  trimCharacters,
  trimCharged,
  upperCase,
} from '../string-operations.ts'
import type { Value } from '../value.ts'
import { BoundedListBuilder, boundedList, boundedText, checkTextLength } from '../value-size.ts'
import {
  type CypherFunction,
  defineFunction,
  invalidArgument,
  requireSmallInteger,
  requireString,
  wrongKindArgument,
} from './function.ts'

const STRING = ['string'] as const
const INTEGER = ['integer'] as const

/**
 * `toUpper`, `toLower`, `char_length`, `trim`, `btrim`, `ltrim`, `rtrim`, `normalize`, `replace`, `split`, `substring`, `left`, `right`.
 */
export const stringFunctions: readonly CypherFunction[] = [
  defineFunction('toUpper', 1, [STRING], 'string', (run, a) => upperCase(run.budget, requireString('toUpper', a))),
  defineFunction('toLower', 1, [STRING], 'string', (run, a) => lowerCase(run.budget, requireString('toLower', a))),
  defineFunction('char_length', 1, [STRING], 'integer', (run, a) =>
    codePointCount(run.budget, requireString('char_length', a)),
  ),
  defineFunction('trim', 1, [STRING], 'string', (run, a) =>
    trimCharged(run.budget, requireString('trim', a), true, true),
  ),
  defineTrim('btrim', true, true),
  defineTrim('ltrim', true, false),
  defineTrim('rtrim', false, true),
  defineFunction('normalize', [1, 2], [STRING, STRING], 'string', (run, a, b) => {
    const form = asNormalForm(b === null ? 'NFC' : requireString('normalize', b))
    if (form === null) throw invalidArgument('normalize() takes NFC, NFD, NFKC or NFKD', 'InvalidArgumentValue')
    return normalizeText(run.budget, requireString('normalize', a), form)
  }),
  defineFunction('replace', 3, [STRING, STRING, STRING], 'string', (run, a, b, c) => {
    return replaceAll(run.budget, requireString('replace', a), requireString('replace', b), requireString('replace', c))
  }),
  defineFunction('split', 2, [STRING, ['string', 'list']], staticType('list', staticType('string')), (run, a, b) => {
    const delimiters = splitDelimiters(run.budget, b)
    if (delimiters === null) return null
    return boundedList(run.budget, splitByDelimiters(run.budget, requireString('split', a), delimiters))
  }),
  defineFunction('substring', [2, 3], [STRING, INTEGER, INTEGER], 'string', (run, a, b, c) => {
    const start = requireLength('substring', b)
    return sliceCodePoints(
      run.budget,
      requireString('substring', a),
      start,
      c === null ? Number.POSITIVE_INFINITY : start + requireLength('substring', c),
    )
  }),
  defineFunction('left', 2, [STRING, INTEGER], 'string', (run, a, b) =>
    sliceCodePoints(run.budget, requireString('left', a), 0, requireLength('left', b)),
  ),
  defineFunction('right', 2, [STRING, INTEGER], 'string', (run, a, b) => {
    const text = requireString('right', a)
    return sliceCodePoints(
      run.budget,
      text,
      Math.max(0, codePointCount(run.budget, text) - requireLength('right', b)),
      Number.POSITIVE_INFINITY,
    )
  }),
]

function requireLength(name: string, value: Value): number {
  const count = requireSmallInteger(name, value)
  if (count < 0) throw invalidArgument(`${name}() does not accept a negative number`, 'NegativeIntegerArgument')
  return count
}

function defineTrim(name: string, atStart: boolean, atEnd: boolean): CypherFunction {
  return defineFunction(name, [1, 2], [STRING, STRING], 'string', (run, a, b) => {
    const text = requireString(name, a)
    if (b === null) return trimCharged(run.budget, text, atStart, atEnd)
    return trimCharacters(run.budget, text, charactersOf(run.budget, requireString(name, b)), atStart, atEnd)
  })
}

/** Pieces that are joined in one call. */
const PIECES_PER_JOIN = 1024

/** Throws as soon as the result is too long: a long replacement of a short search text could fill the memory. */
function replaceAll(budget: Budget, text: string, search: string, replacement: string): string {
  const joined: string[] = []
  let pieces: string[] = []
  let length = 0
  const add = (piece: string): void => {
    length += piece.length
    checkTextLength(length)
    if (pieces.push(piece) < PIECES_PER_JOIN) return
    joined.push(pieces.join(''))
    pieces = []
  }
  let isFirst = true
  forEachPiece(budget, text, search, (piece) => {
    // Between two pieces. An empty search text matches around each character.
    if (!isFirst || search === '') add(replacement)
    isFirst = false
    add(piece)
  })
  if (search === '') add(replacement)
  budget.chargeText(length)
  return boundedText(budget, joined.join('') + pieces.join(''))
}

/** Null if the list contains null. */
function splitDelimiters(budget: Budget, value: Value): readonly string[] | null {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value))
    throw wrongKindArgument('split', value, 'a string or a list of strings as its second argument')
  budget.chargeSteps(value.length)
  return value.includes(null) ? null : value.map((item: Value) => requireString('split', item))
}

/** An empty delimiter in a list gives the characters between the other delimiters, as in Neo4j. */
function splitByDelimiters(budget: Budget, text: string, all: readonly string[]): readonly string[] {
  // Also by an empty delimiter, which otherwise gives the characters.
  if (text === '') return ['']
  budget.chargeText(text.length * all.length)
  if (all.includes(text)) return ['', '']
  const pieces = new BoundedListBuilder(budget)
  const delimiters = all.filter((delimiter) => delimiter !== '')
  if (delimiters.length === all.length) {
    forEachPieceOfAny(budget, text, delimiters, (piece) => pieces.push(piece))
  } else {
    let rest = text
    for (const delimiter of delimiters) {
      budget.chargeSteps(1)
      rest = replaceAll(budget, rest, delimiter, '')
    }
    forEachPiece(budget, rest, '', (character) => pieces.push(character))
  }
  return pieces.items as readonly string[]
}
