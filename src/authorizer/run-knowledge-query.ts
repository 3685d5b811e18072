// Runs the knowledge queries of an authorizer. Loaded with the first one.
import type { ConfigSource } from '../config/kind.ts'
import { validate } from '../config/validate.ts'
import { executeQuery, parametersRead } from '../context-query/execute.ts'
import { serviceParameters } from '../context-query/parameters.ts'
import { QueryIndex } from '../context-query/query-index.ts'
import { type ExecuteAnswer, type ExecuteRequest, executeRequest } from '../context-query/schema.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { InlineHistory } from '../kernel/request/inline-history.ts'
import { err, type Result } from '../kernel/result.ts'
import type { ExternalDataResolvers } from '../pip/resolution.ts'
import type { Settings } from '../settings.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'

/** Collaborators of knowledge queries. */
export interface KnowledgeQueryDeps {
  readonly settings: Settings
  readonly documents: ConfigSource
  readonly projectId: string
  graphs(): ProjectGraphs
  readonly resolvers: ExternalDataResolvers
  /** Why nothing may be written; null: it may. */
  readonly readOnlyReason: string | null
  report(message: string): void
}

/** Reads and runs requests for knowledge queries. */
export interface KnowledgeQueryRunner {
  read(body: unknown): Result<ExecuteRequest, ServiceError>
  /** The parameters that a query reads, without those that the service binds; null: there is no such query. */
  parametersOf(id: string): readonly string[] | null
  run(caller: AgentCaller, request: ExecuteRequest): Promise<Result<ExecuteAnswer, ServiceError>>
}

/** Returns the runner for the queries of a project. */
export function knowledgeQueryRunner(deps: KnowledgeQueryDeps): KnowledgeQueryRunner {
  const { settings, resolvers, readOnlyReason } = deps
  const queries = new QueryIndex(deps.documents, (message) => deps.report(message))
  const contexts = {
    queries,
    graphsOf: () => deps.graphs(),
    limits: {
      stepsMax: settings.traversalStepsMax,
      timeMs: settings.executeTimeMs,
      rowsHeldMax: settings.rowsHeldMax,
      bytesHeldMax: settings.questionBytesMax,
    },
    batchReadTimeMs: settings.batchReadTimeMs,
    writesMax: settings.executeWritesMax,
    answerMax: settings.executeAnswerMax,
    inputStringMax: settings.inputStringMax,
    pageTokenCounts: () => 'rows' as const,
    inlineHistory: new InlineHistory(),
    resolvers,
  }
  return {
    read(body) {
      const read = validate(executeRequest, body)
      return read.ok ? read : err({ kind: 'malformed', issues: read.error })
    },
    parametersOf(id) {
      const query = queries.find(deps.projectId, id)
      return query === null ? null : parametersRead(query).filter((name) => !serviceParameters.has(name))
    },
    async run(caller, request) {
      const query = queries.find(deps.projectId, request.id)
      if (query !== null && query.writes !== null && readOnlyReason !== null) {
        return err({ kind: 'forbidden', message: readOnlyReason })
      }
      return executeQuery(contexts, caller, request)
    },
  }
}
