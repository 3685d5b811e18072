// The ACTIVE decision policies of each project, compiled, found by what a request names.
import { ByProject } from '../config/by-project.ts'
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { compiledFields, isContextPolicy, policiesKind } from './authorization-policy.ts'
import type { CompiledPolicy } from './compile-policy.ts'

export type { CompiledPolicy } from './compile-policy.ts'

interface Shelf {
  /** Subject type → action → resource type. */
  readonly byQuestion: Map<string, Map<string, Map<string, CompiledPolicy[]>>>
  /** In the order in which they were made. */
  readonly all: CompiledPolicy[]
}

const nothing: readonly CompiledPolicy[] = []

export class PolicyLibrary {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  /** By the stored revision itself; null does not compile any more. */
  private readonly policies = new WeakMap<StoredDocument, CompiledPolicy | null>()
  private readonly shelves: ByProject<Shelf>

  constructor(documents: ConfigSource, report: (line: string) => void) {
    this.documents = documents
    this.report = report
    this.shelves = new ByProject(documents, [policiesKind], (projectId) => this.fill(projectId))
  }

  /**
   * After a start: compiles one policy at each step, so that no decision waits for all of its project, and what does not
   * compile any more is told before somebody asks.
   */
  *warming(): Generator<void, void> {
    for (const { id } of [...this.documents.all('projects')]) {
      for (const document of this.documents.inScope(policiesKind, id)) {
        if (!decides(document)) continue
        this.compiledFrom(document)
        yield
      }
    }
  }

  /** In the order in which the policies were made. What is not compiled yet is compiled when its project is asked for. */
  find(projectId: string, subjectType: string, action: string, resourceType: string): readonly CompiledPolicy[] {
    return this.shelves.of(projectId).byQuestion.get(subjectType)?.get(action)?.get(resourceType) ?? nothing
  }

  /** Every action that a policy for these two types names, each once. */
  actions(projectId: string, subjectType: string, resourceType: string): readonly string[] {
    const byAction = this.shelves.of(projectId).byQuestion.get(subjectType)
    if (byAction === undefined) return []
    return [...byAction].flatMap(([action, byResource]) => (byResource.has(resourceType) ? [action] : []))
  }

  ofSubjectType(projectId: string, subjectType: string): readonly CompiledPolicy[] {
    return this.shelves.of(projectId).all.filter((policy) => policy.subjectType === subjectType)
  }

  private fill(projectId: string): Shelf {
    const shelf: Shelf = { byQuestion: new Map(), all: [] }
    for (const document of this.documents.inScope(policiesKind, projectId)) {
      const policy = decides(document) ? this.compiledFrom(document) : null
      if (policy === null) continue
      shelf.all.push(policy)
      const byAction = shelf.byQuestion.getOrInsertComputed(
        policy.subjectType,
        () => new Map<string, Map<string, CompiledPolicy[]>>(),
      )
      for (const action of policy.actions) {
        const byResource = byAction.getOrInsertComputed(action, () => new Map<string, CompiledPolicy[]>())
        byResource.getOrInsertComputed(policy.resourceType, () => []).push(policy)
      }
    }
    return shelf
  }

  private compiledFrom(document: StoredDocument): CompiledPolicy | null {
    const known = this.policies.get(document)
    if (known !== undefined) return known
    const compiled = compiledFields(document.fields)
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

function decides({ fields }: StoredDocument): boolean {
  return fields.status === 'ACTIVE' && !isContextPolicy(fields)
}
