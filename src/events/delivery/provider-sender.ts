// Sends events to one provider, and keeps how well that works: failures in a row, the status, and the log.
import { assertNever } from '../../kernel/assert.ts'
import type { DeliveryOutcome, OutgoingEvent, ProviderConnection } from '../providers/provider.ts'
import type { DeliveryLog } from './delivery-log.ts'
import type { DeliveryTarget, StreamDeliveryDeps } from './delivery-target.ts'

/** Time limit of one call of a provider. */
const SEND_TIMEOUT_MS = 30_000
/** An event that is refused this often becomes a dead letter. */
export const REFUSALS_MAX = 10

/** How a call of the provider ended. */
interface ProviderCall {
  readonly outcome: DeliveryOutcome
  /** The connection was closed by this process, so that its error is no failure of the provider. */
  readonly isEnded: boolean
}

/**
 * The meaning of a call for the delivery. `ended`: nothing. `failed`: the next attempt waits. `refused`: the event after the delivered
 * ones becomes a dead letter.
 */
type CallVerdict =
  | { readonly kind: 'delivered' | 'ended' | 'failed' }
  | { readonly kind: 'refused'; readonly error: string; readonly attempts: number }

/** The connection to a provider. */
export class ProviderSender {
  private readonly deps: Pick<StreamDeliveryDeps, 'clock' | 'changeStatus'>
  private readonly log: DeliveryLog
  private connection: ProviderConnection
  /** Failures in a row. */
  private failureCount = 0
  private refused = { sequence: 0, times: 0 }
  private isFailingNow = false
  /** The last failure was one of the outbox, not of the receiver. */
  private isOutboxFailing = false
  private isEnding = false

  constructor(target: DeliveryTarget, deps: Pick<StreamDeliveryDeps, 'clock' | 'changeStatus'>, log: DeliveryLog) {
    this.deps = deps
    this.log = log
    this.connection = target.connect()
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.failureCount
  }

  /** Whether the last attempt failed. */
  get isFailing(): boolean {
    return this.isFailingNow
  }

  /** Connects to a changed provider, which is tried without the failures of before. */
  reconnect(target: DeliveryTarget): void {
    const { connection } = this
    this.connection = target.connect()
    this.failureCount = 0
    this.refused = { sequence: 0, times: 0 }
    void connection.close()
  }

  /** From now on, errors are no failures of the provider. */
  end(): void {
    this.isEnding = true
  }

  /** Closes the connection. A running call ends. */
  close(): Promise<void> {
    return this.connection.close()
  }

  /** Sends events. Never rejects. */
  async call(events: readonly OutgoingEvent[]): Promise<ProviderCall> {
    const { connection } = this
    const outcome = await connection.send(events, SEND_TIMEOUT_MS)
    return { outcome, isEnded: this.isEnding || connection !== this.connection }
  }

  /** Counts a success, a failure or a refusal. `sequence`: names the event that may have been refused. */
  judge({ outcome, isEnded }: ProviderCall, sequence: number): CallVerdict {
    if (outcome.kind === 'delivered') {
      this.succeed()
      return { kind: 'delivered' }
    }
    if (isEnded) return { kind: 'ended' }
    switch (outcome.kind) {
      case 'retry':
        return this.fail(outcome.error)
      case 'refused': {
        const { error, isFinal } = outcome
        const attempts = this.countRefusal(sequence)
        if (!isFinal && attempts < REFUSALS_MAX) return this.fail(error)
        this.failureCount = 0
        this.note(error)
        return { kind: 'refused', error, attempts }
      }
      default:
        return assertNever(outcome)
    }
  }

  /** Counts delivered events. */
  countDelivered(count: number): void {
    if (count === 0) return
    this.failureCount = 0
    const lastDeliveryTime = this.deps.clock.now()
    this.deps.changeStatus(({ delivered }) => ({ delivered: delivered + count, lastDeliveryTime }))
  }

  /** The last call succeeded. */
  succeed(): void {
    this.failureCount = 0
    this.deps.changeStatus(({ lastError }) => (lastError === '' ? {} : { lastError: '' }))
    if (this.isFailingNow) this.log.add('info', 'events are delivered again')
    this.isFailingNow = false
  }

  /** The last call failed and is repeated. */
  fail(error: string): { readonly kind: 'failed' } {
    this.isOutboxFailing = false
    this.failureCount += 1
    this.note(error)
    if (!this.isFailingNow) this.log.add('error', 'events cannot be delivered; they are sent again', { error })
    this.isFailingNow = true
    return { kind: 'failed' }
  }

  /** The outbox could not be read or written. */
  failOutbox(failure: unknown): { readonly kind: 'failed' } {
    const failed = this.fail(
      `the outbox cannot be used: ${failure instanceof Error ? failure.message : String(failure)}`,
    )
    this.isOutboxFailing = true
    return failed
  }

  /** Ends a failure of the outbox. There may be no event to send that would show it. */
  recoverOutbox(): void {
    if (!this.isOutboxFailing) return
    this.isOutboxFailing = false
    this.succeed()
  }

  /** Shows an error that is not repeated. */
  note(error: string): void {
    const lastErrorTime = this.deps.clock.now()
    this.deps.changeStatus(({ failed }) => ({ failed: failed + 1, lastError: error, lastErrorTime }))
  }

  private countRefusal(sequence: number): number {
    this.refused = { sequence, times: this.refused.sequence === sequence ? this.refused.times + 1 : 1 }
    return this.refused.times
  }
}
