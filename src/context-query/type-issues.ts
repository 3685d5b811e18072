// Compares knowledge queries with the declared types of their project, when they are stored and when the model changes.
import { type ConfigReader, type DocumentFields, queriesKind } from '../config/kind.ts'
import { type KnownValue, nodesWith, propertyProblem, relationshipsOf } from '../model/known-values.ts'
import type { ProjectModel } from '../model/project-model.ts'
import type { StoredModel } from '../model/stored-model.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { compiledContextPolicy } from '../policy/compiled-policies.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import { contextFilterTypeIssues, contextVariables, nameIssues, pathTypeIssues } from '../policy/type-issues.ts'
import { type QueryDocument, readQueryDocument } from './query-document.ts'

/** An issue for each stored query that would not fit the types of a changed model, and fits those of the present one. */
export function queryConsequences(
  reader: ConfigReader,
  projectId: string,
  before: StoredModel,
  after: StoredModel,
): readonly string[] {
  if (!after.ok || after.value?.types == null) return []
  return reader.inScope(queriesKind, projectId).flatMap(({ name, fields }) => {
    if (fields.status === 'DRAFT') return []
    const unfit = storedIssues(fields, reader, after)
    const others = new Set(unfit.length === 0 ? [] : storedIssues(fields, reader, before))
    const added = unfit.find((issue) => !others.has(issue))
    return added === undefined ? [] : [`the knowledge query \`${name}\` would not fit the types: ${added}`]
  })
}

function storedIssues(fields: DocumentFields, reader: ConfigReader, model: StoredModel): readonly string[] {
  const policy = reader.get(policiesKind, fields.policy_id as string)
  if (!model.ok || policy === null || !isContextPolicy(policy.fields)) return []
  const compiled = compiledContextPolicy(policy.fields, model)
  const document = readQueryDocument(fields.query as string)
  return compiled.ok && document.ok ? queryTypeIssues(document.value, compiled.value, model.value) : []
}

/** An issue for each place of a query that does not fit the declared types. */
export function queryTypeIssues(
  document: QueryDocument,
  policy: ContextPolicy,
  model: ProjectModel | null,
): readonly string[] {
  const types = model?.types ?? null
  if (types === null) return []
  const variables = contextVariables(policy, types)
  const lists = [
    ['nodes', document.nodes, 'node'],
    ['relationships', document.relationships, 'relationship'],
    ['delete_nodes', document.delete_nodes, 'node'],
    ['delete_relationships', document.delete_relationships, 'relationship'],
  ] as const
  const properties = (at: string, known: KnownValue, all: readonly { readonly type: string }[] = []): string[] =>
    all.flatMap(({ type }, i) => {
      const message = propertyProblem(known, type, types)
      return message === null ? [] : [`${at}.properties[${i}].type: ${message}`]
    })
  return [
    ...lists.flatMap(([member, paths, kind]) => pathTypeIssues(`query.${member}`, paths, kind, variables, types)),
    ...contextFilterTypeIssues(document.filter, 'query.filter', policy, variables, types),
    ...(document.upsert_nodes ?? []).flatMap(({ name, type, labels = [], properties: written }, i) => {
      const at = `query.upsert_nodes[${i}]`
      const named = labels.flatMap((label, j) =>
        label.startsWith('$') ? [] : nameIssues(`${at}.labels[${j}]`, 'label', label, types),
      )
      if (type === undefined) return [...named, ...properties(at, variables.get(name) ?? null, written)]
      return [
        ...nameIssues(`${at}.type`, 'label', type, types),
        ...named,
        ...properties(at, nodesWith(types, type), written),
      ]
    }),
    ...(document.upsert_relationships ?? []).flatMap(({ name, type, properties: written }, i) => {
      const at = `query.upsert_relationships[${i}]`
      if (type === undefined) return properties(at, variables.get(name) ?? null, written)
      return [
        ...nameIssues(`${at}.type`, 'type', type, types),
        ...properties(at, relationshipsOf(types, type), written),
      ]
    }),
  ]
}
