// Records the events of entity matching, in the transactions that store what they are about.
import { tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { MatchingEvents } from '../../matching/entity-matching.ts'
import { typesOf } from '../../matching/entity-matching-pipeline.ts'
import type { DecisionEvents } from '../../matching/matching-operations.ts'
import { actorOf } from '../event-record.ts'
import type { EventSinks } from '../sinks.ts'
import { documentRecorder } from './record-document-events.ts'

const recorder = (sinks: EventSinks, clock: Clock) =>
  documentRecorder(sinks, clock, (pipeline) => {
    const { source, target } = typesOf(pipeline)
    return {
      labels: source === target ? source : [source, target],
      members: { pipelineId: pipeline.id, sourceNodeType: source, targetNodeType: target },
    }
  })

/** Returns the recorder of the events of runs. */
export function matchingEventLog(sinks: EventSinks, clock: Clock): MatchingEvents {
  const record = recorder(sinks, clock)
  return {
    started: (draft, pipeline, { runId, request, cutoff }) =>
      record(draft, pipeline, {
        type: 'svc.audit.entitymatching.run.started',
        requestId: request?.requestId ?? '',
        ...(request?.trace !== undefined && { trace: request.trace }),
        members: {
          runId,
          similarityScoreCutoff: cutoff,
          ...(request !== null && { requestedBy: request.by }),
        },
      }),
    ended: (draft, pipeline, { runId, ...counts }, error) =>
      record(draft, pipeline, {
        type: 'svc.audit.entitymatching.run.ended',
        members: { runId, outcome: error === null ? 'ok' : 'failed', ...(error !== null && { error }), ...counts },
      }),
  }
}

/** Returns the recorder of the events of decisions. */
export function decisionEventLog(sinks: EventSinks, clock: Clock): DecisionEvents {
  const record = recorder(sinks, clock)
  return {
    decided({ caller, origin }, draft, pipeline, { source, target }, decision) {
      record(draft, pipeline, {
        type:
          decision === null ? 'svc.audit.entitymatching.decision.deleted' : 'svc.audit.entitymatching.decision.made',
        actor: actorOf(caller),
        requestId: origin.requestId,
        address: origin.address,
        ...tracedBy(origin),
        members: {
          sourceExternalId: source,
          targetExternalId: target,
          ...(decision !== null && { decision }),
        },
      })
      origin.noteEvent()
    },
  }
}
