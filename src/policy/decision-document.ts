// The schema of a decision policy document: the JSON in the `policy` member of a stored policy. Members that are not
// executed are rejected.
import { z } from 'zod'
import { policyType } from '../config/element-schemas.ts'
import { policyFilterSchema } from './policy-filter-schema.ts'

/** The versions of decision policies that the service executes. */
export const decisionVersions = ['2.0-kbac', '3.0-kbac'] as const
/** One of `decisionVersions`. */
export type DecisionVersion = (typeof decisionVersions)[number]
/** The schema of one of `decisionVersions`. */
export const decisionVersion = z.enum(decisionVersions).meta({ id: 'DecisionPolicyVersion' })

const policyVersion = z
  .string()
  .superRefine((version, context) => {
    if ((decisionVersions as readonly string[]).includes(version)) return
    const known = [...decisionVersions, '1.0-ciq'].map((one) => `\`${one}\``).join(', ')
    context.addIssue({ code: 'custom', message: `expected one of ${known}, found \`${version.slice(0, 64)}\`` })
  })
  .meta({ documentedAs: decisionVersion })

// Any number of them: the length of the document bounds it.
const action = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[\p{L}\p{M}\p{N}.:_/-]+$/u, { error: 'expected letters, digits and `. : _ - /`' })

/** The effect of a policy on the pairs of its condition. */
const policyEffect = z
  .enum(['permit', 'forbid'])
  .meta({ id: 'PolicyEffect' })
  .describe('`forbid` denies what other policies grant; default: `permit`')
/** One of `policyEffect`. */
export type PolicyEffect = z.infer<typeof policyEffect>

/** The type of the subject or of the resource of a policy. */
export const policyEntity = z.strictObject({ type: policyType }).meta({ id: 'PolicyEntity' })

/** Validates a parsed decision policy document. */
export const decisionDocument = z
  .strictObject({
    meta: z.strictObject({ policy_version: policyVersion }).meta({ id: 'DecisionPolicyMeta' }),
    effect: policyEffect.optional(),
    subject: policyEntity,
    actions: z
      .array(action)
      .min(1)
      .refine((actions) => new Set(actions).size === actions.length, { error: 'an action is given twice' }),
    resource: policyEntity,
    condition: z
      .strictObject({
        cypher: z.string().min(1),
        // read-policy-filter.ts parses the filter, because it reports where in the tree an error is.
        filter: z.unknown().meta({ documentedAs: policyFilterSchema }).optional(),
      })
      .meta({ id: 'DecisionPolicyCondition' }),
  })
  .meta({ id: 'DecisionPolicyDocument' })

/** A validated decision policy document. */
export type DecisionDocument = z.infer<typeof decisionDocument>
