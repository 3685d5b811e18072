// The error of a call that the service would answer with an error.
import { toErrorResponse } from '../http/error-response.ts'
import type { ServiceError } from '../kernel/errors.ts'

/**
 * A call that the service would answer with an error: a malformed request, a missing parameter, the token of another subject, an
 * exceeded limit.
 *
 * @example
 * try {
 *   authorizer.evaluate(request)
 * } catch (error) {
 *   if (error instanceof AuthorizerError && error.kind === 'invalid') console.error(error.issues)
 *   else throw error
 * }
 */
export class AuthorizerError extends Error {
  override readonly name = 'AuthorizerError'
  /** The kind of the error, such as `invalid` or `forbidden`. */
  readonly kind: string
  /** The HTTP status that the service would answer with. */
  readonly status: number
  /** The entries of `errors` in the body of that answer; may be empty. */
  readonly issues: readonly string[]

  /** Use the methods of an authorizer. */
  constructor(kind: string, status: number, title: string, issues: readonly string[]) {
    super(issues.length === 0 ? title : `${title}: ${issues.join('; ')}`)
    this.kind = kind
    this.status = status
    this.issues = issues
  }
}

/** Makes the error of a call. */
export function authorizerError(error: ServiceError): AuthorizerError {
  const { status, message, errors = [] } = toErrorResponse(error)
  return new AuthorizerError(error.kind, status, message, errors)
}
