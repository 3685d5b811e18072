// Schemas of AuthZEN requests and responses. Unknown members are ignored everywhere (AuthZEN 10.1.1), so no object here
// is strict.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import { decisionDocument } from '../policy/decision-document.ts'

const properties = jsonObject.optional()

const entity = z.object({ type: z.string(), id: z.string(), properties })
const subject = entity.meta({ id: 'Subject' })
const resource = entity.meta({ id: 'Resource' })
const entityType = z.object({ type: z.string(), properties })
const subjectType = entityType.meta({ id: 'SubjectType' })
const resourceType = entityType.meta({ id: 'ResourceType' })
const action = z.object({ name: z.string(), properties }).meta({ id: 'Action' })

/** Values of `context.policy_status`; absent means `ACTIVE`. */
export const policyStatuses = ['ACTIVE', 'DRAFT'] as const

const context = z
  .object({
    input_params: jsonObject.optional().describe('a value for each parameter of the policies, by its name without `$`'),
    policy_tags: z.array(z.string()).optional().describe('only policies with one of these tags are evaluated'),
    policy_status: z
      .enum(policyStatuses)
      .meta({ id: 'AskedPolicyStatus' })
      .optional()
      .describe('`DRAFT`: as if the DRAFT policies were ACTIVE too; needs the permission ReadAuthZConfigs'),
    model_revision: z
      .int()
      .min(0)
      .optional()
      .describe(
        'the revision of the model that the caller expects; another one is refused (422). 0: any. The answer has it in `context.model_revision`',
      ),
  })
  .meta({ id: 'EvaluationContext' })
  .optional()

/** Values of `evaluations_semantic`. */
export const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const

const page = z
  .object({
    token: z.string().min(1).optional().describe('`next_token` of the previous page'),
    limit: z.int().min(0).optional().describe('maximum results of one page; 0 only counts'),
    properties,
  })
  .meta({ id: 'SearchPage' })
  .optional()

/** A single evaluation. */
export const evaluationRequest = z.object({ subject, action, resource, context }).meta({ id: 'EvaluationRequest' })
/** A resource search. An `id` of the resource is ignored (AuthZEN 8). */
export const resourceSearchRequest = z
  .object({ subject, action, resource: resourceType, context, page })
  .meta({ id: 'ResourceSearchRequest' })
/** A subject search. An `id` of the subject is ignored (AuthZEN 8). */
export const subjectSearchRequest = z
  .object({ subject: subjectType, action, resource, context, page })
  .meta({ id: 'SubjectSearchRequest' })
/** An action search. */
export const actionSearchRequest = z.object({ subject, resource, context, page }).meta({ id: 'ActionSearchRequest' })

const evaluationItem = z
  .object({ subject: subject.optional(), action: action.optional(), resource: resource.optional(), context })
  .meta({ id: 'EvaluationItem' })

/**
 * A batch, for the interface description only: read-batch.ts validates it, because an invalid item fails that item
 * only.
 */
export const evaluationsRequest = z
  .object({
    subject: subject.optional(),
    action: action.optional(),
    resource: resource.optional(),
    context,
    evaluations: z.array(evaluationItem).optional(),
    options: z
      .object({ evaluations_semantic: z.enum(semantics).meta({ id: 'EvaluationsSemantic' }).optional() })
      .meta({ id: 'EvaluationsOptions' })
      .optional(),
  })
  .meta({ id: 'EvaluationsRequest' })

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

/** Steps with which a caller can be permitted: names and texts from the filter of the policy. */
export const advice = z.record(z.string(), z.string()).meta({ id: 'Advice' })

const toldRevision = z
  .int()
  .optional()
  .describe('the revision of the model of the project, if the request has `context.model_revision`; 0: it has no model')

/** The model with which a request was answered. */
export const modelUsed = z.object({ id: z.string(), name: z.string(), revision: z.int() }).meta({ id: 'UsedModel' })

/** A decision. */
export const decision = z
  .object({
    decision: z.boolean().describe('true: allowed'),
    context: z
      .object({
        id: z.string().optional().describe('the id of the decision in the decision log; present while the log is on'),
        reason: z.string().optional().describe('why the decision is a denial, if there is more to say'),
        advice: z.array(advice).optional(),
        model_revision: toldRevision,
      })
      .meta({ id: 'DecisionContext' })
      .optional(),
  })
  .meta({ id: 'Decision' })
/** The decisions of a batch. */
export const decisionList = z.object({ evaluations: z.array(decision) }).meta({ id: 'DecisionList' })
/** The response of an evaluations request: a single decision if it had no `evaluations`. */
export const evaluationsAnswer = z.union([decisionList, decision]).meta({ id: 'EvaluationsAnswer' })

const pageMembers = z
  .object({
    next_token: z.string().describe('the token of the next page; empty on the last one'),
    count: z.int().describe('results on this page'),
    total: z.int().optional().describe('results on all pages; absent while there are more than were counted'),
  })
  .meta({ id: 'SearchAnswerPage' })
const searchContext = z
  .object({
    id: z.string().optional().describe('the id of the search in the decision log; present while the log is on'),
    reason: z
      .string()
      .optional()
      .describe('why results may be absent, as for a denial: a policy failed, or no policy is for the request'),
    model_revision: toldRevision,
  })
  .meta({ id: 'SearchAnswerContext' })
  .optional()

/** A subject or a resource. */
export const foundEntity = z
  .object({ type: z.string().describe('the node type'), id: z.string().describe('the external id') })
  .meta({ id: 'FoundEntity' })

/** The response of a subject or resource search. */
export const searchAnswer = z
  .object({
    page: pageMembers.optional(),
    context: searchContext,
    results: z.array(foundEntity),
  })
  .meta({ id: 'SearchAnswer' })
/** The response of an action search. */
export const actionSearchAnswer = z
  .object({
    page: pageMembers.optional(),
    context: searchContext,
    results: z.array(z.object({ name: z.string().describe('the name of the action') }).meta({ id: 'FoundAction' })),
  })
  .meta({ id: 'ActionSearchAnswer' })
/** The `page` member of a search response. */
export type PageMembers = z.infer<typeof pageMembers>
/** The body of a subject or resource search response. */
export type SearchAnswer = z.infer<typeof searchAnswer>
/** The body of an action search response. */
export type ActionSearchAnswer = z.infer<typeof actionSearchAnswer>

/** The response of the policy list. */
export const policiesAnswer = z
  .object({
    results: z.array(z.object({ policy: decisionDocument, tags: z.array(z.string()) }).meta({ id: 'ActivePolicy' })),
  })
  .meta({ id: 'ActivePolicyList' })
