// Delivers the events of one stream to one provider, in order and at least once: reads a batch, sends it, and stores how far the
// provider is. An outage is retried without end; an event that the receiver refuses for good becomes a dead letter
// (docs/decisions/0035-event-delivery.md).
import { type Backoff, backoffMs } from '../../kernel/time/backoff.ts'
import type { DeadLetter } from '../../store/outbox/dead-letters.ts'
import type { OutboxGap } from '../../store/outbox/outbox-format.ts'
import { type EventStreamName, gapEnvelope } from '../envelope.ts'
import { DeliveryLog } from './delivery-log.ts'
import { type DeliveryPosition, DeliveryProgress } from './delivery-progress.ts'
import { type DeliveryTarget, ownerOf, type StreamDeliveryDeps } from './delivery-target.ts'
import { EventReader, type PendingEvent } from './event-reader.ts'
import { ProviderSender } from './provider-sender.ts'
import { resendDeadLetters } from './resend-dead-letters.ts'
import { lacksSnapshot, SnapshotSender } from './send-snapshot.ts'

/** Events of one call of a provider, at most. */
const CALL_EVENTS = 500
/**
 * The longest delay after a failed attempt. It is random up to that, so that the providers of many projects do not send at the same time
 * after an outage of their receiver.
 */
const retryDelay: Backoff = { minMs: 400, maxMs: 60_000 }
/** An idle delivery looks for requests to send dead letters again, and for missed notifications, at this interval. */
const IDLE_CHECK_MS = 5000
/** How long a stop waits for a call of a provider. */
const STOP_TIMEOUT_MS = 3000

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
  private readonly log: DeliveryLog
  private readonly sender: ProviderSender
  private readonly progress: DeliveryProgress
  private readonly reader: EventReader
  private readonly snapshot: SnapshotSender
  private isStopping = false
  private isNotified = false
  private isInterrupted = false
  private sleeping: Sleep | null = null
  private readonly running: Promise<void>

  constructor(stream: EventStreamName, target: DeliveryTarget, deps: StreamDeliveryDeps) {
    this.stream = stream
    this.target = target
    this.deps = deps
    this.log = new DeliveryLog(deps.log, stream, target.providerId)
    const { log } = this
    this.sender = new ProviderSender(target, deps, log)
    const { sender } = this
    const currentTarget = (): DeliveryTarget => this.target
    this.progress = new DeliveryProgress({
      delivery: deps,
      log,
      target: currentTarget,
      onRewind: () => this.reader.clear(),
      onStored: () => this.recoverOutbox(),
      onFailure: (failure) => sender.failOutbox(failure),
    })
    const { progress } = this
    const isFailing = (): boolean => sender.isFailing
    this.reader = new EventReader({ delivery: deps, stream, progress, log, target: currentTarget, isFailing })
    this.snapshot = new SnapshotSender({ delivery: deps, progress, sender, log })
    this.running = this.run()
  }

  /** Call it when the stream may have grown. `next`: sequence of the next event to append. */
  notify(origin: string, next: number, hasRequests: boolean): void {
    const { position } = this.progress
    if (!hasRequests && position !== null && position.origin === origin && position.next === next) return
    this.wake()
  }

  /** Changes the target. A changed configuration is tried at once, also after failures. */
  retarget(target: DeliveryTarget): void {
    const before = this.target
    this.target = target
    if (before.providers.join() !== target.providers.join()) {
      this.reader.expectOthers()
      this.wake()
    }
    if (ownerOf(before) !== ownerOf(target)) {
      this.progress.rewind()
      this.interrupt()
    }
    if (before.startsWithSnapshot !== target.startsWithSnapshot) this.interrupt()
    if (before.configuration === target.configuration) return
    this.sender.reconnect(target)
    this.interrupt()
  }

  /** Waits a short time for a running call, stores the progress and closes the connection. */
  async stop(): Promise<void> {
    await this.end(STOP_TIMEOUT_MS)
    await this.progress.commit().catch((failure: unknown) => this.sender.failOutbox(failure))
    this.log.close()
  }

  /** Stops at once, without storing the progress: the sink no longer has the provider. */
  async abandon(): Promise<void> {
    await this.end(0)
    this.log.close()
  }

  private async end(timeoutMs: number): Promise<void> {
    this.isStopping = true
    this.sender.end()
    this.interrupt()
    const timer = setTimeout(() => void this.sender.close(), timeoutMs)
    await this.running
    clearTimeout(timer)
    await this.sender.close()
    this.progress.stop()
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      this.isNotified = false
      this.isInterrupted = false
      const pass = await this.pass().catch((failure: unknown): Pass => this.sender.failOutbox(failure).kind)
      if (pass !== 'failed') this.recoverOutbox()
      if (pass === 'worked') continue
      if (pass === 'failed') this.reader.keepProbe()
      const isIdle = pass === 'idle'
      if (this.isStopping || this.isInterrupted || (isIdle && this.isNotified)) continue
      const retryMs = this.deps.random() * backoffMs(retryDelay, this.sender.failures)
      await this.sleep(isIdle ? IDLE_CHECK_MS : retryMs, isIdle)
    }
  }

  /** The outbox can be read, and everything is stored. */
  private recoverOutbox(): void {
    if (this.progress.isSettled) this.sender.recoverOutbox()
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

  /** Ends the sleep of an idle delivery. */
  private wake(): void {
    this.isNotified = true
    if (this.sleeping?.isIdle === true) this.sleeping.end()
  }

  private interrupt(): void {
    this.isInterrupted = true
    this.sleeping?.end()
  }

  private async pass(): Promise<Pass> {
    const { progress, reader, sender } = this
    if (progress.isDue) await progress.commit()
    // After a failure a few events are left, but the stream may have been dropped, or its backlog may have grown.
    if (reader.pending.length === 0 || sender.isFailing) {
      const found = await this.deps.withOutbox((outbox, name) => reader.fetch(outbox, name))
      // Its project was deleted, or its sink.
      if (found === null) progress.rewind()
      if (found !== true) return 'idle'
    }
    const { position } = progress
    if (position === null) return 'worked'
    const requested = reader.takeRequested()
    if (requested.length > 0) return this.resend(requested, position)
    if (position.gap !== null) return this.sendGap(position, position.gap)
    if (lacksSnapshot(this.target, this.stream, position)) return this.snapshot.send(position)
    return reader.pending.length === 0 ? 'worked' : this.sendPending(position)
  }

  private async resend(requested: readonly DeadLetter[], position: DeliveryPosition): Promise<Pass> {
    const { deps: delivery, progress, sender } = this
    const result = await resendDeadLetters(requested, position, { delivery, progress, sender })
    return result === 'failed' ? 'failed' : 'worked'
  }

  private async sendPending(position: DeliveryPosition): Promise<Pass> {
    const { progress, reader, sender } = this
    const events = reader.pending.slice(0, CALL_EVENTS).map(({ event }) => event)
    const call = await sender.call(events)
    if (progress.position !== position) return 'worked'
    const delivered = call.outcome.kind === 'delivered' ? events.length : call.outcome.delivered
    sender.countDelivered(delivered)
    reader.advance(position, delivered)
    const verdict = sender.judge(call, reader.pending[0]?.sequence ?? 0)
    if (verdict.kind === 'failed') return 'failed'
    if (verdict.kind !== 'refused') return 'worked'
    const { event, sequence } = reader.pending[0] as PendingEvent
    progress.bury(event, sequence, verdict.error, verdict.attempts)
    reader.advance(position, 1)
    return 'worked'
  }

  private async sendGap(position: DeliveryPosition, gap: OutboxGap): Promise<Pass> {
    const { progress, sender } = this
    const event = gapEnvelope(this.stream, position.origin, this.target.providerId, gap)
    const call = await sender.call([event])
    if (progress.position !== position) return 'worked'
    const verdict = sender.judge(call, gap.from)
    if (verdict.kind === 'failed') return 'failed'
    if (verdict.kind === 'ended') return 'worked'
    if (verdict.kind === 'refused') progress.bury(event, gap.from, verdict.error, verdict.attempts)
    position.gap = null
    // A copy that lacks the changes of the gap starts again.
    position.snapshot = undefined
    progress.require()
    return 'worked'
  }
}
