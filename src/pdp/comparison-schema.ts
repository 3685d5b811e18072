// Schemas of a comparison of two sets of policies.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import { tagList } from '../config/kind.ts'
import { decisionDocument } from '../policy/decision-document.ts'
import { matchedElements } from './explain-schema.ts'
import { foundEntity } from './schema.ts'

const properties = jsonObject.optional().describe('what the policies read as parameters')

/** Most examples of one list. */
const SAMPLE_MAX = 100

const proposedPolicy = z
  .strictObject({
    name: z.string().min(1).describe('replaces the ACTIVE policy with this name'),
    // Compiled as a stored policy is, with the errors of a stored policy.
    policy: z.unknown().meta({ documentedAs: decisionDocument }),
    tags: tagList.optional(),
  })
  .meta({ id: 'ProposedPolicy' })

const comparedEntities = z
  .strictObject({ type: z.string().optional(), id: z.string().optional(), properties })
  .meta({ id: 'ComparedEntities' })

/** The request of a comparison. */
export const comparisonRequest = z
  .strictObject({
    policies: z.array(proposedPolicy).optional().describe('policies to add or to replace'),
    removed_policies: z.array(z.string()).optional().describe('names of ACTIVE policies to remove'),
    replace_all: z.boolean().optional().describe('true: `policies` is the whole set, and all others are removed'),
    model: z
      .string()
      .nullable()
      .optional()
      .describe(
        'the text of a model that replaces that of the project; null: the project has none; default: the stored one',
      ),
    draft: z.boolean().optional().describe('true: the stored DRAFT policies are added, as if they were ACTIVE'),
    subject: comparedEntities.optional().describe('which subjects are compared; default: all'),
    action: z
      .strictObject({ name: z.string().optional(), properties })
      .meta({ id: 'ComparedActions', description: 'Which action is compared; default: all.' })
      .optional(),
    resource: comparedEntities.optional().describe('which resources are compared; default: all'),
    context: z
      .strictObject({
        input_params: jsonObject
          .optional()
          .describe('a value for each parameter of the policies, by its name without `$`'),
        policy_tags: z.array(z.string()).optional().describe('only policies with one of these tags are compared'),
      })
      .meta({ id: 'ComparisonContext' })
      .optional(),
    token: z
      .strictObject({
        claims: jsonObject.optional().describe('what the policies read as `$token`, with `sub` in addition'),
        delegation: jsonObject.optional().describe('what the policies read as `$svc_token`'),
      })
      .meta({
        id: 'ComparedToken',
        description: 'Each subject is compared as if it had a token with these claims and its own `sub`.',
      })
      .optional(),
    budget: z
      .strictObject({
        time_ms: z
          .int()
          .min(1)
          .optional()
          .describe('milliseconds; at most 0.75 of the setting `batch_time_ms`; default: 0.2 of it'),
        steps: z
          .int()
          .min(1)
          .optional()
          .describe('rows, relationships and list items that are read; default: no limit'),
        rows: z.int().min(1).optional().describe('rows that are in memory at the same time'),
      })
      .meta({ id: 'ComparisonBudget' })
      .optional(),
    sample: z.int().min(0).max(SAMPLE_MAX).optional().describe('examples of each list; default 3'),
  })
  .meta({ id: 'ComparisonRequest' })

const policyName = z
  .object({ id: z.string().nullable().describe('null: the policy is not stored'), name: z.string() })
  .meta({ id: 'ComparedPolicyName' })

const samplePair = z
  .object({
    subject: foundEntity,
    resource: foundEntity,
    matched: matchedElements.optional().describe('the path with which the policy grants, or granted'),
  })
  .meta({ id: 'ChangedPair' })

const changedPairs = z
  .object({
    policy: policyName.describe('the first policy that grants the pairs, or granted them'),
    actions: z.array(z.string()),
    subject_type: z.string(),
    resource_type: z.string(),
    pairs: z.int().describe('pairs of subject and resource whose decision changes, for each of the actions'),
    at_least: z.boolean().describe('true: there may be more, because the policy was not read to its end'),
    sample: z.array(samplePair),
  })
  .meta({ id: 'ChangedPairs' })

const leftOut = z
  .object({
    policy: policyName,
    in: z.enum(['old', 'new', 'both']).describe('the set of policies that has it'),
    actions: z.array(z.string()),
    subject_type: z.string(),
    resource_type: z.string(),
    reason: z
      .enum(['parameters', 'budget', 'fault', 'draft', 'tags'])
      .describe(
        '`draft`: the stored draft does not compile; `tags`: they differ, and `context.policy_tags` is not given',
      ),
    missing: z.array(z.string()).optional().describe('parameters that the request does not give'),
    message: z.string(),
    pairs: z.int().optional().describe('pairs that were found to change before the end of the budget'),
    read: z.int().optional().describe('subjects, or resources, whose pairs were compared'),
    of: z.int().optional().describe('how many there are'),
  })
  .meta({ id: 'LeftOutPolicy' })

/** The answer of a comparison. */
export const comparison = z
  .object({
    complete: z.boolean().describe('false: `left_out` lists what is missing, and the numbers are lower bounds'),
    gained: z.int().describe('decisions that change to a permit: pairs, counted for each action'),
    lost: z.int().describe('decisions that change from a permit: pairs, counted for each action'),
    gains: z.array(changedPairs),
    losses: z.array(changedPairs),
    left_out: z.array(leftOut),
    warnings: z
      .array(z.string())
      .optional()
      .describe('about the proposed model: stored data that it would not fit, counted with examples'),
    parameters: jsonObject.describe('the parameters of the request, masked as in an explanation'),
    steps: z.int(),
    duration_ms: z.number(),
  })
  .meta({ id: 'Comparison' })

/** The request of a comparison. */
export type ComparisonRequest = z.infer<typeof comparisonRequest>
/** Pairs of one policy whose decisions change. */
export type ChangedPairs = z.infer<typeof changedPairs>
/** One pair whose decision changes, with its path. */
export type ChangedPair = z.infer<typeof samplePair>
/** A policy that was not compared, or not completely. */
export type LeftOutPolicy = z.infer<typeof leftOut>
/** The answer of a comparison. */
export type ComparisonReport = z.infer<typeof comparison>
