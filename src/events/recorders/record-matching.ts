// Records the events of entity matching, in the transactions that store what they are about.
import type { DocumentDraft, StoredDocument } from '../../config/kind.ts'
import { auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import { type RecordedTrace, tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { MatchingEvents } from '../../matching/entity-matching.ts'
import { entityMatchingPipelinesKind, typesOf } from '../../matching/entity-matching-pipeline.ts'
import type { DecisionEvents } from '../../matching/matching-operations.ts'
import { actorOf, type EventActor, type RecordedEvent } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventTypeName } from '../event-types.ts'
import { routedRecords } from '../routed-records.ts'
import type { EventSinks } from '../sinks.ts'

type RecordEvent = (
  draft: DocumentDraft,
  pipeline: StoredDocument,
  event: {
    readonly type: EventTypeName
    readonly actor: EventActor
    readonly requestId?: string
    readonly address?: string
    readonly trace?: RecordedTrace
    readonly members: object
  },
) => void

function recorder(sinks: EventSinks, clock: Clock): RecordEvent {
  return (draft, pipeline, { type, actor, requestId = '', address = '', trace, members }) => {
    const { id, project_id } = pipeline
    const { source, target } = typesOf(pipeline)
    const labels = source === target ? source : [source, target]
    const routes = sinks.routesIn(draft, project_id)
    const providers = routes?.ofType(type)?.match((key) => (key === 'captureLabel' ? labels : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const common = commonMembers({ requestId, address }, actor).slice(1)
    const text = JSON.stringify({
      pipelineId: id,
      sourceNodeType: source,
      targetNodeType: target,
      ...members,
    }).slice(1, -1)
    const event: RecordedEvent = {
      type,
      providers,
      ready: { subject: subjectOf(entityMatchingPipelinesKind, id), timeMs: clock.now(), members: `${common},${text}` },
    }
    const content = { requestId, actor: null, events: [event], trace }
    for (const { isAudit, bytes, count } of routedRecords(routes, content))
      draft.appendEvents(isAudit ? auditStreamOf(project_id) : project_id, bytes, count)
  }
}

/** Returns the recorder of the events of runs. */
export function matchingEventLog(sinks: EventSinks, clock: Clock): MatchingEvents {
  const record = recorder(sinks, clock)
  const actor: EventActor = { type: 'service' }
  return {
    started: (draft, pipeline, { runId, request, cutoff }) =>
      record(draft, pipeline, {
        type: 'svc.audit.entitymatching.run.started',
        actor,
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
        actor,
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
