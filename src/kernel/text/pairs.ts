// Pairs in the text of an environment variable of OpenTelemetry, in the format of W3C Baggage without properties.

/** The characters of a name: those of an HTTP token (RFC 9110, section 5.6.2). */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** A control character would end a header. */
const CONTROL = /[\0-\x1f\x7f]/

/** Parses `name=value,name=value` with percent-encoded values; null: the text is not valid. */
export function parsePairs(text: string): Record<string, string> | null {
  const pairs: Record<string, string> = {}
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue
    const at = pair.indexOf('=')
    const name = pair.slice(0, Math.max(at, 0)).trim()
    const value = decoded(pair.slice(at + 1).trim())
    if (!NAME.test(name) || value === null || CONTROL.test(value)) return null
    pairs[name] = value
  }
  return pairs
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
