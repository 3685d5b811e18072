// Reads the events of one provider from the outbox of a stream: skips those for others, drops those beyond the bounds of the
// backlog, and removes what is left of removed providers.
import type { DeadLetter } from '../../store/outbox/dead-letters.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import {
  missedEvents,
  type OutboxGap,
  type OutboxRecord,
  type OutboxRecordHead,
} from '../../store/outbox/outbox-format.ts'
import { type EventStreamName, envelopesOf } from '../envelope.ts'
import type { OutgoingEvent } from '../providers/provider.ts'
import { dropBeyond, exceededLimit, gapOfLoss } from './backlog.ts'
import type { DeliveryLog } from './delivery-log.ts'
import type { DeliveryPosition, DeliveryProgress } from './delivery-progress.ts'
import type { DeliveryTarget, StreamDeliveryDeps } from './delivery-target.ts'
import { hasSnapshot, lacksSnapshot } from './send-snapshot.ts'

/** Events that are read at once, about. */
const BATCH_EVENTS = 500
/** Bytes of the records that are read at once. A record has at most a few megabytes. */
const BATCH_BYTES = 1024 * 1024
/** Events of an attempt after a failure, at most. */
const PROBE_EVENTS = 20
/** Requested dead letters of one pass. */
const REQUESTS_MAX = 20

/** An event to send. */
export interface PendingEvent {
  readonly event: OutgoingEvent
  readonly sequence: number
}

/** Collaborators of a reader. */
interface EventReaderDeps {
  readonly delivery: StreamDeliveryDeps
  readonly stream: EventStreamName
  readonly progress: DeliveryProgress
  readonly log: DeliveryLog
  target(): DeliveryTarget
  /** Whether the last attempt to deliver failed. */
  isFailing(): boolean
}

/** The events that were read and not sent. */
export class EventReader {
  private readonly deps: EventReaderDeps
  private events: PendingEvent[] = []
  /** Sequence after the last record that was read. */
  private readTo = 0
  private letters: readonly DeadLetter[] = []
  /** The stream may have entries of providers that the sink no longer has. */
  private mayHaveOthers = true

  constructor(deps: EventReaderDeps) {
    this.deps = deps
  }

  /** The next events, in order. */
  get pending(): readonly PendingEvent[] {
    return this.events
  }

  /** Returns dead letters to send again, requested by callers of the API. Those that are not sent are read again. */
  takeRequested(): readonly DeadLetter[] {
    const { letters } = this
    this.letters = []
    return letters
  }

  /** Forgets what was read. */
  clear(): void {
    this.events = []
    this.letters = []
  }

  /** The sink has other providers: those that it no longer has are removed from the stream by the next `fetch`. */
  expectOthers(): void {
    this.mayHaveOthers = true
  }

  /** Reads the next events, unless some are left. Resolves with true if there is something to send or to read. */
  async fetch(outbox: EventOutbox, name: string): Promise<boolean> {
    const { progress, stream } = this.deps
    const target = this.deps.target()
    const status = outbox.status(name)
    if (status === null) {
      progress.rewind()
      if (!hasSnapshot(target, stream)) return false
      await outbox.begin(name)
      return true
    }
    if (progress.position?.origin !== status.origin && !(await progress.load(outbox, name, status.origin))) return true
    if (this.mayHaveOthers) await this.removeOthers(outbox, name, target)
    const { position } = progress
    if (position === null) return true
    const { loss } = status
    if (loss !== null && position.next < loss.to) {
      this.skip(position, loss.to, gapOfLoss(position.gap, loss, position.next), missedEvents(loss, position.next))
      return true
    }
    if (this.events.length === 0) return this.readNext(outbox, name, position, target, status.bytes)
    const [oldest] = outbox.readHeads(name, position.next, 1)
    if (oldest !== undefined) await this.dropBeyondBounds(outbox, name, position, oldest, status.bytes)
    return true
  }

  private async readNext(
    outbox: EventOutbox,
    name: string,
    position: DeliveryPosition,
    target: DeliveryTarget,
    end: number,
  ): Promise<boolean> {
    const { progress, stream } = this.deps
    const { sinkId, addedAt, providerId } = target
    if (!hasSnapshot(target, stream) && position.snapshot !== undefined) {
      // Switched off: it starts again if it is switched on.
      position.snapshot = undefined
      progress.require()
    }
    this.letters = outbox.deadLetters.requested(name, providerId, REQUESTS_MAX)
    const records = outbox.read(name, position.next, { events: BATCH_EVENTS, bytes: BATCH_BYTES })
    const [oldest] = records
    if (oldest === undefined)
      return position.gap !== null || this.letters.length > 0 || lacksSnapshot(target, stream, position)
    if (await this.dropBeyondBounds(outbox, name, position, oldest, end)) return true
    this.events = records.flatMap((record) =>
      envelopesOf(record, stream, position.next)
        .filter((each) => each.sinkId === sinkId && each.revision >= addedAt && each.providers.includes(providerId))
        .map((event) => ({ event, sequence: event.sequence })),
    )
    const last = records.at(-1) as OutboxRecord
    this.readTo = last.sequence + last.count
    this.advance(position, 0)
    return true
  }

  /** Removes what is left of removed providers, and then the events that waited for them. */
  private async removeOthers(outbox: EventOutbox, name: string, { sinkId }: DeliveryTarget): Promise<void> {
    const { progress, delivery } = this.deps
    this.mayHaveOthers = false
    try {
      const isRemoved = await outbox.removeOtherProviders(name, () => delivery.newestProviders(sinkId))
      if (!isRemoved) return
    } catch (failure) {
      this.mayHaveOthers = true
      throw failure
    }
    progress.require()
    progress.schedule()
  }

  /** Drops events if the backlog exceeds its bounds. Resolves with false if it does not. */
  private async dropBeyondBounds(
    outbox: EventOutbox,
    name: string,
    position: DeliveryPosition,
    oldest: OutboxRecordHead,
    end: number,
  ): Promise<boolean> {
    const { delivery, progress } = this.deps
    const { bounds, clock } = delivery
    const limit = exceededLimit(oldest, end, clock.now(), this.deps.isFailing(), bounds)
    if (limit === null) return false
    const dropped = await dropBeyond(outbox, name, position.next, position.gap, limit, this.deps.target())
    if (progress.position === position) this.skip(position, dropped.next, dropped.gap, dropped.dropped)
    return true
  }

  private skip(position: DeliveryPosition, next: number, gap: OutboxGap | null, dropped: number): void {
    const { progress, delivery, log } = this.deps
    this.events = []
    progress.moveTo(position, next)
    position.gap = gap
    progress.require()
    if (dropped === 0) return
    delivery.changeStatus(({ skipped }) => ({ skipped: skipped + dropped }))
    log.addEvents('events were dropped because the backlog of their provider exceeded its bounds', dropped)
  }

  /**
   * Keeps a few events for the next attempts, so that a receiver that is down costs neither memory nor the time to read a whole
   * batch again.
   */
  keepProbe(): void {
    const rest = this.events[PROBE_EVENTS]
    if (rest === undefined) return
    this.readTo = rest.sequence
    this.events.length = PROBE_EVENTS
  }

  /** Moves the position past the first `done` events, and past the events of other providers that follow. */
  advance(position: DeliveryPosition, done: number): void {
    const { progress } = this.deps
    this.events.splice(0, done)
    progress.moveTo(position, this.events[0]?.sequence ?? this.readTo)
    progress.schedule()
  }
}
