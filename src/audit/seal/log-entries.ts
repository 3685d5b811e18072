// The entries that a log has about itself: where it begins, what was removed because of its age, and failing signatures.
import { envelopeOf } from '../../events/envelope.ts'
import { PAYLOAD_VERSION } from '../../events/event-types.ts'
import type { AuditGeneration, AuditLog } from '../../store/audit/audit-types.ts'

/** The type of an entry of a log about itself. */
export type LogEntryType =
  | 'svc.audit.log.opened'
  | 'svc.audit.log.pruned'
  | 'svc.audit.log.signature.overdue'
  | 'svc.audit.log.signature.recovered'

/** Builds an entry. `index`: its place in the generation. */
export function logEntry(
  { owner, kind }: Pick<AuditLog, 'owner' | 'kind'>,
  { name }: Pick<AuditGeneration, 'name'>,
  index: number,
  type: LogEntryType,
  timeMs: number,
  members: object,
): Uint8Array {
  const stream = kind === 'project' ? { projectId: owner } : { projectId: '', organizationId: owner }
  const { attributes } = envelopeOf({ ...stream, source: 'audit' }, name, type, index, 'audit-log', timeMs, '')
  const data = { eventType: type, version: PAYLOAD_VERSION, actor: { type: 'service' }, ...members }
  return Buffer.from(JSON.stringify({ ...attributes, data }), 'utf8')
}
