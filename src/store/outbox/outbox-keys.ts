// The keys of an outbox.
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'

/** The key of the head of a stream. */
export function headKey(stream: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.head, stream, provider: '', sequence: 0 }
}

/** The key of a record. */
export function recordKey(stream: string, sequence: number): OutboxKey {
  return { kind: OUTBOX_ENTRY.record, stream, provider: '', sequence }
}

/** The key of a cursor. */
export function cursorKey(stream: string, provider: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.cursor, stream, provider, sequence: 0 }
}

/** The key of a dead letter. */
export function deadLetterKey(stream: string, provider: string, sequence: number): OutboxKey {
  return { kind: OUTBOX_ENTRY.deadLetter, stream, provider, sequence }
}

/** The key of the number and the bytes of the dead letters of a provider. */
export function deadLetterTotalsKey(stream: string, provider: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.deadLetterTotals, stream, provider, sequence: 0 }
}

/** The key of a request to send a dead letter again. */
export function requestKey(stream: string, provider: string, sequence: number): OutboxKey {
  return { kind: OUTBOX_ENTRY.request, stream, provider, sequence }
}

/** The key of the status of a provider. */
export function statusKey(stream: string, provider: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.status, stream, provider, sequence: 0 }
}

/** The key of the time until which a stream is followed. */
export function followKey(stream: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.follow, stream, provider: '', sequence: 0 }
}

/** The key of what writers have removed from a stream. */
export function lossKey(stream: string): OutboxKey {
  return { kind: OUTBOX_ENTRY.loss, stream, provider: '', sequence: 0 }
}
