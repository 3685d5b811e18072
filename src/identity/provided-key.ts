// The members of a credential with which a client brings its own public key.
import { z } from 'zod'
import { field } from '../config/define-kind.ts'
import { jsonObject } from '../config/json-schema.ts'
import type { DocumentFields } from '../config/kind.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type PublicKey, readPublicKey } from './signing-key.ts'

const PUBLIC_KEY_LENGTH_MAX = 10_240

/** The fields of a create body. The key is stored in other fields. */
export const providedKeyFields = {
  public_key_jwk: field(
    z
      .union([z.string().min(1).max(PUBLIC_KEY_LENGTH_MAX), jsonObject], {
        error: 'expected a JWK as an object or a string',
      })
      .meta({ id: 'PublicJwk' }),
  )
    .describe('a public key of the client as a JWK; the client then signs its own tokens')
    .read(null),
  public_key_pem: field(z.string().min(1).max(PUBLIC_KEY_LENGTH_MAX))
    .describe('the same in PEM, instead of `public_key_jwk`')
    .read(null),
}

/**
 * Reads the key of a create body; null if it has none. `takenBy`: whether another credential has the key with this id; the
 * key of a token must identify its owner. Errors: `invalid`, `conflict`.
 */
export function readProvidedKey(
  { public_key_jwk, public_key_pem }: DocumentFields,
  isTaken: (kid: string) => boolean,
): Result<PublicKey | null, ServiceError> {
  if (public_key_jwk !== undefined && public_key_pem !== undefined) {
    return err({ kind: 'invalid', issues: ['public_key_pem: cannot be combined with `public_key_jwk`'] })
  }
  const member = public_key_jwk === undefined ? 'public_key_pem' : 'public_key_jwk'
  const provided = (public_key_jwk ?? public_key_pem) as string | Record<string, unknown> | undefined
  if (provided === undefined) return ok(null)
  const key = readPublicKey(provided)
  if (!key.ok) return err({ kind: 'invalid', issues: [`${member}: ${key.error}`] })
  const { kid } = key.value
  return isTaken(kid) ? err({ kind: 'conflict', message: `another credential has the key \`${kid}\`` }) : key
}
