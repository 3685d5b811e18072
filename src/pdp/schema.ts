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

export const evaluationRequest = z.object({ subject: entity, action, resource: entity, context })
/** An `id` beside the searched type is ignored (AuthZEN 8). */
export const resourceSearchRequest = z.object({ subject: entity, action, resource: entityType, context })
export const subjectSearchRequest = z.object({ subject: entityType, action, resource: entity, context })

export type EvaluationRequest = z.infer<typeof evaluationRequest>
export type ResourceSearchRequest = z.infer<typeof resourceSearchRequest>
export type SubjectSearchRequest = z.infer<typeof subjectSearchRequest>
export type RequestContextMembers = EvaluationRequest['context']

export const decision = z.object({ decision: z.boolean() })
export const searchAnswer = z.object({ results: z.array(z.object({ type: z.string(), id: z.string() })) })
export type SearchAnswer = z.infer<typeof searchAnswer>
