// Runs a knowledge query for a person or an application: filters by the token first, then by the graph, and reads one page
// of rows. Policy and filters are looked at anew for each page (interface, execute rule 3).
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { CompiledQuery } from './library.ts'
import { APPLICATION, bindParameters, missingParameters, type Parameters } from './parameters.ts'
import type { QueryDocument } from './query-document.ts'
import type { Awaited } from './record.ts'
import type { ExecuteAnswer, ExecuteRequest, RecordData } from './schema.ts'

export interface ContextParts {
  readonly queries: {
    find(projectId: string, key: string): CompiledQuery | null
  }
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
  readonly limits: BudgetLimits
  /** For queries with `batch_read`, milliseconds. */
  readonly batchReadTimeMs: number
  /** Characters of one string among the input parameters. */
  readonly inputStringMax: number
}

const PAGE_SIZE = 100

const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

export function execute(
  parts: ContextParts,
  caller: AgentCaller,
  request: ExecuteRequest,
): Result<ExecuteAnswer, ServiceError> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const query = parts.queries.find(caller.projectId, request.id)
  if (query === null) return err({ kind: 'not-found', message: `no active knowledge query \`${request.id}\`` })
  if (writes(query.document)) {
    return err({ kind: 'invalid', issues: ['query: sections that write or delete are not executed yet'] })
  }
  const subjectType = query.policy.document.subject.type
  if (subjectType !== APPLICATION && caller.user === null) {
    return err({ kind: 'unauthenticated', message: 'end-user token is required' })
  }
  const bound = bindParameters(caller, subjectType, request.input_params, parts.inputStringMax)
  if (!bound.ok) return bound
  const { tokenFilter } = query.policy
  const missing = [...query.reading.parameters, ...(tokenFilter?.parameters ?? [])].filter(
    (name) => !bound.value.has(name),
  )
  if (missing.length > 0) return missingParameters(missing)
  try {
    if (tokenFilter !== null && !tokenFilter.admits(bound.value)) {
      return err({ kind: 'step-up', advice: tokenFilter.refusal(bound.value).advice })
    }
    const { data, awaited } = readPage(parts, graphs, query, bound.value, pageOf(request))
    const warnings = [
      ...new Set(awaited.map(({ resolver }) => `external data resolver \`${resolver}\` is not called yet`)),
    ]
    return ok(warnings.length === 0 ? { data } : { data, warnings })
  } catch (fault) {
    if (fault instanceof RunFault) return err(errorOf(fault))
    throw fault
  }
}

function writes({ upsert_nodes, upsert_relationships, delete_nodes, delete_relationships }: QueryDocument): boolean {
  return [upsert_nodes, upsert_relationships, delete_nodes, delete_relationships].some(
    (part) => (part?.length ?? 0) > 0,
  )
}

interface Page {
  readonly skip: number
  readonly size: number
}

/** Ruling C1. With pages of more than one row 1 is the first page too, as some clients count. */
function pageOf({ page_token = 0, page_size = PAGE_SIZE }: ExecuteRequest): Page {
  return { skip: page_token < 1 || (page_token === 1 && page_size > 1) ? 0 : page_token, size: page_size }
}

function readPage(
  { limits, batchReadTimeMs }: ContextParts,
  graphs: ProjectGraphs,
  { document, reading, records }: CompiledQuery,
  parameters: Parameters,
  { skip, size }: Page,
): { readonly data: RecordData[]; readonly awaited: readonly Awaited[] } {
  const own = document.batch_read === true ? { ...limits, timeMs: batchReadTimeMs } : limits
  const budget = new Budget()
  budget.start(own)
  const data: RecordData[] = []
  const awaited: Awaited[] = []
  const snapshot = graphs.default.snapshot()
  try {
    const cursor = reading.open({ snapshot, parameters, limits: own, budget })
    // Rows that are skipped are walked, and nothing of them is read.
    for (let row = 0; row < skip; row++) if (!cursor.next()) return { data, awaited }
    while (data.length < size && cursor.next()) data.push(records.read(cursor, { snapshot, awaited }))
  } finally {
    snapshot.close()
  }
  return { data, awaited }
}

function errorOf(fault: RunFault): ServiceError {
  if (fault.code === 'missing-parameter' && fault.subject !== null) {
    return { kind: 'invalid', issues: [`missing or wrong input params, '${fault.subject}'`] }
  }
  if (fault.code !== 'budget') return { kind: 'invalid', issues: [fault.message] }
  if (fault.subject === 'decisionTimeMs') return { kind: 'timed-out', message: fault.message }
  return { kind: 'budget', limit: fault.subject ?? '', message: fault.message }
}
