// Parts of events that are written in several places: subjects, and the members of all payloads.
import { parseJson } from '../kernel/json/json.ts'
import type { EventActor, RecordedOrigin } from './event-record.ts'
import { jsonString } from './json-string.ts'

/** The subject of an event: a path whose segments are percent-encoded, except for the colon of global ids. */
export function subjectOf(...segments: readonly string[]): string {
  let subject = segmentText(segments[0] ?? '')
  for (let at = 1; at < segments.length; at++) subject += `/${segmentText(segments[at] ?? '')}`
  return subject
}

/** Characters that `encodeURIComponent` keeps, and the colon. Most segments have no others. */
const PLAIN_SEGMENT = /^[\w:.!~*'()-]*$/

function segmentText(segment: string): string {
  if (PLAIN_SEGMENT.test(segment)) return segment
  return encodeURIComponent(segment.toWellFormed()).replaceAll('%3A', ':')
}

/** The members of all payloads after type and version, each with a comma before it. */
export function commonMembers(origin: RecordedOrigin, actor: EventActor | null): string {
  const client = clientMembers(origin)
  const start = client === '' ? '' : `,${client.slice(0, -1)}`
  return actor === null ? start : `${start},"actor":${JSON.stringify(actor)}`
}

/** The members about the request, each with a comma after it. */
export function clientMembers({ requestId, address }: RecordedOrigin): string {
  const request = requestId === '' ? '' : `"requestId":${jsonString(requestId)},`
  return address === '' ? request : `${request}"address":${jsonString(address)},`
}

/** The payload of an event as a value. Long integers and numbers such as `1.0` stay exact when `writeJson` writes it. */
export function payloadOf(data: string): unknown {
  const parsed = parseJson(data, 'exact')
  return parsed.ok ? parsed.value : JSON.parse(data)
}
