// Parts of events that are written in several places: subjects, and the members of all payloads.
import { parseJson } from '../kernel/json.ts'
import type { EventActor, RecordedOrigin } from './event-record.ts'

/** The subject of an event: a path whose segments are percent-encoded, except for the colon of global ids. */
export function subjectOf(...segments: readonly string[]): string {
  return segments.map((segment) => encodeURIComponent(segment.toWellFormed()).replaceAll('%3A', ':')).join('/')
}

/** The members of all payloads after type and version, each with a comma before it. */
export function commonMembers({ requestId, address }: RecordedOrigin, actor: EventActor | null): string {
  const request = requestId === '' ? '' : `,"requestId":${JSON.stringify(requestId)}`
  const client = address === '' ? '' : `,"address":${JSON.stringify(address)}`
  return actor === null ? `${request}${client}` : `${request}${client},"actor":${JSON.stringify(actor)}`
}

/** The payload of an event as a value. Long integers and numbers such as `1.0` stay exact when `writeJson` writes it. */
export function payloadOf(data: string): unknown {
  const parsed = parseJson(data, 'exact')
  return parsed.ok ? parsed.value : JSON.parse(data)
}
