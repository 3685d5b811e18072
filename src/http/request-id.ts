// The request id of a response: the `X-Request-ID` of the caller if it is short and valid, else a new one
// (docs/decisions/0027-http-requests.md). The runtime itself refuses requests with an invalid request line, another version
// of HTTP or too long headers (400, 505, 431), without a body and without a request id.

/** Long enough for any id scheme, short enough for a log line. */
const LENGTH_MAX = 256
/** A field value of RFC 9110, section 5.5: visible ASCII, spaces and obs-text. */
const FIELD_VALUE = /^[\x20-\x7e\x80-\xff]+$/

const process = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
let counter = 0

/** Returns the request id for the header `X-Request-ID` of a request; null: absent. */
export function requestIdOf(header: string | null): string {
  if (header !== null && header.length <= LENGTH_MAX && FIELD_VALUE.test(header)) return header
  counter += 1
  return `${process}-${counter.toString(36)}`
}
