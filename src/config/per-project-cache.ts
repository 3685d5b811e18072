// What a feature makes of the configuration of one project: made when it is asked for, and made anew after a change of
// a document of certain kinds in that project.
import type { ConfigSource } from './kind.ts'

export class PerProjectCache<T> {
  private readonly documents: ConfigSource
  private readonly compute: (projectId: string) => T
  private readonly values = new Map<string, T>()

  constructor(documents: ConfigSource, kinds: readonly string[], make: (projectId: string) => T) {
    this.documents = documents
    this.compute = make
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed === null) continue
        if (kinds.includes(changed.kind)) this.values.delete(changed.project_id)
        if (changed.kind === 'projects' && after === null) this.values.delete(changed.id)
      }
    })
  }

  get(projectId: string): T {
    const known = this.values.get(projectId)
    if (known !== undefined) return known
    const made = this.compute(projectId)
    // What is not a project must not stay in memory because somebody asked for it.
    if (this.documents.get('projects', projectId) !== null) this.values.set(projectId, made)
    return made
  }
}
