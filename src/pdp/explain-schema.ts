// The response schema of an explanation.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import { decisionVersion } from '../policy/decision-document.ts'
import { advice, decision, modelUsed } from './schema.ts'

/** Null for an element without a key. */
const entityName = z
  .object({ type: z.string().nullable(), id: z.string().nullable() })
  .meta({ id: 'ElementKey', description: 'The key of an element; null for an element without one.' })

const variable = z.string().nullable()

const matchedRelationship = z
  .object({ variable, type: z.string(), source: entityName, target: entityName })
  .meta({ id: 'MatchedRelationship' })

const derivedRelationship = z
  .object({ type: z.string(), source: entityName, target: entityName })
  .meta({ id: 'DerivedRelationship' })

const explainedDerivation = z
  .object({
    ...derivedRelationship.shape,
    alternative: z.int().describe('the number of the alternative of the definition that has a row for it, from 1'),
    relationships: z.array(matchedRelationship).describe('the stored relationships of that row'),
    derived: z
      .array(derivedRelationship)
      .describe('the derived relationships of that row; their entries are later in the list'),
  })
  .meta({
    id: 'ExplainedDerivation',
    description: 'A relationship that a definition of the model derives, with the row from which it follows.',
  })

/** Elements that a pattern matched. */
export const matchedElements = z
  .object({
    nodes: z.array(z.object({ ...entityName.shape, variable }).meta({ id: 'MatchedNode' })),
    relationships: z.array(matchedRelationship),
    derived: z
      .array(explainedDerivation)
      .optional()
      .describe('the derived relationships of the match and all that they follow from, each once, at most 100'),
  })
  .meta({ id: 'MatchedElements' })

const failedComparison = z
  .object({
    text: z.string(),
    values: z.array(z.object({ of: z.string(), value: z.unknown() }).meta({ id: 'ComparedValue' })),
  })
  .meta({
    id: 'FailedComparison',
    description:
      'A comparison that is not true, with the values of its properties and parameters: `***` unless `parameter_mask` shows the name, null for an absent value.',
  })

const reachedStep = z
  .object({ step: z.string(), rows: z.int(), sample: matchedElements })
  .meta({ id: 'ReachedStep' })
  .nullable()
  .describe('the last step that had rows, and one of these rows')

const stopped = { step: z.string(), says: z.string(), comparisons: z.array(failedComparison).optional() }

const missedAlternative = z
  .object({
    alternative: z.int().describe('the number of the alternative of the definition, from 1'),
    reached: reachedStep,
    stopped: z.object(stopped).meta({ id: 'StoppedAlternative' }),
  })
  .meta({ id: 'MissedAlternative', description: 'How far one alternative of a definition came.' })

const nearestMiss = z
  .object({
    reached: reachedStep,
    stopped: z
      .object({
        ...stopped,
        found: matchedElements.optional(),
        alternatives: z
          .array(missedAlternative)
          .optional()
          .describe('for a step over a definition: how far each of its alternatives came'),
      })
      .meta({ id: 'StoppedStep' })
      .describe(
        'the step that removed all rows; for a forbidden pattern, what was found of it; for predicates, the comparisons that are not true for the sample',
      ),
  })
  .meta({ id: 'NearestMiss' })

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

const planStep = z
  .object({
    ...measured,
    role: z.enum(['input', 'inner', 'branch']).optional().describe('of a child; absent for the root'),
    get children(): z.ZodArray<z.ZodType> {
      return z.array(planStep)
    },
  })
  .meta({ id: 'PlanStep' })

const failingComparison = z
  .object({ path: z.string(), operator: z.string(), attribute: z.string(), unknown: z.boolean() })
  .meta({ id: 'FailingComparison' })

const scoreDimension = z
  .object({
    name: z.string(),
    value: z.number(),
    weight: z
      .number()
      .nullable()
      .describe('in the profile of the node type; null: the profile does not have the dimension'),
    loss: z.number().nullable().describe('how much higher the final score would be if the dimension were 1'),
  })
  .meta({ id: 'ExplainedDimension' })

const explainedScore = z
  .object({
    node: entityName,
    final_score: z.number().nullable(),
    lowered_by: z.string().nullable().describe('the dimension with the greatest loss; null: all are 1'),
    dimensions: z.array(scoreDimension).describe('the greatest loss first'),
  })
  .meta({ id: 'ExplainedScore' })

const policyExplanation = z
  .object({
    id: z.string(),
    name: z.string(),
    version: decisionVersion,
    revision: z.int().describe('the revision of the policy'),
    tags: z.array(z.string()),
    effect: z.literal('forbid').optional().describe('of a policy that forbids; absent: it grants'),
    outcome: z
      .enum(['granted', 'denied', 'forbidden', 'passed', 'faulted', 'skipped'])
      .describe(
        'of a policy that forbids: `forbidden` or `faulted`, which deny what another policy grants, or `passed`, or `skipped`',
      ),
    because: z
      .enum(['tags', 'token', 'parameters', 'filter', 'time'])
      .optional()
      .describe('`time`: the explanation as a whole reached its time limit'),
    missing: z.array(z.string()).optional(),
    filter: z
      .object({ failing: z.array(failingComparison), advice: z.array(advice) })
      .meta({ id: 'FilterExplanation' })
      .optional(),
    fault: z
      .object({ code: z.string(), message: z.string() })
      .meta({ id: 'PolicyFault' })
      .optional()
      .describe(
        'of a policy that failed; with `granted` or `denied`: why the explanation ended before it had its details',
      ),
    unknown: z.array(z.string()).optional().describe('entities of the request that are not in the graph'),
    matched: matchedElements.optional(),
    nearest_miss: nearestMiss.optional(),
    trust_scores: z
      .array(explainedScore)
      .optional()
      .describe('of a policy that reads trust scores: those of the subject, the resource and the matched nodes'),
    plan: planStep.optional(),
    duration_ms: z.number(),
  })
  .meta({ id: 'PolicyExplanation' })

/** The response body of an explanation. */
export const explanation = z
  .object({
    ...decision.shape,
    model: modelUsed.optional().describe('the model with which the policies were read; absent if the project has none'),
    parameters: jsonObject,
    policies: z.array(policyExplanation),
    duration_ms: z.number(),
  })
  .meta({ id: 'Explanation' })

/** An explanation without the plans of its policies, which are long and have no meaning without the documentation. */
export const explanationWithoutPlans = explanation
  .extend({ policies: z.array(policyExplanation.omit({ plan: true })) })
  .meta({ id: 'ExplanationWithoutPlans' })

/** Type and external id of an element. */
export type EntityName = z.infer<typeof entityName>
/** Elements that a pattern matched. */
export type MatchedElements = z.infer<typeof matchedElements>
/** Where a denied pattern ended. */
export type NearestMiss = z.infer<typeof nearestMiss>
/** The trust score of a node, with the dimension that lowers it the most. */
export type ExplainedScore = z.infer<typeof explainedScore>
/** A comparison that is not true, as the response has it. */
export type FailedComparisonText = z.infer<typeof failedComparison>
/** The outcome of one policy. */
export type PolicyExplanation = Omit<z.infer<typeof policyExplanation>, 'plan'> & { plan?: PlanStep }
/** A decision with the outcome of each policy. */
export interface Explanation {
  readonly decision: boolean
  readonly context?: {
    readonly reason?: string
    readonly advice?: readonly Readonly<Record<string, string>>[]
    readonly model_revision?: number
  }
  readonly model?: z.infer<typeof modelUsed>
  readonly parameters: Readonly<Record<string, unknown>>
  readonly policies: readonly PolicyExplanation[]
  readonly duration_ms: number
}
