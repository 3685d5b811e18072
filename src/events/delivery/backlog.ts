// The bound of a backlog: events that a provider has not received for too long, or that take too much space, are dropped, and the
// provider receives one event with their range instead.
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import {
  missedEvents,
  type OutboxGap,
  type OutboxLoss,
  type OutboxRecord,
  type OutboxRecordHead,
} from '../../store/outbox/outbox-format.ts'
import { decodeRecord } from '../event-record.ts'

/** The bounds of the backlog of one provider in one stream. */
export interface BacklogBounds {
  /** Bytes of records. */
  readonly bytesMax: number
  /** Age of the oldest record, in milliseconds. */
  readonly ageMaxMs: number
}

/** Writers remove records of a stream beyond this multiple of the bound of a provider: the delivery drops before, if it runs. */
const WRITERS_SHARE = 1.25

/** The bound that writers keep, in bytes of records of a stream. `bytesMax`: that of a provider. */
export function writersBound(bytesMax: number): number {
  return Math.ceil(bytesMax * WRITERS_SHARE)
}

/** More is dropped than necessary, so that a gap does not grow with each new event. */
const KEPT_SHARE = 0.9

/** Records that are counted in one turn of the event loop. */
const SLICE = { events: 5000, bytes: 1024 * 1024 }

/** Where a backlog has its bound. */
interface BacklogLimit {
  /** Records before this offset are dropped. */
  readonly offset: number
  /** Records before this time are dropped, in milliseconds since the epoch. */
  readonly timeMs: number
}

/**
 * Returns what to drop; null if the backlog is within its bounds. `oldest`: the next record to deliver. `end`: bytes of the
 * stream. `isFailing`: the last attempt failed; events that were not delivered because the service did not run are never too
 * old.
 */
export function exceededLimit(
  oldest: OutboxRecordHead,
  end: number,
  nowMs: number,
  isFailing: boolean,
  { bytesMax, ageMaxMs }: BacklogBounds,
): BacklogLimit | null {
  const isTooLarge = end - oldest.offset > bytesMax
  const isTooOld = isFailing && nowMs - oldest.timeMs > ageMaxMs
  if (!isTooLarge && !isTooOld) return null
  return {
    offset: isTooLarge ? end - bytesMax * KEPT_SHARE : 0,
    timeMs: isTooOld ? nowMs - ageMaxMs * KEPT_SHARE : 0,
  }
}

/** The provider of a backlog. */
interface BacklogOwner {
  readonly sinkId: string
  readonly providerId: string
  /** The first revision of the sink with this provider. */
  readonly addedAt: number
}

/**
 * Finds the records from `from` that are beyond the limit, and adds them to the gap. Returns the new position and the gap; it
 * is unchanged if no event was routed to the receiver.
 */
export async function dropBeyond(
  outbox: EventOutbox,
  stream: string,
  from: number,
  gap: OutboxGap | null,
  limit: BacklogLimit,
  receiver: BacklogOwner,
): Promise<{ readonly next: number; readonly gap: OutboxGap | null; readonly dropped: number }> {
  let next = from
  let dropped = 0
  let firstMs = 0
  let lastMs = 0
  for (;;) {
    const records = outbox.read(stream, next, SLICE)
    const beyond = records.filter(({ offset, timeMs }) => offset < limit.offset || timeMs < limit.timeMs)
    for (const record of beyond) {
      const count = routedEvents(record, next, receiver)
      next = record.sequence + record.count
      if (count === 0) continue
      if (dropped === 0) firstMs = record.timeMs
      lastMs = record.timeMs
      dropped += count
    }
    if (records.length === 0 || beyond.length < records.length) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (dropped === 0) return { next, gap, dropped }
  const before = gap ?? { from, events: 0, firstMs }
  return {
    next,
    gap: { from: before.from, to: next, events: before.events + dropped, firstMs: before.firstMs, lastMs },
    dropped,
  }
}

/** The gap of a provider at the position `next` after the records of a loss were removed. Their number includes those for others. */
export function gapOfLoss(gap: OutboxGap | null, loss: OutboxLoss, next: number): OutboxGap {
  const before = gap ?? { from: Math.max(next, loss.from), events: 0, firstMs: loss.firstMs }
  const events = before.events + missedEvents(loss, next)
  return { from: before.from, to: loss.to, events, firstMs: before.firstMs, lastMs: loss.lastMs }
}

/** The events of a record from `from` on that were routed to the receiver. All events of a record that cannot be read. */
function routedEvents({ sequence, count, bytes }: OutboxRecord, from: number, receiver: BacklogOwner): number {
  try {
    const { sinkId, revision, providers, events } = decodeRecord(bytes)
    const at = providers.indexOf(receiver.providerId)
    if (sinkId !== receiver.sinkId || revision < receiver.addedAt || at < 0) return 0
    return events.filter((event, index) => sequence + index >= from && ((event.providers >>> at) & 1) === 1).length
  } catch {
    return sequence + count - Math.max(sequence, from)
  }
}
