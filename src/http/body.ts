// Parses a request body to a JSON value. Each check (media type, content encoding, UTF-8, syntax) has its own error.
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { parseJson } from '../kernel/json/json.ts'
import { err, type Result } from '../kernel/result.ts'
import { decodeUtf8 } from '../kernel/text/utf8.ts'

/** Thrown by `HttpRequest.body()`; the dispatcher converts it to a response. */
export class BodyError extends ThrownServiceError {
  override readonly name = 'BodyRefused'
}

/** Unknown parameters of the media type are ignored (RFC 2045, section 1), except `charset`. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*([^;]*)/i
const UTF_8 = /^("?)utf-8\1[ \t]*$/i

type HeaderSource = { header(name: string): string | null }

/** Checks media type and encoding before the body is read. Returns the error or null. `wrongMediaType`: see `Route`. */
export function checkBodyHeaders(request: HeaderSource, wrongMediaType: 'malformed' | undefined): ServiceError | null {
  const type = request.header('content-type')
  if (!isJsonType(type)) {
    const message = `content-type: expected application/json, found ${quotedHeader(type)}`
    return wrongMediaType === undefined
      ? { kind: 'unsupported-media-type', message }
      : { kind: wrongMediaType, issues: [message] }
  }
  const encoding = request.header('content-encoding')
  if (encoding === null || encoding.split(',').every((one) => /^(?:identity)?$/i.test(one.trim()))) return null
  return { kind: 'unsupported-encoding', message: `content-encoding: expected none, found ${quotedHeader(encoding)}` }
}

function isJsonType(contentType: string | null): boolean {
  if (contentType === 'application/json') return true
  if (contentType === null || !JSON_TYPE.test(contentType)) return false
  return UTF_8.test(CHARSET.exec(contentType)?.[1] ?? 'utf-8')
}

function quotedHeader(value: string | null): string {
  return value === null || value === '' ? 'nothing' : `\`${value.slice(0, 64)}\``
}

/** Parses JSON. `numbers` and `valuesMax`: see `parseJson`. Errors: `malformed`. */
export function readJson(
  bytes: Uint8Array,
  numbers: 'exact' | 'plain',
  valuesMax: number,
): Result<unknown, ServiceError> {
  if (bytes.length === 0) return malformed('expected a JSON object, found an empty body')
  // Invalid UTF-8 must not become a replacement character in the graph.
  const text = decodeUtf8(bytes)
  if (text === null) return malformed('expected UTF-8 text')
  const parsed = parseJson(text, numbers, valuesMax)
  if (!parsed.ok) return malformed(parsed.error.message)
  if (SURROGATE_ESCAPE.test(text) && !isWellFormed(parsed.value)) {
    return malformed('expected well-formed Unicode, found a lone surrogate')
  }
  return parsed
}

/** Valid UTF-8 contains no surrogates, so a lone one can only come from an escape sequence. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

/** False if a string has a lone surrogate. In UTF-8 all of them become U+FFFD, which would make different ids equal. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member))
  }
  return true
}

function malformed(message: string): Result<never, ServiceError> {
  return err({ kind: 'malformed', issues: [`body: ${message}`] })
}
