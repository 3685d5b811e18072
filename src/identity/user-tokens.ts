// User tokens → who is meant, or why nobody is: 401, and in which words (facts 1.6.5, 1.11).
import type { ServiceError } from '../kernel/errors.ts'

/** `why` goes into the challenge: it names a rule, and repeats nothing of the token. */
export function invalidUserToken(why: string): ServiceError {
  return { kind: 'unauthenticated', message: 'Invalid token in Authorization header', invalidToken: why }
}
