// The errors of requests that run in lanes.
import type { LaneJob } from '../http/lane-job.ts'
import type { ServiceError } from '../kernel/errors.ts'

/** The pool is closing. */
export const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
/** The client disconnected while the request waited. */
export const clientGone: ServiceError = { kind: 'unavailable', message: 'the client has closed the connection' }
/** The queue of the project is full. */
export const queueFull: ServiceError = {
  kind: 'unavailable',
  message: 'too many large requests of this project are waiting',
  retryAfterS: 1,
}
/** No lane became free within the limit of the wait. */
export const waitTimedOut: ServiceError = {
  kind: 'unavailable',
  message: 'the request waited too long for other large requests',
  retryAfterS: 5,
}

/** No lane started within the limit of the wait, for example on an overloaded machine. */
export const startTimedOut: ServiceError = {
  kind: 'unavailable',
  message: 'the process for large requests and changes has not started in time; retry',
  retryAfterS: 1,
}

/** The lane of a request exited, and the request is not repeated. */
export function laneExited(job: LaneJob): ServiceError {
  const outcome = mayHaveWritten(job) ? 'it is unknown whether the change was stored' : 'nothing was changed'
  return { kind: 'unavailable', message: `the process running this request exited; ${outcome}`, retryAfterS: 1 }
}

/** The request exceeded its time limit. */
export function timeLimitError(job: LaneJob): ServiceError {
  const message = `the time limit of ${job.limitMs} ms is reached`
  if (!mayHaveWritten(job)) return { kind: 'timed-out', message }
  return { kind: 'timed-out', message: `${message}; it is unknown whether the change was stored` }
}

/** True if the request may have been stored. An upsert is repeatable, and may have been stored too. */
function mayHaveWritten({ isRepeatable, isSharedWrite }: LaneJob): boolean {
  return isSharedWrite || !isRepeatable
}
