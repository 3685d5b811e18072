// Extracts from a token its subject and the claims that policies and queries see. Only top-level claims are mapped;
// nested claims stay objects under their own name.

import type { Claims } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { TokenRule } from './token-rules.ts'

const SUBJECT_LENGTH_MAX = 256

type JsonType = 'string' | 'boolean' | 'number' | 'object'

/** The standard claims and their JSON types (OpenID Connect Core 1.0, section 5.1). */
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

/** Returns the subject: the external id of its node. The error describes what is wrong with the claim. */
export function subjectOf(claims: Claims, { subClaim }: TokenRule): Result<string, string> {
  const value = Object.hasOwn(claims, subClaim) ? claims[subClaim] : undefined
  const subject = Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : value
  if (typeof subject !== 'string' || subject === '') return err('the subject claim is missing or not a string')
  return subject.length <= SUBJECT_LENGTH_MAX
    ? ok(subject)
    : err(`the subject is longer than ${SUBJECT_LENGTH_MAX} characters`)
}

/**
 * Returns the mapped claims by target name; claims that the token does not have are left out. Error: a standard claim
 * that is not of its standard type.
 */
export function mapClaims(claims: Claims, { mapping }: TokenRule): Result<Claims, string> {
  const mapped: [string, unknown][] = []
  for (const [name, selector] of mapping) {
    const value = Object.hasOwn(claims, selector) ? claims[selector] : undefined
    if (value === undefined || value === null) continue
    const expected = standardClaims.get(selector)
    if (expected !== undefined && (typeof value !== expected || Array.isArray(value))) {
      return err('a standard claim has the wrong type')
    }
    mapped.push([name, value])
  }
  return ok(Object.fromEntries(mapped))
}
