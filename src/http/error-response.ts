// Maps each ServiceError to an HTTP status, headers and body. No other file knows the status of an error.
// Bodies are `{message}` or `{message, errors}`, not `application/problem+json` (docs/decisions/0027-http-requests.md).
import { assertNever } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'

/** Status, body members and headers of an error response. */
export interface ErrorResponse {
  readonly status: number
  readonly message: string
  readonly errors?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns the response to an error. */
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
      // The rest of the body must not be read as the next request.
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
        errors: [`expected at most ${error.perSecond} requests per second from one agent`],
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
      // Not 503, which clients retry: the same request would exceed the same limit again.
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

/** RFC 6750, section 3: a challenge has no error code if the request had no token. */
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

/** The response to an unexpected error. It contains no detail; the log does. */
export const internalErrorResponse: ErrorResponse = { status: 500, message: 'Internal Server Error' }

/** Serializes the body of an error response. */
export function errorBodyText(problem: ErrorResponse): string {
  return problem.errors === undefined
    ? JSON.stringify({ message: problem.message })
    : JSON.stringify({ message: problem.message, errors: problem.errors })
}

/** RFC 9470: challenge and body contain the advice of the filter that failed. */
function stepUpResponse(
  advice: readonly Readonly<Record<string, string>>[],
  resourceMetadata: string | undefined,
): ErrorResponse {
  const [first = {}] = advice
  const error = first.error ?? 'insufficient_user_authentication'
  const description = first.error_description ?? 'the token does not meet the requirements of the policy'
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

/** Replaces characters that are not allowed in a quoted string of a challenge (RFC 6750, section 3). */
function quotedStringValue(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' ').slice(0, 512)
}
