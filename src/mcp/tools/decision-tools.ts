// The AuthZEN tools. Each parses its arguments like the body of the corresponding HTTP request, and calls the same feature.

import type { ServiceError } from '../../kernel/errors.ts'
import type { AgentCaller } from '../../kernel/request/caller.ts'
import { withLaneRequirement } from '../../kernel/request/lane-required.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import { ok, type Result } from '../../kernel/result.ts'
import type { DecisionDeps } from '../../pdp/decision-deps.ts'
import { evaluate } from '../../pdp/evaluate.ts'
import { evaluateBatch } from '../../pdp/evaluate-batch.ts'
import { readEvaluations } from '../../pdp/read-batch.ts'
import { readActionSearch, readEvaluation, readResourceSearch, readSubjectSearch } from '../../pdp/read-request.ts'
import { actionSearchAnswer, decision, decisionList, searchAnswer, semantics } from '../../pdp/schema.ts'
import { searchResources, searchSubjects } from '../../pdp/search.ts'
import { searchActions } from '../../pdp/search-action.ts'
import type { RpcObject } from '../json-rpc.ts'
import * as schema from './argument-schemas.ts'
import { toNested, toNestedBatch } from './decision-arguments.ts'
import { objectSchema, type Tool } from './tool.ts'

/** Annotations of tools that change nothing. */
export const readOnlyAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

const evaluations = {
  type: 'array',
  minItems: 1,
  description: 'one entry per evaluation; members that an entry omits are taken from the other arguments',
  items: {
    type: 'object',
    properties: { ...schema.subject, ...schema.action, ...schema.resource, ...schema.context },
  },
}

const options = { type: 'object', properties: { evaluations_semantic: { enum: semantics } } }

/** Fields that all tools share. */
const common = { annotations: readOnlyAnnotations, permission: 'Authorization' } as const

/** All AuthZEN tools. */
export const decisionTools: readonly Tool[] = [
  {
    ...common,
    name: 'authzen_evaluate',
    title: 'Evaluate a permission',
    description:
      'Decides whether a subject may perform an action on a resource. Returns {"decision": true} or {"decision": false}.',
    inputSchema: schema.inputSchema(schema.subject, schema.action, schema.resource, schema.context),
    get outputSchema() {
      return objectSchema(decision)
    },
    call: decisionCall(toNested, readEvaluation, evaluate),
  },
  {
    ...common,
    name: 'authzen_evaluations',
    title: 'Evaluate many permissions',
    description: 'Decides many evaluations in one call. Returns one decision for each evaluation, in the same order.',
    inputSchema: {
      ...schema.inputSchema(schema.subject, schema.action, schema.resource, schema.context, {
        evaluations,
        options,
      }),
      required: ['evaluations'],
    },
    get outputSchema() {
      return objectSchema(decisionList)
    },
    call: decisionCall(
      toNestedBatch,
      readEvaluations,
      (decisions, agent, origin, request) => {
        // Not reached: an empty list was refused by `toNestedBatch`.
        if (request.kind === 'single') return evaluate(decisions, agent, origin, request.request)
        const batch = evaluateBatch(decisions, agent, origin, request)
        return batch.ok ? ok({ evaluations: batch.value }) : batch
      },
      true,
    ),
  },
  {
    ...common,
    name: 'authzen_search_resource',
    title: 'Search resources',
    description: 'Lists the resources of a type on which a subject may perform an action.',
    inputSchema: schema.inputSchema(
      schema.subject,
      schema.action,
      schema.searchedResource,
      schema.context,
      schema.page,
    ),
    get outputSchema() {
      return objectSchema(searchAnswer)
    },
    call: decisionCall(toNested, readResourceSearch, searchResources),
  },
  {
    ...common,
    name: 'authzen_search_action',
    title: 'Search actions',
    description: 'Lists the actions that a subject may perform on a resource.',
    inputSchema: schema.inputSchema(schema.subject, schema.resource, schema.context, schema.page),
    get outputSchema() {
      return objectSchema(actionSearchAnswer)
    },
    call: decisionCall(toNested, readActionSearch, searchActions),
  },
  {
    ...common,
    name: 'authzen_search_subject',
    title: 'Search subjects',
    description: 'Lists the subjects of a type that may perform an action on a resource.',
    inputSchema: schema.inputSchema(
      schema.searchedSubject,
      schema.action,
      schema.resource,
      schema.context,
      schema.page,
    ),
    get outputSchema() {
      return objectSchema(searchAnswer)
    },
    call: decisionCall(toNested, readSubjectSearch, searchSubjects),
  },
]

/** Converts the arguments to the body of the HTTP request, parses it as HTTP does, and calls the feature. */
function decisionCall<Request>(
  bodyOf: (args: RpcObject) => Result<RpcObject, ServiceError>,
  read: (body: unknown) => Result<Request, ServiceError>,
  decide: (
    decisions: DecisionDeps,
    agent: AgentCaller,
    origin: RequestOrigin,
    request: Request,
  ) => Result<object, ServiceError>,
  isBatch = false,
): Tool['call'] {
  return ({ decisions }, agent, origin, args) => {
    const body = bodyOf(args)
    const request = body.ok ? read(body.value) : body
    if (!request.ok) return request
    const limitMs = isBatch ? decisions.batchTimeMs : decisions.limits.timeMs
    const result = withLaneRequirement({ limitMs, isWrite: false }, () =>
      decide(decisions, agent, origin, request.value),
    )
    return result.ok ? ok({ structured: result.value as RpcObject }) : result
  }
}
