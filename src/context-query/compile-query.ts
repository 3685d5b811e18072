// Compiles knowledge queries: checks the document against its policy, and adds the filters of both to the policy's
// pattern.
import type { StoredDocument } from '../config/kind.ts'
import type { ConditionRows } from '../engine/condition-rows.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { StoredModel } from '../model/stored-model.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { compiledContextPolicy } from '../policy/compiled-policies.ts'
import { filterExpression } from '../policy/filter-expression.ts'
import { queryIssues } from './check-query.ts'
import { type QueryDocument, readQueryDocument } from './query-document.ts'
import { RecordReader } from './record-reader.ts'
import { compileWrites, type WritePlan } from './write-plan.ts'

/** A compiled knowledge query. */
export interface CompiledQuery {
  readonly id: string
  readonly name: string
  readonly document: QueryDocument
  readonly policy: ContextPolicy
  /** The pattern of the policy with the filters of policy and query. */
  readonly conditionRows: ConditionRows
  readonly records: RecordReader
  /** Null for a query that only reads. */
  readonly writes: WritePlan | null
  /** Variables of the pattern that a materialized row must keep. */
  readonly materializedNames: ReadonlySet<string>
}

/** Compiles the pattern and the filters of a document that passed `queryIssues`. Errors are issues for the author. */
export function compileQuery(document: QueryDocument, policy: ContextPolicy): Result<ConditionRows, readonly string[]> {
  const filters = [
    ...(policy.document.condition.filter ?? []).map((filter, i) => ({ filter, at: `policy.condition.filter[${i}]` })),
    ...(document.filter === undefined ? [] : [{ filter: document.filter, at: 'query.filter' }]),
  ]
  const expression = filterExpression(filters, policy.variables)
  if (!expression.ok) return expression
  const conditionRows = policy.source.withFilter(expression.value)
  return conditionRows.ok ? conditionRows : err(conditionRows.error.map(({ message }) => `filter: ${message}`))
}

/** Why a stored query cannot run. `beyond-policy`: it exceeds what its policy allows now. */
export interface QueryCompileError {
  readonly kind: 'beyond-policy' | 'broken'
  readonly issue: string
}

function broken(issues: readonly string[]): Result<never, QueryCompileError> {
  return err({ kind: 'broken', issue: issues[0] ?? '' })
}

/** Compiles a stored query with its stored policy. `model`: that of the project. */
export function compileStoredQuery(
  stored: StoredDocument,
  policy: StoredDocument,
  model: StoredModel,
): Result<CompiledQuery, QueryCompileError> {
  const context = compiledContextPolicy(policy.fields, model)
  if (!context.ok) return broken(context.error)
  const document = readQueryDocument(stored.fields.query as string)
  if (!document.ok) return broken(document.error)
  const [issue] = queryIssues(document.value, context.value)
  if (issue !== undefined) return err({ kind: 'beyond-policy', issue })
  const conditionRows = compileQuery(document.value, context.value)
  if (!conditionRows.ok) return broken(conditionRows.error)
  const writes = compileWrites(document.value)
  if (!writes.ok) return broken(writes.error)
  const records = new RecordReader(document.value, context.value, writes.value)
  const { variables } = conditionRows.value
  const used = [...records.names, ...(writes.value?.variables ?? [])]
  return ok({
    id: stored.id,
    name: stored.name,
    document: document.value,
    policy: context.value,
    conditionRows: conditionRows.value,
    records,
    writes: writes.value,
    materializedNames: new Set(used.filter((name) => variables.has(name))),
  })
}
