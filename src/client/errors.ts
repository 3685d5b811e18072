// Errors of the HTTP client. One class for each thing that a caller can do about an error.

/** Members of every error of the client. */
export interface ClientErrorDetails {
  /** HTTP status; null: there was no answer. */
  readonly status: number | null
  /** One sentence for each fault that the service found; empty: the message is all. */
  readonly errors: readonly string[]
  /** The header `X-Request-ID`, by which the operator finds the request in the log; null: there was no answer. */
  readonly requestId: string | null
  /** Of the header `Retry-After`; null: not given. */
  readonly retryAfterMs: number | null
}

/** A request that was not answered with a result. A decision is then unknown: treat it as a denial. */
export class ClientError extends Error implements ClientErrorDetails {
  override readonly name: string = 'ClientError'
  readonly status: number | null
  readonly errors: readonly string[]
  readonly requestId: string | null
  readonly retryAfterMs: number | null

  constructor(message: string, details: ClientErrorDetails, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = details.status
    this.errors = details.errors
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
  }
}

/** Statuses 400, 404, 409, 413, 415 and 422: the request is wrong. The same request fails again. */
export class InvalidRequestError extends ClientError {
  override readonly name = 'InvalidRequestError'
}

/** Statuses 401 and 403: the key or the token is missing, wrong, or lacks a permission. */
export class NotAuthorizedError extends ClientError {
  override readonly name = 'NotAuthorizedError'
  /** The header `WWW-Authenticate`: what a user token lacks (RFC 6750, RFC 9470); null: not given. */
  readonly challenge: string | null

  constructor(message: string, details: ClientErrorDetails, challenge: string | null) {
    super(message, details)
    this.challenge = challenge
  }
}

/** Status 429: more requests than the limit of the agent. */
export class TooManyRequestsError extends ClientError {
  override readonly name = 'TooManyRequestsError'
}

/** No answer, or a status from 500: a later request may succeed. Of a write, it is unknown whether it was stored. */
export class UnavailableError extends ClientError {
  override readonly name = 'UnavailableError'
}

/** The error of an answer with status 200 that is not one of the service. */
export function unexpectedAnswer(message: string, requestId: string | null = null, cause?: unknown): ClientError {
  return new ClientError(message, { status: 200, errors: [], requestId, retryAfterMs: null }, cause)
}

/** The error of an answer. */
export function errorOf(response: Response, text: string): ClientError {
  const { status, headers } = response
  const { message, errors } = problemOf(text)
  const details = {
    status,
    errors,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), Date.now()),
  }
  const summary = `${status} ${message ?? response.statusText}${errors.length === 0 ? '' : `: ${errors.join('; ')}`}`
  if (status === 401 || status === 403) return new NotAuthorizedError(summary, details, headers.get('www-authenticate'))
  if (status === 429) return new TooManyRequestsError(summary, details)
  if (status >= 500 || status === 408) return new UnavailableError(summary, details)
  if (status >= 400) return new InvalidRequestError(summary, details)
  return new ClientError(`expected a result, found status ${status}`, details)
}

function problemOf(text: string): { readonly message: string | null; readonly errors: readonly string[] } {
  try {
    const { message, errors } = JSON.parse(text) as { readonly message?: unknown; readonly errors?: unknown }
    return {
      message: typeof message === 'string' ? message : null,
      errors: Array.isArray(errors) ? errors.filter((each) => typeof each === 'string') : [],
    }
  } catch {
    // Not from the service: for example of a proxy.
    return { message: null, errors: [] }
  }
}

/** The value of `Retry-After` in milliseconds from `nowMs`: seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(value: string | null, nowMs: number): number | null {
  if (value === null || value.trim() === '') return null
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}
