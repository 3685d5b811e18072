// The one form in which a signed token may be written.

/** RFC 7515, section 2: segments in base64url, without padding, line breaks or other characters. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Whether each segment of `token` is written as the standard says. Decoders take more than that. */
export function isCompactJws(token: string): boolean {
  return COMPACT.test(token)
}
