// The values of an outbox: heads of streams, records, cursors and dead letters.
import { type ByteWriter, type ValueView, writerWith } from '../format/bytes.ts'

/** Length of the name of an origin. */
const ORIGIN_LENGTH = 10

const ORIGIN_LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Draws the name of an origin at random. */
export function drawOrigin(): string {
  let origin = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(ORIGIN_LENGTH))) origin += ORIGIN_LETTERS[byte & 31]
  return origin
}

/**
 * The end of a stream. An append stores it only if the stream is new, because each value in another page makes a transaction
 * slower: the newest record continues the stored head (`headOf`). Whatever removes records stores the head.
 */
export interface StreamHead {
  /**
   * Names the history that sequences belong to. Drawn at random when the stream begins, and again when a backup is restored,
   * so that two events never have the same origin and sequence.
   */
  readonly origin: string
  /** Sequence of the next event. Starts at 1. */
  readonly next: number
  /** Bytes of all records that were ever appended. */
  readonly bytes: number
}

/** The head of a new stream. */
export function newHead(): StreamHead {
  return { origin: drawOrigin(), next: 1, bytes: 0 }
}

/** A record without its bytes. */
export interface OutboxRecordHead {
  /** Sequence of its first event. */
  readonly sequence: number
  /** Number of its events. */
  readonly count: number
  /** When it was appended, in milliseconds since the epoch. */
  readonly timeMs: number
  /** Bytes of all records before it. */
  readonly offset: number
  /** See `StreamHead`. */
  readonly origin: string
}

/** A record: the events of one transaction, or a part of them. */
export interface OutboxRecord extends OutboxRecordHead {
  /** As appended. */
  readonly bytes: Uint8Array
}

/** Events that were not delivered because the backlog of a provider exceeded its bounds. */
export interface OutboxGap {
  /** Sequence of the first skipped event. */
  readonly from: number
  /** Sequence after the last skipped event. */
  readonly to: number
  /** Number of skipped events that were routed to the provider. */
  readonly events: number
  /** Time of the first and the last skipped record, in milliseconds since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Records that were removed although a provider had not received them, because no process delivered. */
export interface OutboxLoss {
  /** Sequence of the first removed event. */
  readonly from: number
  /** Sequence after the last one. */
  readonly to: number
  /** Time of the first and the last removed record, in milliseconds since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Events of the loss that a provider at the position `next` has missed. Those for other providers are among them. */
export function missedEvents({ from, to }: OutboxLoss, next: number): number {
  return Math.max(0, to - Math.max(from, next))
}

/** Options of an outbox. */
export interface OutboxOptions {
  /** Bytes of the records of a stream; beyond them each writer removes the oldest, except in streams of the audit log. Default: no bound. */
  readonly outboxBytesMax?: number
}

/** The position of one provider in a stream. */
export interface OutboxCursor {
  /** Sequence of the next event to deliver. */
  readonly next: number
  /** To be delivered before the next event; null: nothing was skipped. */
  readonly gap: OutboxGap | null
  /** How far the initial snapshot of the graph is, as its reader defines it. Absent: it was not begun, or there is no such snapshot. */
  readonly snapshot?: unknown
  /** Names the configuration of the provider that the position and the dead letters belong to, as the caller of `commit` defines it. */
  readonly owner?: string
}

/** Writes the head of a stream. */
export function writeHead(writer: ByteWriter, { origin, next, bytes }: StreamHead): void {
  writer.f64(next)
  writer.f64(bytes)
  writer.textWithoutLength(origin)
}

/** Reads the head of a stream. */
export function readHead({ view, text }: ValueView): StreamHead {
  return {
    next: view.getFloat64(0, true),
    bytes: view.getFloat64(8, true),
    origin: text.toString('latin1', 16, 16 + ORIGIN_LENGTH),
  }
}

const RECORD_FIXED_BYTES = 24 + ORIGIN_LENGTH

/** Bytes that a record takes in addition to its own. */
export const RECORD_OVERHEAD_BYTES = RECORD_FIXED_BYTES

/** Writes a record. A text is written in UTF-8. */
export function writeRecord(
  writer: ByteWriter,
  { count, timeMs, offset, origin, bytes }: OutboxRecordHead & { readonly bytes: Uint8Array | string },
): void {
  writer.u32(count)
  const lengthAt = writer.reserve(4)
  writer.f64(timeMs)
  writer.f64(offset)
  writer.textWithoutLength(origin)
  const start = writer.length
  if (typeof bytes === 'string') writer.longText(bytes)
  else writer.raw(bytes)
  writer.patch(lengthAt, writer.length - start)
}

/** Reads a record without its bytes. */
export function readRecordHead(sequence: number, { view, words, text }: ValueView): OutboxRecordHead {
  return {
    sequence,
    count: words[0]!,
    timeMs: view.getFloat64(8, true),
    offset: view.getFloat64(16, true),
    origin: text.toString('latin1', 24, RECORD_FIXED_BYTES),
  }
}

/** The head of the stream after a record. */
export function headAfter(sequence: number, valueView: ValueView): StreamHead {
  const { count, offset, origin } = readRecordHead(sequence, valueView)
  return { origin, next: sequence + count, bytes: offset + valueView.words[1]! + RECORD_OVERHEAD_BYTES }
}

/** Reads a record of a range, whose values have memory of their own. */
export function readRecord(sequence: number, valueView: ValueView): OutboxRecord {
  const { sequence: from, count, timeMs, offset, origin } = readRecordHead(sequence, valueView)
  const end = RECORD_FIXED_BYTES + valueView.words[1]!
  const bytes = valueView.source.subarray(RECORD_FIXED_BYTES, end)
  return { sequence: from, count, timeMs, offset, origin, bytes }
}

/** Encodes bytes with their length, because values are padded. */
export function encodeBytes(bytes: Uint8Array): Uint8Array {
  const writer = writerWith(new Uint8Array(0))
  writer.u32(bytes.length)
  writer.raw(bytes)
  return writer.written()
}

/** Reads what `encodeBytes` wrote. */
export function readBytes(valueView: ValueView): Uint8Array {
  return copyOf(valueView, 4, valueView.words[0]!)
}

/** A copy, because the memory of a view is reused by the next read. */
function copyOf({ text }: ValueView, start: number, length: number): Uint8Array {
  // Not `Uint8Array.from`, which goes through an iterator: 20 ns per byte.
  return new Uint8Array(text.subarray(start, start + length))
}

/** Encodes a cursor. */
export function encodeCursor(cursor: OutboxCursor): Uint8Array {
  return encodeBytes(Buffer.from(JSON.stringify(cursor)))
}

/** Reads a cursor. */
export function readCursor({ words, text }: ValueView): OutboxCursor {
  return JSON.parse(text.toString('utf8', 4, 4 + words[0]!)) as OutboxCursor
}

/** The dead letters of one provider in a stream. */
export interface DeadLetterTotals {
  readonly count: number
  readonly bytes: number
}

/** Encodes the totals of dead letters. */
export function encodeTotals({ count, bytes }: DeadLetterTotals): Uint8Array {
  const writer = writerWith(new Uint8Array(0))
  writer.f64(count)
  writer.f64(bytes)
  return writer.written()
}

/** Reads what `encodeTotals` wrote. */
export function readTotals({ view }: ValueView): DeadLetterTotals {
  return { count: view.getFloat64(0, true), bytes: view.getFloat64(8, true) }
}

/** The length of what `encodeBytes` wrote, without reading it. */
export function readLength({ words }: ValueView): number {
  return words[0]!
}

/** Encodes a loss. */
export function encodeLoss(loss: OutboxLoss): Uint8Array {
  return encodeBytes(Buffer.from(JSON.stringify(loss)))
}

/** Reads a loss. */
export function readLoss({ words, text }: ValueView): OutboxLoss {
  return JSON.parse(text.toString('utf8', 4, 4 + words[0]!)) as OutboxLoss
}

/** Encodes a time. */
export function encodeTime(timeMs: number): Uint8Array {
  const writer = writerWith(new Uint8Array(0))
  writer.f64(timeMs)
  return writer.written()
}

/** Reads what `encodeTime` wrote. */
export function readTime({ view }: ValueView): number {
  return view.getFloat64(0, true)
}
