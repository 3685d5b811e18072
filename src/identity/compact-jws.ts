// Checks the serialization of signed tokens.

/** RFC 7515, section 2: base64url segments without padding, line breaks or other characters. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Whether `token` is a JWS in compact serialization. Base64 decoders accept more than the standard. */
export function isCompactJws(token: string): boolean {
  return COMPACT.test(token)
}
