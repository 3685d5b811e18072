// Detects how the values of a property are compared, from its name and samples of its values.
import { fold, normaliseDate } from './normalise.ts'
import type { LinkageScalar, LinkageValue, ValueKind } from './types.ts'

/** Share of the samples that must have the form of a kind; the rest may be errors. */
const MAJORITY = 0.8
/** Values up to this mean length and number of words are names. */
const NAME_LENGTH = 40
const NAME_WORDS = 4

const email = /^[^\s@]+@[^\s@]+\.[^\s@]+$/
const phone = /^\+?[\d\s()./-]{7,22}$/
const phoneNotation = /^(?:\+|00)|[\s()./-]/
const decimal = /^[+-]?\d+(?:\.\d+)?$/
const withDigits = /\d/
const withLetters = /\p{L}/u

/** The words of a property name: `dateOfBirth`, `date_of_birth` and `Date of Birth` have the same. */
export function nameWords(property: string): string[] {
  return fold(property.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2'))
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** The kind of a property. `names`: its names; `values`: samples. */
export function detectKind(names: readonly string[], values: readonly LinkageValue[]): ValueKind {
  const words = new Set(names.flatMap(nameWords))
  const has = (...candidates: string[]) => candidates.some((word) => words.has(word))
  if (values.length > 0 && share(values, (value) => Array.isArray(value) && value.length > 1) > 0.2) return 'tokens'
  const scalars = values.map((value) =>
    Array.isArray(value) ? (value as LinkageScalar[])[0] : (value as LinkageScalar),
  )
  if (share(scalars, (value) => typeof value === 'boolean') >= MAJORITY) return 'exact'
  const texts = scalars
    .filter((value) => value !== undefined)
    .map(String)
    .filter((text) => text.trim() !== '')
  if (texts.length === 0) return 'text'
  if (share(texts, (text) => email.test(text.trim())) >= MAJORITY) return 'email'
  if (share(texts, (text) => normaliseDate(text) !== null) >= MAJORITY) return 'date'
  const isPhone = share(texts, (text) => phone.test(text.trim())) >= MAJORITY
  if (isPhone && has('phone', 'tel', 'telephone', 'mobile', 'fax', 'cell', 'handy')) return 'phone'
  if (share(texts, (text) => decimal.test(text.trim())) >= MAJORITY) return isCode(scalars, texts) ? 'code' : 'number'
  if (isPhone && share(texts, (text) => phoneNotation.test(text.trim())) >= 0.5) return 'phone'
  return textKind(texts, has('address', 'street', 'addr', 'strasse', 'road'))
}

/** Digits are a code, such as a postcode, unless they are numbers with fractions, signs or many lengths. */
function isCode(scalars: readonly (LinkageScalar | undefined)[], texts: readonly string[]): boolean {
  if (share(scalars, (value) => typeof value === 'string') >= MAJORITY) {
    return share(texts, (text) => /^\d+$/.test(text.trim())) >= MAJORITY
  }
  return (
    share(texts, (text) => /^\d{5,}$/.test(text)) >= MAJORITY && new Set(texts.map(({ length }) => length)).size === 1
  )
}

function textKind(texts: readonly string[], isAddress: boolean): ValueKind {
  const length = mean(texts, (text) => text.length)
  const wordCount = mean(texts, (text) => text.trim().split(/\s+/).length)
  const letters = share(texts, (text) => withLetters.test(text) && !withDigits.test(text))
  if (isAddress) return 'address'
  if (wordCount > NAME_WORDS || length > NAME_LENGTH) return letters < 0.5 && wordCount < 12 ? 'address' : 'text'
  if (letters < 0.5) return wordCount >= 2 ? 'address' : 'code'
  // A few short values, such as states, are categories.
  const distinct = new Set(texts.map(fold)).size
  if (texts.length >= 50 && distinct <= 20 && length <= 4) return 'code'
  return 'name'
}

function share<T>(values: readonly T[], predicate: (value: T) => boolean): number {
  let count = 0
  for (const value of values) if (predicate(value)) count += 1
  return values.length === 0 ? 0 : count / values.length
}

function mean<T>(values: readonly T[], measure: (value: T) => number): number {
  let sum = 0
  for (const value of values) sum += measure(value)
  return sum / Math.max(1, values.length)
}
