// Schemas of AuthZEN requests and responses. Unknown members are ignored everywhere (AuthZEN 10.1.1), so no object here
// is strict.
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

/** Values of `evaluations_semantic`. */
export const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const

const page = z
  .object({
    token: z.string().min(1).optional(),
    /** Maximum results of one page; 0 only counts. */
    limit: z.int().min(0).optional(),
    properties: z.record(z.string(), z.unknown()).optional(),
  })
  .optional()

/** A single evaluation. */
export const evaluationRequest = z.object({ subject: entity, action, resource: entity, context })
/** A resource search. An `id` of the resource is ignored (AuthZEN 8). */
export const resourceSearchRequest = z.object({ subject: entity, action, resource: entityType, context, page })
/** A subject search. An `id` of the subject is ignored (AuthZEN 8). */
export const subjectSearchRequest = z.object({ subject: entityType, action, resource: entity, context, page })
/** An action search. */
export const actionSearchRequest = z.object({ subject: entity, resource: entity, context, page })

/**
 * A batch, for the interface description only: read-batch.ts validates it, because an invalid item fails that item
 * only.
 */
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

/** The body of a resource search. */
export type ResourceSearchRequest = z.infer<typeof resourceSearchRequest>
/** The body of a subject search. */
export type SubjectSearchRequest = z.infer<typeof subjectSearchRequest>
/** The body of an action search. */
export type ActionSearchRequest = z.infer<typeof actionSearchRequest>
/** The `context` member of a request. */
export type RequestContextMembers = z.infer<typeof context>
/** The `page` member of a search. */
export type PageRequest = NonNullable<z.infer<typeof page>>

/** A decision. */
export const decision = z.object({
  decision: z.boolean().describe('true: allowed'),
  context: z.object({ reason: z.string(), advice: z.array(z.record(z.string(), z.string())).optional() }).optional(),
})
/** The decisions of a batch. */
export const decisionList = z.object({ evaluations: z.array(decision) })
/** The response of an evaluations request: a single decision if it had no `evaluations`. */
export const evaluationsAnswer = z.union([decisionList, decision])

const pageMembers = z.object({
  next_token: z.string(),
  count: z.int(),
  /** Total results on all pages; absent while there are more than were counted. */
  total: z.int().optional(),
})
/** The response of a subject or resource search. */
export const searchAnswer = z.object({
  page: pageMembers.optional(),
  results: z.array(
    z.object({ type: z.string().describe('the node type'), id: z.string().describe('the external id') }),
  ),
})
/** The response of an action search. */
export const actionSearchAnswer = z.object({
  page: pageMembers.optional(),
  results: z.array(z.object({ name: z.string().describe('the name of the action') })),
})
/** The `page` member of a search response. */
export type PageMembers = z.infer<typeof pageMembers>
/** The body of a subject or resource search response. */
export type SearchAnswer = z.infer<typeof searchAnswer>
/** The body of an action search response. */
export type ActionSearchAnswer = z.infer<typeof actionSearchAnswer>

/** The response of the policy list. */
export const policiesAnswer = z.object({
  results: z.array(z.object({ policy: z.record(z.string(), z.unknown()), tags: z.array(z.string()) })),
})
