// The decision log as clients read it over HTTP: the port, which streams/decision-streams.ts implements, and the schemas of its records.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { Result } from '../kernel/result.ts'
import { modelUsed } from './schema.ts'

/** Query parameters of a decision stream. */
export const decisionStreamQuery = z.strictObject({
  decision: z
    .enum(['granted', 'denied'])
    .optional()
    .describe('`granted`: only permits. `denied`: only denials and evaluations with an error'),
  subject: z.string().min(1).optional().describe('only this subject: its type, or `type:id`'),
  action: z.string().min(1).optional().describe('only this action'),
  resource: z.string().min(1).optional().describe('only this resource: its type, or `type:id`'),
})

/** See `decisionStreamQuery`. */
export type DecisionStreamFilter = z.infer<typeof decisionStreamQuery>

const entity = z
  .object({ type: z.string(), id: z.string().optional().describe('absent if a search looks for it') })
  .meta({ id: 'LoggedEntity' })

/** A line of the decision log. */
export const loggedDecision = z
  .object({
    time: z.string(),
    id: z.string().describe('`context.id` of the answer'),
    request_id: z.string(),
    kind: z.enum(['evaluation', 'resource search', 'subject search', 'action search']),
    item: z.int().optional().describe('index in a batch'),
    project_id: z.string(),
    application_id: z.string().optional(),
    agent_id: z.string().optional(),
    service_account_id: z.string().optional(),
    user: entity.optional().describe('the user of the token'),
    subject: entity.optional().describe('absent if the item of a batch was malformed'),
    action: z.string().optional(),
    resource: entity.optional(),
    parameters: jsonObject.optional().describe('masked by the setting `parameter_mask`'),
    policy_tags: z.array(z.string()).optional(),
    decision: z.boolean().optional().describe('absent for searches and errors'),
    granted_by: z.string().optional().describe('the id of the policy that granted'),
    forbidden_by: z.string().optional().describe('the id of the policy that denied what another one grants'),
    policies: z
      .array(z.object({ id: z.string(), name: z.string(), revision: z.int() }).meta({ id: 'LoggedPolicy' }))
      .optional()
      .describe('the policies for subject type, action and resource type'),
    model: modelUsed.optional().describe('the model of the project; absent if it has none'),
    found: z.int().optional().describe('number of results of a search'),
    error: z.object({ kind: z.string(), message: z.string().optional() }).meta({ id: 'LoggedError' }).optional(),
    duration_ms: z.number(),
  })
  .meta({ id: 'LoggedDecision' })

/** See `loggedDecision`. */
export type LoggedDecision = z.infer<typeof loggedDecision>

/** A request for a decision stream. */
export interface DecisionStreamRequest {
  readonly caller: AgentCaller
  readonly filter: DecisionStreamFilter
  /** Whether the credentials are still accepted. */
  isStillAllowed(): Promise<boolean>
}

/** Reads the decision log. */
export interface DecisionLogReads {
  /** Opens a stream of server-sent events. Errors: `conflict` if the log is off or no file, `unavailable` for a limit. */
  stream(request: DecisionStreamRequest): Result<AsyncIterator<string, void>, ServiceError>
  /** The error of `stream`, or null. Opens nothing. */
  streamError(projectId: string): ServiceError | null
  /** The line of an answer as JSON. Errors: as for `stream`; `not-found`. */
  find(projectId: string, id: string): Promise<Result<string, ServiceError>>
}
