// The ACTIVE knowledge queries of each project with their policies, compiled, found by id or by name.
import { ByProject } from '../config/by-project.ts'
import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import type { Result } from '../kernel/result.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { type CompiledQuery, compileStored, type Unrunnable } from './compile-query.ts'
import { queriesKind } from './knowledge-query.ts'
import { APPLICATION } from './parameters.ts'

export type { CompiledQuery } from './compile-query.ts'

/** By id and by name. */
interface Shelf {
  readonly queries: ReadonlyMap<string, CompiledQuery>
  /** Of queries that ask for more than their policies allow now: what it is. */
  readonly refusals: ReadonlyMap<string, string>
}

interface Known {
  readonly policy: StoredDocument
  readonly compiled: Result<CompiledQuery, Unrunnable>
}

export class QueryLibrary {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  private readonly shelves: ByProject<Shelf>
  /** By stored query, which is never changed: a new revision is another one, of its policy too. */
  private readonly known = new WeakMap<StoredDocument, Known>()

  constructor(documents: ConfigSource, report: (line: string) => void) {
    this.documents = documents
    this.report = report
    this.shelves = new ByProject(documents, [queriesKind, policiesKind], (projectId) => this.fill(projectId))
  }

  /** After a start: compiles one query at each step, and reports what does not compile any more. */
  *warming(): Generator<void, void> {
    for (const { id } of [...this.documents.all('projects')]) {
      for (const document of this.documents.inScope(queriesKind, id)) {
        if (document.fields.status !== 'ACTIVE') continue
        this.compiled(document)
        yield
      }
    }
  }

  /** Null: there is none of that id or name, or it is not ACTIVE, or its policy is not. */
  find(projectId: string, key: string): CompiledQuery | null {
    return this.shelves.of(projectId).queries.get(key) ?? null
  }

  /** What an ACTIVE query asks for beyond its ACTIVE policy, which was changed since (ruling C3); null: nothing. */
  refusal(projectId: string, key: string): string | null {
    return this.shelves.of(projectId).refusals.get(key) ?? null
  }

  /** Of the project, in the order in which they were made. */
  all(projectId: string): readonly CompiledQuery[] {
    return [...new Set(this.shelves.of(projectId).queries.values())]
  }

  private fill(projectId: string): Shelf {
    const queries = new Map<string, CompiledQuery>()
    const refusals = new Map<string, string>()
    const active = this.documents.inScope(queriesKind, projectId).filter(({ fields }) => fields.status === 'ACTIVE')
    // An id wins over a name: names cannot look like ids.
    for (const document of active) {
      const compiled = this.compiled(document)
      for (const key of [document.name, document.id]) {
        if (compiled?.ok) queries.set(key, compiled.value)
        else if (compiled?.error.kind === 'beyond-policy') refusals.set(key, compiled.error.issue)
      }
    }
    return { queries, refusals }
  }

  private compiled(stored: StoredDocument): Result<CompiledQuery, Unrunnable> | null {
    const policy = this.documents.get(policiesKind, stored.fields.policy_id as string)
    if (policy === null || policy.fields.status !== 'ACTIVE') return null
    const known = this.known.get(stored)
    if (known?.policy === policy) return known.compiled
    const compiled = compileStored(stored, policy)
    this.known.set(stored, { policy, compiled })
    // It was held against its policy when it was stored; the policy may have been changed since.
    if (!compiled.ok)
      this.report(`knowledge query ${stored.id} (${stored.name}) cannot be run: ${compiled.error.issue}`)
    return compiled
  }
}

type Shelves = Pick<QueryLibrary, 'find' | 'refusal' | 'all'>

/**
 * For callers who show the token of a person and no key of the application: what asks for the application itself is not
 * there, since nobody has shown that it asks.
 */
export function queriesOfPersons(library: Shelves): Shelves {
  const isOfPersons = ({ policy }: CompiledQuery): boolean => policy.document.subject.type !== APPLICATION
  return {
    find(projectId, key) {
      const found = library.find(projectId, key)
      return found !== null && isOfPersons(found) ? found : null
    },
    refusal: (projectId, key) => library.refusal(projectId, key),
    all: (projectId) => library.all(projectId).filter(isOfPersons),
  }
}
