// The decision log: one line of JSON for each answered question, under the identifier that its caller knows it by. Parameters
// are masked by rule; of a sample, all items of a batch are in it or none.
import { type Clock, timestamp } from '../kernel/clock.ts'
import { writeJson } from '../kernel/json.ts'
import type { DecisionEvent, Entity } from './decision-deps.ts'
import type { ParameterMask } from './parameter-mask.ts'

/** Takes lines without ever keeping the caller waiting; what it cannot keep it drops and counts. */
export interface LineSink {
  write(line: string): void
}

export interface DecisionLogDeps {
  readonly sink: LineSink
  readonly clock: Clock
  readonly mask: ParameterMask
  /** 1 to 100. */
  readonly percent: number
}

export class DecisionLog {
  private readonly parts: DecisionLogDeps
  private readonly drawn = new WeakMap<object, boolean>()

  constructor(parts: DecisionLogDeps) {
    this.parts = parts
  }

  record(event: DecisionEvent): void {
    const { sink, clock, mask, percent } = this.parts
    if (percent < 100 && !this.isInSample(event)) return
    sink.write(writeJson(recordOf(event, clock.now(), mask)))
  }

  /** Drawn at random once for each call. An identifier of the call would let its caller choose what is logged. */
  private isInSample({ batch }: DecisionEvent): boolean {
    const draw = (): boolean => Math.random() * 100 < this.parts.percent
    if (batch === undefined) return draw()
    const before = this.drawn.get(batch)
    if (before !== undefined) return before
    const drawn = draw()
    this.drawn.set(batch, drawn)
    return drawn
  }
}

function recordOf(event: DecisionEvent, nowMs: number, mask: ParameterMask): object {
  const { caller, request, error } = event
  const { user } = caller
  return {
    time: timestamp(nowMs),
    request_id: event.requestId,
    kind: event.kind,
    ...(event.item === null ? {} : { item: event.item }),
    project_id: caller.projectId,
    application_id: caller.applicationId,
    agent_id: caller.agentId,
    ...(user === null ? {} : { user: { type: user.nodeType, id: user.subjectId } }),
    ...(request === null
      ? {}
      : {
          subject: sideOf(request.subject),
          ...(event.kind === 'action search' ? {} : { action: request.action.name }),
          resource: sideOf(request.resource),
          ...asked(event, mask),
        }),
    ...(event.decision === null ? {} : { decision: event.decision }),
    ...(event.found === null ? {} : { found: event.found }),
    ...(error === null
      ? {}
      : { error: { kind: error.kind, ...('message' in error ? { message: error.message } : {}) } }),
    duration_ms: Math.round(event.durationMs * 1000) / 1000,
  }
}

function sideOf({ type, id }: Entity): object {
  return id === null ? { type } : { type, id }
}

function asked({ request }: DecisionEvent, mask: ParameterMask): object {
  if (request === null) return {}
  const { subject, resource, action, context } = request
  const parameters: Record<string, unknown> = { ...context?.input_params }
  for (const [side, { properties }] of Object.entries({ subject, resource, action })) {
    if (properties !== undefined) parameters[`${side}_properties`] = properties
  }
  return {
    ...(Object.keys(parameters).length === 0 ? {} : { parameters: mask.apply(parameters) }),
    ...(context?.policy_tags === undefined ? {} : { policy_tags: context.policy_tags }),
  }
}
