// The routes of event sinks in addition to those of every kind: test of routes, dead letters, and following events.
import {
  deadLetterDeletion,
  deadLetterDetail,
  deadLetterPage,
  deadLetterQuery,
  deadLettersDeleted,
  draftTestRequest,
  type EventSinkOperations,
  followAnswer,
  followRequest,
  resendAnswer,
  resendRequest,
  routingTestAnswer,
  routingTestRequest,
} from '../../events/sink-operations.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'
import { serviceAccountOf } from './callers.ts'
import { deletedDocument } from './config.ts'

const tag: Tag = { name: 'Event delivery', description: 'Tests of routes, dead letters, and events as they happen.' }
const sinkPath = '/configs/v1/event-sinks/{id}'
const lettersPath = `${sinkPath}/dead-letters`
const sinkId = { id: 'the identifier of the event sink' }
const letterId = { ...sinkId, dead_letter: 'the identifier of the dead letter' }
const bodyStatuses = errorStatuses(400, 403, 404, 413, 415, 422, 503)

const testedCar = {
  type: 'svc.audit.capture.upsert.node',
  context: { captureLabel: 'Car', manufacturer: 'Example Motors' },
}

/** Builds the routes. */
export function eventSinkRoutes(sinks: EventSinkOperations): Route[] {
  return [...testRoutes(sinks), ...deadLetterRoutes(sinks), followRoute(sinks)]
}

function testRoutes(sinks: EventSinkOperations): Route[] {
  const shared = {
    method: 'POST',
    tag,
    auth: { kind: 'service-account' },
    audit: 'unsent',
    // A test that sends takes as long as its providers need.
    lane: { always: true, limit: 'write', writes: 'once', waits: true },
    // The handler validates the body, and answers 422 as other configuration requests do.
    parse: ok,
    responses: { 200: routingTestAnswer, ...bodyStatuses },
  } as const
  return [
    {
      ...shared,
      path: `${sinkPath}/test`,
      operationId: 'testEventSink',
      summary: 'Test which routes an event takes, and the providers',
      description:
        'The answer has one entry for each route, with the reason why it sends the event or not. With `send`, a test event of type `svc.events.test` is sent to the providers that receive the event, and the answer has its outcome. Sending requires the role `all_editor`.',
      pathParameters: sinkId,
      request: routingTestRequest,
      example: { event: testedCar, send: false },
      handle: async (context, body) =>
        answer(200, await sinks.test(serviceAccountOf(context), idOf(context), body, context)),
    },
    {
      ...shared,
      path: '/configs/v1/event-sinks/test',
      operationId: 'testEventSinkDraft',
      summary: 'Test the routes and providers of an event sink before it is stored',
      description: 'As the test of a stored event sink. Nothing is stored.',
      request: draftTestRequest,
      example: {
        event: testedCar,
        sink: {
          project_id: 'gid:project',
          providers: {
            main: { queue_service: { queueOrTopicName: 'events', connectionString: 'amqps://user:password@host' } },
          },
          routes: [{ provider_id: 'main', event_type_key_values_filter: { event_type: 'svc.audit.capture.*' } }],
        },
      },
      handle: async (context, body) => answer(200, await sinks.testDraft(serviceAccountOf(context), body, context)),
    },
  ]
}

function deadLetterRoutes(sinks: EventSinkOperations): Route[] {
  const auth = { kind: 'service-account' } as const
  const reads = { always: true, limit: 'query' } as const
  const writes = { always: true, limit: 'write', writes: 'idempotent' } as const
  const shared = { tag, auth, audit: 'unsent', request: null } as const
  return [
    {
      ...shared,
      method: 'GET',
      path: lettersPath,
      operationId: 'listDeadLetters',
      summary: 'List the events that a provider refused for good',
      lane: reads,
      pathParameters: sinkId,
      query: deadLetterQuery,
      responses: { 200: deadLetterPage, ...errorStatuses(403, 404, 422, 503) },
      handle: async (context) =>
        answer(200, await sinks.listDeadLetters(serviceAccountOf(context), idOf(context), context.query)),
    },
    {
      ...shared,
      method: 'POST',
      path: lettersPath,
      operationId: 'sendDeadLetters',
      summary: 'Send dead letters again',
      description:
        'Those in `ids`, or all of one provider. They are sent shortly after, out of order, and are removed when the provider accepts them.',
      lane: writes,
      pathParameters: sinkId,
      request: resendRequest,
      parse: ok,
      example: { provider_id: 'main' },
      responses: { 202: resendAnswer, ...bodyStatuses },
      handle: async (context, body) =>
        answer(202, await sinks.sendDeadLetters(serviceAccountOf(context), idOf(context), body)),
    },
    {
      ...shared,
      method: 'DELETE',
      path: lettersPath,
      operationId: 'deleteDeadLetters',
      summary: 'Delete all dead letters of a provider',
      lane: writes,
      pathParameters: sinkId,
      query: deadLetterDeletion,
      responses: { 200: deadLettersDeleted, ...errorStatuses(403, 404, 422, 503) },
      async handle(context) {
        const provider = context.query.get('provider_id') ?? ''
        return answer(200, await sinks.deleteDeadLetters(serviceAccountOf(context), idOf(context), provider))
      },
    },
    {
      ...shared,
      method: 'GET',
      path: `${lettersPath}/{dead_letter}`,
      operationId: 'readDeadLetter',
      summary: 'Read a dead letter with its event',
      lane: reads,
      pathParameters: letterId,
      responses: { 200: deadLetterDetail, ...errorStatuses(403, 404, 503) },
      handle: async (context) =>
        answer(200, await sinks.readDeadLetter(serviceAccountOf(context), idOf(context), letterOf(context))),
    },
    {
      ...shared,
      method: 'DELETE',
      path: `${lettersPath}/{dead_letter}`,
      operationId: 'deleteDeadLetter',
      summary: 'Delete a dead letter',
      lane: writes,
      pathParameters: letterId,
      responses: { 200: deletedDocument, ...errorStatuses(403, 404, 503) },
      handle: async (context) =>
        answer(200, await sinks.deleteDeadLetter(serviceAccountOf(context), idOf(context), letterOf(context))),
    },
  ]
}

function followRoute(sinks: EventSinkOperations): Route {
  return {
    method: 'POST',
    path: `${sinkPath}/follow`,
    operationId: 'followEvents',
    tag,
    summary: 'Read the events of a project as they happen',
    description:
      'Returns the events after `position` at once. The list is empty if no event is stored after it. Events exist only where a route of the sink matches. For 30 seconds after a call, later events stay stored for the next call, also when all providers have received them.',
    auth: { kind: 'service-account' },
    audit: 'unsent',
    lane: { always: true, limit: 'query', writes: 'idempotent' },
    pathParameters: sinkId,
    request: followRequest,
    parse: ok,
    example: { start: 'oldest', event_type: 'svc.audit.capture.*' },
    responses: { 200: followAnswer, ...bodyStatuses },
    handle: async (context, body) => answer(200, await sinks.follow(serviceAccountOf(context), idOf(context), body)),
  }
}

function idOf({ pathParameters }: RequestContext): string {
  return pathParameters.id ?? ''
}

function letterOf({ pathParameters }: RequestContext): string {
  return pathParameters.dead_letter ?? ''
}

function answer(status: number, result: Result<object, ServiceError>): Result<RouteResponse, ServiceError> {
  return result.ok ? ok({ status, body: result.value }) : result
}
