// Public RSA keys of any length without the minutes that generating a long key takes. No signature matches them.
import type { JWK } from 'jose'

/** A JWK whose modulus is odd and has `bits` bits, a multiple of 8. */
export function rsaJwkOf(bits: number): JWK {
  return { kty: 'RSA', n: Buffer.alloc(bits / 8, 0xff).toString('base64url'), e: 'AQAB' }
}
