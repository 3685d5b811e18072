// Records the events of trust scoring, in the transactions that store the state of a pass.
import type { DocumentDraft, StoredDocument } from '../../config/kind.ts'
import { auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { trustScoreProfilesKind } from '../../trust/trust-score-profile.ts'
import type { TrustEvents } from '../../trust/trust-scoring.ts'
import type { RecordedEvent } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventTypeName } from '../event-types.ts'
import { routedRecords } from '../routed-records.ts'
import type { EventSinks } from '../sinks.ts'

/** Returns the recorder of the events of passes. */
export function trustEventLog(sinks: EventSinks, clock: Clock): TrustEvents {
  const record = (draft: DocumentDraft, profile: StoredDocument, type: EventTypeName, members: object): void => {
    const { id, project_id } = profile
    const nodeType = profile.fields.node_classification as string
    const routes = sinks.routesIn(draft, project_id)
    const providers = routes?.ofType(type)?.match((key) => (key === 'captureLabel' ? nodeType : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const common = commonMembers({ requestId: '', address: '' }, { type: 'service' }).slice(1)
    const text = JSON.stringify({ profileId: id, nodeType, ...members }).slice(1, -1)
    const event: RecordedEvent = {
      type,
      providers,
      ready: { subject: subjectOf(trustScoreProfilesKind, id), timeMs: clock.now(), members: `${common},${text}` },
    }
    for (const { isAudit, bytes, count } of routedRecords(routes, { requestId: '', actor: null, events: [event] }))
      draft.appendEvents(isAudit ? auditStreamOf(project_id) : project_id, bytes, count)
  }
  return {
    started: (draft, profile, runId, request) =>
      record(draft, profile, 'svc.audit.trust.run.started', {
        runId,
        ...(request !== null && { requestedBy: request.by }),
      }),
    ended: (draft, profile, { runId, nodesScored, scoresWritten, scoresRemoved }, error) =>
      record(draft, profile, 'svc.audit.trust.run.ended', {
        runId,
        outcome: error === null ? 'ok' : 'failed',
        ...(error !== null && { error }),
        nodesScored,
        scoresWritten,
        scoresRemoved,
      }),
  }
}
