// Which identifier a request answers to: the caller's own when it is short and can stand in a header, else a fresh one
// (ruling D8). Requests that the runtime refuses before we see them (a request line that is none, another version of
// HTTP, headers beyond its limit: 400, 505, 431) are answered by it without a body and without an identifier.

/** Beyond what anybody tells requests apart by; short enough for a log line. */
const LENGTH_MAX = 256
/** RFC 9110, 5.5: visible characters, blanks between them, and bytes of other alphabets, which go back as they came. */
const FIELD_VALUE = /^[\x20-\x7e\x80-\xff]+$/

const process = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
let counter = 0

export function requestIdOf(given: string | null): string {
  if (given !== null && given.length <= LENGTH_MAX && FIELD_VALUE.test(given)) return given
  counter += 1
  return `${process}-${counter.toString(36)}`
}
