// Records the events of trust scoring, in the transactions that store the state of a pass.
import type { Clock } from '../../kernel/time/clock.ts'
import type { TrustEvents } from '../../trust/trust-scoring.ts'
import type { EventSinks } from '../sinks.ts'
import { documentRecorder } from './record-document-events.ts'

/** Returns the recorder of the events of passes. */
export function trustEventLog(sinks: EventSinks, clock: Clock): TrustEvents {
  const record = documentRecorder(sinks, clock, ({ id, fields }) => {
    const nodeType = fields.node_classification as string
    return { labels: nodeType, members: { profileId: id, nodeType } }
  })
  return {
    started: (draft, profile, runId, request) =>
      record(draft, profile, {
        type: 'svc.audit.trust.run.started',
        members: { runId, ...(request !== null && { requestedBy: request.by }) },
      }),
    ended: (draft, profile, { runId, nodesScored, scoresWritten, scoresRemoved }, error) =>
      record(draft, profile, {
        type: 'svc.audit.trust.run.ended',
        members: {
          runId,
          outcome: error === null ? 'ok' : 'failed',
          ...(error !== null && { error }),
          nodesScored,
          scoresWritten,
          scoresRemoved,
        },
      }),
  }
}
