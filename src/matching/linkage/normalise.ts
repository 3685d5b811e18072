// The normal forms of values by kind. Two values that differ only in case, accents, punctuation or notation have the same.
import { assertNever } from '../../kernel/assert.ts'
import type { LinkageScalar, LinkageValue, ValueKind } from './types.ts'

/** Longer values are cut: a property is compared by its beginning. */
export const MAX_VALUE_LENGTH = 256

const marks = /\p{M}+/gu
const notAlphanumeric = /[^\p{L}\p{N}]+/gu
const ascii = /^[\x20-\x7e]*$/
/** Letters that do not decompose into a base letter and a mark. */
const foldedLetters: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ł', 'l'],
  ['ı', 'i'],
  ['ħ', 'h'],
])
const foldable = new RegExp(`[${[...foldedLetters.keys()].join('')}]`, 'g')

/** The normal form of a value; null if nothing remains to compare. */
export function normalise(kind: ValueKind, value: LinkageValue): string | null {
  const text = textOf(kind, value)
  const normal = normaliseText(kind, text.length > MAX_VALUE_LENGTH ? text.slice(0, MAX_VALUE_LENGTH) : text)
  if (normal.length <= MAX_VALUE_LENGTH) return normal === '' ? null : normal
  // Folding may lengthen a text: one character becomes up to 18.
  return normal.slice(0, MAX_VALUE_LENGTH).trim()
}

function textOf(kind: ValueKind, value: LinkageValue): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return String(value)
  const items = value as readonly LinkageScalar[]
  // One address, number or name of several: the first in order, so that the order of the list does not matter.
  if (items.length === 1) return String(items[0])
  const texts = items
    .slice(0, MAX_VALUE_LENGTH)
    .map((item) => String(item).slice(0, MAX_VALUE_LENGTH))
    .sort()
  return kind === 'tokens' || kind === 'text' ? texts.join(' ') : (texts[0] ?? '')
}

function normaliseText(kind: ValueKind, text: string): string {
  switch (kind) {
    case 'name':
    case 'text':
    case 'address':
      return words(text)
    case 'tokens':
      return [...new Set(words(text).split(' '))].sort().join(' ')
    case 'email':
      return normaliseEmail(text)
    case 'phone':
      return normalisePhone(text)
    case 'date':
      return normaliseDate(text) ?? words(text)
    case 'number':
      return normaliseNumber(text)
    case 'code':
      return words(text).replaceAll(' ', '')
    case 'exact':
      return text.trim()
    default:
      return assertNever(kind)
  }
}

/** Lower case without accents. */
export function fold(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  // Decomposed first: the mathematical capital letters become letters, which have a lower case.
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(marks, '')
    .replace(foldable, (letter) => foldedLetters.get(letter) ?? letter)
}

function words(text: string): string {
  return fold(text).replaceAll("'", '').replaceAll('’', '').replace(notAlphanumeric, ' ').trim()
}

function normaliseEmail(text: string): string {
  const lower = fold(text)
    .replace(/\s+/g, '')
    .replace(/^mailto:/, '')
  const at = lower.lastIndexOf('@')
  if (at < 0) return lower
  const local = lower.slice(0, at)
  const plus = local.indexOf('+')
  return `${plus > 0 ? local.slice(0, plus) : local}${lower.slice(at)}`
}

/** Digits only, without international prefix notation. Countries are compared by the last digits (see similarity). */
function normalisePhone(text: string): string {
  // (0) in +44 (0)20 is the trunk prefix, dialled only within the country.
  const digits = text.replace(/\(0\)/g, '').replace(/\D+/g, '')
  return digits.replace(/^0+/, '')
}

function normaliseNumber(text: string): string {
  const value = Number(text.trim().replace(/(?<=\d)[ '_](?=\d)/g, ''))
  return text.trim() === '' ? '' : Number.isFinite(value) ? String(value) : words(text)
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** A date as YYYYMMDD, from the notations in use; null if the text is not a date. */
export function normaliseDate(text: string): string | null {
  const trimmed = text.trim()
  const iso = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$/.exec(trimmed)
  if (iso !== null) return dateOf(iso[1]!, iso[2]!, iso[3]!)
  const compact = /^(\d{4})(\d{2})(\d{2})$/.exec(trimmed)
  if (compact !== null) return dateOf(compact[1]!, compact[2]!, compact[3]!)
  const numeric = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/.exec(trimmed)
  if (numeric !== null) {
    // Day first, as most of the world writes; month first if only that is a date.
    return dateOf(numeric[3]!, numeric[2]!, numeric[1]!) ?? dateOf(numeric[3]!, numeric[1]!, numeric[2]!)
  }
  const named =
    /^(\d{1,2})(?:st|nd|rd|th)?[ .-]+([a-z]{3,9})\.?,?[ -]+(\d{4})$/i.exec(trimmed) ??
    /^([a-z]{3,9})\.? +(\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})$/i.exec(trimmed)
  if (named === null) return null
  const dayFirst = /^\d/.test(named[1]!)
  const month = monthNames.indexOf((dayFirst ? named[2]! : named[1]!).slice(0, 3).toLowerCase()) + 1
  return dateOf(named[3]!, String(month), dayFirst ? named[1]! : named[2]!)
}

function dateOf(year: string, month: string, day: string): string | null {
  const y = Number(year)
  const m = Number(month)
  const d = Number(day)
  if (y < 1000 || m < 1 || m > 12 || d < 1 || d > new Date(Date.UTC(y, m, 0)).getUTCDate()) return null
  return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`
}
