// The AuthZEN tools: each reads its arguments as HTTP reads the body of the same question, and asks the same service.

import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { evaluate } from '../../pdp/evaluate.ts'
import { evaluateBatch } from '../../pdp/evaluate-batch.ts'
import { readEvaluations } from '../../pdp/read-batch.ts'
import { readActionSearch, readEvaluation, readResourceSearch, readSubjectSearch } from '../../pdp/read-request.ts'
import { searchResources, searchSubjects } from '../../pdp/search.ts'
import { searchActions } from '../../pdp/search-action.ts'
import type { Members } from '../rpc.ts'
import { nested, nestedBatch } from './question-arguments.ts'
import * as schema from './question-schemas.ts'
import type { Tool, ToolOutcome } from './tool.ts'

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const

const evaluations = {
  type: 'array',
  minItems: 1,
  description: 'one entry for each question; what an entry does not give, it has from the arguments beside',
  items: {
    type: 'object',
    properties: { ...schema.subject, ...schema.action, ...schema.resource, ...schema.context },
  },
}

const semantics = {
  type: 'object',
  properties: {
    evaluations_semantic: { enum: ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] },
  },
}

export const decisionTools: readonly Tool[] = [
  {
    name: 'authzen_evaluate',
    title: 'Evaluate a permission',
    description:
      'Decides whether a subject may do an action on a resource. Answers {"decision": true} or {"decision": false}.',
    inputSchema: schema.input(schema.subject, schema.action, schema.resource, schema.context),
    outputSchema: schema.decision,
    annotations: reads,
    permission: 'Authorization',
    call({ decisions }, agent, requestId, given) {
      const body = nested(given)
      const request = body.ok ? readEvaluation(body.value) : body
      return request.ok ? answer(evaluate(decisions, agent, requestId, request.value)) : request
    },
  },
  {
    name: 'authzen_evaluations',
    title: 'Evaluate many permissions',
    description:
      'Decides many questions in one call. The answer holds one decision for each evaluation, in their order.',
    inputSchema: {
      ...schema.input(schema.subject, schema.action, schema.resource, schema.context, {
        evaluations,
        options: semantics,
      }),
      required: ['evaluations'],
    },
    outputSchema: {
      type: 'object',
      properties: { evaluations: { type: 'array', items: schema.decision } },
      required: ['evaluations'],
    },
    annotations: reads,
    permission: 'Authorization',
    call({ decisions }, agent, requestId, given) {
      const body = nestedBatch(given)
      const request = body.ok ? readEvaluations(body.value) : body
      if (!request.ok) return request
      // Without entries it would be a single one, and these were refused above.
      if (request.value.kind === 'single') return answer(evaluate(decisions, agent, requestId, request.value.request))
      const decided = evaluateBatch(decisions, agent, requestId, request.value)
      return decided.ok ? ok({ structured: { evaluations: decided.value } }) : decided
    },
  },
  {
    name: 'authzen_search_resource',
    title: 'Search resources',
    description: 'Lists the resources of a type on which a subject may do an action.',
    inputSchema: schema.input(schema.subject, schema.action, schema.resourceSought, schema.context, schema.page),
    outputSchema: schema.results({ type: 'the node type', id: 'the external id' }),
    annotations: reads,
    permission: 'Authorization',
    call({ decisions }, agent, requestId, given) {
      const body = nested(given)
      const request = body.ok ? readResourceSearch(body.value) : body
      return request.ok ? answer(searchResources(decisions, agent, requestId, request.value)) : request
    },
  },
  {
    name: 'authzen_search_action',
    title: 'Search actions',
    description: 'Lists the actions that a subject may do on a resource.',
    inputSchema: schema.input(schema.subject, schema.resource, schema.context, schema.page),
    outputSchema: schema.results({ name: 'the name of the action' }),
    annotations: reads,
    permission: 'Authorization',
    call({ decisions }, agent, requestId, given) {
      const body = nested(given)
      const request = body.ok ? readActionSearch(body.value) : body
      return request.ok ? answer(searchActions(decisions, agent, requestId, request.value)) : request
    },
  },
  {
    name: 'authzen_search_subject',
    title: 'Search subjects',
    description: 'Lists the subjects of a type that may do an action on a resource.',
    inputSchema: schema.input(schema.subjectSought, schema.action, schema.resource, schema.context, schema.page),
    outputSchema: schema.results({ type: 'the node type', id: 'the external id' }),
    annotations: reads,
    permission: 'Authorization',
    call({ decisions }, agent, requestId, given) {
      const body = nested(given)
      const request = body.ok ? readSubjectSearch(body.value) : body
      return request.ok ? answer(searchSubjects(decisions, agent, requestId, request.value)) : request
    },
  },
]

function answer(answered: Result<object, ServiceError>): Result<ToolOutcome, ServiceError> {
  return answered.ok ? ok({ structured: answered.value as Members }) : answered
}
