// Compares policies with the declared types of their project, when they are stored and when the model changes. Decisions do not: a
// policy that was stored stays valid when a later release finds more.
import { cypherName } from '../kernel/text/cypher-names.ts'
import { type KnownValue, type KnownVariables, nameProblem, propertyProblem } from '../model/known-values.ts'
import type { ProjectModel } from '../model/project-model.ts'
import { textProblems } from '../model/type-problems.ts'
import { type ContextPolicy, compileContextDocument } from './compile-context.ts'
import { type CompiledDocument, compileDecisionDocument } from './compile-policy.ts'
import { readsOf } from './context-filter.ts'
import { type PathElementKind, parsePath } from './element-path.ts'
import { formatDiagnostic } from './format-diagnostic.ts'
import { isContextVersion } from './policy-header.ts'

type TypesOfModel = NonNullable<ProjectModel['types']>
type Paths = readonly string[] | undefined

/** An issue for each place of a policy that does not fit the declared types; none for a policy that does not compile. */
export function policyTypeIssues(json: unknown, model: ProjectModel | null): readonly string[] {
  const types = model?.types ?? null
  if (types === null) return []
  if (isContextVersion(json)) {
    const compiled = compileContextDocument(json, model)
    return compiled.ok ? contextIssues(compiled.value, types) : []
  }
  const compiled = compileDecisionDocument(json, model)
  if (!compiled.ok) return []
  const { subjectType, resourceType, document } = compiled.value
  return [
    ...nameIssues('policy.subject.type', 'label', subjectType, types),
    ...nameIssues('policy.resource.type', 'label', resourceType, types),
    ...conditionIssues(
      document.condition.cypher,
      types,
      new Map([
        ['subject', subjectType],
        ['resource', resourceType],
      ]),
    ).issues,
  ]
}

/**
 * The types of the values that a caller sends as input parameters of a decision policy, by name; a parameter that the policy also uses in
 * another way, or in its filter, is left out.
 */
export function parameterTypes(
  { subjectType, resourceType, document, filter, inputParameters }: CompiledDocument,
  types: TypesOfModel,
): ReturnType<typeof textProblems>['parameters'] {
  const labels = new Map([
    ['subject', subjectType],
    ['resource', resourceType],
  ])
  const { parameters } = textProblems(document.condition.cypher, types, labels)
  const known = inputParameters.filter((name) => filter?.parameters.includes(name) !== true)
  return new Map(known.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name)!] as const] : [])))
}

function contextIssues(policy: ContextPolicy, types: TypesOfModel): readonly string[] {
  const { subject, condition, allowed_reads, allowed_upserts, allowed_deletes } = policy.document
  const { issues, variables } = conditionIssues(condition.cypher, types, new Map([['subject', subject.type]]))
  const { nodes, relationships } = allowed_upserts ?? {}
  const labels = [
    ['node_types', nodes?.node_types],
    ['node_labels', nodes?.node_labels],
  ] as const
  const pathLists = [
    ['allowed_reads.nodes', allowed_reads?.nodes, 'node'],
    ['allowed_reads.relationships', allowed_reads?.relationships, 'relationship'],
    ['allowed_deletes.nodes', allowed_deletes?.nodes, 'node'],
    ['allowed_deletes.relationships', allowed_deletes?.relationships, 'relationship'],
  ] as const
  return [
    ...nameIssues('policy.subject.type', 'label', subject.type, types),
    ...issues,
    ...(condition.filter ?? []).flatMap((filter, i) =>
      contextFilterTypeIssues(filter, `policy.condition.filter[${i}]`, policy, variables, types),
    ),
    ...pathLists.flatMap(([at, paths, kind]) => pathTypeIssues(`policy.${at}`, paths, kind, variables, types)),
    ...labels.flatMap(([member, names]) =>
      (names ?? []).flatMap((name, i) =>
        nameIssues(`policy.allowed_upserts.nodes.${member}[${i}]`, 'label', name, types),
      ),
    ),
    ...(relationships?.relationship_types ?? []).flatMap(({ type, source_node_label, target_node_label }, i) => {
      const at = `policy.allowed_upserts.relationships.relationship_types[${i}]`
      const names = [
        ...nameIssues(`${at}.type`, 'type', type, types),
        ...nameIssues(`${at}.source_node_label`, 'label', source_node_label, types),
        ...nameIssues(`${at}.target_node_label`, 'label', target_node_label, types),
      ]
      if (names.length > 0) return names
      const [source, name, target] = [source_node_label, type, target_node_label].map(cypherName)
      const { problems } = textProblems(`MATCH (:${source})-[:${name}]->(:${target})`, types)
      return problems.map(({ message }) => `${at}: ${message}`)
    }),
  ]
}

/** The variables of the condition of a context policy, with what the declared types say about each. */
export function contextVariables({ document }: ContextPolicy, types: TypesOfModel): KnownVariables {
  return conditionIssues(document.condition.cypher, types, new Map([['subject', document.subject.type]])).variables
}

/** The issues of a condition, and its variables. `labels`: the types of the variables that are bound before it. */
function conditionIssues(
  cypher: string,
  types: TypesOfModel,
  labels: ReadonlyMap<string, string>,
): { readonly issues: readonly string[]; readonly variables: KnownVariables } {
  const { problems, variables } = textProblems(cypher, types, labels)
  return {
    issues: problems.map((problem) => `policy.condition.cypher: ${formatDiagnostic(cypher, problem)}`),
    variables,
  }
}

/** The issue of a label or relationship type that the model does not declare. */
export function nameIssues(at: string, kind: 'label' | 'type', name: string, types: TypesOfModel): string[] {
  const message = nameProblem(kind, name, types)
  return message === null ? [] : [`${at}: ${message}`]
}

/** The issues of a filter of a context policy or of a query. `at`: its path. */
export function contextFilterTypeIssues(
  filter: Parameters<typeof readsOf>[0] | undefined,
  at: string,
  policy: ContextPolicy,
  variables: KnownVariables,
  types: TypesOfModel,
): readonly string[] {
  if (filter === undefined) return []
  return readsOf(filter).flatMap((read) => {
    const kind = policy.variables.get(read.text.split('.')[0] as string)
    if (kind !== 'node' && kind !== 'relationship') return []
    return pathTypeIssue(`${at}${read.at}`, read.text, kind, variables, types)
  })
}

/** The issues of a list of paths of a context policy or of a query. `at`: the path of the list. */
export function pathTypeIssues(
  at: string,
  paths: Paths,
  kind: PathElementKind,
  variables: KnownVariables,
  types: TypesOfModel,
): readonly string[] {
  return (paths ?? []).flatMap((path, i) => pathTypeIssue(`${at}[${i}]`, path, kind, variables, types))
}

function pathTypeIssue(
  at: string,
  text: string,
  kind: PathElementKind,
  variables: KnownVariables,
  types: TypesOfModel,
): readonly string[] {
  const path = parsePath(text, kind)
  if (!path.ok || (path.value.kind !== 'property' && path.value.kind !== 'metadata')) return []
  const known: KnownValue = variables.get(path.value.variable) ?? null
  const message = propertyProblem(known, path.value.name, types)
  return message === null ? [] : [`${at}: ${message}`]
}
