// Caches one value per project that is computed from its configuration. A change to a document of the given kinds in
// the project discards the value; the next read computes it again.
import { type ConfigSource, projectsKind } from './kind.ts'

/** A cache of values computed from the configuration of one project each. */
export class PerProjectCache<T> {
  private readonly documents: ConfigSource
  private readonly compute: (projectId: string) => T
  private readonly values = new Map<string, T>()

  /**
   * `kinds`: the configuration kinds that `compute` reads. A change to a document of one of them invalidates its
   * project.
   */
  constructor(documents: ConfigSource, kinds: readonly string[], make: (projectId: string) => T) {
    this.documents = documents
    this.compute = make
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed === null) continue
        if (kinds.includes(changed.kind)) this.values.delete(changed.project_id)
        if (changed.kind === projectsKind && after === null) this.values.delete(changed.id)
      }
    })
  }

  /** Returns the cached value, or computes it. Caches it only if the project exists. */
  get(projectId: string): T {
    const cached = this.values.get(projectId)
    if (cached !== undefined) return cached
    const value = this.compute(projectId)
    // An unknown project id must not occupy memory.
    if (this.documents.get(projectsKind, projectId) !== null) this.values.set(projectId, value)
    return value
  }
}
