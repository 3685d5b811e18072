// Errors of a database server as errors of the service.
import { ExecutionError } from '../engine/errors.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { type CommitUnknownError, FailedStatementError, RefusedQueryError } from './bolt-server.ts'
import { VanishedElementError } from './write-changes.ts'

/** The error of a write or a fetch for its caller. */
export function writeError(error: unknown): unknown {
  const isLate = error instanceof ExecutionError && error.code === 'budget'
  if (isLate) return new ThrownServiceError({ kind: 'timed-out', message: error.message })
  const isRefused = error instanceof FailedStatementError || error instanceof RefusedQueryError
  if (!isRefused && !(error instanceof VanishedElementError) && !(error instanceof OperationalError)) return error
  const thrown = new ThrownServiceError(
    isRefused
      ? { kind: 'invalid', issues: ['the graph database refused a value'] }
      : { kind: 'unavailable', message: 'the change cannot be stored now', retryAfterS: 2 },
  )
  thrown.message = `a write to the graph database failed: ${error.message}`
  return thrown
}

/** The error for a write whose commit may have happened. */
export function unknownCommit(error: CommitUnknownError): ThrownServiceError {
  const thrown = new ThrownServiceError({
    kind: 'unavailable',
    message: 'the connection to the graph database was lost: the write may have been stored; repeat it',
    retryAfterS: 2,
  })
  thrown.message = `the connection was lost during a commit: ${error.message}`
  return thrown
}
