// Strict decoding of UTF-8.

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Decodes `bytes`; returns null if they are not valid UTF-8. A leading byte order mark is removed. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
