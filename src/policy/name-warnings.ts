// Warnings about stored policies and knowledge queries. A label, relationship type or property that no capture has ever used may
// come later, but most often the name is misspelt (docs/decisions/0008-policy-filters-and-parameters.md). Policies are also warned
// about an exclusion that a null turns off, and about a subject that the caller chooses.
import type { ConfigKind, DocumentFields, StoredDocument } from '../config/kind.ts'
import { openExclusionsIn } from '../engine/open-exclusions.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { GraphStore } from '../engine/store.ts'
import { type NamedSymbol, UnknownSymbols, unknownSymbolWarnings } from '../engine/unknown-symbols.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import { modelOf, modelSymbols, type StoredModel } from '../model/stored-model.ts'
import { callerChoices } from './caller-identity.ts'
import type { ContextPolicy } from './compile-context.ts'
import { compiledContextPolicy, compiledDecisionPolicy } from './compiled-policies.ts'
import { findingsIn } from './condition-findings.ts'
import { readsOf } from './context-filter.ts'
import { parseDocument } from './document-json.ts'
import { type PathElementKind, parsePath } from './element-path.ts'
import { formatDiagnostic } from './format-diagnostic.ts'
import { isContextVersion, policyHeader } from './policy-header.ts'

/** The graphs of a project, whose names a document is compared with. */
export interface NameSource {
  /** Opens the graphs of a project; null if they are open. */
  ready(projectId: string): Promise<void> | null
  /** All graphs of a project, each once; none while it is not provisioned. Throws ThrownServiceError if one is unavailable. */
  storesOf(projectId: string): Iterable<GraphStore>
}

const WARNINGS_MAX = 100

/**
 * Runs `check` with the names of all graphs of the project, and with those that its model declares. Returns its warnings, at most 100 and
 * a count of the rest; none while the project has no captured node. Never rejects: a graph that is unavailable is a warning.
 */
export async function nameWarnings(
  source: NameSource,
  projectId: string,
  model: StoredModel,
  check: (unknown: UnknownSymbols) => readonly string[],
): Promise<readonly string[]> {
  try {
    await source.ready(projectId)
    const warnings = await readGraph([...source.storesOf(projectId)], (snapshots) =>
      // A name that is declared or defined is not misspelt, even if no capture has used it yet.
      check(new UnknownSymbols([...snapshots, modelSymbols(model)])),
    )
    const more = warnings.length - WARNINGS_MAX
    return more > 0 ? [...warnings.slice(0, WARNINGS_MAX), `and ${more} more`] : warnings
  } catch (error) {
    if (!(error instanceof ThrownServiceError)) throw error
    return ['the names in the document were not checked: the knowledge graph of this project is unavailable']
  }
}

/** Returns the warnings of the kind of policies. `names`: the graphs whose names a stored policy is compared with. */
export function policyWarningsBy(names: NameSource): NonNullable<ConfigKind['warnings']> {
  return (document, reader) => {
    const model = modelOf(reader, document.project_id)
    return nameWarnings(names, document.project_id, model, (unknown) => policyWarnings(document, model, unknown))
  }
}

/** The warnings about a stored policy; none for a DRAFT that does not compile. */
function policyWarnings({ fields }: StoredDocument, model: StoredModel, unknown: UnknownSymbols): readonly string[] {
  const json = parseDocument(fields.policy as string, 'policy')
  if (!json.ok) return []
  const others = [
    // A policy that forbids holds where a condition is null.
    ...(policyHeader(fields).effect === 'forbid' ? [] : findingsIn(json.value, 'open-exclusion', openExclusionsIn)),
    ...identityWarnings(fields, model, json.value),
  ]
  if (!unknown.isMeaningful) return others
  const names = isContextVersion(json.value)
    ? contextPolicyWarnings(fields, model, json.value, unknown)
    : decisionPolicyWarnings(fields, model, json.value, unknown)
  return [...others, ...names]
}

/** Warnings about a context policy whose subject the caller chooses. They need no data. */
function identityWarnings(fields: DocumentFields, model: StoredModel, json: unknown): string[] {
  if (!isContextVersion(json)) return []
  const compiled = compiledContextPolicy(fields, model, json)
  if (!compiled.ok) return []
  const { cypher } = compiled.value.document.condition
  return callerChoices(compiled.value).map(({ at, message }) => {
    if (at.kind === 'cypher') {
      const diagnostic = { code: 'caller-chosen-identity', message, span: at.span }
      return `policy.condition.cypher: ${formatDiagnostic(cypher, diagnostic)}`
    }
    const path = at.member.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
    return `policy${path}: ${message}`
  })
}

function decisionPolicyWarnings(
  fields: DocumentFields,
  model: StoredModel,
  json: unknown,
  unknown: UnknownSymbols,
): readonly string[] {
  const compiled = compiledDecisionPolicy(fields, model, json)
  if (!compiled.ok) return []
  const { subjectType, resourceType, condition, document } = compiled.value
  return [
    ...labelWarning('policy.subject.type', subjectType, unknown),
    ...labelWarning('policy.resource.type', resourceType, unknown),
    ...conditionWarnings(document.condition.cypher, condition.symbols, unknown),
  ]
}

function contextPolicyWarnings(
  fields: DocumentFields,
  model: StoredModel,
  json: unknown,
  unknown: UnknownSymbols,
): readonly string[] {
  const compiled = compiledContextPolicy(fields, model, json)
  if (!compiled.ok) return []
  const policy = compiled.value
  const { subject, condition, allowed_reads, allowed_upserts, allowed_deletes } = policy.document
  const { nodes, relationships } = allowed_upserts ?? {}
  const createdLabels = [...(nodes?.node_types ?? []), ...(nodes?.node_labels ?? [])]
  const createdTypes = relationships?.relationship_types?.map(({ type }) => type) ?? []
  const written = writableVariables(policy)
  // Names that the queries of the policy may write need not exist before.
  const mayBeFirst: Readonly<Record<NamedSymbol['kind'], (symbol: NamedSymbol) => boolean>> = {
    label: ({ name }) => createdLabels.includes(name),
    type: ({ name }) => createdTypes.includes(name),
    property: ({ variable }) => variable !== null && written.has(variable),
  }
  const symbols = policy.source.symbols.filter((symbol) => !mayBeFirst[symbol.kind](symbol))
  return [
    ...labelWarning('policy.subject.type', subject.type, unknown),
    ...conditionWarnings(condition.cypher, symbols, unknown),
    ...(condition.filter ?? []).flatMap((filter, i) =>
      filterWarnings(filter, `policy.condition.filter[${i}]`, policy, unknown),
    ),
    ...pathWarnings('policy.allowed_reads.nodes', allowed_reads?.nodes, 'node', policy, unknown),
    ...pathWarnings(
      'policy.allowed_reads.relationships',
      allowed_reads?.relationships,
      'relationship',
      policy,
      unknown,
    ),
    ...pathWarnings('policy.allowed_deletes.nodes', allowed_deletes?.nodes, 'node', policy, unknown),
    ...pathWarnings(
      'policy.allowed_deletes.relationships',
      allowed_deletes?.relationships,
      'relationship',
      policy,
      unknown,
    ),
  ]
}

function labelWarning(at: string, name: string, unknown: UnknownSymbols): string[] {
  const message = unknown.messageFor({ kind: 'label', name })
  return message === null ? [] : [`${at}: ${message}`]
}

function conditionWarnings(cypher: string, symbols: readonly NamedSymbol[], unknown: UnknownSymbols): string[] {
  return unknownSymbolWarnings(cypher, symbols, unknown).map(
    (warning) => `policy.condition.cypher: ${formatDiagnostic(cypher, warning)}`,
  )
}

/** Warnings about the properties that a filter of a policy or query names. `at`: the path of the filter. */
export function filterWarnings(
  filter: Parameters<typeof readsOf>[0] | undefined,
  at: string,
  policy: ContextPolicy,
  unknown: UnknownSymbols,
): string[] {
  if (filter === undefined) return []
  return readsOf(filter).flatMap((read) => {
    const kind = policy.variables.get(read.text.split('.')[0] as string)
    const isElement = kind === 'node' || kind === 'relationship'
    return isElement ? pathWarning(`${at}${read.at}`, read.text, kind, policy, unknown) : []
  })
}

/** Warnings about the properties that a list of paths names. `at`: the path of the list. */
export function pathWarnings(
  at: string,
  paths: readonly string[] = [],
  kind: PathElementKind,
  policy: ContextPolicy,
  unknown: UnknownSymbols,
): string[] {
  return paths.flatMap((path, i) => pathWarning(`${at}[${i}]`, path, kind, policy, unknown))
}

/** A path of an element that a query may write is not checked: the query may be the first that writes the property. */
function pathWarning(
  at: string,
  text: string,
  kind: PathElementKind,
  policy: ContextPolicy,
  unknown: UnknownSymbols,
): string[] {
  const path = parsePath(text, kind)
  if (!path.ok || (path.value.kind !== 'property' && path.value.kind !== 'metadata')) return []
  const { variable, name } = path.value
  if (!policy.variables.has(variable) || writableVariables(policy).has(variable)) return []
  const message = unknown.messageFor({ kind: 'property', name })
  return message === null ? [] : [`${at}: ${message}`]
}

function writableVariables({ document: { allowed_upserts } }: ContextPolicy): ReadonlySet<string> {
  return new Set([
    ...(allowed_upserts?.nodes?.existing_nodes ?? []),
    ...(allowed_upserts?.relationships?.existing_relationships ?? []),
  ])
}
