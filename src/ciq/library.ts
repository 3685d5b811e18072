// The ACTIVE knowledge queries of each project with their policies, compiled, found by id or by name.
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { type CompiledQuery, compileStored } from './compile-query.ts'
import { queriesKind } from './knowledge-query.ts'

export type { CompiledQuery } from './compile-query.ts'

export class QueryLibrary {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  /** By project: by id and by name. A change of any query or policy of the project makes it anew. */
  private readonly shelves = new Map<string, ReadonlyMap<string, CompiledQuery>>()

  constructor(documents: ConfigSource, report: (line: string) => void) {
    this.documents = documents
    this.report = report
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed?.kind === queriesKind || changed?.kind === policiesKind) this.shelves.delete(changed.project_id)
        if (changed?.kind === 'projects' && after === null) this.shelves.delete(changed.id)
      }
    })
  }

  /** Null: there is none of that id or name, or it is not ACTIVE, or its policy is not. */
  find(projectId: string, key: string): CompiledQuery | null {
    return this.shelf(projectId).get(key) ?? null
  }

  /** Of the project, in the order in which they were made. */
  all(projectId: string): readonly CompiledQuery[] {
    return [...new Set(this.shelf(projectId).values())]
  }

  private shelf(projectId: string): ReadonlyMap<string, CompiledQuery> {
    const known = this.shelves.get(projectId)
    if (known !== undefined) return known
    const shelf = new Map<string, CompiledQuery>()
    const active = this.documents.inScope(queriesKind, projectId).filter(({ fields }) => fields.status === 'ACTIVE')
    // An id wins over a name: names cannot look like ids.
    for (const document of active) {
      const query = this.compiled(document)
      if (query === null) continue
      shelf.set(document.name, query)
      shelf.set(document.id, query)
    }
    if (this.documents.get('projects', projectId) !== null) this.shelves.set(projectId, shelf)
    return shelf
  }

  private compiled(stored: StoredDocument): CompiledQuery | null {
    const policy = this.documents.get(policiesKind, stored.fields.policy_id as string)
    if (policy === null || policy.fields.status !== 'ACTIVE') return null
    const compiled = compileStored(stored, policy)
    // It was held against its policy when it was stored; the policy may have been changed since.
    if (!compiled.ok) this.report(`knowledge query ${stored.id} (${stored.name}) cannot be run: ${compiled.error[0]}`)
    return compiled.ok ? compiled.value : null
  }
}
