// The members of an explanation that the screen shows (POST /access/v1/explain).
import type { ShownPlanStep } from '../parts/plan-tree.tsx'

/** Null for an element without a key. */
export interface ElementName {
  readonly type: string | null
  readonly id: string | null
}

/** Nodes and relationships of one match. */
export interface ShownElements {
  readonly nodes: readonly (ElementName & { readonly variable: string | null })[]
  readonly relationships: readonly {
    readonly variable: string | null
    readonly type: string
    readonly source: ElementName
    readonly target: ElementName
  }[]
}

/** A comparison that is not true. */
export interface ShownComparison {
  readonly text: string
  readonly values: readonly { readonly of: string; readonly value: unknown }[]
}

/** The outcome of one policy. */
export interface ShownPolicy {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly outcome: 'granted' | 'denied' | 'faulted' | 'skipped'
  readonly because?: 'tags' | 'token' | 'parameters' | 'filter' | 'time'
  readonly missing?: readonly string[]
  readonly filter?: { readonly failing: readonly { readonly attribute: string; readonly operator: string }[] }
  readonly fault?: { readonly code: string; readonly message: string }
  readonly unknown?: readonly string[]
  readonly matched?: ShownElements
  readonly nearest_miss?: {
    readonly reached: { readonly step: string; readonly rows: number; readonly sample: ShownElements } | null
    readonly stopped: {
      readonly step: string
      readonly says: string
      readonly found?: ShownElements
      readonly comparisons?: readonly ShownComparison[]
    }
  }
  readonly plan?: ShownPlanStep
  readonly duration_ms: number
}

/** The whole answer. */
export interface ShownExplanation {
  readonly decision: boolean
  readonly context?: { readonly reason?: string }
  /** The parameters that the policies read, by name. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly policies: readonly ShownPolicy[]
  readonly duration_ms: number
}

/** The policy that decides what the screen shows first: one that grants, else the one that came furthest. */
export function leadingPolicy(policies: readonly ShownPolicy[]): ShownPolicy | null {
  const rank = (policy: ShownPolicy): number => {
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
