// The compact record of events in an outbox: one for each transaction. It holds what cannot be derived later: who caused the
// events, which providers receive them, and for each event the least from which its payload can be built. Records outlive the
// program that wrote them: a change of the format needs another version number, and the old version stays readable.
//
// Bytes: version (1) · header as JSON · line feed · payloads of events that have one.
import { assertNever } from '../kernel/assert.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import type { UserToken } from '../kernel/request/caller.ts'
import type { RequestCaller } from '../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { RecordedTrace } from '../kernel/request/request-trace.ts'
import type { EventTypeName } from './event-types.ts'
import { jsonString } from './json-string.ts'

/** The format of the records that this program writes. */
const RECORD_FORMAT = 2

/** The parts of the origin of a request that events keep. Both may be empty. */
export type RecordedOrigin = Pick<RequestOrigin, 'requestId' | 'address'>

/** Who caused an event, as the payload shows it. */
export type EventActor =
  | {
      readonly type: 'agent'
      readonly id: string
      readonly applicationId: string
      /** Id of the credential. */
      readonly keyId?: string
      readonly user?: { readonly type: string; readonly externalId: string }
      /** Who acts for the user, with a delegation token. */
      readonly actedBy?: string
    }
  | { readonly type: 'service-account'; readonly id: string; readonly role: string; readonly keyId?: string }
  | { readonly type: 'user'; readonly user: { readonly type: string; readonly externalId: string } }
  | { readonly type: 'operating-system-user'; readonly id: string; readonly name: string; readonly host: string }
  | { readonly type: 'service' }

/** Issuers choose the texts of tokens: a longer one is cut. */
const ACTED_BY_MAX = 256

/** The subject of the claim `act` of a delegation token (RFC 8693, section 4.1). */
function actingParty({ delegation }: UserToken): { readonly actedBy?: string } {
  const act = delegation?.act
  const sub = isJsonObject(act) ? act.sub : undefined
  return typeof sub === 'string' && sub !== '' ? { actedBy: sub.slice(0, ACTED_BY_MAX) } : {}
}

/** The actor of a caller. */
export function actorOf(caller: RequestCaller): EventActor {
  if (caller.kind === 'user')
    return { type: 'user', user: { type: caller.user.nodeType, externalId: caller.user.subjectId } }
  const key = caller.keyId === undefined ? {} : { keyId: caller.keyId }
  if (caller.kind === 'service-account')
    return { type: 'service-account', id: caller.serviceAccountId, role: caller.role, ...key }
  const { agentId: id, applicationId, user, account } = caller
  if (account !== undefined) return actorOf(account)
  if (user === null) return { type: 'agent', id, applicationId, ...key }
  return {
    type: 'agent',
    id,
    applicationId,
    ...key,
    user: { type: user.nodeType, externalId: user.subjectId },
    ...actingParty(user),
  }
}

/**
 * An event of a capture, from which its payload is built: global id, then the key of the element, then what was deleted. The
 * location of an element without one is empty.
 */
export type CapturedElement =
  | readonly [kind: 'n', id: string, type: string, externalId: string, location: string, detail?: CaptureDetail]
  | readonly [
      kind: 'r',
      id: string,
      sourceType: string,
      sourceId: string,
      type: string,
      targetType: string,
      targetId: string,
      detail?: CaptureDetail,
    ]

/** `isIdentity` of an upserted node; deleted properties or labels; a property and its deleted metadata. */
export type CaptureDetail = boolean | readonly string[] | readonly [property: string, metadata: readonly string[]]

/**
 * An event of a decision or a search, from which its payload is built. Values that many events share are numbers of the list
 * `shared` of the record.
 */
export type DecidedElement = readonly [
  kind: 'd',
  timeMs: number,
  requestId: string,
  /** Number of an EventActor. */
  actor: number,
  /** Milliseconds. */
  duration: number,
  /** Number of a list of `{id, name}`. */
  policies: number,
  answer: DecidedAnswer,
  question: DecidedQuestion | null,
  detail?: DecisionDetail | null,
  /** IP address of the client; may be empty. */
  address?: string,
  /** Absent: the request was not traced. */
  trace?: RecordedTrace,
]

/** A decision; the number of results of a search; the error. */
export type DecidedAnswer = boolean | number | { readonly kind: string; readonly message?: string }

/** The request of a decision. An id is null if a search looks for it; the action is null if a search looks for actions. */
export type DecidedQuestion = readonly [
  subjectType: string,
  subjectId: string | null,
  action: string | null,
  resourceType: string,
  resourceId: string | null,
]

/** Rare parts of an event of a decision. */
export interface DecisionDetail {
  /** The id in the decision log, while it is on. */
  readonly id?: string
  /** Why the decision is a denial. */
  readonly reason?: string
  /** The policy that denied what another one grants. */
  readonly forbiddenBy?: { readonly id: string; readonly name: string }
  /** Index in a batch. */
  readonly item?: number
  /** Masked input parameters as JSON. */
  readonly inputParams?: string
  readonly policyTags?: readonly string[]
  /** Drafts decided too. */
  readonly policyStatus?: 'DRAFT'
  /** Absent: the project has no model. */
  readonly modelRevision?: number
  /** Digest of the unmasked input parameters, for the audit log. */
  readonly valuesDigest?: string
}

/** An event with a ready payload. */
export interface ReadyEvent {
  readonly subject: string
  /** When it happened, in milliseconds since the epoch. */
  readonly timeMs: number
  /** Members of the payload after those of all events: JSON without the braces. */
  readonly members: string
  /** Digest of the unmasked input parameters, for the audit log; absent: the event has none. */
  readonly valuesDigest?: string
  /** The trace of its own request; absent: that of the record. */
  readonly trace?: RecordedTrace
}

/** One event of a record. */
export interface RecordedEvent {
  readonly type: EventTypeName
  /** The providers that receive it, as bits in the order of the record's providers. */
  readonly providers: number
  /** Absent: the event has a ready payload. */
  readonly element?: CapturedElement | DecidedElement
  /** Absent: the payload is built from the element. */
  readonly ready?: ReadyEvent
}

/** The event sink whose routes have decided about the events of a record. */
export interface RecordSink {
  /** The sink whose routes decided; empty in a record of the audit log. */
  readonly sinkId: string
  /** Revision of the sink; 0 in a record of the audit log. */
  readonly revision: number
  /** Ids of the providers of the sink. */
  readonly providers: readonly string[]
}

/** The events of one transaction. */
export interface EventRecord extends RecordSink {
  /** Empty: the events have their own, or none. */
  readonly requestId: string
  /** IP address of the client. Absent: the events have their own, or none. */
  readonly address?: string | undefined
  /** The trace of the request. Absent: the events have their own, or none. */
  readonly trace?: RecordedTrace | undefined
  /** Null: the events have their own, or none. */
  readonly actor: EventActor | null
  readonly events: readonly RecordedEvent[]
  /** Values that several events share; absent: none. */
  readonly shared?: readonly unknown[] | undefined
}

/** Collects the values that events of one record share. */
export class SharedValues {
  /** The values, by number. */
  readonly values: unknown[] = []
  private readonly numbers = new Map<object, number>()

  /** The number of the value that `make` derives from `key`. */
  numberOf(key: object, make: () => unknown): number {
    let number = this.numbers.get(key)
    if (number === undefined) {
      number = this.values.push(make()) - 1
      this.numbers.set(key, number)
    }
    return number
  }
}

type EncodedEvent =
  | readonly [type: number, providers: number, element: CapturedElement | DecidedElement]
  | readonly [
      type: number,
      providers: number,
      subject: string,
      timeMs: number,
      length: number,
      valuesDigest?: string | null,
      trace?: RecordedTrace,
    ]

type EncodedHeader = readonly [
  sinkId: string,
  revision: number,
  providers: readonly string[],
  requestId: string,
  actor: EventActor | null,
  types: readonly string[],
  events: readonly EncodedEvent[],
  shared?: readonly unknown[] | null,
  address?: string | null,
  trace?: RecordedTrace,
]

const FORMAT_LETTER = String.fromCharCode(RECORD_FORMAT)
const LINE_FEED = 10

const encoder = new TextEncoder()

/** The events of a record as text, so that no second tree of arrays is built for `JSON.stringify`. */
export class RecordText {
  /** Number of events. */
  count = 0
  private readonly types: string[] = []
  private lastType = ''
  private lastIndex = -1
  private events = ''
  private payloads = ''

  /** Adds an event. `text`: from `eventText`. */
  add(type: EventTypeName, providers: number, text: string, ready: ReadyEvent | undefined): void {
    if (type !== this.lastType) {
      this.lastType = type
      this.lastIndex = this.types.indexOf(type)
      if (this.lastIndex < 0) this.lastIndex = this.types.push(type) - 1
    }
    this.events += `${this.count === 0 ? '' : ','}[${this.lastIndex},${providers},${text}]`
    if (ready !== undefined) this.payloads += ready.members
    this.count += 1
  }

  /** The record. `actor`: from `actorText`. */
  text(
    { sinkId, revision, providers }: RecordSink,
    { requestId, address, shared, trace }: Omit<EventRecord, keyof RecordSink | 'events' | 'actor'>,
    actor: string,
  ): string {
    const sink = `${jsonString(sinkId)},${revision},${providers.length === 0 ? '[]' : JSON.stringify(providers)}`
    const events = `["${this.types.join('","')}"],[${this.events}]`
    let end = ''
    if (trace !== undefined) end = `,${JSON.stringify([shared ?? null, address ?? null, trace]).slice(1, -1)}`
    else if (address !== undefined) end = `,${JSON.stringify(shared ?? null)},${jsonString(address)}`
    else if (shared !== undefined) end = `,${JSON.stringify(shared)}`
    return `${FORMAT_LETTER}[${sink},${jsonString(requestId)},${actor},${events}${end}]\n${this.payloads}`
  }
}

/** An actor as the header of a record shows it. Agents cause nearly all events. */
export function actorText(actor: EventActor | null): string {
  if (actor?.type !== 'agent' || actor.user !== undefined) return JSON.stringify(actor)
  const { id, applicationId, keyId } = actor
  const key = keyId === undefined ? '' : `,"keyId":${jsonString(keyId)}`
  return `{"type":"agent","id":${jsonString(id)},"applicationId":${jsonString(applicationId)}${key}}`
}

/** An event as the header of a record shows it, after the number of its type and its providers. */
export function eventText({ element, ready }: RecordedEvent): string {
  if (element !== undefined) return elementText(element)
  const { subject, timeMs, members, valuesDigest, trace } = ready as ReadyEvent
  let end = ''
  if (trace !== undefined) end = `,${JSON.stringify([valuesDigest ?? null, trace]).slice(1, -1)}`
  else if (valuesDigest !== undefined) end = `,${jsonString(valuesDigest)}`
  return `${jsonString(subject)},${timeMs},${Buffer.byteLength(members, 'utf8')}${end}`
}

function elementText(element: CapturedElement | DecidedElement): string {
  switch (element[0]) {
    case 'n': {
      const [, id, type, externalId, location, detail] = element
      return capturedNodeText(id, type, externalId, location, detail)
    }
    case 'r': {
      const [, id, sourceType, sourceId, type, targetType, targetId, detail] = element
      const [source, target] = [nodeKey(sourceType, sourceId), nodeKey(targetType, targetId)]
      return capturedRelationshipText(id, source, type, target, detail)
    }
    case 'd':
      return JSON.stringify(element)
    default:
      return assertNever(element[0])
  }
}

function nodeKey(type: string, externalId: string): NodeKeyText {
  return { type, externalId }
}

/** An end of a captured relationship. */
interface NodeKeyText {
  readonly type: string
  readonly externalId: string
}

/** The text of an event of a captured relationship. */
export function capturedRelationshipText(
  id: string,
  source: NodeKeyText,
  type: string,
  target: NodeKeyText,
  detail: CaptureDetail | undefined,
): string {
  const key = `["r",${jsonString(id)},${endText(source)},${jsonString(type)},${endText(target)}`
  return detail === undefined ? `${key}]` : `${key},${JSON.stringify(detail)}]`
}

function endText({ type, externalId }: NodeKeyText): string {
  return `${jsonString(type)},${jsonString(externalId)}`
}

/** The text of an event of a captured node. The parameters are the parts of a CapturedElement. */
export function capturedNodeText(
  id: string,
  type: string,
  externalId: string,
  location: string,
  detail: CaptureDetail | undefined,
): string {
  const place = location === '' ? '""' : jsonString(location)
  const key = `["n",${jsonString(id)},${jsonString(type)},${jsonString(externalId)},${place}`
  if (detail === undefined) return `${key}]`
  return `${key},${typeof detail === 'boolean' ? detail : JSON.stringify(detail)}]`
}

/** Encodes a record. */
export function encodeRecord(record: EventRecord): Uint8Array {
  const text = new RecordText()
  for (const event of record.events) text.add(event.type, event.providers, eventText(event), event.ready)
  return encodeText(text.text(record, record, actorText(record.actor)))
}

/** The bytes of a record. */
export function encodeText(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Decodes a record. Throws if it is of another format, or not a record. */
export function decodeRecord(bytes: Uint8Array): EventRecord {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const { header, end } = headerOf(buffer)
  let at = end
  const [sinkId, revision, providers, requestId, actor, types, encoded, shared, address, trace] = JSON.parse(
    header,
  ) as EncodedHeader
  const events = encoded.map((event): RecordedEvent => {
    const type = types[event[0]] as EventTypeName
    if (event.length === 3) return { type, providers: event[1], element: event[2] }
    const [, bits, subject, timeMs, length, valuesDigest, ownTrace] = event
    const members = buffer.toString('utf8', at, at + length)
    at += length
    const ready = {
      subject,
      timeMs,
      members,
      ...(valuesDigest != null && { valuesDigest }),
      ...(ownTrace !== undefined && { trace: ownTrace }),
    }
    return { type, providers: bits, ready }
  })
  return {
    sinkId,
    revision,
    providers,
    requestId,
    actor,
    events,
    ...(shared != null && { shared }),
    ...(address != null && { address }),
    ...(trace !== undefined && { trace }),
  }
}

/** The header, and where the payloads begin. */
function headerOf(buffer: Buffer): { readonly header: string; readonly end: number } {
  switch (buffer[0]) {
    case RECORD_FORMAT: {
      // JSON without white space has no line feed.
      const end = buffer.indexOf(LINE_FEED) + 1
      return { header: buffer.toString('utf8', 1, end - 1), end }
    }
    // The format before: the length of the header instead of a line feed after it.
    case 1: {
      const end = 5 + buffer.readUInt32LE(1)
      return { header: buffer.toString('utf8', 5, end), end }
    }
    default:
      throw new Error(`a record of events has format ${buffer[0]}; this program reads formats 1 and ${RECORD_FORMAT}`)
  }
}
