// Records the events of queries over the graph of a project: the text, the names of the parameters and the number of rows. Values of
// parameters are only in a digest.
import { digestOfValues } from '../../audit/values-digest.ts'
import type { GraphQueryExecution } from '../../graph-query/query-operations.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ActivityLog } from '../activity-log.ts'
import { actorOf } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import { AUDIT_BIT } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

const TYPE = 'svc.audit.graph.query'

/** Collaborators of the recording. */
interface GraphQueryEventDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly clock: Clock
}

/** Returns the function that records a query. */
export function graphQueryEventLog({ sinks, activity, clock }: GraphQueryEventDeps) {
  return ({ caller, origin, request, answer, error, durationMs }: GraphQueryExecution): void => {
    origin.noteEvent()
    const { projectId } = caller
    const { query, parameters = {}, mode = 'rows' } = request
    const routes = sinks.routesOf(projectId)
    const providers = routes?.ofType(TYPE)?.match((key) => (key === 'mode' ? mode : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const names = Object.keys(parameters)
    const members = {
      request: { query, ...(names.length > 0 && { parameters: names }), mode },
      ...(answer !== null && { response: { rows: answer.rows.length, truncated: answer.truncated } }),
      evaluationTimeMs: Math.round(durationMs * 1000) / 1000,
      // A message may contain values of data or parameters.
      ...(error !== null && { error: { kind: error.kind } }),
    }
    // The address is known only until the answer.
    const { requestId, address } = origin
    const traced = tracedBy(origin)
    const timeMs = clock.now()
    activity.record({
      routes,
      type: TYPE,
      providers,
      requestId,
      encode: () => ({
        subject: subjectOf('graphs', projectId),
        timeMs,
        ...traced,
        ...(providers >= AUDIT_BIT && names.length > 0 && { valuesDigest: digestOfValues(parameters) }),
        members: `${commonMembers({ requestId, address }, actorOf(caller)).slice(1)},${writeJson(members).slice(1, -1)}`,
      }),
    })
  }
}
