// Compiles context policies: the document, the pattern of its condition, and what the pattern binds. src/context-query
// runs them.

import { validate } from '../config/validate.ts'
import { compileConditionRows, type FilterableCondition } from '../engine/condition-rows.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ProjectModel } from '../model/project-model.ts'
import { type ContextDocument, contextDocument, contextVersion } from './context-document.ts'
import { variablesOf } from './context-filter.ts'
import { parseDocument } from './document-json.ts'
import {
  canHold,
  type ElementPath,
  type PathElementKind,
  parsePath,
  unanswerable,
  undeletable,
} from './element-path.ts'
import { filterExpression } from './filter-expression.ts'
import { formatDiagnostic } from './format-diagnostic.ts'
import type { PolicyFilter } from './policy-filter.ts'
import { withExecutedVersion } from './policy-version.ts'
import { readPolicyFilter } from './read-policy-filter.ts'

/** A compiled context policy. */
export interface ContextPolicy {
  readonly document: ContextDocument
  /** The rows of the condition, before any filter. */
  readonly source: FilterableCondition
  /** Evaluated on the token and the parameters before the graph is read; null if none exists. */
  readonly tokenFilter: PolicyFilter | null
  /** Variables in scope at the end of the condition, with their kinds. */
  readonly variables: FilterableCondition['variables']
}

/** Compiles the text of a context policy. `model`: that of its project. Errors are issues for the author. */
export function compileContextPolicy(
  text: string,
  model: ProjectModel | null = null,
): Result<ContextPolicy, readonly string[]> {
  const json = parseDocument(text, 'policy')
  return json.ok ? compileContextDocument(json.value, model) : json
}

/** Compiles a parsed context policy document. `model`: that of its project. Errors are issues for the author. */
export function compileContextDocument(
  json: unknown,
  model: ProjectModel | null = null,
): Result<ContextPolicy, readonly string[]> {
  const versioned = withExecutedVersion(json)
  if (!versioned.ok) return versioned
  const read = validate(contextDocument, versioned.value, 'policy')
  if (!read.ok) return read
  const document = read.value
  const { cypher, token_filter } = document.condition
  const pattern = compileConditionRows({
    text: cypher,
    dialect: contextVersion,
    subjectType: document.subject.type,
    ...(model?.definitions != null && { definitions: model.definitions }),
  })
  const tokenFilter = readPolicyFilter(token_filter, 'policy.condition.token_filter', false)
  const issues = [
    ...(pattern.ok ? [] : pattern.error.map((issue) => `policy.condition.cypher: ${formatDiagnostic(cypher, issue)}`)),
    ...(tokenFilter.ok ? [] : tokenFilter.error),
    ...(pattern.ok ? unboundVariables(document, pattern.value.variables) : []),
    ...(pattern.ok ? uselessEntries(document, pattern.value.variables) : []),
    ...derivedTypeIssues(document, model),
  ]
  if (!pattern.ok || !tokenFilter.ok || issues.length > 0) return err(issues)
  const ownFilterIssues = filterIssues(document, pattern.value)
  if (ownFilterIssues.length > 0) return err(ownFilterIssues)
  return ok({ document, tokenFilter: tokenFilter.value, source: pattern.value, variables: pattern.value.variables })
}

/** Reports errors of the policy's own filters to its author; a query compiles them again together with its own. */
function filterIssues({ condition }: ContextDocument, source: FilterableCondition): readonly string[] {
  const filters = (condition.filter ?? []).map((filter, i) => ({ filter, at: `policy.condition.filter[${i}]` }))
  const expression = filterExpression(filters, source.variables)
  if (!expression.ok) return expression.error
  const conditionRows = source.withFilter(expression.value)
  return conditionRows.ok ? [] : conditionRows.error.map(({ message }) => `policy.condition.filter: ${message}`)
}

/**
 * Reports names that the condition does not bind. `allowed_reads` may also name elements that a query writes under
 * names of its own.
 */
function unboundVariables(document: ContextDocument, bound: FilterableCondition['variables']): string[] {
  const { condition, allowed_upserts, allowed_deletes } = document
  const named: [path: string, name: string][] = [
    ...(condition.filter ?? []).flatMap((filter, i) => withPath(`condition.filter[${i}]`, variablesOf(filter))),
    ...withPath('allowed_upserts.nodes.existing_nodes', allowed_upserts?.nodes?.existing_nodes),
    ...withPath(
      'allowed_upserts.relationships.existing_relationships',
      allowed_upserts?.relationships?.existing_relationships,
    ),
    ...withPath(
      'allowed_deletes.nodes',
      allowed_deletes?.nodes?.map((path) => variableOf(path, 'node')),
    ),
    ...withPath(
      'allowed_deletes.relationships',
      allowed_deletes?.relationships?.map((path) => variableOf(path, 'relationship')),
    ),
  ]
  return named
    .filter(([, name]) => !bound.has(name))
    .map(([path, name]) => `policy.${path}: the condition does not bind \`${name}\``)
}

/** Reports entries that no row can give an element, or an element with that part. */
function uselessEntries(document: ContextDocument, bound: FilterableCondition['variables']): string[] {
  const { allowed_reads, allowed_upserts, allowed_deletes } = document
  const ofPaths = (
    at: string,
    paths: readonly string[] = [],
    kind: PathElementKind,
    issueOf: (path: ElementPath) => string | null,
  ): string[] =>
    paths.flatMap((text, i) => {
      const path = parsePath(text, kind)
      const issue = path.ok && bound.has(path.value.variable) ? issueOf(path.value) : null
      return issue === null ? [] : [`policy.${at}[${i}]: ${issue}`]
    })
  const reads = (member: 'nodes' | 'relationships', kind: PathElementKind): string[] =>
    ofPaths(`allowed_reads.${member}`, allowed_reads?.[member], kind, (path) =>
      unanswerable(path, bound.get(path.variable)!),
    )
  const notOfKind = (name: string, kind: PathElementKind): string | null =>
    canHold(bound.get(name), kind) ? null : `\`${name}\` is not a ${kind}`
  const deletes = (member: 'nodes' | 'relationships', kind: PathElementKind): string[] =>
    ofPaths(
      `allowed_deletes.${member}`,
      allowed_deletes?.[member],
      kind,
      (path) => undeletable(path) ?? notOfKind(path.variable, kind),
    )
  const existing = (at: string, names: readonly string[] = [], kind: PathElementKind): string[] =>
    names.flatMap((name, i) => {
      const issue = bound.has(name) ? notOfKind(name, kind) : null
      return issue === null ? [] : [`policy.allowed_upserts.${at}[${i}]: ${issue}`]
    })
  return [
    ...reads('nodes', 'node'),
    ...reads('relationships', 'relationship'),
    ...existing('nodes.existing_nodes', allowed_upserts?.nodes?.existing_nodes, 'node'),
    ...existing(
      'relationships.existing_relationships',
      allowed_upserts?.relationships?.existing_relationships,
      'relationship',
    ),
    ...deletes('nodes', 'node'),
    ...deletes('relationships', 'relationship'),
  ]
}

/** Reports relationship types that no query can write, because the model derives them. */
function derivedTypeIssues({ allowed_upserts }: ContextDocument, model: ProjectModel | null): string[] {
  return (allowed_upserts?.relationships?.relationship_types ?? []).flatMap(({ type }, i) => {
    if (model?.definitions?.has(type) !== true) return []
    const path = `policy.allowed_upserts.relationships.relationship_types[${i}].type`
    return [`${path}: \`${type}\` is a definition of the model of the project, and cannot be stored`]
  })
}

function withPath(path: string, names: readonly string[] = []): [string, string][] {
  return names.map((name) => [path, name])
}

function variableOf(path: string, kind: 'node' | 'relationship'): string {
  const parsed = parsePath(path, kind)
  return parsed.ok ? parsed.value.variable : ''
}
