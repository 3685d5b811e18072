// Builds the entries of an audit log from the records of an outbox. An entry is the CloudEvent of an event as JSON (structured
// mode), on one line, and a pure function of the record, its place and the key: sealing again after a crash makes equal bytes.
// Entries have no values of input parameters, but their names, and a keyed hash that only the holder of the key can compare
// with guessed values.
import { createHmac, hash } from 'node:crypto'
import {
  AttributeTexts,
  type EventStreamName,
  type EventText,
  eventTextsOf,
  type StoredEventRecord,
} from '../events/envelope.ts'
import { decodeRecord } from '../events/event-record.ts'
import { assert } from '../kernel/assert.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { EntryMemory } from './entry-memory.ts'
import type { EntryTermFacts } from './entry-terms.ts'

/** Bytes of an entry, at most: tiles of C2SP `tlog-tiles` store the length in 16 bits. */
export const ENTRY_BYTES_MAX = 65_535

/** A payload that is stored outside of its entry. */
interface AuditBody {
  /** SHA-256 of the bytes in hexadecimal. The entry refers to it as `bodies/<name>`. */
  readonly name: string
  readonly bytes: Uint8Array
}

/** An entry of an audit log. */
export interface AuditEntry {
  /** Sequence of the event in its stream. */
  readonly sequence: number
  /** JSON in UTF-8 without line breaks. At most `ENTRY_BYTES_MAX`. */
  readonly entry: Uint8Array
  /** Null: the entry contains its payload. */
  readonly body: AuditBody | null
  /** Null: only the payload shows who caused it. */
  readonly facts: EntryTermFacts | null
}

/**
 * Builds the entries of a record of the audit log, from the event `from` on. `hashKey`: the key of the log, for hashes of
 * values. `memory`: of the entries. Throws if the record cannot be decoded.
 */
export function auditEntriesOf(
  record: StoredEventRecord,
  stream: EventStreamName,
  from: number,
  hashKey: Uint8Array,
  memory: EntryMemory = new EntryMemory(),
): AuditEntry[] {
  const attributes = new AttributeTexts(stream, record.origin)
  return eventTextsOf(record, decodeRecord(record.bytes), from).map((event) =>
    auditEntryOf(event, attributes, memory, hashKey),
  )
}

function auditEntryOf(
  event: EventText,
  attributes: AttributeTexts,
  memory: EntryMemory,
  hashKey: Uint8Array,
): AuditEntry {
  const { type, sequence, subject, timeMs, actor } = event
  const facts = actor === undefined ? null : { type, subject, timeMs, actor }
  const data = dataOf(event, hashKey)
  const start = attributes.of(event)
  const entry = memory.encode(`${start},"data":${data}}`)
  if (entry.length <= ENTRY_BYTES_MAX) return { sequence, entry, body: null, facts }
  const bytes = Buffer.from(data, 'utf8')
  const name = hash('sha256', bytes)
  const short = Buffer.from(`${start},"dataref":"bodies/${name}","datasha256":"${name}"}`, 'utf8')
  assert(short.length <= ENTRY_BYTES_MAX, 'the attributes of an event are short')
  return { sequence, entry: short, body: { name, bytes }, facts }
}

/** The hash that stands for the values of input parameters. `digest`: from `digestOfValues`. */
export function valuesHash(digest: string, hashKey: Uint8Array): string {
  return createHmac('sha256', hashKey).update(digest, 'base64url').digest('hex')
}

/** The payload of the entry, as JSON. */
function dataOf({ type, text, valuesDigest, mayHaveValues }: EventText, hashKey: Uint8Array): string {
  if (!mayHaveValues) return text
  if (!type.startsWith('svc.audit.authorization.') && type !== 'svc.audit.ciq.execute') return text
  // Within a string of JSON a quote is escaped, so neither can be missed. Most decisions have neither, and parsing is slow.
  if (!text.includes('"inputParams":') && !text.includes('"error":')) return text
  // Only values of parameters have numbers that this parser changes.
  const { request, error, ...members } = JSON.parse(text) as Readonly<Record<string, unknown>>
  return JSON.stringify({
    ...members,
    ...(isJsonObject(request) && { request: withoutValues(request, valuesDigest, hashKey) }),
    // The message may quote a value.
    ...(isJsonObject(error) && { error: { kind: error.kind } }),
  })
}

function withoutValues(
  { inputParams, ...members }: Readonly<Record<string, unknown>>,
  digest: string | undefined,
  hashKey: Uint8Array,
): object {
  if (!isJsonObject(inputParams)) return members
  const hash = digest === undefined ? {} : { inputParamsHash: valuesHash(digest, hashKey) }
  return { ...members, inputParamNames: namesIn(inputParams, ''), ...hash }
}

/** The names of all members that are not objects: `amount`, `subject_properties.age`. */
function namesIn(values: Readonly<Record<string, unknown>>, prefix: string): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    isJsonObject(value) ? namesIn(value, `${prefix}${name}.`) : [`${prefix}${name}`],
  )
}
