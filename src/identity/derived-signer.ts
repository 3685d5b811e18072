// Signs texts with a key that is derived from the master key for one purpose: every process of a data folder derives the
// same one, and nothing has to be stored.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

export class DerivedSigner {
  private readonly key: Uint8Array

  /** `purpose`: keys of different purposes have nothing to do with each other. */
  constructor(masterKey: Uint8Array, purpose: string) {
    this.key = new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(0), `verdigraph ${purpose}`, 32))
  }

  sign(text: string): string {
    return this.mac(text).toString('base64url')
  }

  verify(text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url')
    const right = this.mac(text)
    // The same bytes can be written in several ways; only one is ours.
    return given.length === right.length && timingSafeEqual(given, right) && signature === right.toString('base64url')
  }

  private mac(text: string): Buffer {
    return createHmac('sha256', this.key).update(text, 'utf8').digest()
  }
}
