// The operations of administrators on an event sink in addition to storing it: test its routes, handle dead letters, and follow its
// events. The schemas of requests and answers, and the port that the routes call; events/operations/event-sink-service.ts implements it.
import { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { Result } from '../kernel/result.ts'
import { eventSinks, eventTypeFilter } from './event-sink.ts'
import { eventTypeNames } from './event-types.ts'
import { isRoutable } from './sink-routes.ts'

const text = z.string()
const count = z.int().min(0)
const time = z.iso.datetime()

const scalar = z.union([z.string().max(1024), z.number(), z.boolean()]).meta({ id: 'EventContextScalar' })
const contextValue = z.union([scalar, z.array(scalar).max(100)], {
  error: 'expected string, number, boolean, or a list of them',
})

const testedEvent = z
  .strictObject({
    type: z.enum(eventTypeNames.filter(isRoutable)),
    context: z
      .record(z.string().min(1).max(256), contextValue)
      .optional()
      .describe('the value of each context key; one item of a list is enough for a match'),
  })
  .meta({ id: 'TestedEvent' })

/** The body of a test of a stored sink. */
export const routingTestRequest = z
  .strictObject({
    event: testedEvent,
    send: z.boolean().optional().describe('true: send a test event to the providers that would receive the event'),
  })
  .meta({ id: 'EventSinkTest' })

/** The body of a test of a sink that is not stored. */
export const draftTestRequest = z
  .strictObject({
    sink: eventSinks.createSchema
      .partial({ name: true })
      .meta({ id: 'EventSinkDraft', description: 'as in a create request; `name` may be absent' }),
    ...routingTestRequest.shape,
  })
  .meta({ id: 'EventSinkDraftTest' })

/** How a test event was received. */
const testDelivery = z
  .strictObject({
    provider_id: text,
    outcome: z
      .enum(['delivered', 'refused', 'failed'])
      .describe(
        '`refused`: the receiver does not accept the event; `failed`: it cannot be reached, or refuses the login',
      ),
    error: text.describe('empty if it was delivered'),
    duration_ms: z.number().min(0),
  })
  .meta({ id: 'TestDelivery' })

/** The answer of a test. */
export const routingTestAnswer = z
  .strictObject({
    providers: z.array(text).describe('the providers that receive the event'),
    routes: z.array(
      z
        .strictObject({
          route: count.describe('index in `routes` of the sink'),
          display_name: text,
          provider_id: text,
          outcome: z.enum(['sent', 'already-sent', 'not-reached', 'type-differs', 'context-differs', 'no-cdc-events']),
          reason: text,
        })
        .meta({ id: 'TestedRoute' }),
    ),
    deliveries: z.array(testDelivery).optional().describe('only with `send`: one entry for each of `providers`'),
  })
  .meta({ id: 'EventSinkTestAnswer' })

/** A CloudEvent in the JSON format. */
const cloudEvent = z
  .looseObject({
    specversion: z.literal('1.0'),
    id: text,
    source: text,
    type: text,
    subject: text,
    time,
    data: z.unknown().describe('the payload, an object: see the event types'),
  })
  .meta({ id: 'CloudEvent' })

const deadLetterMembers = {
  id: text.describe('of the dead letter'),
  provider_id: text,
  event_id: text.describe('the attribute `id` of the event'),
  event_type: text,
  source: text,
  subject: text,
  time: time.describe('when the event happened'),
  error: text.describe('why the provider refused it'),
  attempts: count,
  dead_letter_time: time.describe('when it became a dead letter'),
  is_requested: z.boolean().describe('true: it will be sent again'),
}

/** A dead letter in a list. */
const deadLetterItem = z.strictObject(deadLetterMembers).meta({ id: 'DeadLetter' })
/** A page of dead letters. */
export const deadLetterPage = z
  .strictObject({
    dead_letters: z.array(deadLetterItem),
    next_page_token: text.describe('empty: this is the last page'),
  })
  .meta({ id: 'DeadLetterPage' })
/** A dead letter with its event. */
export const deadLetterDetail = z
  .strictObject({ ...deadLetterMembers, event: cloudEvent })
  .meta({ id: 'DeadLetterDetail' })

const pageSizeMax = 500
/** The query of a list of dead letters. */
export const deadLetterQuery = z.strictObject({
  provider_id: z.string().optional().describe('only those of this provider'),
  page_size: z
    .string()
    .regex(/^(?:[1-9]\d?|[1-4]\d\d|500)$/, { error: `expected an integer from 1 to ${pageSizeMax}` })
    .optional()
    .describe(`1 to ${pageSizeMax}, default 100`),
  page_token: z.string().max(2048).optional().describe('`next_page_token` of the page before'),
})

/** The query that selects the dead letters to delete. */
export const deadLetterDeletion = z.strictObject({ provider_id: z.string() })

/** The answer to the deletion. */
export const deadLettersDeleted = z.strictObject({ deleted: count }).meta({ id: 'DeletedDeadLetters' })

/** Which dead letters to send again. */
export const resendRequest = z
  .strictObject({
    ids: z.array(z.string().min(1).max(512)).min(1).max(pageSizeMax).optional(),
    provider_id: z.string().min(1).max(63).optional().describe('all dead letters of this provider'),
  })
  .refine(({ ids, provider_id }) => (ids === undefined) !== (provider_id === undefined), {
    error: 'expected exactly one of `ids`, `provider_id`',
  })
  .meta({ id: 'DeadLetterResend' })
/** The answer. They are sent shortly after. */
export const resendAnswer = z
  .strictObject({
    requested: count,
    refused: z
      .array(z.strictObject({ id: text, reason: text }).meta({ id: 'RefusedResend' }))
      .describe('dead letters that cannot be sent again'),
  })
  .meta({ id: 'DeadLetterResendAnswer' })

/** Which events to read. */
export const followRequest = z
  .strictObject({
    position: z.string().max(65_536).optional().describe('of the answer before; absent: see `start`'),
    start: z
      .enum(['now', 'oldest'])
      .optional()
      .describe('without `position`: only later events (`now`, the default), or also those that are still stored'),
    event_type: eventTypeFilter.optional().describe('only these types; a wildcard `*` at the end matches all below'),
    limit: z.int().min(1).max(pageSizeMax).optional().describe('events in the answer, default 100'),
  })
  .meta({ id: 'EventFollow' })

/** Events in the order of each source. */
export const followAnswer = z
  .strictObject({
    events: z.array(
      z
        .strictObject({ providers: z.array(text).describe('who receives it'), event: cloudEvent })
        .meta({ id: 'FollowedEvent' }),
    ),
    position: text.describe('for the next request'),
    has_more: z.boolean().describe('true: more events are stored already'),
    missed: count.describe('events that were removed before they were read'),
  })
  .meta({ id: 'EventFollowAnswer' })

/** See `routingTestRequest`. */
export type RoutingTestRequest = z.infer<typeof routingTestRequest>
/** See `routingTestAnswer`. */
export type RoutingTestAnswer = z.infer<typeof routingTestAnswer>
/** See `testDelivery`. */
export type TestDelivery = z.infer<typeof testDelivery>
/** See `deadLetterItem`. */
export type DeadLetterItem = z.infer<typeof deadLetterItem>
/** See `deadLetterPage`. */
export type DeadLetterPage = z.infer<typeof deadLetterPage>
/** See `deadLetterDetail`. */
export type DeadLetterDetail = z.infer<typeof deadLetterDetail>
/** See `resendAnswer`. */
export type ResendAnswer = z.infer<typeof resendAnswer>
/** See `followAnswer`. */
export type FollowAnswer = z.infer<typeof followAnswer>

/**
 * The operations. All require the role `all_editor`, because events contain data of the graph; a test that sends nothing does not.
 * Bodies are parsed JSON, validated here. Errors: `forbidden`, `not-found`, `invalid`, and those of an unavailable store.
 */
export interface EventSinkOperations {
  /** Tests the routes of a stored sink. */
  test(
    caller: ServiceAccountCaller,
    sinkId: string,
    body: unknown,
    origin: RequestOrigin,
  ): Promise<Result<RoutingTestAnswer, ServiceError>>
  /** Tests the routes of a sink that is not stored. */
  testDraft(
    caller: ServiceAccountCaller,
    body: unknown,
    origin: RequestOrigin,
  ): Promise<Result<RoutingTestAnswer, ServiceError>>
  /** Lists dead letters by source, provider and sequence. */
  listDeadLetters(
    caller: ServiceAccountCaller,
    sinkId: string,
    query: URLSearchParams,
  ): Promise<Result<DeadLetterPage, ServiceError>>
  /** Reads a dead letter with its event. */
  readDeadLetter(
    caller: ServiceAccountCaller,
    sinkId: string,
    id: string,
  ): Promise<Result<DeadLetterDetail, ServiceError>>
  /** Requests that dead letters are sent again. */
  sendDeadLetters(
    caller: ServiceAccountCaller,
    sinkId: string,
    body: unknown,
  ): Promise<Result<ResendAnswer, ServiceError>>
  /** Deletes one dead letter. */
  deleteDeadLetter(
    caller: ServiceAccountCaller,
    sinkId: string,
    id: string,
  ): Promise<Result<{ readonly id: string }, ServiceError>>
  /** Deletes all dead letters of a provider. */
  deleteDeadLetters(
    caller: ServiceAccountCaller,
    sinkId: string,
    providerId: string,
  ): Promise<Result<{ readonly deleted: number }, ServiceError>>
  /** Reads the next events, and keeps later ones for the next call. */
  follow(caller: ServiceAccountCaller, sinkId: string, body: unknown): Promise<Result<FollowAnswer, ServiceError>>
}
