// Records the events of knowledge queries: that of a query that wrote in the transaction of its writes, the others with the
// decisions.

import { digestOfValues } from '../../audit/values-digest.ts'
import { type ConfigReader, queriesKind } from '../../config/kind.ts'
import type { ExecutionListener, QueryExecution } from '../../context-query/execute.ts'
import type { WriteBatch } from '../../engine/store.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ParameterMask } from '../../pdp/parameter-mask.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import type { ActivityLog } from '../activity-log.ts'
import { actorOf, type ReadyEvent, type RecordedOrigin } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import { appendToBatch } from '../routed-records.ts'
import { AUDIT_BIT, type ContextValue, type SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'
import { errorMembers } from './record-decisions.ts'

const TYPE = 'svc.audit.ciq.execute'

/** Collaborators of the recording. */
interface QueryEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly documents: ConfigReader
  readonly mask: ParameterMask
  readonly clock: Clock
}

/** Records events of executed knowledge queries. */
export class QueryEventLog implements ExecutionListener {
  private readonly deps: QueryEventLogDeps

  constructor(deps: QueryEventLogDeps) {
    this.deps = deps
  }

  onWriting(batch: WriteBatch, execution: QueryExecution): void {
    const [routes, providers] = this.match(execution)
    if (routes === null) return
    const ready = this.encode(execution, providers, this.deps.clock.now(), execution.origin)
    const events = [{ type: TYPE, providers, ready }] as const
    const content = { requestId: '', actor: null, events, ...tracedBy(execution.origin) }
    appendToBatch(batch, routes, content)
  }

  onExecuted(execution: QueryExecution): void {
    const [routes, providers] = this.match(execution)
    if (routes === null) return
    const timeMs = this.deps.clock.now()
    const { requestId, address } = execution.origin
    const origin = { requestId, address }
    const traced = tracedBy(execution.origin)
    this.deps.activity.record({
      routes,
      type: TYPE,
      providers,
      requestId,
      encode: () => ({ ...this.encode(execution, providers, timeMs, origin), ...traced }),
    })
  }

  private match({ caller, query, origin }: QueryExecution): [SinkRoutes | null, number] {
    origin.noteEvent()
    const routes = this.deps.sinks.routesOf(caller.projectId)
    const context = (key: string): ContextValue =>
      key === 'query' ? query?.name : key === 'isWrite' && query !== null ? query.writes !== null : undefined
    const providers = routes?.ofType(TYPE)?.match(context) ?? 0
    return [providers === 0 ? null : routes, providers]
  }

  private encode(execution: QueryExecution, providers: number, timeMs: number, origin: RecordedOrigin): ReadyEvent {
    const { caller, request, query, records, error, durationMs } = execution
    const { user } = caller
    const { documents, mask } = this.deps
    const policyId = query === null ? undefined : documents.get(queriesKind, query.id)?.fields.policy_id
    const policy = typeof policyId === 'string' ? documents.get(policiesKind, policyId) : null
    const members = {
      request: {
        id: request.id,
        ...(request.input_params !== undefined && { inputParams: mask.apply(request.input_params) }),
      },
      ...(query !== null && { query: { id: query.id, name: query.name } }),
      ...(policy !== null && { policy: { id: policy.id, name: policy.name } }),
      ...(user !== null && { identity: { type: user.nodeType, externalId: user.subjectId } }),
      ...(records !== null && { response: { records, isWrite: query !== null && query.writes !== null } }),
      ...(durationMs !== null && { evaluationTimeMs: Math.round(durationMs * 1000) / 1000 }),
      ...(error !== null && { error: errorMembers(error) }),
    }
    return {
      subject: subjectOf('knowledge-queries', query?.id ?? request.id),
      timeMs,
      ...(providers >= AUDIT_BIT &&
        request.input_params !== undefined && { valuesDigest: digestOfValues(request.input_params) }),
      members: `${commonMembers(origin, actorOf(caller)).slice(1)},${writeJson(members).slice(1, -1)}`,
    }
  }
}
