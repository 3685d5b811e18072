// Builds the record of an operation on the whole data folder: a command, or a start of the service. It belongs to the audit log of
// the organization.
import { type EventActor, encodeRecord, type ReadyEvent } from './event-record.ts'
import { commonMembers, subjectOf } from './event-text.ts'
import type { EventTypeName } from './event-types.ts'

/** The type of an operation. */
export type OperationType = Extract<EventTypeName, `svc.audit.operations.${string}`>

const PREFIX = 'svc.audit.operations.'

/** The event of an operation. `members`: of its payload. */
export function operationEvent(type: OperationType, actor: EventActor, members: object, timeMs: number): ReadyEvent {
  const common = commonMembers({ requestId: '', address: '' }, actor).slice(1)
  const text = JSON.stringify(members).slice(1, -1)
  return {
    subject: subjectOf('operations', type.slice(PREFIX.length)),
    timeMs,
    members: text === '' ? common : `${common},${text}`,
  }
}

/** Encodes the record of an operation. */
export function operationRecord(type: OperationType, actor: EventActor, members: object, timeMs: number): Uint8Array {
  const ready = operationEvent(type, actor, members, timeMs)
  const events = [{ type, providers: 1, ready }]
  return encodeRecord({ sinkId: '', revision: 0, providers: [], requestId: '', actor: null, events })
}
