// Delivers the events of one stream to one provider, in order and at least once: reads a batch, sends it, and stores how far the
// provider is. An outage is retried without end; an event that the receiver refuses for good becomes a dead letter
// (docs/decisions/0035-event-delivery.md).
import { assertNever } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DeadLetter, EventOutbox } from '../../store/outbox/outbox.ts'
import {
  missedEvents,
  type OutboxGap,
  type OutboxRecord,
  type OutboxRecordHead,
} from '../../store/outbox/outbox-format.ts'
import { type EventEnvelope, type EventStreamName, envelopesOf, gapEnvelope } from '../envelope.ts'
import type { OutgoingEvent, ProviderConnection } from '../providers/provider.ts'
import { type SnapshotPart, type SnapshotPosition, snapshotStart } from '../snapshot-events.ts'
import { type BacklogBounds, dropBeyond, exceededLimit, gapOfLoss } from './backlog.ts'
import { RepeatedLog } from './repeated-log.ts'
import { retryDelayMs } from './retry-delay.ts'
import { type DeadLetterContent, encodeDeadLetter, type ProviderStatus, readDeadLetter } from './status.ts'

/** Events of one call of a provider, at most. */
export const BATCH_EVENTS = 500
/** Events of an attempt after a failure, at most. */
const PROBE_EVENTS = 20
/** Bytes of the records that are read at once. A record has at most a few megabytes. */
const BATCH_BYTES = 1024 * 1024
/** Time limit of one call of a provider. */
const SEND_TIMEOUT_MS = 30_000
/** An event that is refused this often becomes a dead letter. */
export const REFUSALS_MAX = 10
/** Delivered events whose progress is not stored yet, at most. After a crash they are delivered again. */
const UNCOMMITTED_MAX = 5000
/** How long progress may stay in memory. */
const COMMIT_DELAY_MS = 100
/** An idle delivery looks for requests to send dead letters again, and for missed notifications, at this interval. */
const IDLE_CHECK_MS = 5000
/** Requested dead letters of one pass. */
const REQUESTS_MAX = 20
/** Stored in place of the position when the initial snapshot is complete. */
const COMPLETE = 'complete'
/** Elements of one part of a snapshot. */
const SNAPSHOT_ELEMENTS = 500
/** Dead letters of snapshots have sequences from here on, because elements of a snapshot have none. */
const SNAPSHOT_SEQUENCES = 2 ** 52
/** How long a stop waits for a call of a provider. */
const STOP_TIMEOUT_MS = 3000

/** The provider that a stream is delivered to. */
export interface DeliveryTarget {
  readonly sinkId: string
  readonly providerId: string
  /** The first revision of the sink with this provider: what was recorded before was for a removed provider with its id. */
  readonly addedAt: number
  /** All providers of the sink. */
  readonly providers: readonly string[]
  /** Differs if the provider has another configuration. */
  readonly configuration: string
  /** Change data capture starts with a snapshot of the graph. */
  readonly startsWithSnapshot: boolean
  /** Why the provider cannot be used, as far as its configuration shows; null if it can. */
  configError(): string | null
  /** Opens no connection before the first call. */
  connect(): ProviderConnection
}

/** A line for the log. */
export interface DeliveryLogEntry {
  readonly level: 'info' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

/** Collaborators of a delivery. */
export interface StreamDeliveryDeps {
  /**
   * Calls `work` with the outbox of the stream and the name of the stream in it, which stays open until it is done. Resolves with
   * null if the stream does not exist.
   */
  withOutbox<T>(work: (outbox: EventOutbox, name: string) => T | Promise<T>): Promise<T | null>
  /**
   * Reads about `limit` elements of the initial snapshot of the graph from `position` on; null: from the first. Resolves with null
   * if the stream does not exist.
   */
  readSnapshot(position: SnapshotPosition | null, limit: number): Promise<SnapshotPart | null>
  /**
   * The providers of a sink in the newest configuration; null: the sink was deleted. Called within the transaction that stores a
   * position: every provider with events in the stream is known by then.
   */
  newestProviders(sinkId: string): readonly string[] | null
  readonly bounds: BacklogBounds
  /** Of the dead letters of the provider in this stream. Beyond it the oldest are dropped. */
  readonly deadLetterBytesMax: number
  readonly clock: Clock
  /** From 0 inclusive to 1 exclusive. */
  readonly random: () => number
  readonly log: (entry: DeliveryLogEntry) => void
  changeStatus(change: (status: ProviderStatus) => Partial<ProviderStatus>): void
}

/** An event to send. */
interface PendingEvent {
  readonly event: OutgoingEvent
  readonly sequence: number
}

/** How far the provider is. */
interface DeliveryPosition {
  /** Of the stream. */
  readonly origin: string
  /** Sequence of the next event. */
  next: number
  gap: OutboxGap | null
  /** Of the initial snapshot. Undefined: not begun, or the target does not start with one. */
  snapshot: SnapshotPosition | typeof COMPLETE | undefined
}

/**
 * The result of a pass through the loop. `idle`: there is nothing to deliver. `failed`: the next attempt waits.
 */
type Pass = 'worked' | 'idle' | 'failed'

interface Sleep {
  readonly isIdle: boolean
  end(): void
}

/** Delivers one stream to one provider. */
export class StreamDelivery {
  private readonly stream: EventStreamName
  private readonly deps: StreamDeliveryDeps
  private target: DeliveryTarget
  private connection: ProviderConnection
  /** Null: not read yet, or the stream was replaced. */
  private position: DeliveryPosition | null = null
  /** Events that were read and not sent. */
  private pending: PendingEvent[] = []
  /** Sequence after the last record that was read. */
  private readTo = 0
  /** Requested by callers of the API. */
  private requested: readonly DeadLetter[] = []
  /** Events since the stored position. */
  private uncommitted = 0
  private deadLetters: { readonly sequence: number; readonly bytes: Uint8Array }[] = []
  private mustCommit = false
  /** The stream may have entries of providers that the sink no longer has. */
  private mayHaveOthers = true
  private commitTimer: ReturnType<typeof setTimeout> | null = null
  private committing: Promise<void> | null = null
  /** The last failure was one of the outbox, not of the receiver. */
  private isOutboxFailing = false
  /** In a row. */
  private failures = 0
  private refused = { sequence: 0, times: 0 }
  private buriedOfSnapshots = 0
  private isFailing = false
  private isStopping = false
  private isNotified = false
  private isInterrupted = false
  private sleeping: Sleep | null = null
  private readonly repeated: RepeatedLog
  private readonly running: Promise<void>

  constructor(stream: EventStreamName, target: DeliveryTarget, deps: StreamDeliveryDeps) {
    this.stream = stream
    this.target = target
    this.deps = deps
    this.connection = target.connect()
    this.repeated = new RepeatedLog(deps.log)
    this.running = this.run()
  }

  /** Call it when the stream may have grown. `next`: sequence of the next event to append. */
  notify(origin: string, next: number, hasRequests: boolean): void {
    const { position } = this
    if (!hasRequests && position !== null && position.origin === origin && position.next === next) return
    this.isNotified = true
    if (this.sleeping?.isIdle === true) this.sleeping.end()
  }

  /** Changes the target. A changed configuration is tried at once, also after failures. */
  retarget(target: DeliveryTarget): void {
    const before = this.target
    this.target = target
    if (ownerOf(before) !== ownerOf(target)) this.rewind()
    if (before.providers.join() !== target.providers.join()) {
      this.mayHaveOthers = true
      this.isNotified = true
      if (this.sleeping?.isIdle === true) this.sleeping.end()
    }
    if (before.startsWithSnapshot !== target.startsWithSnapshot) this.interrupt()
    if (before.configuration === target.configuration) return
    const { connection } = this
    this.connection = target.connect()
    this.failures = 0
    this.refused = { sequence: 0, times: 0 }
    void connection.close()
    this.interrupt()
  }

  /** Waits a short time for a running call, stores the progress and closes the connection. */
  async stop(): Promise<void> {
    await this.end(STOP_TIMEOUT_MS)
    await this.commit().catch((failure: unknown) => this.failOutbox(failure))
    this.repeated.close()
  }

  /** Stops at once, without storing the progress: the sink no longer has the provider. */
  async abandon(): Promise<void> {
    await this.end(0)
    this.repeated.close()
  }

  private async end(timeoutMs: number): Promise<void> {
    this.isStopping = true
    this.interrupt()
    const timer = setTimeout(() => void this.connection.close(), timeoutMs)
    await this.running
    clearTimeout(timer)
    await this.connection.close()
    if (this.commitTimer !== null) clearTimeout(this.commitTimer)
    this.commitTimer = null
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      this.isNotified = false
      this.isInterrupted = false
      const pass = await this.pass().catch((failure: unknown): Pass => {
        this.failOutbox(failure)
        return 'failed'
      })
      if (pass !== 'failed') this.recoverOutbox()
      if (pass === 'worked') continue
      if (pass === 'failed') this.keepProbe()
      const isIdle = pass === 'idle'
      if (this.isStopping || this.isInterrupted || (isIdle && this.isNotified)) continue
      await this.sleep(isIdle ? IDLE_CHECK_MS : retryDelayMs(this.failures, this.deps.random()), isIdle)
    }
  }

  private sleep(delayMs: number, isIdle: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.sleeping = null
        resolve()
      }
      const timer = setTimeout(end, delayMs)
      this.sleeping = { isIdle, end }
    })
  }

  private interrupt(): void {
    this.isInterrupted = true
    this.sleeping?.end()
  }

  private rewind(): void {
    this.position = null
    this.pending = []
    this.requested = []
    this.uncommitted = 0
    this.deadLetters = []
    this.mustCommit = false
  }

  private async pass(): Promise<Pass> {
    if (this.mustCommit || this.uncommitted >= UNCOMMITTED_MAX) await this.commit()
    // After a failure a few events are left, but the stream may have been dropped, or its backlog may have grown.
    if (this.pending.length === 0 || this.isFailing) {
      const found = await this.deps.withOutbox((outbox, name) => this.fetch(outbox, name))
      // Its project was deleted, or its sink.
      if (found === null) this.rewind()
      if (found !== 'worked') return found ?? 'idle'
    }
    const { position } = this
    if (position === null) return 'worked'
    if (this.requested.length > 0) return this.sendRequested(position)
    if (position.gap !== null) return this.sendGap(position, position.gap)
    if (this.lacksSnapshot(position)) return this.sendSnapshot(position)
    return this.pending.length === 0 ? 'worked' : this.sendPending(position)
  }

  /** Reads the next events of the provider into `pending`. Skips those of other providers. */
  private async fetch(outbox: EventOutbox, name: string): Promise<Pass> {
    const status = outbox.status(name)
    if (status === null) {
      this.rewind()
      if (!this.hasSnapshot()) return 'idle'
      await outbox.begin(name)
      return 'worked'
    }
    const { target } = this
    if (this.position?.origin !== status.origin) {
      this.rewind()
      const position = await this.storedPosition(outbox, name, status.origin, target)
      if (this.target !== target) return 'worked'
      this.position = position
    }
    if (this.mayHaveOthers) await this.removeOthers(outbox, name)
    const { position } = this
    if (position === null) return 'worked'
    const { sinkId, providerId, addedAt } = target
    const { loss } = status
    if (loss !== null && position.next < loss.to) {
      this.skip(position, loss.to, gapOfLoss(position.gap, loss, position.next), missedEvents(loss, position.next))
      return 'worked'
    }
    if (this.pending.length > 0) {
      const [oldest] = outbox.readHeads(name, position.next, 1)
      if (oldest !== undefined) await this.dropBeyondBounds(outbox, name, position, oldest, status.bytes)
      return 'worked'
    }
    if (!this.hasSnapshot() && position.snapshot !== undefined) {
      // Switched off: it starts again if it is switched on.
      position.snapshot = undefined
      this.mustCommit = true
    }
    this.requested = outbox.requestedDeadLetters(name, providerId, REQUESTS_MAX)
    const records = outbox.read(name, position.next, { events: BATCH_EVENTS, bytes: BATCH_BYTES })
    const [oldest] = records
    const isDue = position.gap !== null || this.requested.length > 0 || this.lacksSnapshot(position)
    if (oldest === undefined) return isDue ? 'worked' : 'idle'
    if (await this.dropBeyondBounds(outbox, name, position, oldest, status.bytes)) return 'worked'
    this.pending = records.flatMap((record) =>
      envelopesOf(record, this.stream, position.next)
        .filter((each) => each.sinkId === sinkId && each.revision >= addedAt && each.providers.includes(providerId))
        .map((event) => ({ event, sequence: event.sequence })),
    )
    const last = records.at(-1) as OutboxRecord
    this.readTo = last.sequence + last.count
    this.advance(position, 0)
    return 'worked'
  }

  /**
   * The stored position. That of a removed provider with the same id is kept, because all its events are skipped; its gap, its
   * snapshot and its dead letters concern another receiver.
   */
  private async storedPosition(
    outbox: EventOutbox,
    name: string,
    origin: string,
    target: DeliveryTarget,
  ): Promise<DeliveryPosition> {
    const stored = outbox.cursors(name).get(target.providerId)
    if (stored === undefined) return { origin, next: 1, gap: null, snapshot: undefined }
    const { next, gap, snapshot, owner } = stored
    if (owner === ownerOf(target)) return { origin, next, gap, snapshot: snapshot as DeliveryPosition['snapshot'] }
    await outbox.removeDeadLetters(name, target.providerId)
    this.mustCommit = true
    return { origin, next, gap: null, snapshot: undefined }
  }

  /** Removes what is left of removed providers, and then the events that waited for them. */
  private async removeOthers(outbox: EventOutbox, name: string): Promise<void> {
    this.mayHaveOthers = false
    const { sinkId } = this.target
    try {
      const isRemoved = await outbox.removeOtherProviders(name, () => this.deps.newestProviders(sinkId))
      if (!isRemoved) return
    } catch (failure) {
      this.mayHaveOthers = true
      throw failure
    }
    this.mustCommit = true
    this.scheduleCommit()
  }

  /** Drops events if the backlog exceeds its bounds. Resolves with false if it does not. */
  private async dropBeyondBounds(
    outbox: EventOutbox,
    name: string,
    position: DeliveryPosition,
    oldest: OutboxRecordHead,
    end: number,
  ): Promise<boolean> {
    const { bounds, clock } = this.deps
    const limit = exceededLimit(oldest, end, clock.now(), this.isFailing, bounds)
    if (limit === null) return false
    const { next, gap, dropped } = await dropBeyond(outbox, name, position.next, position.gap, limit, this.target)
    if (this.position === position) this.skip(position, next, gap, dropped)
    return true
  }

  private skip(position: DeliveryPosition, next: number, gap: OutboxGap | null, dropped: number): void {
    this.pending = []
    this.uncommitted += next - position.next
    position.next = next
    position.gap = gap
    this.mustCommit = true
    if (dropped === 0) return
    this.deps.changeStatus(({ skipped }) => ({ skipped: skipped + dropped }))
    this.logRepeated('events were dropped because the backlog of their provider exceeded its bounds', dropped)
  }

  /**
   * Keeps a few events for the next attempts, so that a receiver that is down costs neither memory nor the time to read a whole
   * batch again.
   */
  private keepProbe(): void {
    const rest = this.pending[PROBE_EVENTS]
    if (rest === undefined) return
    this.readTo = rest.sequence
    this.pending.length = PROBE_EVENTS
  }

  private async sendPending(position: DeliveryPosition): Promise<Pass> {
    const { connection } = this
    const batch = this.pending.slice(0, BATCH_EVENTS)
    const events = batch.map(({ event }) => event)
    const outcome = await connection.send(events, SEND_TIMEOUT_MS)
    if (this.position !== position) return 'worked'
    this.advance(position, outcome.kind === 'delivered' ? batch.length : outcome.delivered)
    if (this.isEnded(connection) && outcome.kind !== 'delivered') return 'worked'
    switch (outcome.kind) {
      case 'delivered':
        this.succeed()
        return 'worked'
      case 'retry':
        return this.fail(outcome.error)
      case 'refused': {
        const first = this.pending[0] as PendingEvent
        const times = this.countRefusal(first.sequence)
        if (!outcome.isFinal && times < REFUSALS_MAX) return this.fail(outcome.error)
        this.bury(first, outcome.error, times)
        this.pending.shift()
        this.advance(position, 0)
        return 'worked'
      }
      default:
        return assertNever(outcome)
    }
  }

  private async sendGap(position: DeliveryPosition, gap: OutboxGap): Promise<Pass> {
    const { connection } = this
    const event = gapEnvelope(this.stream, position.origin, this.target.providerId, gap)
    const outcome = await connection.send([event], SEND_TIMEOUT_MS)
    if (this.position !== position || (this.isEnded(connection) && outcome.kind !== 'delivered')) return 'worked'
    switch (outcome.kind) {
      case 'delivered':
        this.succeed()
        break
      case 'retry':
        return this.fail(outcome.error)
      case 'refused': {
        const times = this.countRefusal(gap.from)
        if (!outcome.isFinal && times < REFUSALS_MAX) return this.fail(outcome.error)
        this.bury({ event, sequence: gap.from }, outcome.error, times)
        break
      }
      default:
        return assertNever(outcome)
    }
    position.gap = null
    // A copy that lacks the changes of the gap starts again.
    position.snapshot = undefined
    this.mustCommit = true
    return 'worked'
  }

  /** Whether this delivery has ended a connection, because the provider was changed or removed: it reports no failure of the provider. */
  private isEnded(connection: ProviderConnection): boolean {
    return this.isStopping || connection !== this.connection
  }

  private hasSnapshot(): boolean {
    return this.target.startsWithSnapshot && this.stream.source === 'graph'
  }

  private lacksSnapshot(position: DeliveryPosition): boolean {
    return this.hasSnapshot() && position.snapshot !== COMPLETE
  }

  /** Sends the next part of the initial snapshot. After a failure the part is read again. */
  private async sendSnapshot(position: DeliveryPosition): Promise<Pass> {
    if (position.snapshot === undefined) {
      // A write transaction: every change from here on is in the stream, also one of a writer that did not know the sink.
      await this.deps.withOutbox((outbox, name) => outbox.begin(name))
      position.snapshot = snapshotStart
      this.mustCommit = true
      await this.commit()
      return 'worked'
    }
    if (position.snapshot === COMPLETE) return 'worked'
    const part = await this.deps.readSnapshot(position.snapshot, SNAPSHOT_ELEMENTS)
    if (this.position !== position || part === null) return 'worked'
    let { events } = part
    while (events.length > 0) {
      const { connection } = this
      const outcome = await connection.send(events, SEND_TIMEOUT_MS)
      if (this.position !== position) return 'worked'
      const delivered = outcome.kind === 'delivered' ? events.length : outcome.delivered
      this.countDelivered(delivered)
      if (outcome.kind === 'delivered') break
      if (this.isEnded(connection)) return 'worked'
      if (outcome.kind === 'retry') return this.fail(outcome.error)
      const event = events[delivered] as EventEnvelope
      const times = this.countRefusal(event.sequence)
      if (!outcome.isFinal && times < REFUSALS_MAX) return this.fail(outcome.error)
      this.bury({ event, sequence: this.nextSnapshotSequence() }, outcome.error, times)
      events = events.slice(delivered + 1)
    }
    this.succeed()
    position.snapshot = part.next ?? COMPLETE
    this.uncommitted += SNAPSHOT_ELEMENTS
    this.scheduleCommit()
    if (part.next === null) this.log('info', 'the initial snapshot of a graph was delivered')
    return 'worked'
  }

  private nextSnapshotSequence(): number {
    this.buriedOfSnapshots += 1
    return SNAPSHOT_SEQUENCES + this.deps.clock.now() * 1000 + (this.buriedOfSnapshots % 1000)
  }

  /** Sends dead letters again. They are out of order anyway, so each is independent of the others. */
  private async sendRequested(position: DeliveryPosition): Promise<Pass> {
    for (const letter of this.requested) {
      const { connection } = this
      const content = readDeadLetter(letter.bytes)
      const { attributes, data, orderingKey } = content
      const outcome = await connection.send([{ attributes, data: Buffer.from(data), orderingKey }], SEND_TIMEOUT_MS)
      if (this.position !== position || this.isStopping) return 'worked'
      switch (outcome.kind) {
        case 'delivered':
          this.succeed()
          this.countDelivered(1)
          await this.deps.withOutbox((outbox, name) => outbox.removeDeadLetter(name, letter.provider, letter.sequence))
          break
        case 'retry':
          return this.isEnded(connection) ? 'worked' : this.fail(outcome.error)
        case 'refused': {
          const { error } = outcome
          const bytes = encodeDeadLetter({ ...content, error, attempts: content.attempts + 1 })
          await this.deps.withOutbox((outbox, name) => outbox.replaceDeadLetter(name, { ...letter, bytes }))
          this.failWithoutRetry(error)
          break
        }
        default:
          return assertNever(outcome)
      }
    }
    this.requested = []
    return 'worked'
  }

  /** Moves the position past the first `delivered` events, and past the events of other providers that follow. */
  private advance(position: DeliveryPosition, delivered: number): void {
    this.pending.splice(0, delivered)
    const next = this.pending[0]?.sequence ?? this.readTo
    this.uncommitted += next - position.next
    position.next = next
    this.countDelivered(delivered)
    this.scheduleCommit()
  }

  private countDelivered(delivered: number): void {
    if (delivered === 0) return
    this.failures = 0
    const lastDeliveryTime = this.deps.clock.now()
    this.deps.changeStatus((status) => ({ delivered: status.delivered + delivered, lastDeliveryTime }))
  }

  private succeed(): void {
    this.failures = 0
    this.deps.changeStatus(({ lastError }) => (lastError === '' ? {} : { lastError: '' }))
    if (this.isFailing) this.log('info', 'events are delivered again')
    this.isFailing = false
  }

  private fail(error: string): Pass {
    this.isOutboxFailing = false
    this.failures += 1
    this.failWithoutRetry(error)
    if (!this.isFailing) this.log('error', 'events cannot be delivered; they are sent again', { error })
    this.isFailing = true
    return 'failed'
  }

  private failOutbox(failure: unknown): void {
    this.fail(outboxError(failure))
    this.isOutboxFailing = true
  }

  /** Ends a failure of the outbox: it can be read, and everything is stored. There may be no event to send that would show it. */
  private recoverOutbox(): void {
    if (!this.isOutboxFailing || this.mustCommit || this.committing !== null) return
    this.isOutboxFailing = false
    this.succeed()
  }

  private failWithoutRetry(error: string): void {
    const lastErrorTime = this.deps.clock.now()
    this.deps.changeStatus(({ failed }) => ({ failed: failed + 1, lastError: error, lastErrorTime }))
  }

  private countRefusal(sequence: number): number {
    this.refused = { sequence, times: this.refused.sequence === sequence ? this.refused.times + 1 : 1 }
    return this.refused.times
  }

  /** Makes an event a dead letter, in the transaction that moves the position past it. */
  private bury({ event, sequence }: PendingEvent, error: string, attempts: number): void {
    const { attributes, data, orderingKey } = event
    const content: DeadLetterContent = {
      sinkId: this.target.sinkId,
      attributes,
      data: new TextDecoder().decode(data),
      orderingKey,
      error,
      timeMs: this.deps.clock.now(),
      attempts,
    }
    this.deadLetters.push({ sequence, bytes: encodeDeadLetter(content) })
    this.mustCommit = true
    this.failures = 0
    this.failWithoutRetry(error)
    this.deps.changeStatus(({ deadLettered }) => ({ deadLettered: deadLettered + 1 }))
    this.logRepeated('events cannot be delivered and are stored as dead letters', 1, { event: attributes.id, error })
  }

  private async boundDeadLetters(outbox: EventOutbox, name: string): Promise<void> {
    const { providerId } = this.target
    const dropped = await outbox.boundDeadLetters(name, providerId, this.deps.deadLetterBytesMax)
    if (dropped === 0) return
    this.deps.changeStatus(({ deadLettersDropped }) => ({ deadLettersDropped: deadLettersDropped + dropped }))
    this.logRepeated('the oldest dead letters of a provider were dropped because they exceeded their bound', dropped)
  }

  private scheduleCommit(): void {
    if (this.commitTimer !== null || this.isStopping) return
    this.commitTimer = setTimeout(() => {
      this.commitTimer = null
      this.commit().catch((failure: unknown) => {
        this.failOutbox(failure)
        this.scheduleCommit()
      })
    }, COMMIT_DELAY_MS)
  }

  /** Stores the position. Events continue to be sent during the write. Rejects with StorageWriteError. */
  private async commit(): Promise<void> {
    while (this.committing !== null) await this.committing.catch(() => undefined)
    const { position } = this
    if (position === null || (this.uncommitted === 0 && !this.mustCommit)) return
    const committing = this.store(position)
    this.committing = committing
    try {
      await committing
    } finally {
      this.committing = null
    }
    this.recoverOutbox()
  }

  private async store(position: DeliveryPosition): Promise<void> {
    const { origin, next, gap, snapshot } = position
    const { sinkId, providerId: provider } = this.target
    const owner = ownerOf(this.target)
    const providers = (): readonly string[] | null => this.deps.newestProviders(sinkId)
    const { uncommitted, deadLetters } = this
    this.uncommitted = 0
    this.deadLetters = []
    this.mustCommit = false
    try {
      const isStored = await this.deps.withOutbox(async (outbox, name) => {
        const committed = await outbox.commit(name, {
          provider,
          owner,
          origin,
          next,
          gap,
          snapshot,
          providers,
          deadLetters,
        })
        if (committed && deadLetters.length > 0) await this.boundDeadLetters(outbox, name)
        return committed
      })
      if (isStored !== true && this.position === position) this.rewind()
    } catch (failure) {
      if (this.position === position) {
        this.uncommitted += uncommitted
        this.deadLetters = [...deadLetters, ...this.deadLetters]
        this.mustCommit = true
      }
      throw failure
    }
  }

  private log(level: DeliveryLogEntry['level'], message: string, more: object = {}): void {
    this.deps.log(this.logEntry(level, message, more))
  }

  /** For lines that can follow each event. */
  private logRepeated(message: string, events: number, more: object = {}): void {
    this.repeated.report(this.logEntry('error', message, more), events)
  }

  private logEntry(level: DeliveryLogEntry['level'], message: string, more: object): DeliveryLogEntry {
    const { projectId, source } = this.stream
    return { level, message, project: projectId, source, provider: this.target.providerId, ...more }
  }
}

/** The sink and the time of the provider that a position belongs to. */
function ownerOf({ sinkId, addedAt }: DeliveryTarget): string {
  return `${sinkId}/${addedAt}`
}

function outboxError(failure: unknown): string {
  return `the outbox cannot be used: ${failure instanceof Error ? failure.message : String(failure)}`
}
