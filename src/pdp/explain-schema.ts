// The response schema of an explanation.
import { z } from 'zod'
import { decision } from './schema.ts'

/** Null for an element without a key. */
const entityName = z.object({ type: z.string().nullable(), id: z.string().nullable() })

const matchedElements = z.object({
  nodes: z.array(z.object({ ...entityName.shape, variable: z.string().nullable() })),
  relationships: z.array(
    z.object({ variable: z.string().nullable(), type: z.string(), source: entityName, target: entityName }),
  ),
})

const nearestMiss = z.object({
  /** The last step that had rows, and one of these rows. */
  reached: z.object({ step: z.string(), rows: z.int(), sample: matchedElements }).nullable(),
  /** The step that removed all rows; for a forbidden pattern, what was found of it. */
  stopped: z.object({ step: z.string(), says: z.string(), found: matchedElements.optional() }),
})

/** Rows produced, store reads and time of this step without its inputs. */
const measured = {
  operator: z.string(),
  detail: z.string(),
  rows: z.int(),
  reads: z.int(),
  time_ms: z.number(),
}

/** One operator of a profiled plan, with its inputs. */
export interface PlanStep {
  readonly operator: string
  readonly detail: string
  readonly rows: number
  readonly reads: number
  readonly time_ms: number
  readonly children: readonly (PlanStep & { readonly role: 'input' | 'inner' | 'branch' })[]
}

const planStep = z.object({ ...measured, children: z.array(z.record(z.string(), z.unknown())) })

const policyExplanation = z.object({
  id: z.string(),
  name: z.string(),
  version: z.enum(['2.0-kbac', '3.0-kbac']),
  tags: z.array(z.string()),
  outcome: z.enum(['granted', 'denied', 'faulted', 'skipped']),
  /** `time`: the explanation as a whole reached its time limit. */
  because: z.enum(['tags', 'token', 'parameters', 'filter', 'time']).optional(),
  missing: z.array(z.string()).optional(),
  filter: z
    .object({
      failing: z.array(
        z.object({ path: z.string(), operator: z.string(), attribute: z.string(), unknown: z.boolean() }),
      ),
      advice: z.array(z.record(z.string(), z.string())),
    })
    .optional(),
  fault: z.object({ code: z.string(), message: z.string() }).optional(),
  /** Entities of the request that are not in the graph. */
  unknown: z.array(z.string()).optional(),
  matched: matchedElements.optional(),
  nearest_miss: nearestMiss.optional(),
  plan: planStep.optional(),
  duration_ms: z.number(),
})

/** The response body of an explanation. */
export const explanation = z.object({
  ...decision.shape,
  parameters: z.record(z.string(), z.unknown()),
  policies: z.array(policyExplanation),
  duration_ms: z.number(),
})

/** Type and external id of an element. */
export type EntityName = z.infer<typeof entityName>
/** Elements that a pattern matched. */
export type MatchedElements = z.infer<typeof matchedElements>
/** Where a denied pattern ended. */
export type NearestMiss = z.infer<typeof nearestMiss>
/** The outcome of one policy. */
export type PolicyExplanation = Omit<z.infer<typeof policyExplanation>, 'plan'> & { plan?: PlanStep }
/** A decision with the outcome of each policy. */
export interface Explanation {
  readonly decision: boolean
  readonly context?: { readonly reason: string; readonly advice?: readonly Readonly<Record<string, string>>[] }
  readonly parameters: Readonly<Record<string, unknown>>
  readonly policies: readonly PolicyExplanation[]
  readonly duration_ms: number
}
