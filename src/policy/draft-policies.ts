// The decision policies of a project as if its DRAFT policies were ACTIVE too, for requests that ask about drafts. A DRAFT may hold
// any text; one that does not compile is reported and grants nothing.
import { type ConfigSource, projectsKind, type StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { CompiledForPair } from '../kernel/compiled-once.ts'
import { modelsKind, type StoredModel } from '../model/stored-model.ts'
import { policiesKind } from './authorization-policy.ts'
import { CompileBudget, type IndexOptions } from './compile-budget.ts'
import { joinedSets, type PolicySet, policySetOf } from './compile-policy.ts'
import { compiledDecisionPolicy } from './compiled-policies.ts'
import { isContextPolicy, policyHeader } from './policy-header.ts'
import type { PolicyIndex } from './policy-index.ts'

/** A DRAFT that does not compile. */
export interface BrokenDraft {
  readonly id: string
  readonly name: string
  /** Empty for a document without them. */
  readonly actions: readonly string[]
  readonly subjectType: string
  readonly resourceType: string
  /** For its author. */
  readonly issues: readonly string[]
}

/** Finds the policies of requests about drafts. */
export class DraftPolicies {
  private readonly documents: ConfigSource
  private readonly active: PolicyIndex
  private readonly options: IndexOptions
  private readonly drafts: PerProjectCache<readonly StoredDocument[]>
  private readonly compiled = new CompiledForPair<StoredModel, StoredDocument['fields'], true>()

  /** `active`: the ACTIVE policies. `options`: as for `PolicyIndex`. */
  constructor(documents: ConfigSource, active: PolicyIndex, options: IndexOptions = {}) {
    this.documents = documents
    this.active = active
    this.options = options
    this.drafts = new PerProjectCache(documents, [policiesKind, modelsKind, projectsKind], (projectId) =>
      documents
        .inScope(policiesKind, projectId)
        .filter(({ fields }) => fields.status === 'DRAFT' && !isContextPolicy(fields)),
    )
  }

  /** As `PolicyIndex.find`, and the drafts that compile. */
  find(projectId: string, subjectType: string, action: string, resourceType: string): PolicySet {
    const matches = this.matching(projectId, subjectType, action, resourceType)
    return joinedSets(this.active.find(projectId, subjectType, action, resourceType), this.compiledOf(matches))
  }

  /** As `PolicyIndex.actions`, with the actions of drafts. */
  actions(projectId: string, subjectType: string, resourceType: string): readonly string[] {
    const drafted = this.drafts.get(projectId).flatMap(({ fields }) => {
      const header = policyHeader(fields)
      return header.subjectType === subjectType && header.resourceType === resourceType ? header.actions : []
    })
    return [...new Set([...this.active.actions(projectId, subjectType, resourceType), ...drafted])]
  }

  /** As `PolicyIndex.subjectTypes`, with those of drafts. */
  subjectTypes(projectId: string, action: string, resourceType: string): readonly string[] {
    const drafted = this.drafts.get(projectId).flatMap(({ fields }) => {
      const header = policyHeader(fields)
      return header.resourceType === resourceType && header.actions.includes(action) ? [header.subjectType] : []
    })
    return [...new Set([...this.active.subjectTypes(projectId, action, resourceType), ...drafted])]
  }

  /** As `PolicyIndex.ofSubjectType`, and the drafts that compile. */
  ofSubjectType(projectId: string, subjectType: string): PolicySet {
    const drafts = this.drafts.get(projectId).filter(({ fields }) => policyHeader(fields).subjectType === subjectType)
    return joinedSets(this.active.ofSubjectType(projectId, subjectType), this.compiledOf(drafts))
  }

  /** As `PolicyIndex.all`, and the drafts that compile. */
  all(projectId: string): PolicySet {
    return joinedSets(this.active.all(projectId), this.compiledOf(this.drafts.get(projectId)))
  }

  /** The drafts that would be policies of the request, and do not compile. */
  broken(projectId: string, subjectType: string, action: string, resourceType: string): readonly BrokenDraft[] {
    return this.brokenOf(this.matching(projectId, subjectType, action, resourceType))
  }

  /** All drafts of the project that do not compile. */
  allBroken(projectId: string): readonly BrokenDraft[] {
    return this.brokenOf(this.drafts.get(projectId))
  }

  private matching(projectId: string, subjectType: string, action: string, resourceType: string) {
    return this.drafts.get(projectId).filter(({ fields }) => {
      const header = policyHeader(fields)
      return (
        header.subjectType === subjectType && header.resourceType === resourceType && header.actions.includes(action)
      )
    })
  }

  private compiledOf(drafts: readonly StoredDocument[]): PolicySet {
    const budget = new CompileBudget(this.options)
    const policies = drafts.flatMap((document) => {
      const compiled = this.compile(document, budget)
      const { id, name, revision, fields } = document
      return compiled.ok ? [{ ...compiled.value, id, name, revision, tags: fields.tags as readonly string[] }] : []
    })
    return policySetOf(policies)
  }

  private brokenOf(drafts: readonly StoredDocument[]): readonly BrokenDraft[] {
    const budget = new CompileBudget(this.options)
    return drafts.flatMap((document) => {
      const compiled = this.compile(document, budget)
      const { id, name, fields } = document
      return compiled.ok ? [] : [{ id, name, ...policyHeader(fields), issues: compiled.error }]
    })
  }

  /** Compiled once for each revision and model. */
  private compile({ project_id, fields }: StoredDocument, budget: CompileBudget) {
    const text = fields.policy as string
    const model = budget.modelOf(this.documents, project_id)
    this.compiled.get(model, fields, () => {
      budget.charge(text.length, fields, () => {
        compiledDecisionPolicy(fields, model)
        return null
      })
      return true
    })
    return compiledDecisionPolicy(fields, model)
  }
}
