// Records decisions and searches as spans: what a span has of them, and what the parameter mask hides.
import type { SpanAttributes, Tracing } from '../kernel/request/tracing.ts'
import type { DecisionDeps, DecisionEvent } from './decision-deps.ts'
import type { ParameterMask } from './parameter-mask.ts'
import { policiesDecided } from './policy-status.ts'

/** Spans of the items of one batch; further items have none. */
const BATCH_SPANS_MAX = 50

/** Adds a span for each decision and search. */
export function createDecisionSpans(
  tracing: Tracing,
  mask: ParameterMask,
  deps: Parameters<typeof policiesDecided>[0],
): NonNullable<DecisionDeps['onDecided']> {
  return (event) => {
    if ((event.item ?? 0) >= BATCH_SPANS_MAX) return
    const name = event.kind === 'evaluation' ? 'decision' : event.kind
    const { startedMs, durationMs, error } = event
    tracing.add(
      name,
      startedMs,
      startedMs + durationMs,
      () => decisionAttributes(event, mask, deps),
      error?.kind ?? null,
    )
  }
}

/** The name under which the parameter mask shows or hides the ids of subjects and resources. */
const EXTERNAL_ID = 'external_id'

function decisionAttributes(
  { kind, item, request, decision, found, granting, forbidding, plans, id, caller }: DecisionEvent,
  mask: ParameterMask,
  deps: Parameters<typeof policiesDecided>[0],
): SpanAttributes {
  const run = plans?.list() ?? []
  const common = {
    'verdigraph.decision.id': id ?? undefined,
    'verdigraph.decision.item': item ?? undefined,
    'verdigraph.decision.result': decision === null ? undefined : decision ? 'permit' : 'deny',
    'verdigraph.search.results': found ?? undefined,
    // In the order of the first runs; no names and no values.
    'verdigraph.plan.operators': run.length === 0 ? undefined : run.map(({ operators }) => operators),
    'verdigraph.plan.origins':
      run.length === 0 ? undefined : run.map(({ isCached }) => (isCached ? 'cached' : 'planned')),
  }
  if (request === null) return common
  const { subject, resource, action, context } = request
  const isActionSearch = kind === 'action search'
  const policies = isActionSearch ? [] : policiesDecided(deps, caller, request)
  const idOf = (external: string | null): string | undefined =>
    external === null || mask.valueAt([EXTERNAL_ID], external) !== external ? undefined : external
  const parameters = context?.input_params
  return {
    ...common,
    'verdigraph.subject.type': subject.type,
    'verdigraph.subject.id': idOf(subject.id),
    'verdigraph.action': isActionSearch ? undefined : action.name,
    'verdigraph.resource.type': resource.type,
    'verdigraph.resource.id': idOf(resource.id),
    'verdigraph.policy.ids': policies.map((policy) => policy.id),
    'verdigraph.policy.granted_by': granting?.id,
    'verdigraph.policy.forbidden_by': forbidding?.id,
    'verdigraph.parameters': parameters === undefined ? undefined : JSON.stringify(mask.apply(parameters)),
  }
}
