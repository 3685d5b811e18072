// Builds the CloudEvents (1.0) of a record. The envelope is a pure function of the record and its place in the outbox, so a
// repeated delivery sends equal bytes.

import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { type RecordedTrace, tracedBy } from '../kernel/request/request-trace.ts'
import { timestamp } from '../kernel/time/clock.ts'
import { DecidedPayloads } from './decision-payload.ts'
import {
  type CapturedElement,
  type DecidedElement,
  decodeRecord,
  type EventActor,
  type EventRecord,
  type ReadyEvent,
  type RecordedEvent,
  type RecordedOrigin,
} from './event-record.ts'
import { commonMembers, subjectOf } from './event-text.ts'
import { type EventTypeName, isChangeType, PAYLOAD_VERSION } from './event-types.ts'
import { jsonString } from './json-string.ts'

/** Where the events of a stream come from. */
export type EventSourceKind = 'graph' | 'configuration' | 'activity'

/** A stream of events, as envelopes name it. */
export interface EventStreamName {
  /** Empty: the stream is of the organization. */
  readonly projectId: string
  /** Present in a stream of the organization. */
  readonly organizationId?: string
  /** True: the stream of the audit log. */
  readonly isAudit?: boolean
  readonly source: EventSourceKind
}

/** A record as the outbox returns it. */
export interface StoredEventRecord {
  /** Sequence of its first event. */
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly timeMs: number
  /** The history to which the sequence belongs. */
  readonly origin: string
  readonly bytes: Uint8Array
}

/** One event, ready to be sent. */
export interface EventEnvelope {
  /** Attributes in the order of the envelope. All values are ASCII. */
  readonly attributes: Readonly<Record<string, string>>
  /** The payload: JSON in UTF-8. */
  readonly data: Uint8Array
  /** Events with the same key stay in order. At most `ORDERING_KEY_MAX` characters. */
  readonly orderingKey: string
  readonly type: EventTypeName
  readonly sequence: number
  /** The sink whose routes chose the providers. */
  readonly sinkId: string
  /** Revision of the sink. */
  readonly revision: number
  /** Ids of the providers that receive it. */
  readonly providers: readonly string[]
  /** Digest of the unmasked input parameters, in base64url, which no receiver gets. Only in streams of the audit log. */
  readonly valuesDigest?: string
}

/** Queue services limit the key of a partition to 128 characters. */
export const ORDERING_KEY_MAX = 128

const SEQUENCE_DIGITS = 16

/** An event of a record, with its payload as text. */
export interface EventText {
  readonly type: EventTypeName
  /** As recorded: the providers that receive it, as bits. */
  readonly providers: number
  readonly sequence: number
  readonly subject: string
  /** When it happened, in milliseconds since the epoch. */
  readonly timeMs: number
  /** The payload: JSON. */
  readonly text: string
  /** Who caused it; undefined: only the payload shows that. */
  readonly actor: EventActor | null | undefined
  /** False: the payload has neither values of input parameters nor an error. */
  readonly mayHaveValues: boolean
  readonly valuesDigest?: string
  /** Of the request that caused it; undefined: none was traced. */
  readonly trace: RecordedTrace | undefined
}

/** Builds the envelopes of a record, from the event `from` on. Throws if the record cannot be decoded. */
export function envelopesOf(record: StoredEventRecord, stream: EventStreamName, from = 0): EventEnvelope[] {
  const decoded = decodeRecord(record.bytes)
  const { sinkId, revision } = decoded
  return eventTextsOf(record, decoded, from).map(
    ({ type, providers, sequence, subject, timeMs, text, valuesDigest, trace }) => ({
      ...tracedEnvelope(envelopeOf(stream, record.origin, type, sequence, subject, timeMs, text), trace),
      sinkId,
      revision,
      providers: decoded.providers.filter((_, at) => ((providers >>> at) & 1) === 1),
      ...(valuesDigest !== undefined && { valuesDigest }),
    }),
  )
}

/** Builds the payloads of a record, from the event `from` on. `decoded`: the record by `decodeRecord`. */
export function eventTextsOf(
  record: StoredEventRecord,
  { requestId, address = '', actor, events, shared = [], trace }: EventRecord,
  from: number,
): EventText[] {
  const common = commonMembers({ requestId, address }, actor)
  const decided = new DecidedPayloads(shared)
  const texts: EventText[] = []
  events.forEach(({ type, providers, element, ready }, index) => {
    const sequence = record.sequence + index
    if (sequence < from) return
    const own = ready ?? expand(type, element, record.timeMs, decided)
    const { subject, timeMs, members, valuesDigest } = own
    const start = `{"eventType":"${type}","version":${PAYLOAD_VERSION}`
    const lsn = isChangeType(type) ? `,"lsn":${sequence}` : ''
    texts.push({
      type,
      providers,
      sequence,
      subject,
      timeMs,
      text: `${start}${lsn}${common}${members === '' ? '' : ','}${members}}`,
      // A ready payload may have an actor of its own.
      actor: element?.[0] === 'd' ? (shared[element[3]] as EventActor) : (actor ?? (element && null)),
      mayHaveValues: element === undefined || (element[0] === 'd' && mayHaveValues(element)),
      ...(valuesDigest !== undefined && { valuesDigest }),
      trace: own.trace ?? trace,
    })
  })
  return texts
}

function mayHaveValues([, , , , , , answer, , detail]: DecidedElement): boolean {
  return typeof answer === 'object' || detail?.inputParams !== undefined
}

/** Events that a provider missed. */
interface EventGap {
  /** Sequence of the first one. */
  readonly from: number
  /** Sequence after the last one. */
  readonly to: number
  readonly events: number
  /** Milliseconds since the epoch. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Builds the event about the events that a provider missed. It has the sequence of the first of them. */
export function gapEnvelope(stream: EventStreamName, origin: string, provider: string, gap: EventGap): EventEnvelope {
  const type = 'svc.events.gap'
  const { from, to, events, firstMs, lastMs } = gap
  const members = { from, to, events, firstTime: timestamp(firstMs), lastTime: timestamp(lastMs) }
  const text = `{"eventType":"${type}","version":${PAYLOAD_VERSION},${JSON.stringify(members).slice(1)}`
  const envelope = envelopeOf(stream, origin, type, from, `providers/${provider}`, lastMs, text)
  const { id } = envelope.attributes
  // The dropped event has the same sequence and another id. So has a gap that grew before it was delivered.
  return {
    ...envelope,
    attributes: { ...envelope.attributes, id: `${id}-gap-${to}` },
    sinkId: '',
    revision: 0,
    providers: [provider],
  }
}

/** The event that a test of routes sends. */
interface TestEvent {
  readonly projectId: string
  /** Empty: the sink is not stored. */
  readonly sinkId: string
  /** Drawn at random for each test. */
  readonly origin: string
  /** Milliseconds since the epoch. */
  readonly timeMs: number
  readonly caused: RecordedOrigin & Pick<RequestOrigin, 'trace'>
  readonly actor: EventActor
  readonly tested: { readonly eventType: EventTypeName; readonly context: object }
}

/** Builds the event of a test of routes. It belongs to no stream. */
export function testEnvelope(event: TestEvent): Pick<EventEnvelope, 'attributes' | 'data' | 'orderingKey'> {
  const { projectId, sinkId, origin, timeMs, caused, actor, tested } = event
  const type = 'svc.events.test'
  const members = JSON.stringify({ tested }).slice(1)
  const text = `{"eventType":"${type}","version":${PAYLOAD_VERSION}${commonMembers(caused, actor)},${members}`
  const subject = sinkId === '' ? 'event-sinks' : subjectOf('event-sinks', sinkId)
  const envelope = envelopeOf({ projectId, source: 'test' }, origin, type, 0, subject, timeMs, text)
  return tracedEnvelope(envelope, tracedBy(caused).trace)
}

/** Builds the envelope of an event with the payload `text`. */
export function envelopeOf(
  stream: AttributedStream,
  origin: string,
  type: EventTypeName,
  sequence: number,
  subject: string,
  timeMs: number,
  text: string,
): Omit<EventEnvelope, 'sinkId' | 'revision' | 'providers'> {
  const attributes = attributesOf(stream, origin, type, sequence, subject, timeMs)
  return { attributes, data: Buffer.from(text, 'utf8'), orderingKey: attributes.partitionkey, type, sequence }
}

type BuiltEnvelope = ReturnType<typeof envelopeOf>

/** Adds the attributes of the distributed tracing extension of CloudEvents. */
function tracedEnvelope(envelope: BuiltEnvelope, trace: RecordedTrace | undefined): BuiltEnvelope {
  if (trace === undefined) return envelope
  const [traceparent, tracestate] = trace
  const added = { traceparent, ...(tracestate !== undefined && { tracestate }) }
  return { ...envelope, attributes: { ...envelope.attributes, ...added } }
}

/** A stream of recorded events, or what makes events without a stream. */
type AttributedStream = Omit<EventStreamName, 'source'> & {
  readonly source: EventSourceKind | 'test' | 'audit'
}

/** The attributes of an event, in the order of the envelope. */
export function attributesOf(
  { projectId, organizationId, isAudit = false, source }: AttributedStream,
  origin: string,
  type: EventTypeName,
  sequence: number,
  subject: string,
  timeMs: number,
): EventEnvelope['attributes'] & { readonly partitionkey: string } {
  const owner = organizationId === undefined ? `/projects/${projectId}` : `/organizations/${organizationId}`
  return {
    specversion: '1.0',
    id: `${origin}-${sequence}`,
    source: `${owner}/${isAudit ? 'audit/' : ''}${source}/${origin}`,
    type,
    subject,
    time: timestamp(timeMs),
    datacontenttype: 'application/json',
    ...(organizationId === undefined ? { projectid: projectId } : { organizationid: organizationId }),
    // Sortable as text, as the extension `sequence` of CloudEvents requires.
    sequence: String(sequence).padStart(SEQUENCE_DIGITS, '0'),
    partitionkey: orderingKeyOf(subject),
  }
}

/** Writes the attributes of the events of one stream and one origin as text: those of the envelope, in the same order. */
export class AttributeTexts {
  private readonly start: string
  private readonly source: string
  private readonly owner: string
  private lastMs = Number.NaN
  private lastTime = ''

  constructor(stream: AttributedStream, origin: string) {
    const { source, projectid, organizationid } = attributesOf(stream, origin, 'svc.events.test', 0, '', 0)
    this.start = `{"specversion":"1.0","id":"${origin}-`
    this.source = `","source":${jsonString(source ?? '')},"type":"`
    const owner =
      projectid === undefined
        ? `"organizationid":${jsonString(organizationid ?? '')}`
        : `"projectid":${jsonString(projectid)}`
    this.owner = `"datacontenttype":"application/json",${owner},"sequence":"`
  }

  /** A JSON object without its closing brace. */
  of({ type, sequence, subject, timeMs, trace }: AttributedEvent): string {
    if (timeMs !== this.lastMs) {
      this.lastMs = timeMs
      this.lastTime = timestamp(timeMs)
    }
    const number = String(sequence)
    const about = jsonString(subject)
    const key = subject.length <= ORDERING_KEY_MAX ? about : jsonString(orderingKeyOf(subject))
    const padded = number.padStart(SEQUENCE_DIGITS, '0')
    return `${this.start}${number}${this.source}${type}","subject":${about},"time":"${this.lastTime}",${this.owner}${padded}","partitionkey":${key}${trace === undefined ? '' : traceText(trace)}`
  }
}

type AttributedEvent = Pick<EventText, 'type' | 'sequence' | 'subject' | 'timeMs' | 'trace'>

function traceText([traceparent, tracestate]: RecordedTrace): string {
  const state = tracestate === undefined ? '' : `,"tracestate":${jsonString(tracestate)}`
  return `,"traceparent":${jsonString(traceparent)}${state}`
}

/** A long subject is cut and gets a hash. Two subjects with one key only share an order. */
function orderingKeyOf(subject: string): string {
  if (subject.length <= ORDERING_KEY_MAX) return subject
  const hash = hashOf(subject)
  return `${subject.slice(0, ORDERING_KEY_MAX - hash.length - 1)}~${hash}`
}

/** FNV-1a, 64 bits. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++)
    hash = ((hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash.toString(16).padStart(16, '0')
}

/** Subject and payload of an element. */
function expand(
  type: EventTypeName,
  element: RecordedEvent['element'],
  timeMs: number,
  decided: DecidedPayloads,
): ReadyEvent {
  if (element?.[0] === 'd') return decided.of(element)
  const captured = element as CapturedElement
  if (captured[0] === 'n' && type === 'svc.audit.capture.upsert.node') {
    const [, id, nodeType, externalId, location, detail] = captured
    const place = location === '' ? '' : `,"location":${jsonString(location)}`
    const key = `"id":${jsonString(id)},"externalId":${jsonString(externalId)},"type":${jsonString(nodeType)}${place}`
    const members = `"nodes":[{${key},"isIdentity":${detail === true}}]`
    return { subject: subjectOf('nodes', nodeType, externalId), timeMs, members }
  }
  const [subject, members] = payloadOf(type, captured)
  return { subject, timeMs, members: JSON.stringify(members).slice(1, -1) }
}

function payloadOf(type: EventTypeName, element: CapturedElement): [subject: string, members: object] {
  if (element[0] === 'n') {
    const [, id, nodeType, externalId, location, detail] = element
    const subject = subjectOf('nodes', nodeType, externalId)
    const place = location === '' ? {} : { location }
    const match = { externalId, type: nodeType }
    switch (type) {
      case 'svc.audit.capture.delete.node.tag': {
        const names = detail as readonly string[]
        return [subject, { nodeTags: names.map((tagType) => ({ id, match, ...place, tagType })) }]
      }
      case 'svc.audit.capture.delete.node.property': {
        const names = detail as readonly string[]
        return [subject, { nodeProperties: names.map((propertyType) => ({ id, match, ...place, propertyType })) }]
      }
      case 'svc.audit.capture.delete.node.property.metadata': {
        const [propertyType, metadataFields] = detail as readonly [string, readonly string[]]
        return [subject, { nodeProperties: [{ id, match, ...place, propertyType, metadataFields }] }]
      }
      default:
        return [subject, { nodes: [{ id, ...match, ...place }] }]
    }
  }
  const [, id, sourceType, sourceId, relationshipType, targetType, targetId, detail] = element
  const subject = subjectOf('relationships', sourceType, sourceId, relationshipType, targetType, targetId)
  const key = {
    id,
    type: relationshipType,
    source: { externalId: sourceId, type: sourceType },
    target: { externalId: targetId, type: targetType },
  }
  if (type !== 'svc.audit.capture.delete.relationship.property') return [subject, { relationships: [key] }]
  const names = detail as readonly string[]
  return [subject, { relationshipProperties: names.map((propertyType) => ({ ...key, propertyType })) }]
}
