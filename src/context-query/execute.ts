// Executes a knowledge query for a user or an application: evaluates the token filter, then reads one page of rows or
// writes to all rows. Policy and filters are evaluated again for each page
// (docs/decisions/0010-context-query-reads.md).
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { readGraph, readGraphNow } from '../engine/read-graph.ts'
import type { GraphStore, WriteBatch } from '../engine/store.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { InlineHistory } from '../kernel/request/inline-history.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { PageTokenCounts } from '../kernel/request/page-token-counts.ts'
import { requestStartMs } from '../kernel/request/remote-reads.ts'
import { noOrigin, type RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { TypeComparison } from '../model/declared-types.ts'
import type { ExternalDataResolvers, Resolution } from '../pip/resolution.ts'
import { missingParameters } from '../policy/input-parameters.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { resolveDeferred } from './deferred-properties.ts'
import { type PageRange, pageOf } from './page-range.ts'
import { APPLICATION_TYPE, bindParameters } from './parameters.ts'
import type { CompiledQuery } from './query-index.ts'
import { type DeferredProperty, RecordContext } from './record-context.ts'
import { needsResolvers, resolveWriteValues } from './resolve-writes.ts'
import { ResponseBudget } from './response-budget.ts'
import { runWrites, type WriteCall, type WriteOutcome } from './run-writes.ts'
import type { ExecuteAnswer, ExecuteRequest, RecordData } from './schema.ts'
import type { BoundWrites, WritePlan } from './write-plan.ts'

/** Collaborators and limits of query execution. */
export interface ContextQueryDeps {
  /** The knowledge queries of a project, by id or name. */
  readonly queries: {
    find(projectId: string, key: string): CompiledQuery | null
    policyViolation(projectId: string, key: string): string | null
  }
  /** Returns the graphs of a project; null while it is not provisioned, or after its deletion. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** How writes are compared with the declared types of a project; null or absent: it declares none. */
  comparisonOf?(projectId: string): TypeComparison | null
  /** Limits of one execution. */
  readonly limits: BudgetLimits
  /** Time limit of queries with `batch_read`, in milliseconds. */
  readonly batchReadTimeMs: number
  /** Maximum characters of one string in the input parameters. */
  readonly inputStringMax: number
  /** Maximum upserts and deletions of one call, over all its rows. */
  readonly writesMax: number
  /** Maximum characters of the values in one response. */
  readonly answerMax: number
  /** Resolves external values. */
  readonly resolvers: ExternalDataResolvers
  /** Returns what `page_token` counts in requests of this agent. */
  pageTokenCounts(caller: AgentCaller): PageTokenCounts
  /** Durations of queries on the event loop. */
  readonly inlineHistory: InlineHistory
  /** Reports executions. Absent: they are not reported. */
  readonly listener?: ExecutionListener
}

/** One answered execution, including errors. It refers to the request's own objects, which must not be changed. */
export interface QueryExecution {
  readonly caller: AgentCaller
  readonly origin: RequestOrigin
  readonly request: ExecuteRequest
  /** Null if there is no such query. */
  readonly query: CompiledQuery | null
  /** Number of records in the answer; null for an error. */
  readonly records: number | null
  /** Null if there is an answer. */
  readonly error: ServiceError | null
  /** Null for a query that wrote. */
  readonly durationMs: number | null
}

/** Receives executions. Neither method may throw. */
export interface ExecutionListener {
  /** Called within the transaction of a query that wrote, after its writes. */
  onWriting(batch: WriteBatch, execution: QueryExecution): void
  /** Called after every other execution. */
  onExecuted(execution: QueryExecution): void
}

/**
 * Executes a query. A query that writes is atomic and returns all of its rows.
 * Errors: `not-found` (graph or query), `forbidden` (the policy changed, or a write is not allowed), `unauthenticated`,
 * `invalid` (parameters or page), `step-up` (the token filter denies), `budget`, `timed-out`, `unavailable`. Throws
 * LaneRequiredError if it must run in a lane.
 */
export async function executeQuery(
  deps: ContextQueryDeps,
  caller: AgentCaller,
  request: ExecuteRequest,
  origin: RequestOrigin = noOrigin,
): Promise<Result<ExecuteAnswer, ServiceError>> {
  const { listener } = deps
  if (listener === undefined) return execute(deps, caller, request, null)
  const startMs = performance.now()
  const executionOf = (records: number | null, error: ServiceError | null): Omit<QueryExecution, 'durationMs'> => ({
    caller,
    origin,
    request,
    query: deps.queries.find(caller.projectId, request.id),
    records,
    error,
  })
  let isReported = false
  const executed = await execute(deps, caller, request, (batch, records) => {
    isReported = true
    listener.onWriting(batch, { ...executionOf(records, null), durationMs: null })
  })
  if (executed.ok && isReported) return executed
  const [records, error] = executed.ok ? [executed.value.data.length, null] : [null, executed.error]
  listener.onExecuted({ ...executionOf(records, error), durationMs: performance.now() - startMs })
  return executed
}

/** The parameters that condition, filters and writes of a query read; all of them must be bound. */
export function parametersRead({ conditionRows, policy, writes }: CompiledQuery): readonly string[] {
  return [...conditionRows.parameters, ...(policy.tokenFilter?.parameters ?? []), ...(writes?.parameters ?? [])]
}

/** `onWritten`: called within the transaction of a query that writes, with the number of records; null: not called. */
async function execute(
  deps: ContextQueryDeps,
  caller: AgentCaller,
  request: ExecuteRequest,
  onWritten: NonNullable<WriteCall['onWritten']> | null,
): Promise<Result<ExecuteAnswer, ServiceError>> {
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const query = deps.queries.find(caller.projectId, request.id)
  if (query === null) {
    const beyond = deps.queries.policyViolation(caller.projectId, request.id)
    return beyond === null
      ? err({ kind: 'not-found', message: `no active knowledge query \`${request.id}\``, what: 'knowledge query' })
      : err({ kind: 'forbidden', message: `the policy of the knowledge query no longer allows it: ${beyond}` })
  }
  const subjectType = query.policy.document.subject.type
  if (subjectType !== APPLICATION_TYPE && caller.user === null) {
    return err({ kind: 'unauthenticated', message: 'end-user token is required' })
  }
  const bound = bindParameters(caller, subjectType, request.input_params, deps.inputStringMax)
  if (!bound.ok) return bound
  const { tokenFilter } = query.policy
  const limits = query.document.batch_read === true ? { ...deps.limits, timeMs: deps.batchReadTimeMs } : deps.limits
  const missing = parametersRead(query).filter((name) => !bound.value.has(name))
  if (missing.length > 0) return missingParameters(missing)
  // Writes have effects and must run once, so they never start on the event loop.
  const isWrite = query.writes !== null
  if (isWrite && limits.inlineMs !== undefined) {
    throw new LaneRequiredError('write', { limitMs: limits.timeMs, isWrite })
  }
  const budget = new Budget()
  try {
    budget.start(limits)
    if (tokenFilter !== null && !tokenFilter.admits(budget, bound.value)) {
      return err({ kind: 'step-up', advice: tokenFilter.explainRejection(budget, bound.value).advice })
    }
    const page = pageOf(request, deps.pageTokenCounts(caller))
    const resolution = deps.resolvers.startResolution(caller.projectId, limits.timeMs)
    const pageResult =
      query.writes === null
        ? ok(
            deps.inlineHistory.run(caller.projectId, query, () =>
              readPage(graphs.default, query, bound.value, limits, page, deps.answerMax, budget),
            ),
          )
        : await writePage(
            deps,
            {
              graph: graphs.default,
              query,
              parameters: bound.value,
              limits,
              deadlineMs: requestStartMs() + limits.timeMs,
              comparison: deps.comparisonOf?.(caller.projectId) ?? null,
              onWritten,
            },
            query.writes,
            page,
            resolution,
          )
    if (!pageResult.ok) return pageResult
    const { data, deferred } = pageResult.value
    if (deferred.length === 0) return ok({ data })
    const warnings = await resolveDeferred(deferred, bound.value, resolution)
    return ok(warnings.length === 0 ? { data } : { data, warnings })
  } catch (error) {
    if (error instanceof ExecutionError) return err(errorOf(error, limits))
    if (error instanceof LaneRequiredError) {
      throw new LaneRequiredError(error.reason, { limitMs: limits.timeMs, isWrite })
    }
    throw error
  }
}

function readPage(
  graph: GraphStore,
  { conditionRows, records }: CompiledQuery,
  parameters: BoundParameters,
  limits: BudgetLimits,
  { skip, size }: PageRange,
  answerMax: number,
  budget: Budget,
): { readonly data: RecordData[]; readonly deferred: readonly DeferredProperty[] } {
  return readGraphNow(graph, (snapshot) => {
    const data: RecordData[] = []
    const cursor = conditionRows.open({ snapshot, parameters, limits, budget, rowsMax: skip + size })
    const context = new RecordContext(snapshot, new ResponseBudget(answerMax, budget))
    // Skipped rows are matched, but their values are not read.
    for (let row = 0; row < skip; row++) if (!cursor.next()) return { data, deferred: [] }
    while (data.length < size && cursor.next()) data.push(records.read(cursor, context))
    return { data, deferred: context.deferred }
  })
}

/** Writes to all matched rows. There is one page: all rows, or an error. */
async function writePage(
  { writesMax, answerMax }: ContextQueryDeps,
  call: Pick<WriteCall, 'graph' | 'query' | 'parameters' | 'limits' | 'deadlineMs' | 'comparison' | 'onWritten'>,
  writes: WritePlan,
  { skip, size, next }: PageRange,
  resolution: Resolution,
): Promise<Result<WriteOutcome, ServiceError>> {
  if (skip > 0) return err({ kind: 'invalid', issues: [`${next.member}: a query that writes has one page`] })
  const bound = writes.bind(call.parameters)
  if (!bound.ok) return err({ kind: 'invalid', issues: bound.error })
  const supplied = await resolveFor(bound.value, call, resolution)
  if (!supplied.ok) return supplied
  if (supplied.value === null) return ok({ data: [], deferred: [] })
  return runWrites({ ...call, bound: supplied.value, rowsMax: size, writesMax, answerMax })
}

/** Resolves external values to write. Returns null if no row matches: then no resolver is called. */
async function resolveFor(
  bound: BoundWrites,
  { graph, query, parameters, limits }: Pick<WriteCall, 'graph' | 'query' | 'parameters' | 'limits'>,
  resolution: Resolution,
): Promise<Result<BoundWrites | null, ServiceError>> {
  if (!needsResolvers(bound)) return ok(bound)
  const hasRow = await readGraph(graph, (snapshot) => {
    const budget = new Budget()
    budget.start(limits)
    return query.conditionRows.open({ snapshot, parameters, limits, budget, rowsMax: 1 }).next()
  })
  if (!hasRow) return ok(null)
  return resolveWriteValues(bound, parameters, resolution)
}

function errorOf(error: ExecutionError, { timeMs }: BudgetLimits): ServiceError {
  if (error.code === 'missing-parameter' && error.subject !== null) {
    return missingParameters([error.subject]).error
  }
  if (error.code !== 'budget') return { kind: 'invalid', issues: [error.redactedMessage] }
  if (error.subject === 'decisionTimeMs') {
    // Names the limit of the whole call: `message` names the shorter time that was left for the last read.
    return { kind: 'timed-out', message: `the time limit of ${timeMs} ms is reached` }
  }
  return { kind: 'budget', limit: error.subject ?? '', message: error.message }
}
