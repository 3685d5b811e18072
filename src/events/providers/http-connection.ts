// The connection to a provider over HTTPS: a batch is sent in parts, and each part in a request of its own.
import type { OutgoingEvent, ProviderConnection } from './provider.ts'
import { AcknowledgedAhead, type PartLimits, type PartOutcome, sendInParts } from './send-in-parts.ts'

/** Sends a batch in parts. */
export abstract class PostConnection implements ProviderConnection {
  private readonly limits: PartLimits
  private readonly acknowledged = new AcknowledgedAhead()
  private readonly closed = new AbortController()

  /** `limits`: of a part. */
  constructor(limits: PartLimits) {
    this.limits = limits
  }

  send(events: readonly OutgoingEvent[], deadlineMs: number) {
    return sendInParts(events, deadlineMs, this.limits, this.acknowledged, this.closed.signal, (part, left) =>
      this.sendPart(part, left),
    )
  }

  /** Each request has a connection of its own; a running one ends at its deadline. */
  async close(): Promise<void> {
    this.closed.abort()
  }

  /** Sends one part within the given milliseconds. Never rejects. */
  protected abstract sendPart(part: readonly OutgoingEvent[], timeoutMs: number): Promise<PartOutcome>
}
