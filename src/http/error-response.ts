// The one table from a ServiceError to an HTTP status and body; no other file knows a status of a failure.
// Bodies are `{message}` or `{message, errors}` (facts 1.1), never problem+json.
import { assertNever } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'

export interface ErrorResponse {
  readonly status: number
  readonly message: string
  readonly errors?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export function toErrorResponse(error: ServiceError): ErrorResponse {
  switch (error.kind) {
    case 'malformed':
      return { status: 400, message: 'Bad Request', errors: error.issues }
    case 'invalid':
      return { status: 422, message: 'Unprocessable Entity', errors: error.issues }
    case 'unknown-location':
      return {
        status: 422,
        message: 'Unprocessable Entity',
        errors: [`unknown location ${error.location} for parameter $${error.parameter}`],
      }
    case 'unauthenticated':
      return { status: 401, message: error.message, headers: { 'www-authenticate': challenge(error) } }
    case 'forbidden':
      return { status: 403, message: error.message }
    case 'step-up':
      return stepUpResponse(error.advice, error.resourceMetadata)
    case 'not-found':
      return { status: 404, message: error.message }
    case 'method-not-allowed':
      return { status: 405, message: 'Method Not Allowed', headers: { allow: error.allow.join(', ') } }
    case 'conflict':
      return { status: 409, message: error.message }
    case 'stale-etag':
      return { status: 412, message: 'Precondition Failed' }
    case 'too-large':
      return {
        status: 413,
        message: 'Content Too Large',
        errors: [`body: expected at most ${error.limitBytes} bytes`],
      }
    case 'too-slow':
      // What still comes of the body must not be read as the next request.
      return { status: 408, message: 'Request Timeout', errors: [error.message], headers: { connection: 'close' } }
    case 'timed-out':
      return { status: 408, message: 'Request Timeout', errors: [error.message] }
    case 'unsupported-media-type':
      return { status: 415, message: 'Unsupported Media Type', errors: [error.message] }
    case 'unsupported-encoding':
      return {
        status: 415,
        message: 'Unsupported Media Type',
        errors: [error.message],
        headers: { 'accept-encoding': 'identity' },
      }
    case 'too-many':
      return {
        status: 429,
        message: 'Too Many Requests',
        errors: [`expected at most ${error.perSecond} requests in a second from one agent`],
        headers: {
          'retry-after': String(error.retryAfterS),
          ratelimit: `"agent";r=0;t=${error.wholeInS}`,
          'ratelimit-policy': `"agent";q=${error.perSecond};w=1`,
        },
      }
    case 'too-many-bytes':
      return {
        status: 429,
        message: 'Too Many Requests',
        errors: [error.message],
        headers: { 'retry-after': String(error.retryAfterS) },
      }
    case 'budget':
      // The same request would reach the same limit again, so this is not a 503, which clients repeat by themselves.
      return { status: 422, message: 'Unprocessable Entity', errors: [error.message] }
    case 'insufficient-storage':
      return { status: 507, message: error.message }
    case 'unavailable':
      return {
        status: 503,
        message: error.message,
        ...(error.retryAfterS === undefined ? {} : { headers: { 'retry-after': String(error.retryAfterS) } }),
      }
    default:
      return assertNever(error)
  }
}

/** RFC 6750, section 3: without a token there is no error code. */
function challenge({ invalidToken, challenge }: Extract<ServiceError, { kind: 'unauthenticated' }>): string {
  const members = [
    ...(invalidToken === undefined ? [] : ['error="invalid_token"', `error_description="${invalidToken}"`]),
    ...(challenge === undefined
      ? []
      : [
          `resource_metadata="${quotedStringValue(challenge.resourceMetadata)}"`,
          `scope="${quotedStringValue(challenge.scope)}"`,
        ]),
  ]
  return members.length === 0 ? 'Bearer' : `Bearer ${members.join(', ')}`
}

/** A broken promise inside our own code: the caller learns nothing, the log line everything. */
export const internalErrorResponse: ErrorResponse = { status: 500, message: 'Internal Server Error' }

export function errorBodyText(problem: ErrorResponse): string {
  return problem.errors === undefined
    ? JSON.stringify({ message: problem.message })
    : JSON.stringify({ message: problem.message, errors: problem.errors })
}

/** RFC 9470: the challenge carries the advice of the filter that failed, and so does the body. */
function stepUpResponse(
  advice: readonly Readonly<Record<string, string>>[],
  resourceMetadata: string | undefined,
): ErrorResponse {
  const [first = {}] = advice
  const error = first.error ?? 'insufficient_user_authentication'
  const description = first.error_description ?? 'the token does not meet what the policy asks for'
  return {
    status: 403,
    message: 'Forbidden',
    errors:
      advice.length === 0 ? [description] : advice.map((one) => one.error_description ?? one.error ?? description),
    headers: {
      'www-authenticate': [
        `Bearer error="${quotedStringValue(error)}", error_description="${quotedStringValue(description)}"`,
        ...(resourceMetadata === undefined ? [] : [`resource_metadata="${quotedStringValue(resourceMetadata)}"`]),
        ...(resourceMetadata === undefined || first.scope === undefined
          ? []
          : [`scope="${quotedStringValue(first.scope)}"`]),
      ].join(', '),
    },
  }
}

/** What may stand within the quotes of a header (RFC 6750, 3). */
function quotedStringValue(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' ').slice(0, 512)
}
