// The routes of entity matching at run time: suggested mappings, runs, states, reports and decisions.
import type { StoredDocument } from '../../config/kind.ts'
import { assert } from '../../kernel/assert.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/request/caller.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { matchLines } from '../../matching/match-lines.ts'
import {
  type DecisionRequest,
  decisionAnswer,
  decisionPage,
  decisionQuery,
  decisionRequest,
  type MatchingOperations,
  type MatchRunRequest,
  matchRunAnswer,
  matchRunRequest,
  matchStatusAnswer,
  notReadyAnswer,
  suggestionsAnswer,
} from '../../matching/matching-operations.ts'
import type { MatchedGraphs } from '../../matching/node-batches.ts'
import { matchReport } from '../../matching/report.ts'
import { prefersHtml } from '../docs/front-page.ts'
import { contentSecurityPolicy } from '../docs/layout.ts'
import { renderMatchingReport } from '../matching-report-page.ts'
import { errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'
import { deletedDocument } from './config.ts'

const tag: Tag = { name: 'Entity matching', description: 'Nodes of two types that are the same entity.' }
const auth = { kind: 'agent-or-account', permission: 'EntityMatching' } as const
const writes = { always: true, limit: 'write', writes: 'once' } as const
const base = '/entity-matching/v1/pipelines/{id}'
const pathParameters = { id: 'the identifier of the pipeline' }
const bodyStatuses = errorStatuses(400, 403, 404, 409, 413, 415, 422)

const LINES = 'application/x-ndjson'
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Builds the routes. */
export function entityMatchingRoutes(matching: MatchingOperations): Route[] {
  return [...mappingRoutes(matching), ...runRoutes(matching), reportRoute(matching), ...decisionRoutes(matching)]
}

function mappingRoutes(matching: MatchingOperations): Route[] {
  return [
    {
      method: 'GET',
      path: `${base}/property-mappings`,
      operationId: 'readPropertyMappings',
      tag,
      summary: 'Read the suggested property mappings of a pipeline',
      description:
        'Which property of the source type should be compared with which property of the target type, best first. 202: they are not ready; the message has the state.',
      auth,
      pathParameters,
      request: null,
      responses: { 200: suggestionsAnswer, 202: notReadyAnswer, ...errorStatuses(403, 404) },
      handle(context) {
        const found = matching.suggestions(callerOf(context), idOf(context))
        return found.ok ? ok({ status: 'message' in found.value ? 202 : 200, body: found.value }) : found
      },
    },
    {
      method: 'POST',
      path: `${base}/property-mappings`,
      operationId: 'suggestPropertyMappings',
      tag,
      summary: 'Suggest the property mappings of a pipeline again, from the present data',
      description:
        'They are suggested shortly after. Until then the suggestions before stay in use. 409: they are being suggested.',
      auth,
      lane: writes,
      pathParameters,
      request: null,
      responses: { 202: notReadyAnswer, ...errorStatuses(403, 404, 409) },
      handle: async (context) => answer(202, await matching.suggestAgain(callerOf(context), idOf(context))),
    },
  ]
}

function runRoutes(matching: MatchingOperations): Route[] {
  return [
    {
      method: 'POST',
      path: `${base}/runs`,
      operationId: 'runEntityMatching',
      tag,
      summary: 'Request a run of a pipeline',
      description:
        'The run begins shortly after. 409: a run is requested or in progress, there are no property mappings, or an older pipeline matches the same node types.',
      auth,
      lane: writes,
      pathParameters,
      request: matchRunRequest,
      example: {
        similarity_score_cutoff: 0.8,
        custom_property_mappings: [{ source_node_property: 'email', target_node_property: 'mail' }],
      },
      responses: { 202: matchRunAnswer, ...bodyStatuses },
      handle: async (context, body) =>
        answer(202, await matching.requestRun(callerOf(context), idOf(context), body as MatchRunRequest, context)),
    },
    {
      method: 'GET',
      path: `${base}/status`,
      operationId: 'readEntityMatchingStatus',
      tag,
      summary: 'Read the states of a pipeline',
      auth,
      pathParameters,
      request: null,
      responses: { 200: matchStatusAnswer, ...errorStatuses(403, 404) },
      handle: (context) => answer(200, matching.status(callerOf(context), idOf(context))),
    },
  ]
}

function reportRoute(matching: MatchingOperations): Route {
  return {
    method: 'GET',
    path: `${base}/report`,
    operationId: 'readEntityMatchingReport',
    tag,
    summary: 'Read the report of the last run of a pipeline',
    description: `JSON: the numbers, and the pairs to review with the evidence for them. A browser (\`Accept: text/html\`) gets a page with the same. \`Accept: ${LINES}\`: all matches that the graph has now, one on each line; the last line has their number. 404 before the first run has ended.`,
    auth,
    pathParameters,
    request: null,
    htmlForBrowsers: true,
    linesFor: LINES,
    responses: { 200: matchReport, ...errorStatuses(403, 404) },
    responseHeaders: {
      Vary: 'Accept',
      'Content-Security-Policy': 'of the page: allows its own style sheet and nothing else',
      'X-Content-Type-Options': 'of the page: nosniff',
      'Referrer-Policy': 'of the page: no-referrer',
    },
    async handle(context) {
      const caller = callerOf(context)
      const accept = context.header('accept')
      if (prefersLines(accept)) {
        const found = await matching.matchesOf(caller, idOf(context))
        return found.ok ? ok(linesOf(found.value)) : found
      }
      const report = matching.report(caller, idOf(context))
      if (!report.ok) return report
      return ok(
        prefersHtml(accept)
          ? { status: 200, text: renderMatchingReport(report.value), headers: { ...pageHeaders, vary: 'Accept' } }
          : { status: 200, body: report.value, headers: { vary: 'Accept' } },
      )
    },
  }
}

function decisionRoutes(matching: MatchingOperations): Route[] {
  const path = `${base}/decisions`
  return [
    {
      method: 'POST',
      path,
      operationId: 'decideEntityMatch',
      tag,
      summary: 'Decide that two nodes are the same entity, or are not',
      description:
        'The relationship of the pair is written or removed at once, and all later runs keep the decision. It replaces an earlier decision about the pair. 409: an older pipeline matches the same node types, another pipeline owns the relationship of the pair, or the pipeline has too many decisions.',
      auth,
      lane: writes,
      pathParameters,
      request: decisionRequest,
      example: { source_external_id: 'p-1', target_external_id: 'c-7', decision: 'SAME' },
      responses: { 200: decisionAnswer, ...bodyStatuses },
      handle: async (context, body) =>
        answer(200, await matching.decide(callerOf(context), idOf(context), body as DecisionRequest, context)),
    },
    {
      method: 'GET',
      path,
      operationId: 'listEntityMatchDecisions',
      tag,
      summary: 'List the decisions about pairs of a pipeline',
      auth,
      lane: { always: true, limit: 'query' },
      pathParameters,
      query: decisionQuery,
      request: null,
      responses: { 200: decisionPage, ...errorStatuses(403, 404, 422) },
      handle: (context) => answer(200, matching.decisions(callerOf(context), idOf(context), context.query)),
    },
    {
      method: 'DELETE',
      path: `${path}/{decision}`,
      operationId: 'deleteEntityMatchDecision',
      tag,
      summary: 'Delete a decision about a pair',
      description:
        'The relationship of a pair that was decided to be the same is removed. The next run decides about the pair.',
      auth,
      lane: writes,
      pathParameters: { ...pathParameters, decision: 'the identifier of the decision' },
      request: null,
      responses: { 200: deletedDocument, ...errorStatuses(403, 404) },
      handle: async (context) =>
        answer(
          200,
          await matching.deleteDecision(
            callerOf(context),
            idOf(context),
            context.pathParameters.decision ?? '',
            context,
          ),
        ),
    },
  ]
}

function linesOf({ graphs, pipeline }: { graphs: MatchedGraphs; pipeline: StoredDocument }): RouteResponse {
  return { status: 200, headers: { 'content-type': LINES, vary: 'Accept' }, stream: matchLines(graphs, pipeline) }
}

function prefersLines(accept: string | null): boolean {
  return accept?.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === LINES) ?? false
}

function callerOf({ caller }: RequestContext): Caller {
  assert(caller !== null, 'the route is not public')
  return caller
}

function idOf({ pathParameters: { id = '' } }: RequestContext): string {
  return id
}

function answer(status: number, result: Result<object, ServiceError>): Result<RouteResponse, ServiceError> {
  return result.ok ? ok({ status, body: result.value }) : result
}
