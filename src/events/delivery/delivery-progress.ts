// How far a provider is in a stream: the position in memory, and its storage in the outbox together with new dead letters.
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { OutboxGap } from '../../store/outbox/outbox-format.ts'
import type { OutgoingEvent } from '../providers/provider.ts'
import type { SnapshotPosition } from '../snapshot-events.ts'
import { type DeadLetterContent, encodeDeadLetter } from './dead-letter.ts'
import type { DeliveryLog } from './delivery-log.ts'
import { type DeliveryTarget, ownerOf, type StreamDeliveryDeps } from './delivery-target.ts'

/** Delivered events whose progress is not stored yet, at most. After a crash they are delivered again. */
const UNCOMMITTED_MAX = 5000
/** How long progress may stay in memory. */
const COMMIT_DELAY_MS = 100

/** Stored in place of the position when the initial snapshot is complete. */
export const COMPLETE = 'complete'

/** How far the provider is. */
export interface DeliveryPosition {
  /** Of the stream. */
  readonly origin: string
  /** Sequence of the next event. */
  next: number
  gap: OutboxGap | null
  /** Of the initial snapshot. Undefined: not begun, or the target does not start with one. */
  snapshot: SnapshotPosition | typeof COMPLETE | undefined
}

/** Collaborators of the progress. */
interface DeliveryProgressDeps {
  readonly delivery: StreamDeliveryDeps
  readonly log: DeliveryLog
  target(): DeliveryTarget
  /** Called when the position is unknown again. */
  onRewind(): void
  /** Called when progress was stored. */
  onStored(): void
  /** Called when progress could not be stored; it is stored later. */
  onFailure(failure: unknown): void
}

/** The progress of one provider. */
export class DeliveryProgress {
  private readonly deps: DeliveryProgressDeps
  private current: DeliveryPosition | null = null
  /** Events since the stored position. */
  private uncommitted = 0
  private deadLetters: { readonly sequence: number; readonly bytes: Uint8Array }[] = []
  private mustCommit = false
  private timer: ReturnType<typeof setTimeout> | null = null
  private committing: Promise<void> | null = null
  private isStopped = false

  constructor(deps: DeliveryProgressDeps) {
    this.deps = deps
  }

  /** Null: not read yet, or the stream was replaced. Compare it after each wait: it may have been replaced. */
  get position(): DeliveryPosition | null {
    return this.current
  }

  /** Whether the position must be stored before the next call. */
  get isDue(): boolean {
    return this.mustCommit || this.uncommitted >= UNCOMMITTED_MAX
  }

  /** Whether nothing waits to be stored that must not be lost. */
  get isSettled(): boolean {
    return !this.mustCommit && this.committing === null
  }

  /** Forgets the position and what is not stored. */
  rewind(): void {
    this.current = null
    this.uncommitted = 0
    this.deadLetters = []
    this.mustCommit = false
    this.deps.onRewind()
  }

  /**
   * Reads the stored position. That of a removed provider with the same id is kept, because all its events are skipped; its gap,
   * its snapshot and its dead letters concern another receiver. Resolves with false if the target was changed in the meantime.
   */
  async load(outbox: EventOutbox, name: string, origin: string): Promise<boolean> {
    this.rewind()
    const target = this.deps.target()
    const stored = outbox.cursors(name).get(target.providerId)
    const { next = 1, gap = null, snapshot, owner = ownerOf(target) } = stored ?? {}
    if (owner === ownerOf(target)) {
      this.current = { origin, next, gap, snapshot: snapshot as DeliveryPosition['snapshot'] }
      return true
    }
    await outbox.deadLetters.removeAll(name, target.providerId)
    if (this.deps.target() !== target) return false
    this.current = { origin, next, gap: null, snapshot: undefined }
    this.mustCommit = true
    return true
  }

  /** Moves the position to the event `next`. */
  moveTo(position: DeliveryPosition, next: number): void {
    this.uncommitted += next - position.next
    position.next = next
  }

  /** Counts events that were delivered without moving the position, such as those of a snapshot. */
  countUncommitted(events: number): void {
    this.uncommitted += events
  }

  /** The position is stored before the next call. */
  require(): void {
    this.mustCommit = true
  }

  /** Makes an event a dead letter, in the transaction that stores the position after it. */
  bury({ attributes, data, orderingKey }: OutgoingEvent, sequence: number, error: string, attempts: number): void {
    const { clock, changeStatus } = this.deps.delivery
    const content: DeadLetterContent = {
      sinkId: this.deps.target().sinkId,
      attributes,
      data: new TextDecoder().decode(data),
      orderingKey,
      error,
      timeMs: clock.now(),
      attempts,
    }
    this.deadLetters.push({ sequence, bytes: encodeDeadLetter(content) })
    this.mustCommit = true
    changeStatus(({ deadLettered }) => ({ deadLettered: deadLettered + 1 }))
    const message = 'events cannot be delivered and are stored as dead letters'
    this.deps.log.addEvents(message, 1, { event: attributes.id, error })
  }

  /** Stores the position shortly after. */
  schedule(): void {
    if (this.timer !== null || this.isStopped) return
    this.timer = setTimeout(() => {
      this.timer = null
      this.commit().catch((failure: unknown) => {
        this.deps.onFailure(failure)
        this.schedule()
      })
    }, COMMIT_DELAY_MS)
  }

  /** Ends scheduled commits. */
  stop(): void {
    this.isStopped = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  /** Stores the position. Events continue to be sent during the write. Rejects with StorageWriteError. */
  async commit(): Promise<void> {
    while (this.committing !== null) await this.committing.catch(() => undefined)
    const { current } = this
    if (current === null || (this.uncommitted === 0 && !this.mustCommit)) return
    const committing = this.store(current)
    this.committing = committing
    try {
      await committing
    } finally {
      this.committing = null
    }
    this.deps.onStored()
  }

  private async store(position: DeliveryPosition): Promise<void> {
    const { uncommitted, deadLetters } = this
    this.uncommitted = 0
    this.deadLetters = []
    this.mustCommit = false
    try {
      const isStored = await this.write(position, deadLetters)
      if (!isStored && this.current === position) this.rewind()
    } catch (failure) {
      if (this.current === position) {
        this.uncommitted += uncommitted
        this.deadLetters = [...deadLetters, ...this.deadLetters]
        this.mustCommit = true
      }
      throw failure
    }
  }

  private async write(
    { origin, next, gap, snapshot }: DeliveryPosition,
    deadLetters: readonly { readonly sequence: number; readonly bytes: Uint8Array }[],
  ): Promise<boolean> {
    const { delivery } = this.deps
    const target = this.deps.target()
    const { sinkId, providerId: provider } = target
    const providers = (): readonly string[] | null => delivery.newestProviders(sinkId)
    const commit = { provider, owner: ownerOf(target), origin, next, gap, snapshot, providers, deadLetters }
    const isStored = await delivery.withOutbox(async (outbox, name) => {
      const isCommitted = await outbox.commit(name, commit)
      if (isCommitted && deadLetters.length > 0) await this.boundDeadLetters(outbox, name, provider)
      return isCommitted
    })
    return isStored === true
  }

  private async boundDeadLetters(outbox: EventOutbox, name: string, provider: string): Promise<void> {
    const { deadLetterBytesMax, changeStatus } = this.deps.delivery
    const dropped = await outbox.deadLetters.bound(name, provider, deadLetterBytesMax)
    if (dropped === 0) return
    changeStatus(({ deadLettersDropped }) => ({ deadLettersDropped: deadLettersDropped + dropped }))
    const message = 'the oldest dead letters of a provider were dropped because they exceeded their bound'
    this.deps.log.addEvents(message, dropped)
  }
}
