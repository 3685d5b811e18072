// Reads the events of a project from where a client has read before. Events that are delivered between two reads stay for a
// while, so that the client sees them.
import type { StoredDocument } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { type EventEnvelope, envelopesOf } from '../envelope.ts'
import { payloadOf } from '../event-text.ts'
import { type FollowAnswer, followRequest } from '../sink-operations.ts'
import { matchesType } from '../sink-routes.ts'
import { decodePosition, type EventPosition, encodePosition, streamKey } from './event-position.ts'
import type { EventStreams, OpenEventStream } from './event-streams.ts'

const EVENTS_DEFAULT = 100
/** Limits of one read of one stream. */
const SCAN = { events: 2000, bytes: 1024 * 1024 }
/** Bytes of the payloads of one answer, beyond which no event is added. */
const ANSWER_BYTES = 4 * 1024 * 1024

/** Collaborators of a follower. */
interface EventFollowerDeps {
  readonly streams: EventStreams
  /** Creates the outbox of decisions and reads if it does not exist. */
  createActivity(): Promise<unknown>
  readonly clock: Clock
}

/** The events of one stream that one call has read. */
interface ScannedStream {
  readonly key: string
  readonly envelopes: readonly EventEnvelope[]
  /** Index of the first envelope that was not consumed. */
  at: number
  /** Sequence of the next event to read. */
  next: number
  /** Sequence after the last event of the stream. */
  readonly end: number
}

/** Reads the next events. Errors: `invalid`. */
export async function followEvents(
  { streams, createActivity, clock }: EventFollowerDeps,
  sink: StoredDocument,
  body: unknown,
): Promise<Result<FollowAnswer, ServiceError>> {
  const request = validate(followRequest, body)
  if (!request.ok) return err({ kind: 'invalid', issues: request.error })
  const { position: text, start, event_type = '*', limit = EVENTS_DEFAULT } = request.value
  const before = text === undefined ? null : decodePosition(text)
  if (text !== undefined && before === null)
    return err({ kind: 'invalid', issues: ['position: expected the `position` of an answer'] })
  if (before !== null && start !== undefined)
    return err({ kind: 'invalid', issues: ['start: cannot be combined with `position`'] })
  await createActivity()
  return streams.withStreams(sink.project_id, async (open) => {
    // Before the streams are read: what is delivered afterwards stays.
    for (const { outbox, name } of open) await outbox.follow(name, clock.now())
    let missed = 0
    const scanned = open.map((stream) => {
      const from = startOf(stream, before, start ?? 'now')
      missed += from.missed
      return scan(stream, from.next)
    })
    const isWanted = ({ sinkId, type }: EventEnvelope): boolean => sinkId === sink.id && matchesType(event_type, type)
    const events = merge(scanned, limit, isWanted).map(({ attributes, data, providers }) => ({
      providers: [...providers],
      event: { ...attributes, data: payloadOf(new TextDecoder().decode(data)) } as FollowAnswer['events'][0]['event'],
    }))
    return ok({
      events,
      position: encodePosition(new Map(scanned.map(({ key, next }) => [key, next]))),
      has_more: scanned.some(({ next, end }) => next < end),
      missed,
    })
  })
}

/** A stream that is not in the position is new. */
function startOf(
  stream: OpenEventStream,
  before: EventPosition | null,
  start: 'now' | 'oldest',
): { readonly next: number; readonly missed: number } {
  const status = stream.outbox.status(stream.name)
  if (status === null) return { next: 1, missed: 0 }
  const oldest = status.oldest?.sequence ?? status.next
  if (before === null) return { next: start === 'now' ? status.next : oldest, missed: 0 }
  const next = before.get(streamKey(stream)) ?? 1
  // After the end: the events of the project were removed with its sink, and have begun again.
  if (next > status.next) return { next: oldest, missed: 0 }
  return next < oldest ? { next: oldest, missed: oldest - next } : { next, missed: 0 }
}

function scan(stream: OpenEventStream, next: number): ScannedStream {
  const { outbox, name } = stream
  const records = outbox.read(name, next, SCAN)
  const end = outbox.status(name)?.next ?? next
  const envelopes = records.flatMap((record) => envelopesOf(record, stream, next))
  return { key: streamKey(stream), envelopes, at: 0, next, end }
}

/** Takes the events of all streams by time. The order within a stream is kept. */
function merge(
  streams: readonly ScannedStream[],
  limit: number,
  isWanted: (envelope: EventEnvelope) => boolean,
): EventEnvelope[] {
  const taken: EventEnvelope[] = []
  let bytes = 0
  for (;;) {
    let first: ScannedStream | null = null
    for (const stream of streams) {
      if (stream.at === stream.envelopes.length) continue
      if (first === null || timeOf(stream) < timeOf(first)) first = stream
    }
    if (first === null) return taken
    const envelope = first.envelopes[first.at] as EventEnvelope
    if (isWanted(envelope)) {
      if (taken.length === limit || (taken.length > 0 && bytes + envelope.data.length > ANSWER_BYTES)) return taken
      taken.push(envelope)
      bytes += envelope.data.length
    }
    first.at += 1
    first.next = envelope.sequence + 1
  }
}

function timeOf({ envelopes, at }: ScannedStream): string {
  return envelopes[at]?.attributes.time ?? ''
}
