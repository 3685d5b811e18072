// The port of change streams: what a client asks for, and the events that it receives. streams/watch-hub.ts implements it.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { Result } from '../kernel/result.ts'

/** Query parameters of a change stream. */
export const watchQuery = z.strictObject({
  subject_type: z.string().min(1).optional().describe('only changes of decisions about subjects of this type'),
  action: z.string().min(1).optional().describe('only changes of decisions about this action'),
  resource_type: z.string().min(1).optional().describe('only changes of decisions about resources of this type'),
})

/** Decisions that may have changed, or that depend on more than the graph: those with these types and this action. */
export interface WatchedDecisions {
  readonly subject_type: string
  readonly action: string
  readonly resource_type: string
}

/** A request for a change stream. */
export interface WatchRequest {
  readonly caller: AgentCaller
  readonly filter: z.infer<typeof watchQuery>
  /** The id of the last event that the client has received; null: none. */
  readonly lastEventId: string | null
  /** Whether the credentials are still accepted. */
  isStillAllowed(): Promise<boolean>
}

/** Opens change streams. */
export interface WatchStreams {
  /** Opens a stream of server-sent events. Errors: `unavailable` if a limit is reached or the service is stopping. */
  watch(request: WatchRequest): Promise<Result<AsyncIterator<string, void>, ServiceError>>
  /** The error of `watch` for a limit, or null. Opens nothing. */
  limitError(projectId: string): ServiceError | null
}
