// Parts of events that are written in several places: subjects, and the members of all payloads.
import type { EventActor } from './event-record.ts'

/** The subject of an event: a path whose segments are percent-encoded, except for the colon of global ids. */
export function subjectOf(...segments: readonly string[]): string {
  return segments.map((segment) => encodeURIComponent(segment.toWellFormed()).replaceAll('%3A', ':')).join('/')
}

/** The members of all payloads after type and version, each with a comma before it. */
export function commonMembers(requestId: string, actor: EventActor | null): string {
  const request = requestId === '' ? '' : `,"requestId":${JSON.stringify(requestId)}`
  return actor === null ? request : `${request},"actor":${JSON.stringify(actor)}`
}
