// Authorization decisions: evaluation and the two searches for entities.
import { ok } from '../../kernel/result.ts'
import { evaluate } from '../../pdp/evaluate.ts'
import type { DecisionParts } from '../../pdp/question.ts'
import { readEvaluation, readResourceSearch, readSubjectSearch } from '../../pdp/read-request.ts'
import {
  decision,
  type EvaluationRequest,
  evaluationRequest,
  type ResourceSearchRequest,
  resourceSearchRequest,
  type SubjectSearchRequest,
  searchAnswer,
  subjectSearchRequest,
} from '../../pdp/schema.ts'
import { searchResources, searchSubjects } from '../../pdp/search.ts'
import { type Auth, problemStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const auth: Auth = { kind: 'agent', permission: 'Authorization', user: 'optional' }
const tag: Tag = { name: 'Decisions', description: 'May this subject do this to that resource? After AuthZEN.' }

// The two answers of nearly every request: made once.
const permit = ok({ status: 200, text: '{"decision":true}' })
const denial = ok({ status: 200, text: '{"decision":false}' })

export function accessRoutes(parts: DecisionParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/access/v1/evaluation',
      operationId: 'evaluate',
      tag,
      summary: 'May the subject do the action on the resource?',
      auth,
      request: evaluationRequest,
      read: readEvaluation,
      numbers: 'exact',
      wrongMediaType: 'malformed',
      responses: { 200: decision, ...problemStatuses(400, 401, 404, 413, 422, 503) },
      handle(context, body) {
        const decided = evaluate(parts, agentOf(context), body as EvaluationRequest)
        if (!decided.ok) return decided
        return decided.value ? permit : denial
      },
    },
    {
      method: 'POST',
      path: '/access/v1/search/resource',
      operationId: 'searchResources',
      tag,
      summary: 'On which resources of a type may the subject do the action?',
      auth,
      request: resourceSearchRequest,
      read: readResourceSearch,
      numbers: 'exact',
      wrongMediaType: 'malformed',
      responses: { 200: searchAnswer, ...problemStatuses(400, 401, 404, 413, 422, 503) },
      handle(context, body) {
        const found = searchResources(parts, agentOf(context), body as ResourceSearchRequest)
        return found.ok ? ok({ status: 200, body: found.value }) : found
      },
    },
    {
      method: 'POST',
      path: '/access/v1/search/subject',
      operationId: 'searchSubjects',
      tag,
      summary: 'Which subjects of a type may do the action on the resource?',
      auth,
      request: subjectSearchRequest,
      read: readSubjectSearch,
      numbers: 'exact',
      wrongMediaType: 'malformed',
      responses: { 200: searchAnswer, ...problemStatuses(400, 401, 404, 413, 422, 503) },
      handle(context, body) {
        const found = searchSubjects(parts, agentOf(context), body as SubjectSearchRequest)
        return found.ok ? ok({ status: 200, body: found.value }) : found
      },
    },
  ]
}
