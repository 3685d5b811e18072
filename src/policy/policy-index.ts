// The ACTIVE decision policies of each project, found by what a request names, and compiled when a question needs them.

import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { compiledDecisionPolicy, headOf, policiesKind } from './authorization-policy.ts'
import { CompileBudget, type IndexOptions } from './compile-budget.ts'
import type { CompiledPolicy } from './compile-policy.ts'

export type { CompiledPolicy } from './compile-policy.ts'

/** Policies of one question or one type of subject. */
interface PolicyGroup {
  readonly documents: StoredDocument[]
  /** Null until they are asked for. */
  compiled: readonly CompiledPolicy[] | null
}

interface ProjectPolicyIndex {
  /** Subject type → action → resource type. */
  readonly byQuestion: Map<string, Map<string, Map<string, PolicyGroup>>>
  readonly bySubjectType: Map<string, PolicyGroup>
}

const nothing: readonly CompiledPolicy[] = []

export class PolicyIndex {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  private readonly options: IndexOptions
  /** By the stored revision itself; null does not compile any more. */
  private readonly policies = new WeakMap<StoredDocument, CompiledPolicy | null>()
  private readonly shelves: PerProjectCache<ProjectPolicyIndex>

  /**
   * `report` is called with a line for the operator about each policy that does not compile any more. With
   * `options.inlineTextMax`, `find` and `ofSubjectType` throw LaneRequiredError where they would compile more than that.
   */
  constructor(documents: ConfigSource, report: (line: string) => void, options: IndexOptions = {}) {
    this.documents = documents
    this.report = report
    this.options = options
    this.shelves = new PerProjectCache(documents, [policiesKind], (projectId) => this.fill(projectId))
  }

  /**
   * After a start: compiles one policy at each step, so that no decision waits for all of its project, and the operator
   * learns of what does not compile any more. Policies that are too large for the serving loop are left out.
   */
  *warming(): Generator<void, void> {
    const { maxInlineChars = Number.POSITIVE_INFINITY } = this.options
    for (const { id } of [...this.documents.all('projects')]) {
      for (const document of this.documents.inScope(policiesKind, id)) {
        if (!decides(document) || textOf(document).length > maxInlineChars) continue
        this.compiledFrom(document, new CompileBudget())
        yield
      }
    }
  }

  /** In the order in which the policies were made. Compiles those that are not compiled yet. */
  find(projectId: string, subjectType: string, action: string, resourceType: string): readonly CompiledPolicy[] {
    const group = this.shelves.get(projectId).byQuestion.get(subjectType)?.get(action)?.get(resourceType)
    return group === undefined ? nothing : (group.compiled ?? this.compile(group))
  }

  /** Every action that a policy for these two types names, each once. Compiles nothing. */
  actions(projectId: string, subjectType: string, resourceType: string): readonly string[] {
    const byAction = this.shelves.get(projectId).byQuestion.get(subjectType)
    if (byAction === undefined) return []
    return [...byAction].flatMap(([action, byResource]) => (byResource.has(resourceType) ? [action] : []))
  }

  ofSubjectType(projectId: string, subjectType: string): readonly CompiledPolicy[] {
    const group = this.shelves.get(projectId).bySubjectType.get(subjectType)
    return group === undefined ? nothing : (group.compiled ?? this.compile(group))
  }

  /** By the names in the documents: nothing is compiled for it, and each revision of a document is read once. */
  private fill(projectId: string): ProjectPolicyIndex {
    const shelf: ProjectPolicyIndex = { byQuestion: new Map(), bySubjectType: new Map() }
    for (const document of this.documents.inScope(policiesKind, projectId)) {
      if (!decides(document)) continue
      const { subjectType, actions, resourceType } = headOf(document.fields)
      shelf.bySubjectType.getOrInsertComputed(subjectType, emptyGroup).documents.push(document)
      const byAction = shelf.byQuestion.getOrInsertComputed(
        subjectType,
        () => new Map<string, Map<string, PolicyGroup>>(),
      )
      for (const action of actions) {
        const byResource = byAction.getOrInsertComputed(action, () => new Map<string, PolicyGroup>())
        byResource.getOrInsertComputed(resourceType, emptyGroup).documents.push(document)
      }
    }
    return shelf
  }

  private compile(group: PolicyGroup): readonly CompiledPolicy[] {
    const allowance = new CompileBudget(this.options)
    const compiled = group.documents.map((document) => this.compiledFrom(document, allowance))
    group.compiled = compiled.filter((policy) => policy !== null)
    return group.compiled
  }

  private compiledFrom(document: StoredDocument, allowance: CompileBudget): CompiledPolicy | null {
    const known = this.policies.get(document)
    if (known !== undefined) return known
    allowance.charge(textOf(document).length, document, () => this.compiledFrom(document, new CompileBudget()))
    const compiled = compiledDecisionPolicy(document.fields)
    // It compiled when it was stored, so the language has changed since: it grants nothing, and the operator is told.
    if (!compiled.ok) {
      this.report(`policy ${document.id} (${document.name}) grants nothing, it does not compile: ${compiled.error[0]}`)
    }
    const { id, name, revision, fields } = document
    const policy = compiled.ok
      ? { ...compiled.value, id, name, revision, tags: fields.tags as readonly string[] }
      : null
    this.policies.set(document, policy)
    return policy
  }
}

function emptyGroup(): PolicyGroup {
  return { documents: [], compiled: null }
}

function textOf({ fields }: StoredDocument): string {
  return fields.policy as string
}

function decides({ fields }: StoredDocument): boolean {
  return fields.status === 'ACTIVE' && !headOf(fields).isContext
}
