// Records the events of decisions and searches. Recording keeps references; the payload is built shortly after the answer.
import type { ActivityEvent, ActivityLog } from '../events/activity-log.ts'
import { commonMembers, subjectOf } from '../events/envelope.ts'
import { actorOf } from '../events/event-record.ts'
import type { EventTypeName } from '../events/event-types.ts'
import { type ContextValue, type EventContext, noContext, type SinkRoutes } from '../events/routes.ts'
import type { EventSinks } from '../events/sinks.ts'
import { type Clock, timestamp } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import type { DecisionDeps, DecisionEvent, Entity, RequestKind } from '../pdp/decision-deps.ts'
import type { ParameterMask } from '../pdp/parameter-mask.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'

/** Collaborators of the recording. */
export interface DecisionEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly policies: Pick<DecisionDeps['policies'], 'find'>
  readonly mask: ParameterMask
  readonly clock: Clock
}

const searchTypes: Readonly<Record<Exclude<RequestKind, 'evaluation'>, EventTypeName>> = {
  'resource search': 'svc.audit.authorization.searchresource',
  'subject search': 'svc.audit.authorization.searchsubject',
  'action search': 'svc.audit.authorization.searchaction',
}

/** Records events of decisions and searches. */
export class DecisionEventLog {
  private readonly deps: DecisionEventLogDeps

  constructor(deps: DecisionEventLogDeps) {
    this.deps = deps
  }

  /** Records the event of an answer, if it has a receiver. */
  record(event: DecisionEvent): void {
    const { sinks, activity, policies, mask, clock } = this.deps
    const sink = sinks.routesOf(event.caller.projectId)
    if (sink === null) return
    const type = typeOf(event)
    const routes = sink.ofType(type)
    if (routes === null) return
    const providers = routes.match(routes.readsContext ? contextOf(event) : noContext)
    if (providers === 0) return
    const { request, kind } = event
    const found =
      request === null || kind === 'action search'
        ? []
        : policies.find(event.caller.projectId, request.subject.type, request.action.name, request.resource.type)
    activity.record(new RecordedDecision(sink, type, providers, clock.now(), event, found, mask))
  }
}

function typeOf({ kind, batch, partOf }: DecisionEvent): EventTypeName {
  if (partOf === 'what-authorized') return 'svc.audit.authorization.whatauthorized'
  if (partOf === 'who-authorized') return 'svc.audit.authorization.whoauthorized'
  if (kind !== 'evaluation') return searchTypes[kind]
  return batch === undefined ? 'svc.audit.authorization.evaluation' : 'svc.audit.authorization.evaluations'
}

function contextOf({ request, decision, kind }: DecisionEvent): EventContext {
  return (key): ContextValue => {
    switch (key) {
      case 'decision':
        return decision
      case 'subjectType':
        return request?.subject.type
      case 'resourceType':
        return request?.resource.type
      case 'action':
        return kind === 'action search' ? undefined : request?.action.name
      default:
        return undefined
    }
  }
}

/** References to a decision, until its payload is built. */
class RecordedDecision implements ActivityEvent {
  readonly routes: SinkRoutes
  readonly type: EventTypeName
  readonly providers: number
  readonly timeMs: number
  private readonly event: DecisionEvent
  private readonly policies: readonly CompiledPolicy[]
  private readonly mask: ParameterMask

  constructor(
    routes: SinkRoutes,
    type: EventTypeName,
    providers: number,
    timeMs: number,
    event: DecisionEvent,
    policies: readonly CompiledPolicy[],
    mask: ParameterMask,
  ) {
    this.routes = routes
    this.type = type
    this.providers = providers
    this.timeMs = timeMs
    this.event = event
    this.policies = policies
    this.mask = mask
  }

  encode(): { subject: string; members: string } {
    const { event } = this
    const { caller, request, item, error, reason, batch } = event
    const { user } = caller
    const subject =
      request === null ? [] : [request.subject.type, ...(request.subject.id === null ? [] : [request.subject.id])]
    const members = {
      ...(request !== null && { request: this.requestMembers(event) }),
      ...(user !== null && { identity: { type: user.nodeType, externalId: user.subjectId } }),
      policiesFound: this.policies.map(({ id, name }) => ({ id, name })),
      evaluationTimeMs: Math.round(event.durationMs * 1000) / 1000,
      ...(error === null ? { response: this.response(event) } : { error: errorMembers(error) }),
      ...(reason !== null && { denyReason: { message: reason } }),
      ...(batch !== undefined && item !== null && { item }),
    }
    return {
      subject: subjectOf('subjects', ...subject),
      members: `${commonMembers(event.requestId, actorOf(caller)).slice(1)},${writeJson(members).slice(1, -1)}`,
    }
  }

  private requestMembers({ request, kind }: DecisionEvent): object {
    if (request === null) return {}
    const { subject, resource, action, context } = request
    const parameters: Record<string, unknown> = { ...context?.input_params }
    for (const [side, { properties }] of Object.entries({ subject, resource, action })) {
      if (properties !== undefined) parameters[`${side}_properties`] = properties
    }
    return {
      subject: entityMembers(subject),
      resources: [{ ...entityMembers(resource), actions: kind === 'action search' ? [] : [action.name] }],
      ...(Object.keys(parameters).length > 0 && { inputParams: this.mask.apply(parameters) }),
      ...(context?.policy_tags !== undefined && { policyTags: context.policy_tags }),
    }
  }

  private response({ request, decision, found }: DecisionEvent): object {
    const decisionTime = timestamp(this.timeMs)
    if (decision === null || request === null) return { decisionTime, results: found ?? 0 }
    const { resource, action } = request
    const byAction = new Map([[action.name, { allow: decision }]])
    return {
      decisionTime,
      decisions: new Map([[resource.type, new Map([[resource.id ?? '', byAction]])]]),
    }
  }
}

function entityMembers({ type, id }: Entity): object {
  return id === null ? { type } : { type, externalId: id }
}

/** The kind of an error, and its message if it is written for the caller. */
export function errorMembers(error: ServiceError): object {
  const message = 'message' in error ? error.message : 'issues' in error ? error.issues.join('; ') : undefined
  return { kind: error.kind, ...(message !== undefined && { message }) }
}
