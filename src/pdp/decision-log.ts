// The decision log: one line of JSON for each answered request, under its request id. Parameters are masked by rule;
// sampling includes all items of a batch or none.

import { writeJson } from '../kernel/json/json.ts'
import { type Clock, timestamp } from '../kernel/time/clock.ts'
import type { DecisionDeps, DecisionEvent, Entity, EvaluationRequest } from './decision-deps.ts'
import type { ParameterMask } from './parameter-mask.ts'
import { asksDrafts, policiesDecided } from './policy-status.ts'

/** A sink for log lines. `write` never blocks; lines that it cannot keep are dropped and counted. */
interface LineSink {
  write(line: string): void
}

/** Collaborators and sampling rate of the decision log. */
export interface DecisionLogDeps {
  readonly sink: LineSink
  readonly clock: Clock
  readonly mask: ParameterMask
  readonly policies: Pick<DecisionDeps['policies'], 'find'>
  readonly drafts: Pick<DecisionDeps['drafts'], 'find'>
  readonly modelUsed?: DecisionDeps['modelUsed']
  /** Percentage of requests to log, 1 to 100. */
  readonly percent: number
}

/** Writes decisions and searches to a sink. */
export class DecisionLog {
  private readonly deps: DecisionLogDeps
  private readonly sampled = new WeakMap<object, boolean>()

  constructor(deps: DecisionLogDeps) {
    this.deps = deps
  }

  /** Logs one event, if it is in the sample. */
  record(event: DecisionEvent): void {
    const { sink, clock, percent } = this.deps
    if (percent < 100 && !this.isInSample(event)) return
    sink.write(writeJson(recordOf(event, clock.now(), this.deps)))
  }

  /** Drawn at random, once per batch. Deriving it from the request id would let the caller choose what is logged. */
  private isInSample({ batch }: DecisionEvent): boolean {
    const sample = (): boolean => Math.random() * 100 < this.deps.percent
    if (batch === undefined) return sample()
    const before = this.sampled.get(batch)
    if (before !== undefined) return before
    const sampled = sample()
    this.sampled.set(batch, sampled)
    return sampled
  }
}

function recordOf(event: DecisionEvent, nowMs: number, deps: DecisionLogDeps): object {
  const { mask } = deps
  const { caller, request, error } = event
  const model = deps.modelUsed?.(caller.projectId) ?? null
  const { user } = caller
  return {
    time: timestamp(nowMs),
    ...(event.id === null ? {} : { id: event.id }),
    request_id: event.origin.requestId,
    kind: event.kind,
    ...(event.item === null ? {} : { item: event.item }),
    project_id: caller.projectId,
    ...(caller.account === undefined
      ? { application_id: caller.applicationId, agent_id: caller.agentId }
      : { service_account_id: caller.agentId }),
    ...(user === null ? {} : { user: { type: user.nodeType, id: user.subjectId } }),
    ...(request === null
      ? {}
      : {
          subject: entityFields(request.subject),
          ...(event.kind === 'action search' ? {} : { action: request.action.name }),
          resource: entityFields(request.resource),
          ...parameterFields(event, mask),
        }),
    ...(event.decision === null ? {} : { decision: event.decision }),
    ...(event.kind !== 'evaluation' || request === null ? {} : policyFields(event, request, deps)),
    ...(model === null ? {} : { model }),
    ...(event.found === null ? {} : { found: event.found }),
    ...(error === null
      ? {}
      : { error: { kind: error.kind, ...('message' in error ? { message: error.message } : {}) } }),
    duration_ms: Math.round(event.durationMs * 1000) / 1000,
  }
}

function entityFields({ type, id }: Entity): object {
  return id === null ? { type } : { type, id }
}

/** The revisions of the policies that decided, and which one granted or forbade. */
function policyFields(
  { caller, granting, forbidding }: DecisionEvent,
  request: EvaluationRequest,
  deps: DecisionLogDeps,
): object {
  const found = policiesDecided(deps, caller, request)
  return {
    ...(granting === null ? {} : { granted_by: granting.id }),
    ...(forbidding === null ? {} : { forbidden_by: forbidding.id }),
    policies: found.map(({ id, name, revision }) => ({ id, name, revision })),
  }
}

function parameterFields({ request }: DecisionEvent, mask: ParameterMask): object {
  if (request === null) return {}
  const { subject, resource, action, context } = request
  const parameters: Record<string, unknown> = { ...context?.input_params }
  for (const [side, { properties }] of Object.entries({ subject, resource, action })) {
    if (properties !== undefined) parameters[`${side}_properties`] = properties
  }
  return {
    ...(Object.keys(parameters).length === 0 ? {} : { parameters: mask.apply(parameters) }),
    ...(context?.policy_tags === undefined ? {} : { policy_tags: context.policy_tags }),
    ...(asksDrafts(context) ? { policy_status: 'DRAFT' } : {}),
  }
}
