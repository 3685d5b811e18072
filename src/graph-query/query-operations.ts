// Queries over the graph of a project by a service account that may change its configuration: it could give itself the same access,
// with a policy and an agent key. No other caller has it.
import { readGraphNow } from '../engine/read-graph.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { StoredModel } from '../model/stored-model.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { CheckAnswer, CheckRequest, CompletionAnswer, CompletionRequest, CypherLanguage } from './check-schema.ts'
import { type GraphNames, readGraphNames } from './graph-names.ts'
import { type GraphQueryLimits, runGraphQuery } from './run-graph-query.ts'
import type { GraphQuery, GraphQueryAnswer } from './schema.ts'

/** One query, when its answer is known. Reported also if it failed. */
export interface GraphQueryExecution {
  readonly caller: AgentCaller
  readonly origin: RequestOrigin
  readonly request: GraphQuery
  /** Null if there is an error. */
  readonly answer: GraphQueryAnswer | null
  /** Null if there is an answer. */
  readonly error: ServiceError | null
  readonly durationMs: number
}

/** Collaborators of the operations. */
export interface GraphQueryDeps {
  /** Null while the project is not provisioned, or after its deletion. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** The model of a project. */
  modelOf(projectId: string): StoredModel
  readonly limits: GraphQueryLimits
  readonly language: CypherLanguage
  /** Reports each query of a caller who may query. Must not throw. */
  onQueried(execution: GraphQueryExecution): void
}

/**
 * Runs a query. Errors: those of `runGraphQuery`, `forbidden` (the caller), `not-found` (no graph). Throws ThrownServiceError if the
 * graph cannot be read.
 */
export function queryGraph(
  deps: GraphQueryDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  request: GraphQuery,
): Result<GraphQueryAnswer, ServiceError> {
  if (caller.account?.role !== 'all_editor') return editorRequired
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const startMs = performance.now()
  const found = runGraphQuery(graphs, request, deps.limits, deps.modelOf(caller.projectId))
  deps.onQueried({
    caller,
    origin,
    request,
    answer: found.ok ? found.value : null,
    error: found.ok ? null : found.error,
    durationMs: performance.now() - startMs,
  })
  return found
}

const editorRequired: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message:
    'graph queries need a service account with the role `all_editor`, because no policy restricts them; agents use knowledge queries',
})

/** Lists the names of a graph. Errors: `not-found` (no graph). Throws ThrownServiceError if the graph cannot be read. */
export function listGraphNames(deps: GraphQueryDeps, caller: AgentCaller): Result<GraphNames, ServiceError> {
  const graphs = deps.graphsOf(caller.projectId)
  return graphs === null ? graphNotFound : ok(readGraphNames(graphs.default))
}

/**
 * Checks a text against the grammar and the names of a graph. Errors: `not-found` (no graph). Throws ThrownServiceError if the graph
 * cannot be read.
 */
export function checkText(
  { graphsOf, modelOf, language }: GraphQueryDeps,
  caller: AgentCaller,
  request: CheckRequest,
): Result<CheckAnswer, ServiceError> {
  const graphs = graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const model = modelOf(caller.projectId)
  return ok(readGraphNow(graphs.default, (snapshot) => language.check(request, snapshot, model)))
}

/** Completes a text. Errors: `not-found` (no graph). Throws ThrownServiceError if the graph cannot be read. */
export function completeText(
  { graphsOf, modelOf, language }: GraphQueryDeps,
  caller: AgentCaller,
  request: CompletionRequest,
): Result<CompletionAnswer, ServiceError> {
  const graphs = graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  return ok(language.complete(request, readGraphNames(graphs.default), modelOf(caller.projectId)))
}
