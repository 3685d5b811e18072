// Signs texts with a key derived from the master key for one purpose. Every process of a data folder derives the same
// key, and no key is stored.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** HMAC-SHA-256 with a key derived by HKDF (RFC 5869). */
export class DerivedSigner {
  private readonly key: Uint8Array

  /** `purpose`: keys of different purposes are independent. */
  constructor(masterKey: Uint8Array, purpose: string) {
    this.key = new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(0), `verdigraph ${purpose}`, 32))
  }

  /** Returns the signature in base64url. */
  sign(text: string): string {
    return this.mac(text).toString('base64url')
  }

  /** Whether `signature` is the signature of `text`. Compares in constant time. */
  verify(text: string, signature: string): boolean {
    const actual = Buffer.from(signature, 'base64url')
    const expected = this.mac(text)
    // Base64url can encode the same bytes in several ways; only the canonical one is accepted.
    return (
      actual.length === expected.length &&
      timingSafeEqual(actual, expected) &&
      signature === expected.toString('base64url')
    )
  }

  private mac(text: string): Buffer {
    return createHmac('sha256', this.key).update(text, 'utf8').digest()
  }
}
