// Index of the ACTIVE decision policies of each project by subject type, action and resource type. Policies are
// compiled on first use.

import { type ConfigSource, projectsKind, type StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import type { GraphDependencies } from '../engine/conditions.ts'
import { CompiledForPair } from '../kernel/compiled-once.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { Steps } from '../kernel/steps.ts'
import { compilingStoredModel, modelFieldsOf, modelsKind, type StoredModel } from '../model/stored-model.ts'
import { policiesKind } from './authorization-policy.ts'
import { CompileBudget, type IndexOptions } from './compile-budget.ts'
import { type CompiledPolicy, noPolicies, type PolicySet, policySetOf } from './compile-policy.ts'
import { compiledDecisionPolicy } from './compiled-policies.ts'
import type { DecisionVersion } from './decision-document.ts'
import { isContextPolicy, type PolicyHeader, policyHeader } from './policy-header.ts'

export type { CompiledPolicy, ForbiddingPolicy, GrantingPolicy, PolicySet } from './compile-policy.ts'

/** Policies with the same key. */
interface PolicyGroup {
  readonly documents: StoredDocument[]
  /** Null until first use. */
  compiled: PolicySet | null
}

interface ProjectPolicyIndex {
  /** Subject type → action → resource type. */
  readonly byRequest: Map<string, Map<string, Map<string, PolicyGroup>>>
  readonly bySubjectType: Map<string, PolicyGroup>
}

/** An active policy, and what its decisions depend on. */
interface PolicyDependencies {
  readonly header: PolicyHeader
  /** Null: not known yet. */
  readonly dependencies: GraphDependencies | null
}

/** Finds the decision policies of a request. */
export class PolicyIndex {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  private readonly options: IndexOptions
  /** Compiled policies by model and stored document, which are never changed; null if it does not compile any more. */
  private readonly policies = new CompiledForPair<StoredModel, StoredDocument, CompiledPolicy | null>()
  private readonly indexes: PerProjectCache<ProjectPolicyIndex>

  /**
   * `report` receives a log line for each policy that no longer compiles. With `options.maxInlineChars`, `find` and
   * `ofSubjectType` throw LaneRequiredError if they would compile more than that.
   */
  constructor(documents: ConfigSource, report: (line: string) => void, options: IndexOptions = {}) {
    this.documents = documents
    this.report = report
    this.options = options
    this.indexes = new PerProjectCache(documents, [policiesKind, modelsKind], (projectId) => this.fill(projectId))
  }

  /**
   * Compiles one policy at each step, after a start: no decision then waits for all policies of its project, and
   * policies that no longer compile are reported. Skips policies that are too large for the event loop.
   */
  *warming(): Steps<void> {
    const { maxInlineChars = Number.POSITIVE_INFINITY } = this.options
    for (const { id } of [...this.documents.all(projectsKind)]) {
      const model = modelFieldsOf(this.documents, id)
      if (model !== null) yield* compilingStoredModel(model)
      for (const document of this.documents.inScope(policiesKind, id)) {
        if (!isActiveDecisionPolicy(document) || textOf(document).length > maxInlineChars) continue
        this.compiledFrom(document, new CompileBudget())
        yield
      }
    }
  }

  /**
   * Returns the policies for a request, in the order of their creation. Compiles those that are not compiled yet;
   * throws LaneRequiredError (see the constructor).
   */
  find(projectId: string, subjectType: string, action: string, resourceType: string): PolicySet {
    const group = this.indexes.get(projectId).byRequest.get(subjectType)?.get(action)?.get(resourceType)
    return group === undefined ? noPolicies : (group.compiled ?? this.compile(group))
  }

  /** Returns every action that a policy names for these two types, each once. Compiles nothing. */
  actions(projectId: string, subjectType: string, resourceType: string): readonly string[] {
    const byAction = this.indexes.get(projectId).byRequest.get(subjectType)
    if (byAction === undefined) return []
    return [...byAction].flatMap(([action, byResource]) => (byResource.has(resourceType) ? [action] : []))
  }

  /** Returns every subject type that a policy names for this action and resource type, each once. Compiles nothing. */
  subjectTypes(projectId: string, action: string, resourceType: string): readonly string[] {
    const { byRequest } = this.indexes.get(projectId)
    return [...byRequest].flatMap(([type, byAction]) => (byAction.get(action)?.has(resourceType) ? [type] : []))
  }

  /** Returns the policies for a subject type, in the order of their creation. Compiles and throws like `find`. */
  ofSubjectType(projectId: string, subjectType: string): PolicySet {
    const group = this.indexes.get(projectId).bySubjectType.get(subjectType)
    return group === undefined ? noPolicies : (group.compiled ?? this.compile(group))
  }

  /** Returns all decision policies of a project, in the order of their creation. Compiles and throws like `find`. */
  all(projectId: string): PolicySet {
    return this.setOf(this.documents.inScope(policiesKind, projectId).filter(isActiveDecisionPolicy))
  }

  /**
   * Returns the active policies of a project with what their decisions depend on; null: the policy is not compiled yet, and is too
   * large for the event loop. Without those that no longer compile.
   */
  dependencies(projectId: string): readonly PolicyDependencies[] {
    const budget = new CompileBudget(this.options)
    return this.documents.inScope(policiesKind, projectId).flatMap((document): readonly PolicyDependencies[] => {
      const header = activeDecisionHeader(document)
      if (header === null) return []
      try {
        const compiled = this.compiledFrom(document, budget)
        return compiled === null ? [] : [{ header, dependencies: compiled.condition.dependencies }]
      } catch (error) {
        if (error instanceof LaneRequiredError) return [{ header, dependencies: null }]
        throw error
      }
    })
  }

  /** Indexes the policies of a project by their headers; compiles nothing. */
  private fill(projectId: string): ProjectPolicyIndex {
    const index: ProjectPolicyIndex = { byRequest: new Map(), bySubjectType: new Map() }
    for (const document of this.documents.inScope(policiesKind, projectId)) {
      if (!isActiveDecisionPolicy(document)) continue
      const { subjectType, actions, resourceType } = policyHeader(document.fields)
      memberOf(index.bySubjectType, subjectType, emptyGroup).documents.push(document)
      const byAction = memberOf(index.byRequest, subjectType, () => new Map<string, Map<string, PolicyGroup>>())
      for (const action of actions) {
        const byResource = memberOf(byAction, action, () => new Map<string, PolicyGroup>())
        memberOf(byResource, resourceType, emptyGroup).documents.push(document)
      }
    }
    return index
  }

  private compile(group: PolicyGroup): PolicySet {
    group.compiled = this.setOf(group.documents)
    return group.compiled
  }

  private setOf(documents: readonly StoredDocument[]): PolicySet {
    const budget = new CompileBudget(this.options)
    const compiled = documents.map((document) => this.compiledFrom(document, budget))
    const broken = documents.filter(({ fields }, i) => compiled[i] === null && policyHeader(fields).effect === 'forbid')
    return policySetOf(
      compiled.filter((policy) => policy !== null),
      broken.map(({ id, name, revision, fields }) => ({
        ...policyHeader(fields),
        version: policyHeader(fields).version as DecisionVersion,
        ...{ id, name, revision, tags: fields.tags as readonly string[] },
      })),
    )
  }

  private compiledFrom(document: StoredDocument, budget: CompileBudget): CompiledPolicy | null {
    const model = budget.modelOf(this.documents, document.project_id)
    return this.policies.get(model, document, () => {
      budget.charge(textOf(document).length, document, () => {
        this.compiledFrom(document, new CompileBudget())
        return null
      })
      return this.compilePolicy(document, model)
    })
  }

  private compilePolicy(document: StoredDocument, model: StoredModel): CompiledPolicy | null {
    const compiled = compiledDecisionPolicy(document.fields, model)
    // It compiled when it was stored, so the language has changed since.
    if (!compiled.ok) {
      const consequence =
        policyHeader(document.fields).effect === 'forbid' ? 'denies everything that it names' : 'grants nothing'
      this.report(
        `policy ${document.id} (${document.name}) no longer compiles and ${consequence}: ${compiled.error[0]}`,
      )
    }
    const { id, name, revision, fields } = document
    return compiled.ok ? { ...compiled.value, id, name, revision, tags: fields.tags as readonly string[] } : null
  }
}

/** As `Map.getOrInsertComputed`, which Node 20 does not have. */
function memberOf<T>(map: Map<string, T>, key: string, create: () => T): T {
  const found = map.get(key)
  if (found !== undefined) return found
  const created = create()
  map.set(key, created)
  return created
}

function emptyGroup(): PolicyGroup {
  return { documents: [], compiled: null }
}

function textOf({ fields }: StoredDocument): string {
  return fields.policy as string
}

/** The types and actions of an active decision policy; null for another document. */
export function activeDecisionHeader(document: StoredDocument): PolicyHeader | null {
  return isActiveDecisionPolicy(document) ? policyHeader(document.fields) : null
}

function isActiveDecisionPolicy({ fields }: StoredDocument): boolean {
  return fields.status === 'ACTIVE' && !isContextPolicy(fields)
}
