// Bytes of proofs: base64, SHA-256 of the browser, and ECDSA signatures in the form that the browser verifies.

/** Bytes with memory of their own, as the cryptography of the browser requires. */
export type Bytes = Uint8Array<ArrayBuffer>

/** Decodes base64; null unless the text is the one encoding of its bytes. */
export function bytesOfBase64(text: string): Bytes | null {
  try {
    const binary = atob(text)
    if (btoa(binary) !== text) return null
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

/** Encodes base64. */
export function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** The bytes of a text in UTF-8. */
export function bytesOfText(text: string): Bytes {
  return new TextEncoder().encode(text)
}

/** Eight digits for each four bytes. */
export function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Concatenates. */
export function joined(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Whether the bytes are equal. */
export function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}

/** The hash of the browser's own implementation. */
export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

const P256_BYTES = 32

/** A DER signature (RFC 3279, section 2.2.3) on P-256 as `r` and `s` of 32 bytes each; null if it is malformed. */
export function rawSignature(der: Uint8Array): Bytes | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null
  const r = integerAt(der, 2)
  const s = r === null ? null : integerAt(der, r.end)
  return r === null || s === null || s.end !== der.length ? null : joined(r.bytes, s.bytes)
}

function integerAt(der: Uint8Array, at: number): { readonly bytes: Bytes; readonly end: number } | null {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  if (der[at] !== 0x02 || length === 0 || end > der.length) return null
  const digits = der.subarray(at + 2, end)
  const significant = digits[0] === 0 ? digits.subarray(1) : digits
  if (significant.length > P256_BYTES) return null
  return { bytes: joined(new Uint8Array(P256_BYTES - significant.length), significant), end }
}
