// Delays answers until their events are on disk, for the setting `event_activity_strict`.
import type { RequestHandler } from './dispatch.ts'
import { errorResponse } from './http-response.ts'
import type { HttpRequest, HttpResponse } from './route.ts'
/** The events of answers, for answers that wait for them. */
export interface AnsweredEvents {
  /** Resolves when the events of one request are on disk; null if they are. */
  settledOf(requestId: string): Promise<void> | null
  /** Resolves when the events recorded so far are on disk; null if they are. */
  settled(): Promise<void> | null
  /** Number of events so far. */
  readonly count: number
  /** Number of those whose request is unknown. */
  readonly unattributed: number
}

/**
 * Sends no answer before its events are on disk. If they cannot be written, the answer is 503. An answer without an event does
 * not wait: health checks, metrics and projects without events work while the disk refuses writes. An event whose request is
 * unknown delays every answer during which it was recorded.
 */
export function afterEvents(handle: RequestHandler, events: AnsweredEvents): RequestHandler {
  const settle = (
    request: HttpRequest,
    response: HttpResponse,
    count: number,
    unattributed: number,
  ): HttpResponse | Promise<HttpResponse> => {
    if (events.count === count) return response
    const requestId = response.headers['x-request-id'] ?? ''
    const isKnown = requestId !== '' && events.unattributed === unattributed
    const written = isKnown ? events.settledOf(requestId) : events.settled()
    if (written === null) return response
    request.noteCommit?.()
    return written.then(
      () => response,
      () => {
        void response.stream?.return?.()
        return errorResponse(
          { kind: 'unavailable', message: 'the event of the answer cannot be stored now' },
          requestId,
        )
      },
    )
  }
  return (request) => {
    const { count, unattributed } = events
    const response = handle(request)
    return response instanceof Promise
      ? response.then((answer) => settle(request, answer, count, unattributed))
      : settle(request, response, count, unattributed)
  }
}
