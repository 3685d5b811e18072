// Sends a batch in parts that the receiver accepts: limits count and bytes, finds the refused event of a part by halving,
// and skips what an earlier attempt delivered.
import type { DeliveryOutcome, OutgoingEvent } from './provider.ts'

/** How one part ended. `refused`: at least one of its events was refused. */
export type PartOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly error: string }
  | { readonly kind: 'refused'; readonly error: string; readonly isFinal: boolean }

/** Limits of a part. A single event may exceed `bytes`; the receiver decides about it. */
export interface PartLimits {
  readonly count: number
  readonly bytes: number
  /** Size of an event in the form that is sent, at most a few percent too small. */
  readonly bytesOf: (event: OutgoingEvent) => number
}

/**
 * Events that the receiver acknowledged although an earlier event of the batch failed. The next attempt contains them
 * again and must not send them again.
 */
export class AcknowledgedAhead {
  private readonly keys = new Set<string>()

  /** Whether the event was acknowledged. */
  has(event: OutgoingEvent): boolean {
    return this.keys.size > 0 && this.keys.has(keyOf(event))
  }

  /** Stores acknowledged events. */
  add(events: Iterable<OutgoingEvent>): void {
    for (const event of events) this.keys.add(keyOf(event))
  }

  /** Number of events from index `from` that are acknowledged; forgets them, because the caller does not send them again. */
  takePrefix(events: readonly OutgoingEvent[], from = 0): number {
    let end = from
    while (end < events.length && this.keys.size > 0 && this.keys.delete(keyOf(events[end] as OutgoingEvent))) end++
    return end - from
  }
}

/** CloudEvents 1.0: `source` and `id` together identify an event. */
function keyOf({ attributes }: OutgoingEvent): string {
  return `${attributes.source}\n${attributes.id}`
}

/**
 * Sends all events in order, part by part. `send` delivers a part within the given milliseconds, and stores in
 * `acknowledged` what the receiver took of a part that failed. `closed` ends the batch at once.
 */
export async function sendInParts(
  events: readonly OutgoingEvent[],
  deadlineMs: number,
  limits: PartLimits,
  acknowledged: AcknowledgedAhead,
  closed: AbortSignal,
  send: (part: readonly OutgoingEvent[], deadlineMs: number) => Promise<PartOutcome>,
): Promise<DeliveryOutcome> {
  const end = performance.now() + deadlineMs
  let delivered = 0
  let countMax = limits.count
  for (;;) {
    delivered += acknowledged.takePrefix(events, delivered)
    if (delivered === events.length) return { kind: 'delivered' }
    const left = end - performance.now()
    if (left <= 0) return { kind: 'retry', delivered, error: deadlineText(deadlineMs) }
    const part = nextPart(events, delivered, countMax, limits, acknowledged)
    const outcome = closed.aborted ? CLOSED : await endedBy(closed, send(part, left))
    if (outcome.kind === 'delivered') {
      // Nothing was left out of the part: it is the prefix.
      if (part.at(-1) === events[delivered + part.length - 1]) delivered += part.length
      else acknowledged.add(part)
      countMax = Math.min(limits.count, countMax * 2)
      continue
    }
    delivered += acknowledged.takePrefix(events, delivered)
    if (outcome.kind === 'retry') return { kind: 'retry', delivered, error: outcome.error }
    if (part.length === 1) return { ...outcome, delivered }
    countMax = Math.ceil(part.length / 2)
  }
}

const CLOSED: PartOutcome = { kind: 'retry', error: 'the connection is closed' }

function endedBy(closed: AbortSignal, sending: Promise<PartOutcome>): Promise<PartOutcome> {
  return new Promise((resolve, reject) => {
    const close = (): void => resolve(CLOSED)
    closed.addEventListener('abort', close, { once: true })
    sending.then(resolve, reject).finally(() => closed.removeEventListener('abort', close))
  })
}

/** The text of an expired deadline. */
export function deadlineText(deadlineMs: number): string {
  return `no acknowledgement within ${Math.round(deadlineMs)} milliseconds`
}

function nextPart(
  events: readonly OutgoingEvent[],
  from: number,
  countMax: number,
  { bytes: bytesMax, bytesOf }: PartLimits,
  acknowledged: AcknowledgedAhead,
): OutgoingEvent[] {
  const part: OutgoingEvent[] = []
  let bytes = 0
  for (let at = from; at < events.length && part.length < countMax; at++) {
    const event = events[at] as OutgoingEvent
    if (acknowledged.has(event)) continue
    bytes += bytesOf(event)
    if (part.length > 0 && bytes > bytesMax) break
    part.push(event)
  }
  return part
}

/** The result of `work`, or of `expired` after `deadlineMs`. Late faults of `work` are dropped. */
export async function within<T>(work: Promise<T>, deadlineMs: number, expired: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(expired()), Math.max(0, deadlineMs))
  })
  work.catch(() => undefined)
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
