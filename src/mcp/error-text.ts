// The text of a tool result with `isError`: an error as a sentence that a model can act on.
import { assertNever } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'

/** Returns the text for an error. */
export function errorText(error: ServiceError): string {
  switch (error.kind) {
    case 'malformed':
    case 'invalid':
      return error.issues.join('; ')
    case 'unknown-location':
      return `unknown location ${error.location} for parameter $${error.parameter}`
    case 'unauthenticated':
    case 'forbidden':
    case 'not-found':
    case 'conflict':
    case 'unsupported-media-type':
    case 'unsupported-encoding':
    case 'too-slow':
    case 'budget':
    case 'timed-out':
    case 'insufficient-storage':
      return error.message
    case 'step-up':
      return stepUpText(error.advice)
    case 'unavailable':
      return `${error.message}; try again later`
    case 'too-many':
      return `too many requests: at most ${error.perSecond} per second, try again in ${error.retryAfterS} s`
    case 'too-many-bytes':
      return `${error.message}, try again in ${error.retryAfterS} s`
    case 'too-large':
      return `expected at most ${error.limitBytes} bytes`
    case 'stale-etag':
      return 'the resource has changed since it was read'
    case 'method-not-allowed':
      return `expected one of the methods ${error.allow.join(', ')}`
    default:
      return assertNever(error)
  }
}

function stepUpText(advice: readonly Readonly<Record<string, string>>[]): string {
  const texts = advice.map((one) => [one.error, one.error_description].filter(Boolean).join(': ')).filter(Boolean)
  const what = texts.length === 0 ? 'the token does not meet the requirements of the policy' : texts.join('; ')
  return `${what} (the user must sign in again to get a token that meets them)`
}
