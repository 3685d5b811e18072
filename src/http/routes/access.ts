// The decision routes of AuthZEN (evaluation, batch evaluation, three searches), explanations, and the list of policies.

import type { z } from 'zod'
import type { ServiceError } from '../../kernel/errors.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type { AgentCaller } from '../../kernel/request/caller.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { escapeInvisible } from '../../kernel/text/invisible-characters.ts'
import {
  whatAuthorizedAnswer,
  whatAuthorizedRequest,
  whoAuthorizedAnswer,
  whoAuthorizedRequest,
} from '../../pdp/authorized-schema.ts'
import { compareProposal, proposedModelWarnings, withWarnings } from '../../pdp/compare.ts'
import { type ComparisonRequest, comparison, comparisonRequest } from '../../pdp/comparison-schema.ts'
import { type Decision, denial, permit } from '../../pdp/decide.ts'
import type { DecisionDeps, EvaluationRequest } from '../../pdp/decision-deps.ts'
import { evaluate } from '../../pdp/evaluate.ts'
import { evaluateBatch } from '../../pdp/evaluate-batch.ts'
import { explainDecision } from '../../pdp/explain.ts'
import { explanation } from '../../pdp/explain-schema.ts'
import {
  listWhatAuthorized,
  listWhoAuthorized,
  readWhatAuthorized,
  readWhoAuthorized,
} from '../../pdp/list-authorized.ts'
import { listPolicies, policiesQuery } from '../../pdp/list-policies.ts'
import type { ParameterMask } from '../../pdp/parameter-mask.ts'
import { type BatchRequest, readEvaluations, type SingleRequest } from '../../pdp/read-batch.ts'
import { readActionSearch, readEvaluation, readResourceSearch, readSubjectSearch } from '../../pdp/read-request.ts'
import {
  actionSearchAnswer,
  actionSearchRequest,
  decision,
  evaluationRequest,
  evaluationsAnswer,
  evaluationsRequest,
  policiesAnswer,
  resourceSearchRequest,
  searchAnswer,
  subjectSearchRequest,
} from '../../pdp/schema.ts'
import { searchResources, searchSubjects } from '../../pdp/search.ts'
import { searchActions } from '../../pdp/search-action.ts'
import { type Auth, errorStatuses, type Route, type RouteResponse, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const auth: Auth = { kind: 'agent', permission: 'Authorization', user: 'optional' }
/** Explanations show the content of policies, so they need a second permission. */
const explainAuth = { kind: 'agent', permission: 'Authorization', also: 'ReadAuthZConfigs', user: 'optional' } as const
/** The claims of tokens are part of the request, because each subject has a token of its own. */
const compareAuth: Auth = { ...explainAuth, user: 'ignored' }
/** A user token has no effect on a subject search, which names no subject. */
const keyOnlyAuth: Auth = { kind: 'agent', permission: 'Authorization', user: 'ignored' }
const tag: Tag = { name: 'Decisions', description: 'Authorization decisions and searches of AuthZEN.' }

const mayNotPropose: ServiceError = {
  kind: 'forbidden',
  message:
    'policies, model: only a service account with the role `all_editor` may propose their texts; an agent may compare with `removed_policies`, `replace_all`, `draft` and `model: null`',
}

const asked = { method: 'POST', tag, numbers: 'exact', wrongMediaType: 'malformed' } as const
/** Fields that all decision routes share. */
const common = { ...asked, audit: 'decision' } as const
const errors = errorStatuses(400, 403, 404, 422, 503)

// The two responses of nearly all requests, created once.
const permitText = '{"decision":true}'
const denialText = '{"decision":false}'
const permitted = ok({ status: 200, text: permitText })
const denied = ok({ status: 200, text: denialText })

/** Builds the routes. `mask`: decides which parameters an explanation may show. */
export function accessRoutes(deps: DecisionDeps, mask: ParameterMask): Route[] {
  return [
    {
      ...common,
      path: '/access/v1/evaluation',
      operationId: 'evaluate',
      lane: { limit: 'decision' },
      summary: 'Decide whether a subject may perform an action on a resource',
      auth,
      request: evaluationRequest,
      parse: readEvaluation,
      responses: { 200: decision, ...errors },
      handle(context, body) {
        return decisionResponse(evaluate(deps, agentOf(context), context, body as EvaluationRequest))
      },
    },
    {
      ...common,
      path: '/access/v1/evaluations',
      operationId: 'evaluateMany',
      lane: { limit: 'batch' },
      summary: 'Decide many evaluations in one call, with shared defaults',
      description:
        'A member of an item replaces the whole default. Without `evaluations`, or with an empty array, the call is a single evaluation. An error in an item is reported in the item, as `decision: false` with a reason.',
      auth,
      request: evaluationsRequest,
      parse: readEvaluations,
      responses: { 200: evaluationsAnswer, ...errors },
      handle(context, body) {
        const request = body as BatchRequest | SingleRequest
        const caller = agentOf(context)
        if (request.kind === 'single') return decisionResponse(evaluate(deps, caller, context, request.request))
        const decisions = evaluateBatch(deps, caller, context, request)
        if (!decisions.ok) return decisions
        return ok({ status: 200, text: `{"evaluations":[${decisions.value.map(decisionJson).join(',')}]}` })
      },
    },
    searchRoute(deps, {
      path: '/access/v1/search/resource',
      operationId: 'searchResources',
      summary: 'List the resources of a type on which a subject may perform an action',
      auth,
      request: resourceSearchRequest,
      parse: readResourceSearch,
      response: searchAnswer,
      search: searchResources,
    }),
    searchRoute(deps, {
      path: '/access/v1/search/subject',
      operationId: 'searchSubjects',
      summary: 'List the subjects of a type that may perform an action on a resource',
      auth: keyOnlyAuth,
      request: subjectSearchRequest,
      parse: readSubjectSearch,
      response: searchAnswer,
      search: searchSubjects,
    }),
    searchRoute(deps, {
      path: '/access/v1/search/action',
      operationId: 'searchActions',
      summary: 'List the actions that a subject may perform on a resource',
      auth,
      request: actionSearchRequest,
      parse: readActionSearch,
      response: actionSearchAnswer,
      search: searchActions,
    }),
    deprecatedSearchRoute(deps, {
      path: '/access/v1/what-authorized',
      operationId: 'listWhatAuthorized',
      summary: 'List the resources of several types on which a subject may perform an action',
      auth,
      request: whatAuthorizedRequest,
      parse: readWhatAuthorized,
      response: whatAuthorizedAnswer,
      search: listWhatAuthorized,
      successor: '/access/v1/search/resource',
    }),
    deprecatedSearchRoute(deps, {
      path: '/access/v1/who-authorized',
      operationId: 'listWhoAuthorized',
      summary: 'List the subjects of all types that may perform an action on a resource',
      auth: keyOnlyAuth,
      request: whoAuthorizedRequest,
      parse: readWhoAuthorized,
      response: whoAuthorizedAnswer,
      search: listWhoAuthorized,
      successor: '/access/v1/search/subject',
    }),
    {
      ...asked,
      path: '/access/v1/explain',
      operationId: 'explainDecision',
      lane: { limit: 'batch' },
      summary: 'Explain a decision',
      description:
        'Takes the body of an evaluation and makes the same decision. Reports for each policy whether it granted, denied, failed or was skipped; the path that it found, or how far it matched and what stopped it; its plan with rows, reads and time. Needs the permission ReadAuthZConfigs in addition to Authorization, because it shows the content of policies.',
      auth: explainAuth,
      request: evaluationRequest,
      parse: readEvaluation,
      responses: { 200: explanation, ...errors },
      handle(context, body) {
        const explained = explainDecision(deps, agentOf(context), mask, body as EvaluationRequest)
        // As JSON, the escapes have the same value. A reader of the text sees them.
        return explained.ok ? ok({ status: 200, text: escapeInvisible(writeJson(explained.value)) }) : explained
      },
    },
    {
      method: 'POST',
      tag,
      numbers: 'exact',
      path: '/access/v1/compare',
      operationId: 'comparePolicies',
      // It reads the relations of whole policies.
      lane: { always: true, limit: 'batch' },
      summary: 'Compare the active policies with a proposal: which decisions would change',
      description:
        'Counts the pairs of subject and resource that gain or lose a permit for an action, with examples and the paths that grant or granted. It stops at its budget and lists what it left out; every pair that it reports changes. For a proposed model, `warnings` counts the stored data that it would not fit. It stores nothing. Needs the permission ReadAuthZConfigs in addition to Authorization, because it shows the content of policies. Only a service account with the role all_editor may propose texts in `policies` and `model`, because the answer counts what their conditions read.',
      auth: compareAuth,
      request: comparisonRequest,
      responses: { 200: comparison, ...errors },
      async handle(context, body) {
        const caller = agentOf(context)
        const request = body as ComparisonRequest
        // With conditions of its choice, an agent could read any property by the pairs that the answer counts.
        const proposes = (request.policies?.length ?? 0) > 0 || typeof request.model === 'string'
        if (proposes && caller.account?.role !== 'all_editor') return err(mayNotPropose)
        const compared = compareProposal(deps, caller, mask, request)
        if (!compared.ok) return compared
        const warnings = await proposedModelWarnings(deps, caller.projectId, request)
        return ok({ status: 200, body: withWarnings(compared.value, warnings) })
      },
    },
    {
      method: 'GET',
      path: '/access/v1/policies',
      operationId: 'listActivePolicies',
      tag,
      summary: 'List the active decision policies for a subject type',
      auth: { kind: 'agent', permission: 'ReadAuthZConfigs', user: 'ignored' },
      query: policiesQuery,
      request: null,
      responses: { 200: policiesAnswer, ...errorStatuses(422) },
      handle(context) {
        const subjectType = context.query.get('subject_type') ?? ''
        return ok({ status: 200, body: listPolicies(deps, agentOf(context), subjectType) })
      },
    },
  ]
}

/** A search route: its fields, and the search that answers it. */
interface SearchSpec<Request> {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly auth: Auth
  readonly request: z.ZodType
  parse(body: unknown): Result<Request, ServiceError>
  readonly response: z.ZodType
  search(deps: DecisionDeps, caller: AgentCaller, origin: RequestOrigin, request: Request): Result<object, ServiceError>
}

function searchRoute<Request>(deps: DecisionDeps, { response, search, ...fields }: SearchSpec<Request>): Route {
  return {
    ...common,
    ...fields,
    lane: { limit: 'decision' },
    responses: { 200: response, ...errors },
    handle(context, body) {
      const found = search(deps, agentOf(context), context, body as Request)
      return found.ok ? ok({ status: 200, body: found.value }) : found
    },
  }
}

/** When these routes were marked as deprecated: 2026-11-22, as a date of RFC 9651. */
const DEPRECATED_SINCE = '@1795305600'

const deprecationHeaders = {
  Deprecation: 'the time since which the operation is deprecated (RFC 9745)',
  Link: 'the operation that replaces it',
}

/** A route for several searches in one request, for existing clients. `successor`: the path that replaces it. */
function deprecatedSearchRoute<Request>(
  deps: DecisionDeps,
  { response, search, successor, ...fields }: SearchSpec<Request> & { readonly successor: string },
): Route {
  const headers = { deprecation: DEPRECATED_SINCE, link: `<${successor}>; rel="successor-version"` }
  return {
    ...common,
    ...fields,
    description: `Use \`${successor}\`, which has pages. The answer here has none: if it would have more results than one page of a search, the response is 422.`,
    deprecated: true,
    // One request asks many searches.
    lane: { always: true, limit: 'batch' },
    responses: { 200: response, ...errors },
    responseHeaders: deprecationHeaders,
    handle(context, body) {
      const found = search(deps, agentOf(context), context, body as Request)
      return found.ok ? ok({ status: 200, body: found.value, headers }) : found
    },
  }
}

function decisionResponse(decision: Result<Decision, ServiceError>): Result<RouteResponse, ServiceError> {
  if (!decision.ok) return decision
  if (decision.value === permit) return permitted
  return decision.value === denial ? denied : ok({ status: 200, body: decision.value })
}

function decisionJson(decision: Decision): string {
  if (decision === permit) return permitText
  return decision === denial ? denialText : JSON.stringify(decision)
}
