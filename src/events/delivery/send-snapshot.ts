// Sends the initial snapshot of a graph, part by part, before the stream.
import type { EventEnvelope, EventStreamName } from '../envelope.ts'
import { type SnapshotPosition, snapshotStart } from '../snapshot-events.ts'
import type { DeliveryLog } from './delivery-log.ts'
import { COMPLETE, type DeliveryPosition, type DeliveryProgress } from './delivery-progress.ts'
import type { DeliveryTarget, StreamDeliveryDeps } from './delivery-target.ts'
import type { ProviderSender } from './provider-sender.ts'

/** Elements of one part of a snapshot. */
const SNAPSHOT_ELEMENTS = 500
/** Dead letters of snapshots have sequences from here on, because elements of a snapshot have none. */
const SNAPSHOT_SEQUENCES = 2 ** 52

/** Whether a provider receives the snapshot of a stream. */
export function hasSnapshot({ startsWithSnapshot }: DeliveryTarget, { source }: EventStreamName): boolean {
  return startsWithSnapshot && source === 'graph'
}

/** Whether a provider has not received the whole snapshot of a stream. */
export function lacksSnapshot(target: DeliveryTarget, stream: EventStreamName, position: DeliveryPosition): boolean {
  return hasSnapshot(target, stream) && position.snapshot !== COMPLETE
}

/** Collaborators of a snapshot. */
interface SnapshotSenderDeps {
  readonly delivery: StreamDeliveryDeps
  readonly progress: DeliveryProgress
  readonly sender: ProviderSender
  readonly log: DeliveryLog
}

/** Sends the snapshot of a graph to one provider. */
export class SnapshotSender {
  private readonly deps: SnapshotSenderDeps
  private buried = 0

  constructor(deps: SnapshotSenderDeps) {
    this.deps = deps
  }

  /** Sends the next part. After a failure the part is read again. */
  async send(position: DeliveryPosition): Promise<'worked' | 'failed'> {
    const { snapshot } = position
    if (snapshot === undefined) await this.begin(position)
    else if (snapshot !== COMPLETE) return this.sendPart(position, snapshot)
    return 'worked'
  }

  /** A write transaction: every change from here on is in the stream, also one of a writer that did not know the sink. */
  private async begin(position: DeliveryPosition): Promise<void> {
    const { delivery, progress } = this.deps
    await delivery.withOutbox((outbox, name) => outbox.begin(name))
    position.snapshot = snapshotStart
    progress.require()
    await progress.commit()
  }

  private async sendPart(position: DeliveryPosition, from: SnapshotPosition): Promise<'worked' | 'failed'> {
    const { delivery, progress, sender, log } = this.deps
    const part = await delivery.readSnapshot(from, SNAPSHOT_ELEMENTS)
    if (progress.position !== position || part === null) return 'worked'
    let { events } = part
    while (events.length > 0) {
      const call = await sender.call(events)
      if (progress.position !== position) return 'worked'
      const delivered = call.outcome.kind === 'delivered' ? events.length : call.outcome.delivered
      sender.countDelivered(delivered)
      const event = events[Math.min(delivered, events.length - 1)] as EventEnvelope
      const verdict = sender.judge(call, event.sequence)
      if (verdict.kind === 'delivered') break
      if (verdict.kind !== 'refused') return verdict.kind === 'failed' ? 'failed' : 'worked'
      progress.bury(event, this.nextSequence(), verdict.error, verdict.attempts)
      events = events.slice(delivered + 1)
    }
    position.snapshot = part.next ?? COMPLETE
    progress.countUncommitted(SNAPSHOT_ELEMENTS)
    progress.schedule()
    if (part.next === null) log.add('info', 'the initial snapshot of a graph was delivered')
    return 'worked'
  }

  private nextSequence(): number {
    this.buried += 1
    return SNAPSHOT_SEQUENCES + this.deps.delivery.clock.now() * 1000 + (this.buried % 1000)
  }
}
