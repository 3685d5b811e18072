// AuthZEN requests and answers. Unknown members are ignored everywhere (AuthZEN 10.1.1), so no object here is strict.
import { z } from 'zod'

const properties = z.record(z.string(), z.unknown()).optional()

const entity = z.object({ type: z.string(), id: z.string(), properties })
const entityType = z.object({ type: z.string(), properties })
const action = z.object({ name: z.string(), properties })

const context = z
  .object({
    input_params: z.record(z.string(), z.unknown()).optional(),
    policy_tags: z.array(z.string()).optional(),
  })
  .optional()

export const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const

const page = z
  .object({
    token: z.string().min(1).optional(),
    /** The upper bound of one answer; 0 asks only how many there are. */
    limit: z.int().min(0).optional(),
    properties: z.record(z.string(), z.unknown()).optional(),
  })
  .optional()

export const evaluationRequest = z.object({ subject: entity, action, resource: entity, context })
/** An `id` beside the searched type is ignored (AuthZEN 8). */
export const resourceSearchRequest = z.object({ subject: entity, action, resource: entityType, context, page })
export const subjectSearchRequest = z.object({ subject: entityType, action, resource: entity, context, page })
export const actionSearchRequest = z.object({ subject: entity, resource: entity, context, page })

/** For the description: read-batch.ts reads it, where an item that is wrong is an item's own affair. */
export const evaluationsRequest = z.object({
  subject: entity.optional(),
  action: action.optional(),
  resource: entity.optional(),
  context,
  evaluations: z
    .array(z.object({ subject: entity.optional(), action: action.optional(), resource: entity.optional(), context }))
    .optional(),
  options: z.object({ evaluations_semantic: z.enum(semantics).optional() }).optional(),
})

export type EvaluationRequest = z.infer<typeof evaluationRequest>
export type ResourceSearchRequest = z.infer<typeof resourceSearchRequest>
export type SubjectSearchRequest = z.infer<typeof subjectSearchRequest>
export type ActionSearchRequest = z.infer<typeof actionSearchRequest>
export type RequestContextMembers = EvaluationRequest['context']
export type PageRequest = NonNullable<z.infer<typeof page>>

export const decision = z.object({
  decision: z.boolean().describe('true: allowed'),
  context: z.object({ reason: z.string(), advice: z.array(z.record(z.string(), z.string())).optional() }).optional(),
})
export const decisionList = z.object({ evaluations: z.array(decision) })
/** One decision where there were no `evaluations`. */
export const evaluationsAnswer = z.union([decisionList, decision])

const pageMembers = z.object({
  next_token: z.string(),
  count: z.int(),
  /** Of all pages together, as far as it is known: not while there are many more to come. */
  total: z.int().optional(),
})
export const searchAnswer = z.object({
  page: pageMembers.optional(),
  results: z.array(
    z.object({ type: z.string().describe('the node type'), id: z.string().describe('the external id') }),
  ),
})
export const actionSearchAnswer = z.object({
  page: pageMembers.optional(),
  results: z.array(z.object({ name: z.string().describe('the name of the action') })),
})
export type PageMembers = z.infer<typeof pageMembers>
export type SearchAnswer = z.infer<typeof searchAnswer>
export type ActionSearchAnswer = z.infer<typeof actionSearchAnswer>

export const policiesAnswer = z.object({
  results: z.array(z.object({ policy: z.record(z.string(), z.unknown()), tags: z.array(z.string()) })),
})
