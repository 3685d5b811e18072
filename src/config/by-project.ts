// What a feature makes of the configuration of one project: made when it is asked for, and made anew after a change of
// a document of certain kinds in that project.
import type { ConfigSource } from './kind.ts'

export class ByProject<T> {
  private readonly documents: ConfigSource
  private readonly make: (projectId: string) => T
  private readonly made = new Map<string, T>()

  constructor(documents: ConfigSource, kinds: readonly string[], make: (projectId: string) => T) {
    this.documents = documents
    this.make = make
    documents.subscribe((changes) => {
      for (const { before, after } of changes) {
        const changed = after ?? before
        if (changed === null) continue
        if (kinds.includes(changed.kind)) this.made.delete(changed.project_id)
        if (changed.kind === 'projects' && after === null) this.made.delete(changed.id)
      }
    })
  }

  of(projectId: string): T {
    const known = this.made.get(projectId)
    if (known !== undefined) return known
    const made = this.make(projectId)
    // What is not a project must not stay in memory because somebody asked for it.
    if (this.documents.get('projects', projectId) !== null) this.made.set(projectId, made)
    return made
  }
}
