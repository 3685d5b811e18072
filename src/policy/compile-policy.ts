// Compiles decision policies to a condition and a filter, or to issues for the author.

import { validate } from '../config/validate.ts'
import { compileCondition, type PolicyCondition, platformParameters } from '../engine/conditions.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ProjectModel } from '../model/project-model.ts'
import {
  type DecisionDocument,
  type DecisionVersion,
  decisionDocument,
  type PolicyEffect,
} from './decision-document.ts'
import { parseDocument } from './document-json.ts'
import { formatDiagnostic } from './format-diagnostic.ts'
import type { PolicyFilter } from './policy-filter.ts'
import type { PolicyHeader } from './policy-header.ts'
import { withExecutedVersion } from './policy-version.ts'
import { readPolicyFilter } from './read-policy-filter.ts'

/** A compiled decision policy document. */
export interface CompiledDocument {
  readonly version: DecisionVersion
  readonly effect: PolicyEffect
  readonly subjectType: string
  readonly actions: readonly string[]
  readonly resourceType: string
  /** Of a policy that forbids: the pairs for which the text is not definitely false. */
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

/** A policy that grants the pairs of its condition. */
export type GrantingPolicy = CompiledPolicy & { readonly effect: 'permit' }

/** A policy that denies the pairs of its condition, whatever grants them. */
export type ForbiddingPolicy = CompiledPolicy & { readonly effect: 'forbid' }

/** The name of a stored policy. */
export type PolicyName = Pick<CompiledPolicy, 'id' | 'name' | 'revision'>

/** A policy that would forbid, and does not compile any more. */
export type BrokenForbid = Omit<PolicyHeader, 'version' | 'effect'> &
  Omit<CompiledPolicy, keyof CompiledDocument | 'version'> &
  Pick<CompiledDocument, 'version'>

/** The policies of a decision. A pair is permitted if a policy grants it, and none forbids it. */
export interface PolicySet {
  readonly grants: readonly GrantingPolicy[]
  readonly forbids: readonly ForbiddingPolicy[]
  /** Policies that would forbid and do not compile any more. Their condition is not known, so they forbid all pairs. */
  readonly broken: readonly BrokenForbid[]
}

/** A set without policies. */
export const noPolicies: PolicySet = { grants: [], forbids: [], broken: [] }

/** Sorts policies by their effect. */
export function policySetOf(policies: readonly CompiledPolicy[], broken: readonly BrokenForbid[] = []): PolicySet {
  return { grants: policies.filter(isGranting), forbids: policies.filter(isForbidding), broken }
}

/** Both sets as one. */
export function joinedSets(a: PolicySet, b: PolicySet): PolicySet {
  return {
    grants: [...a.grants, ...b.grants],
    forbids: [...a.forbids, ...b.forbids],
    broken: [...a.broken, ...b.broken],
  }
}

/** All policies of a set that compile: those that grant, and then those that forbid. */
export function compiledIn({ grants, forbids }: PolicySet): readonly CompiledPolicy[] {
  return forbids.length === 0 ? grants : [...grants, ...forbids]
}

/** Whether the set has no policy at all. */
export function isEmptySet({ grants, forbids, broken }: PolicySet): boolean {
  return grants.length + forbids.length + broken.length === 0
}

/** Whether the policy grants. */
export function isGranting<P extends CompiledDocument>(policy: P): policy is P & { readonly effect: 'permit' } {
  return policy.effect === 'permit'
}

/** Whether the policy forbids. */
export function isForbidding<P extends CompiledDocument>(policy: P): policy is P & { readonly effect: 'forbid' } {
  return policy.effect === 'forbid'
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
  const { meta, effect = 'permit', subject, actions, resource, condition } = read.value
  const version = meta.policy_version as DecisionVersion
  const compiled = compileCondition({
    text: condition.cypher,
    dialect: version,
    subjectType: subject.type,
    resourceType: resource.type,
    keepsUnknown: effect === 'forbid',
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
    effect,
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
