// The members of an explanation that the screen shows (POST /access/v1/explain).
import type { HttpSchemas } from '../../../openapi/types.ts'

/** Null for an element without a key. */
export type ElementName = HttpSchemas['ElementKey']

/** Nodes and relationships of one match. */
export type ShownElements = HttpSchemas['MatchedElements']

/** A comparison that is not true. */
export type ShownComparison = HttpSchemas['FailedComparison']

/** The outcome of one policy. */
export type ShownPolicy = HttpSchemas['PolicyExplanation']

/** The whole answer. */
export type ShownExplanation = HttpSchemas['Explanation']

/** Whether the policy denies what another one grants. */
export function forbids({ effect, outcome }: ShownPolicy): boolean {
  return effect === 'forbid' && (outcome === 'forbidden' || outcome === 'faulted')
}

/**
 * The policy that decides what the screen shows first: one that forbids what another one grants, else one that grants, else the one
 * that came furthest.
 */
export function leadingPolicy(policies: readonly ShownPolicy[]): ShownPolicy | null {
  const isGranted = policies.some(({ outcome }) => outcome === 'granted')
  const rank = (policy: ShownPolicy): number => {
    if (policy.effect === 'forbid') return isGranted && forbids(policy) ? 2000 : -1
    if (policy.outcome === 'granted') return 1000
    if (policy.outcome === 'skipped') return policy.because === 'parameters' ? 1 : 0
    const sample = policy.nearest_miss?.reached?.sample
    return (
      10 + (sample?.relationships.length ?? 0) * 2 + (policy.nearest_miss?.stopped.comparisons === undefined ? 0 : 1)
    )
  }
  return policies.reduce<ShownPolicy | null>(
    (best, policy) => (best === null || rank(policy) > rank(best) ? policy : best),
    null,
  )
}
