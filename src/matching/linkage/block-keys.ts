// The blocking keys of a value: values that probably belong to the same entity share at least one of them.
import { assertNever } from '../../kernel/assert.ts'
import type { ValueKind } from './types.ts'
import { mix } from './value-dictionary.ts'

/** No key. */
export const NO_KEY = 0

/** The name of a function that makes at most one key of a value. */
type KeyMaker =
  | 'equal'
  | 'phonetic'
  | 'prefix'
  | 'head'
  | 'tail'
  | 'rarest token'
  | 'second rarest token'
  | 'without day'
  | 'without month'
  | 'without year'
  | 'digits'

/**
 * The key makers of a kind. The first is the loosest one that alone is worth a block; it is also combined with those of
 * other properties where its blocks are too large.
 */
export function keyMakers(kind: ValueKind): readonly KeyMaker[] {
  switch (kind) {
    case 'name':
      return ['phonetic', 'equal', 'prefix', 'tail', 'rarest token']
    case 'text':
    case 'address':
    case 'tokens':
      return ['rarest token', 'second rarest token', 'equal', 'prefix', 'tail']
    case 'email':
      return ['equal', 'head', 'tail', 'prefix']
    case 'phone':
      return ['tail', 'head', 'equal']
    case 'date':
      return ['equal', 'without day', 'without month', 'without year', 'digits']
    case 'code':
      return ['equal', 'head', 'tail', 'digits']
    case 'number':
    case 'exact':
      return ['equal']
    default:
      return assertNever(kind)
  }
}

/** Hash of a string. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return mix(hash) || 1
}

/** The key of a value; NO_KEY if it has none. `tokenCount`: in how many values of the property a token occurs. */
export function keyOf(maker: KeyMaker, text: string, tokenCount: (token: string) => number): number {
  switch (maker) {
    case 'equal':
      return hashText(text)
    case 'phonetic':
      return hashOrNone(phonetic(text))
    case 'prefix':
      return hashOrNone(compactText(text).slice(0, 4), 4)
    case 'head': {
      const compacted = compactText(beforeAt(text))
      return hashOrNone(compacted.slice(0, Math.ceil(compacted.length / 2)), 3)
    }
    case 'tail': {
      const compacted = compactText(beforeAt(text))
      return hashOrNone(compacted.slice(-Math.max(4, Math.floor(compacted.length / 2))), 3)
    }
    case 'rarest token':
      return rarestToken(text, 0, tokenCount)
    case 'second rarest token':
      return rarestToken(text, 1, tokenCount)
    case 'without day':
      return text.length === 8 ? hashText(text.slice(0, 6)) : NO_KEY
    case 'without month':
      return text.length === 8 ? hashText(`${text.slice(0, 4)}-${text.slice(6)}`) : NO_KEY
    case 'without year':
      return text.length === 8 ? hashText(text.slice(4)) : NO_KEY
    case 'digits':
      // Exchanged characters do not change the sorted ones.
      return text.length >= 4 ? hashText([...text].sort().join('')) : NO_KEY
    default:
      return assertNever(maker)
  }
}

function hashOrNone(text: string, shortest = 1): number {
  return text.length < shortest ? NO_KEY : hashText(text)
}

const spaces = / /g
function compactText(text: string): string {
  return text.replace(spaces, '')
}

function beforeAt(text: string): string {
  const at = text.indexOf('@')
  return at < 0 ? text : text.slice(0, at)
}

/** The tokens of a value that block: a single letter or digit does not. */
export function blockingTokens(text: string): string[] {
  return [...new Set(text.split(' '))].filter((token) => token.length > 1)
}

function rarestToken(text: string, rank: number, tokenCount: (token: string) => number): number {
  const tokens = blockingTokens(text).map((token) => ({ token, count: tokenCount(token) }))
  tokens.sort((a, b) => a.count - b.count || (a.token < b.token ? -1 : 1))
  const token = tokens[rank]?.token
  return token === undefined ? NO_KEY : hashText(token)
}

const soundGroups: ReadonlyMap<string, string> = new Map(
  ['bfpvw', 'cgjkqsxz', 'dt', 'l', 'mn', 'r'].flatMap((group, at) =>
    [...group].map((letter): [string, string] => [letter, String(at + 1)]),
  ),
)

/** Soundex (Russell 1918) of the longest word, with the first letter replaced by its group, so that Carl and Karl agree. */
function phonetic(text: string): string {
  let word = ''
  for (const candidate of text.split(' ')) if (candidate.length > word.length) word = candidate
  let code = ''
  let last = ''
  for (const letter of word) {
    if (letter === 'h') continue
    const group = soundGroups.get(letter) ?? ''
    if (code === '' || (group !== '' && group !== last)) code += group === '' ? letter : group
    last = group
    if (code.length === 4) break
  }
  return code
}
