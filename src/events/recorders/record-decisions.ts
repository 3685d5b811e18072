// Records the events of decisions and searches. Recording keeps references; the payload is built shortly after the answer.

import { digestOfValues } from '../../audit/values-digest.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { type RecordedTrace, tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { DecisionDeps, DecisionEvent, EvaluationRequest, RequestKind } from '../../pdp/decision-deps.ts'
import type { ParameterMask } from '../../pdp/parameter-mask.ts'
import { asksDrafts, policiesDecided } from '../../pdp/policy-status.ts'
import type { CompiledPolicy } from '../../policy/policy-index.ts'
import type { ActivityEvent, ActivityLog } from '../activity-log.ts'
import {
  actorOf,
  type DecidedElement,
  type DecisionDetail,
  type RecordedOrigin,
  type SharedValues,
} from '../event-record.ts'
import type { EventTypeName } from '../event-types.ts'
import { AUDIT_BIT, type ContextValue, type EventContext, noContext, type SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

/** Collaborators of the recording. */
interface DecisionEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly policies: Pick<DecisionDeps['policies'], 'find'>
  readonly drafts: Pick<DecisionDeps['drafts'], 'find'>
  readonly modelUsed?: DecisionDeps['modelUsed']
  readonly mask: ParameterMask
  readonly clock: Clock
}

const noPolicies: readonly CompiledPolicy[] = []

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
    event.origin.noteEvent()
    const sink = this.deps.sinks.routesOf(event.caller.projectId)
    if (sink === null) return
    const { activity, mask, clock } = this.deps
    const type = typeOf(event)
    const routes = sink.ofType(type)
    if (routes === null) return
    const isDenial = event.kind === 'evaluation' && event.decision !== true
    const providers = routes.matchDecision(routes.readsContext ? contextOf(event) : noContext, isDenial)
    if (providers === 0) return
    const { request, kind } = event
    const found =
      request === null || kind === 'action search' ? noPolicies : policiesDecided(this.deps, event.caller, request)
    const revision = this.deps.modelUsed?.(event.caller.projectId)?.revision ?? 0
    activity.record(new RecordedDecision(sink, type, providers, clock.now(), event, found, revision, mask))
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
  private readonly timeMs: number
  private readonly origin: RecordedOrigin
  private readonly trace: RecordedTrace | undefined
  private readonly event: Omit<DecisionEvent, 'origin'>
  private readonly policies: readonly CompiledPolicy[]
  /** 0: the project has no model. */
  private readonly modelRevision: number
  private readonly mask: ParameterMask

  constructor(
    routes: SinkRoutes,
    type: EventTypeName,
    providers: number,
    timeMs: number,
    event: DecisionEvent,
    policies: readonly CompiledPolicy[],
    modelRevision: number,
    mask: ParameterMask,
  ) {
    this.routes = routes
    this.type = type
    this.providers = providers
    this.timeMs = timeMs
    const { origin, ...answered } = event
    // The origin refers to the whole request, and its client is known only until the answer.
    this.origin = { requestId: origin.requestId, address: origin.address }
    this.trace = tracedBy(origin).trace
    this.event = answered
    this.policies = policies
    this.modelRevision = modelRevision
    this.mask = mask
  }

  get requestId(): string {
    return this.origin.requestId
  }

  encode(shared: SharedValues): DecidedElement {
    const { caller, request, kind, decision, found, error, durationMs } = this.event
    const detail = this.detail()
    const element = [
      'd',
      this.timeMs,
      this.origin.requestId,
      shared.numberOf(caller, () => actorOf(caller)),
      Math.round(durationMs * 1000) / 1000,
      shared.numberOf(this.policies, () => this.policies.map(({ id, name }) => ({ id, name }))),
      error === null ? (decision ?? found ?? 0) : errorMembers(error),
      request === null
        ? null
        : ([
            request.subject.type,
            request.subject.id,
            kind === 'action search' ? null : request.action.name,
            request.resource.type,
            request.resource.id,
          ] as const),
    ] as const
    const { address } = this.origin
    if (this.trace !== undefined) return [...element, detail, address, this.trace]
    if (address !== '') return [...element, detail, address]
    return detail === null ? element : [...element, detail]
  }

  private detail(): DecisionDetail | null {
    const { request, item, reason, batch, id, forbidding } = this.event
    const parameters = request === null ? null : parametersOf(request)
    const policyTags = request?.context?.policy_tags
    const isDraft = asksDrafts(request?.context)
    const { modelRevision } = this
    const isPlain = id === null && reason === null && batch === undefined && parameters === null && modelRevision === 0
    if (isPlain && policyTags === undefined && !isDraft) return null
    return {
      ...(id !== null && { id }),
      ...(reason !== null && { reason }),
      ...(forbidding !== null && { forbiddenBy: { id: forbidding.id, name: forbidding.name } }),
      ...(batch !== undefined && item !== null && { item }),
      ...(parameters !== null && {
        inputParams: writeJson(this.mask.apply(parameters)),
        ...(this.providers >= AUDIT_BIT && { valuesDigest: digestOfValues(parameters) }),
      }),
      ...(policyTags !== undefined && { policyTags }),
      ...(isDraft && { policyStatus: 'DRAFT' }),
      ...(modelRevision > 0 && { modelRevision }),
    }
  }
}

/** Null: the request has no parameters. */
function parametersOf({ subject, resource, action, context }: EvaluationRequest): Record<string, unknown> | null {
  const parameters: Record<string, unknown> = { ...context?.input_params }
  if (subject.properties !== undefined) parameters.subject_properties = subject.properties
  if (resource.properties !== undefined) parameters.resource_properties = resource.properties
  if (action.properties !== undefined) parameters.action_properties = action.properties
  return Object.keys(parameters).length === 0 ? null : parameters
}

/** The kind of an error, and its message if it is written for the caller. */
export function errorMembers(error: ServiceError): { readonly kind: string; readonly message?: string } {
  const message = 'message' in error ? error.message : 'issues' in error ? error.issues.join('; ') : undefined
  return { kind: error.kind, ...(message !== undefined && { message }) }
}
