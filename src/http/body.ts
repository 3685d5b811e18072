// From the bytes of a body to a JSON value: media type, encoding, size, UTF-8 and syntax are refused here, each in its own words.
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { parseJson } from '../kernel/json.ts'
import { err, type Result } from '../kernel/result.ts'
import { decodeUtf8 } from '../kernel/utf8.ts'

/** Thrown by `FrontRequest.body()`; the dispatcher turns it into an answer. */
export class BodyError extends ThrownServiceError {
  override readonly name = 'BodyRefused'
}

/** Strict: a lone surrogate or a broken sequence is a fault of the sender, not a question mark in the graph. */
/** Parameters that nobody knows are ignored (RFC 2045, 1); one that says what the bytes are is not. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*([^;]*)/i
const UTF_8 = /^("?)utf-8\1[ \t]*$/i

type HeaderSource = { header(name: string): string | null }

/** What the headers say of the body, before it is read. `wrongMediaType`: as of a route. */
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

/** `valuesMax`: as of `parseJson`. Errors: `malformed`. */
export function readJson(
  bytes: Uint8Array,
  numbers: 'exact' | 'plain',
  valuesMax: number,
): Result<unknown, ServiceError> {
  if (bytes.length === 0) return malformed('expected a JSON object, found an empty body')
  const text = decodeUtf8(bytes)
  if (text === null) return malformed('expected UTF-8 text')
  const parsed = parseJson(text, numbers, valuesMax)
  if (!parsed.ok) return malformed(parsed.error.message)
  if (SURROGATE_ESCAPE.test(text) && !isWellFormed(parsed.value)) {
    return malformed('expected well-formed Unicode, found half of a surrogate pair')
  }
  return parsed
}

/** Strict UTF-8 holds no surrogates, so half a pair can only come as an escape. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

/** Stored as UTF-8, all halves would become the same character: two identifiers would become one. */
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
