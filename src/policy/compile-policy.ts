// Compiles decision policies to a condition and a filter, or to issues for the author.

import { validate } from '../config/validate.ts'
import { compileCondition, type PolicyCondition, platformParameters } from '../engine/conditions.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ProjectModel } from '../model/project-model.ts'
import { type DecisionDocument, type DecisionVersion, decisionDocument } from './decision-document.ts'
import { parseDocument } from './document-json.ts'
import { formatDiagnostic } from './format-diagnostic.ts'
import type { PolicyFilter } from './policy-filter.ts'
import { withExecutedVersion } from './policy-version.ts'
import { readPolicyFilter } from './read-policy-filter.ts'

/** A compiled decision policy document. */
export interface CompiledDocument {
  readonly version: DecisionVersion
  readonly subjectType: string
  readonly actions: readonly string[]
  readonly resourceType: string
  readonly condition: PolicyCondition
  /** The validated document with the version that is executed, for the list of policies. */
  readonly document: DecisionDocument
  /** Null if only the graph decides. */
  readonly filter: PolicyFilter | null
  /**
   * Parameters that the caller must send in `input_params`: those of condition, filter and USE without the platform
   * parameters.
   */
  readonly inputParameters: readonly string[]
  /**
   * All parameters that condition, filter and USE read, without `$`, each once: they must be bound before evaluation.
   */
  readonly parameters: readonly string[]
  /**
   * Whether the policy reads the external id of that entity as a parameter. If so, a search cannot run it once for all
   * candidates.
   */
  readonly readsIdOf: Readonly<Record<'subject' | 'resource', boolean>>
}

/** A compiled policy with the identity of its stored document. */
export interface CompiledPolicy extends CompiledDocument {
  readonly id: string
  readonly name: string
  readonly revision: number
  readonly tags: readonly string[]
}

const CYPHER = 'policy.condition.cypher'
const FILTER = 'policy.condition.filter'

/** Compiles the text of a decision policy. `model`: that of its project. Errors are issues for the author. */
export function compileDecisionPolicy(
  text: string,
  model: ProjectModel | null = null,
): Result<CompiledDocument, readonly string[]> {
  const json = parseDocument(text, 'policy')
  return json.ok ? compileDecisionDocument(json.value, model) : json
}

/** Compiles a parsed decision policy document. `model`: that of its project. Errors are issues for the author. */
export function compileDecisionDocument(
  json: unknown,
  model: ProjectModel | null = null,
): Result<CompiledDocument, readonly string[]> {
  const versioned = withExecutedVersion(json)
  if (!versioned.ok) return versioned
  const read = validate(decisionDocument, versioned.value, 'policy')
  if (!read.ok) return read
  const { meta, subject, actions, resource, condition } = read.value
  const version = meta.policy_version as DecisionVersion
  const compiled = compileCondition({
    text: condition.cypher,
    dialect: version,
    subjectType: subject.type,
    resourceType: resource.type,
    ...(model?.definitions != null && { definitions: model.definitions }),
  })
  const filter = readPolicyFilter(condition.filter, FILTER)
  const issues = [
    ...(compiled.ok ? [] : compiled.error.map((issue) => `${CYPHER}: ${formatDiagnostic(condition.cypher, issue)}`)),
    ...(filter.ok ? [] : filter.error),
  ]
  if (!compiled.ok || !filter.ok) return err(issues)
  const named = compiled.value.locations.flatMap(({ kind, name }) => (kind === 'parameter' ? [name] : []))
  const parameters = new Set([...compiled.value.parameters, ...(filter.value?.parameters ?? []), ...named])
  if (version === '3.0-kbac' && filter.value?.parameters.includes('subject_id')) {
    return err([`${FILTER}: parameter "$subject_id" is reserved and cannot be referenced`])
  }
  const elsewhere = named.find((name) => filter.value?.parameters.includes(name))
  if (elsewhere !== undefined) {
    return err([`${FILTER}: location parameter "$${elsewhere}" must not be referenced elsewhere`])
  }
  return ok({
    version,
    subjectType: subject.type,
    actions,
    resourceType: resource.type,
    condition: compiled.value,
    document: read.value,
    filter: filter.value,
    inputParameters: [...parameters].filter((name) => !platformParameters.has(name)),
    parameters: [...parameters],
    readsIdOf: {
      subject: parameters.has('subject_external_id'),
      resource: parameters.has('resource_external_id'),
    },
  })
}

/** Returns an issue for each location of the policy that the project does not have; empty if it can run completely. */
export function locationIssues({ condition }: CompiledDocument, locations: ReadonlySet<string>): readonly string[] {
  if (condition.locations.length === 0) return []
  if (locations.size === 0) return [`${CYPHER}: USE needs a composite database, and none is configured`]
  return condition.locations.flatMap(({ kind, name }) =>
    kind === 'location' && !locations.has(name) ? [`${CYPHER}: unknown location ${name}`] : [],
  )
}
