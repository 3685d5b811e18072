// Reads change streams, and connects again where a stream ended.
import { backoffMs } from '../kernel/time/backoff.ts'
import { ClientError, UnavailableError } from './errors.ts'
import { readEvents, type ServerSentEvent } from './server-events.ts'
import { pause, type RequestOptions, type Transport } from './transport.ts'

/** The decisions that an event of `watch` is about: those with these types and this action. */
export interface ChangedDecisions {
  readonly subject_type: string
  readonly action: string
  readonly resource_type: string
}

/** An event of `watch`. */
export type WatchEvent =
  /** The first event. Decisions that are asked for after it are at least as new as the revision. */
  | {
      readonly type: 'hello'
      readonly revision: number
      /** Decisions that also change with the time, without an event. */
      readonly time_dependent: readonly ChangedDecisions[]
    }
  /** These decisions may have changed. */
  | {
      readonly type: 'change'
      readonly revision: number
      readonly changes: readonly ChangedDecisions[]
      /** Present if the list is another one than before. */
      readonly time_dependent?: readonly ChangedDecisions[]
    }
  /** Any decision may have changed. */
  | { readonly type: 'reset'; readonly revision: number; readonly reason: string }

/** Which changes `watch` reports. */
export interface WatchOptions extends RequestOptions {
  readonly subjectType?: string | undefined
  readonly action?: string | undefined
  readonly resourceType?: string | undefined
}

/** The longest pause before a connection is opened again. The pause is random up to that. */
const pauses = { minMs: 500, maxMs: 10_000 }

/** Yields the events of a change stream without end, over any number of connections. */
export async function* watchEvents(
  transport: Transport,
  { subjectType, action, resourceType, ...options }: WatchOptions,
): AsyncGenerator<WatchEvent, void, undefined> {
  const query = new URLSearchParams()
  if (subjectType !== undefined) query.set('subject_type', subjectType)
  if (action !== undefined) query.set('action', action)
  if (resourceType !== undefined) query.set('resource_type', resourceType)
  const path = `/access/v1/watch${query.size === 0 ? '' : `?${query}`}`
  let lastId = ''
  let failures = 0
  for (;;) {
    try {
      for await (const event of eventsOf(transport, path, lastId, options)) {
        const isFirst = lastId === ''
        if (event.id !== '') lastId = event.id
        failures = 0
        if (event.name === '' || (event.name === 'hello' && !isFirst)) continue
        yield { type: event.name, ...(JSON.parse(event.data) as object) } as WatchEvent
      }
    } catch (error) {
      const isPassing = error instanceof UnavailableError || (error instanceof ClientError && error.status === 429)
      // Before the first event, waiting would hide a wrong address.
      if (!isPassing || lastId === '') throw error
    }
    options.signal?.throwIfAborted()
    failures += 1
    await pause(Math.random() * backoffMs(pauses, failures), options.signal)
  }
}

/** The events of one connection. */
async function* eventsOf(
  transport: Transport,
  path: string,
  lastId: string,
  options: RequestOptions,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const headers = { accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) }
  yield* readEvents(await transport.open(path, headers, options))
  options.signal?.throwIfAborted()
}
