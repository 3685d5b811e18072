// What a token says → its subject and the claims that policies and queries see. Only top-level claims are mapped; nested
// ones stay objects under their own name.

import type { Claims } from '../kernel/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { TokenRule } from './token-rules.ts'

const SUBJECT_LENGTH_MAX = 256

type JsonType = 'string' | 'boolean' | 'number' | 'object'

/** OpenID Connect Core 1.0, section 5.1. */
const standardClaims: ReadonlyMap<string, JsonType> = new Map<string, JsonType>([
  ...[
    'sub',
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'email',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'phone_number',
  ].map((name): [string, JsonType] => [name, 'string']),
  ['email_verified', 'boolean'],
  ['phone_number_verified', 'boolean'],
  ['address', 'object'],
  ['updated_at', 'number'],
])

/** The external id of the subject's node; the error says what is wrong with the claim. */
export function subjectOf(claims: Claims, { subClaim }: TokenRule): Result<string, string> {
  const value = Object.hasOwn(claims, subClaim) ? claims[subClaim] : undefined
  const subject = Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : value
  if (typeof subject !== 'string' || subject === '') return err('the token does not say its subject')
  return subject.length <= SUBJECT_LENGTH_MAX
    ? ok(subject)
    : err(`the subject is longer than ${SUBJECT_LENGTH_MAX} characters`)
}

/** Target names with what the token has for them. A standard claim of another type than the standard's is an error. */
export function mapClaims(claims: Claims, { mapping }: TokenRule): Result<Claims, string> {
  const mapped: [string, unknown][] = []
  for (const [name, selector] of mapping) {
    const value = Object.hasOwn(claims, selector) ? claims[selector] : undefined
    if (value === undefined || value === null) continue
    const expected = standardClaims.get(selector)
    if (expected !== undefined && (typeof value !== expected || Array.isArray(value))) {
      return err('a standard claim is not of its standard type')
    }
    mapped.push([name, value])
  }
  return ok(Object.fromEntries(mapped))
}
