// Runs a knowledge query for a person or an application: filters by the token first, then by the graph, and reads one page
// of rows, or writes to all of them. Policy and filters are looked at anew for each page (interface, execute rule 3).

import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { GraphStore } from '../engine/store.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { InlineHistory } from '../kernel/inline-history.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ExternalDataResolvers, Resolution } from '../pip/resolution.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { type DeferredProperty, resolveDeferred } from './deferred-properties.ts'
import { APPLICATION_TYPE, type BoundParameters, bindParameters, missingParameters } from './parameters.ts'
import type { CompiledQuery } from './query-index.ts'
import { needsResolvers, resolveWriteValues } from './resolve-writes.ts'
import { ResponseBudget } from './response-budget.ts'
import { runWrites, type WriteCall, type WriteOutcome } from './run-writes.ts'
import type { ExecuteAnswer, ExecuteRequest, RecordData } from './schema.ts'
import type { BoundWrites, WritePlan } from './write-plan.ts'

export interface ContextQueryDeps {
  readonly queries: {
    find(projectId: string, key: string): CompiledQuery | null
    policyViolation(projectId: string, key: string): string | null
  }
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
  readonly limits: BudgetLimits
  /** For queries with `batch_read`, milliseconds. */
  readonly batchReadTimeMs: number
  /** Characters of one string among the input parameters. */
  readonly inputStringMax: number
  /** Upserts and deletions of one call, over all its rows. */
  readonly writesMax: number
  /** Characters of the values in one answer. */
  readonly answerMax: number
  readonly resolvers: ExternalDataResolvers
  /** Of queries on the serving loop. */
  readonly inlineHistory: InlineHistory
}

const PAGE_SIZE = 100

const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

export async function executeQuery(
  parts: ContextQueryDeps,
  caller: AgentCaller,
  request: ExecuteRequest,
): Promise<Result<ExecuteAnswer, ServiceError>> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const query = parts.queries.find(caller.projectId, request.id)
  if (query === null) {
    const beyond = parts.queries.policyViolation(caller.projectId, request.id)
    return beyond === null
      ? err({ kind: 'not-found', message: `no active knowledge query \`${request.id}\``, what: 'knowledge query' })
      : err({ kind: 'forbidden', message: `the policy of the knowledge query no longer allows it: ${beyond}` })
  }
  const subjectType = query.policy.document.subject.type
  if (subjectType !== APPLICATION_TYPE && caller.user === null) {
    return err({ kind: 'unauthenticated', message: 'end-user token is required' })
  }
  const bound = bindParameters(caller, subjectType, request.input_params, parts.inputStringMax)
  if (!bound.ok) return bound
  const { tokenFilter } = query.policy
  const named = [...query.reading.parameters, ...(tokenFilter?.parameters ?? []), ...(query.writes?.parameters ?? [])]
  const limits = query.document.batch_read === true ? { ...parts.limits, timeMs: parts.batchReadTimeMs } : parts.limits
  const missing = named.filter((name) => !bound.value.has(name))
  if (missing.length > 0) return missingParameters(missing)
  // What writes has effects, and is answered once.
  const isWrite = query.writes !== null
  if (isWrite && limits.inlineMs !== undefined) {
    throw new LaneRequiredError('write', { limitMs: limits.timeMs, isWrite })
  }
  const budget = new Budget()
  try {
    budget.start(limits)
    if (tokenFilter !== null && !tokenFilter.admits(bound.value)) {
      return err({ kind: 'step-up', advice: tokenFilter.explainRejection(bound.value).advice })
    }
    const page = pageOf(request)
    // A query that writes is read with budgets of its own.
    if (query.writes !== null) budget.end()
    const resolution = parts.resolvers.startResolution(caller.projectId, limits.timeMs)
    const given =
      query.writes === null
        ? ok(
            parts.inlineHistory.run(caller.projectId, query, () =>
              readPage(graphs.default, query, bound.value, limits, page, parts.answerMax, budget),
            ),
          )
        : await writePage(
            parts,
            {
              graph: graphs.default,
              query,
              parameters: bound.value,
              limits,
              untilMs: performance.now() + limits.timeMs,
            },
            query.writes,
            page,
            resolution,
          )
    if (!given.ok) return given
    const { data, deferred } = given.value
    if (deferred.length === 0) return ok({ data })
    const warnings = await resolveDeferred(deferred, bound.value, resolution)
    return ok(warnings.length === 0 ? { data } : { data, warnings })
  } catch (fault) {
    if (fault instanceof ExecutionError) return err(errorOf(fault, limits))
    if (fault instanceof LaneRequiredError) {
      throw new LaneRequiredError(fault.reason, { limitMs: limits.timeMs, isWrite })
    }
    throw fault
  } finally {
    budget.end()
  }
}

interface PageRange {
  readonly skip: number
  readonly size: number
}

/** Ruling C1. With pages of more than one row 1 is the first page too, as some clients count. */
export function pageOf({ page_token = 0, page_size = PAGE_SIZE }: ExecuteRequest): PageRange {
  return { skip: page_token < 1 || (page_token === 1 && page_size > 1) ? 0 : page_token, size: page_size }
}

function readPage(
  graph: GraphStore,
  { reading, records }: CompiledQuery,
  parameters: BoundParameters,
  limits: BudgetLimits,
  { skip, size }: PageRange,
  answerMax: number,
  budget: Budget,
): { readonly data: RecordData[]; readonly deferred: readonly DeferredProperty[] } {
  const data: RecordData[] = []
  const deferred: DeferredProperty[] = []
  const snapshot = graph.snapshot()
  try {
    const cursor = reading.open({ snapshot, parameters, limits, budget })
    const site = { snapshot, deferred, budget: new ResponseBudget(answerMax) }
    // Rows that are skipped are walked, and nothing of them is read.
    for (let row = 0; row < skip; row++) if (!cursor.next()) return { data, deferred }
    while (data.length < size && cursor.next()) data.push(records.read(cursor, site))
  } finally {
    budget.end()
    snapshot.close()
  }
  return { data, deferred }
}

/** Once per matched row, so there is one page: all of the rows, or a refusal. */
async function writePage(
  { writesMax, answerMax }: ContextQueryDeps,
  call: Pick<WriteCall, 'graph' | 'query' | 'parameters' | 'limits' | 'untilMs'>,
  writes: WritePlan,
  { skip, size }: PageRange,
  resolution: Resolution,
): Promise<Result<WriteOutcome, ServiceError>> {
  if (skip > 0) return err({ kind: 'invalid', issues: ['page_token: a query that writes has one page'] })
  const bound = writes.bind(call.parameters)
  if (!bound.ok) return err({ kind: 'invalid', issues: bound.error })
  const supplied = await suppliedFor(bound.value, call, resolution)
  if (!supplied.ok) return supplied
  if (supplied.value === null) return ok({ data: [], deferred: [] })
  return runWrites({ ...call, bound: supplied.value, rowsMax: size, writesMax, answerMax })
}

/** Nobody is asked for values of a call that would write none: null where no row matches. */
async function suppliedFor(
  bound: BoundWrites,
  { graph, query, parameters, limits }: Pick<WriteCall, 'graph' | 'query' | 'parameters' | 'limits'>,
  resolution: Resolution,
): Promise<Result<BoundWrites | null, ServiceError>> {
  if (!needsResolvers(bound)) return ok(bound)
  const budget = new Budget()
  budget.start(limits)
  const snapshot = graph.snapshot()
  try {
    if (!query.reading.open({ snapshot, parameters, limits, budget }).next()) return ok(null)
  } finally {
    budget.end()
    snapshot.close()
  }
  return resolveWriteValues(bound, parameters, resolution)
}

function errorOf(fault: ExecutionError, { timeMs }: BudgetLimits): ServiceError {
  if (fault.code === 'missing-parameter' && fault.subject !== null) {
    return { kind: 'invalid', issues: [`missing or wrong input params, '${fault.subject}'`] }
  }
  if (fault.code !== 'budget') return { kind: 'invalid', issues: [fault.redactedMessage] }
  if (fault.subject === 'decisionTimeMs') {
    // What was left of it for the last reading says nothing to the caller.
    return { kind: 'timed-out', message: `the time limit of ${timeMs} ms is reached` }
  }
  return { kind: 'budget', limit: fault.subject ?? '', message: fault.message }
}
