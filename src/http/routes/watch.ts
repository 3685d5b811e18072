// Streams of server-sent events: decisions that may have changed, and decisions as they are made.
import { z } from 'zod'
import { err, ok } from '../../kernel/result.ts'
import { type DecisionLogReads, decisionStreamQuery, loggedDecision } from '../../pdp/decision-stream-schema.ts'
import { type WatchStreams, watchQuery } from '../../pdp/watch-schema.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

/** Headers of responses with server-sent events. */
const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  // Otherwise a proxy may collect events before it passes them on.
  'x-accel-buffering': 'no',
} as const

const tag: Tag = { name: 'Decisions', description: 'Authorization decisions and searches of AuthZEN.' }
const streamHeaderDescriptions = { 'X-Accel-Buffering': '`no`: proxies must not delay events' }
/** The log shows who asked for what, as the audit log does. */
const logAuth = { kind: 'agent', permission: 'Audit', user: 'ignored' } as const

/** Builds the routes of change streams and of the decision log. */
export function watchRoutes(streams: WatchStreams, decisions: DecisionLogReads): Route[] {
  return [
    ...decisionLogRoutes(decisions),
    {
      method: 'GET',
      path: '/access/v1/watch',
      operationId: 'watchDecisions',
      tag,
      summary: 'Watch which decisions may have changed',
      description:
        'A stream of server-sent events. `hello` begins it; `change` lists the subject types, actions and resource types whose decisions may have changed; `reset` means that any decision may have changed. Each event has a `revision`: a decision that is requested after the event reflects all changes up to it. With `Last-Event-ID` the stream continues where it ended. Conditions that read the time change decisions without an event: `time_dependent` lists them.',
      auth: { kind: 'agent', permission: 'Authorization', user: 'ignored' },
      query: watchQuery,
      requestHeaders: { 'Last-Event-ID': 'the id of the last event that the client has received' },
      request: null,
      mediaType: 'text/event-stream',
      responses: { 200: z.string(), ...errorStatuses(403, 404, 422, 503) },
      responseHeaders: streamHeaderDescriptions,
      async handle(context) {
        const caller = agentOf(context)
        if (context.headOnly) {
          const error = streams.limitError(caller.projectId)
          return error === null ? ok({ status: 200, headers: eventStreamHeaders }) : err(error)
        }
        const stream = await streams.watch({
          caller,
          filter: watchQuery.parse(Object.fromEntries(context.query)),
          lastEventId: context.header('last-event-id'),
          isStillAllowed: () => context.isStillAuthenticated(),
        })
        return stream.ok ? ok({ status: 200, headers: eventStreamHeaders, stream: stream.value }) : stream
      },
    },
  ]
}

function decisionLogRoutes(decisions: DecisionLogReads): Route[] {
  return [
    {
      method: 'GET',
      path: '/access/v1/decisions',
      operationId: 'streamDecisions',
      tag,
      summary: 'Stream the decision log of a project',
      description:
        'A stream of server-sent events. `decision`: a line of the decision log, masked and sampled as the log is. `skipped`: the client reads more slowly than decisions are made, and misses lines of this many bytes. 409 if the decision log is off, or not a regular file.',
      auth: logAuth,
      query: decisionStreamQuery,
      request: null,
      mediaType: 'text/event-stream',
      responses: { 200: z.string(), ...errorStatuses(403, 404, 409, 422, 503) },
      responseHeaders: streamHeaderDescriptions,
      handle(context) {
        if (context.headOnly) {
          const error = decisions.streamError(agentOf(context).projectId)
          return error === null ? ok({ status: 200, headers: eventStreamHeaders }) : err(error)
        }
        const stream = decisions.stream({
          caller: agentOf(context),
          filter: decisionStreamQuery.parse(Object.fromEntries(context.query)),
          isStillAllowed: () => context.isStillAuthenticated(),
        })
        return stream.ok ? ok({ status: 200, headers: eventStreamHeaders, stream: stream.value }) : stream
      },
    },
    {
      method: 'GET',
      path: '/access/v1/decisions/{id}',
      operationId: 'readLoggedDecision',
      tag,
      summary: 'Read the line of an answer in the decision log',
      description:
        'Searches the last 256 MiB of the decision log. 409 if the decision log is off, or not a regular file.',
      auth: logAuth,
      lane: { always: true, limit: 'query' },
      pathParameters: { id: '`context.id` of the answer' },
      request: null,
      responses: { 200: loggedDecision, ...errorStatuses(403, 404, 409, 503) },
      async handle(context) {
        const found = await decisions.find(agentOf(context).projectId, context.pathParameters.id ?? '')
        return found.ok ? ok({ status: 200, text: found.value }) : found
      },
    },
  ]
}
