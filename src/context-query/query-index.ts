// The ACTIVE knowledge queries of each project with their policies, found by id or by name, compiled when needed.

import type { ConfigSource, StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import type { Result } from '../kernel/result.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { CompileBudget, type IndexOptions } from '../policy/compile-budget.ts'
import { type CompiledQuery, compileStoredQuery, type QueryCompileError } from './compile-query.ts'
import { queriesKind } from './knowledge-query.ts'
import { APPLICATION_TYPE } from './parameters.ts'

export type { CompiledQuery } from './compile-query.ts'

/** The ACTIVE queries by id and by name, in the order in which they were made. */
interface ProjectQueryIndex {
  readonly byKey: ReadonlyMap<string, StoredDocument>
  readonly active: readonly StoredDocument[]
}

interface CachedQuery {
  readonly policy: StoredDocument
  readonly compiled: Result<CompiledQuery, QueryCompileError>
}

export class QueryIndex {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  private readonly options: IndexOptions
  private readonly shelves: PerProjectCache<ProjectQueryIndex>
  /** By stored query, which is never changed: a new revision is another one, of its policy too. */
  private readonly known = new WeakMap<StoredDocument, CachedQuery>()

  /**
   * `report` is called with a line for the operator about each query that cannot be run. With `options.inlineTextMax`,
   * a method that would compile more than so many characters of queries and policies throws LaneRequiredError.
   */
  constructor(documents: ConfigSource, report: (line: string) => void, options: IndexOptions = {}) {
    this.documents = documents
    this.report = report
    this.options = options
    this.shelves = new PerProjectCache(documents, [queriesKind, policiesKind], (projectId) => this.fill(projectId))
  }

  /**
   * After a start: compiles one query at each step, and reports what does not compile any more. Queries that are too large
   * for the serving loop are left out.
   */
  *warming(): Generator<void, void> {
    for (const { id } of [...this.documents.all('projects')]) {
      for (const document of this.documents.inScope(queriesKind, id)) {
        if (document.fields.status !== 'ACTIVE') continue
        try {
          this.compiled(document, new CompileBudget(this.options))
        } catch (refusal) {
          if (!(refusal instanceof LaneRequiredError)) throw refusal
        }
        yield
      }
    }
  }

  /** Null: there is none of that id or name, or it is not ACTIVE, or its policy is not. */
  find(projectId: string, key: string): CompiledQuery | null {
    const compiled = this.compiledFor(projectId, key)
    return compiled?.ok ? compiled.value : null
  }

  /** What an ACTIVE query asks for beyond its ACTIVE policy, which was changed since (ruling C3); null: nothing. */
  policyViolation(projectId: string, key: string): string | null {
    const compiled = this.compiledFor(projectId, key)
    return compiled?.ok === false && compiled.error.kind === 'beyond-policy' ? compiled.error.issue : null
  }

  /** Of the project, in the order in which they were made. */
  all(projectId: string): readonly CompiledQuery[] {
    const allowance = new CompileBudget(this.options)
    return this.shelves.get(projectId).active.flatMap((document) => {
      const compiled = this.compiled(document, allowance)
      return compiled?.ok ? [compiled.value] : []
    })
  }

  private fill(projectId: string): ProjectQueryIndex {
    const active = this.documents.inScope(queriesKind, projectId).filter(({ fields }) => fields.status === 'ACTIVE')
    // An id wins over a name: names cannot look like ids.
    return { byKey: new Map(active.flatMap((one) => [[one.name, one] as const, [one.id, one] as const])), active }
  }

  private compiledFor(projectId: string, key: string): Result<CompiledQuery, QueryCompileError> | null {
    const document = this.shelves.get(projectId).byKey.get(key)
    return document === undefined ? null : this.compiled(document, new CompileBudget(this.options))
  }

  private compiled(stored: StoredDocument, allowance: CompileBudget): Result<CompiledQuery, QueryCompileError> | null {
    const policy = this.documents.get(policiesKind, stored.fields.policy_id as string)
    if (policy === null || policy.fields.status !== 'ACTIVE') return null
    const known = this.known.get(stored)
    if (known?.policy === policy) return known.compiled
    const characters = (stored.fields.query as string).length + (policy.fields.policy as string).length
    allowance.charge(characters, stored, () => this.compiled(stored, new CompileBudget()))
    const compiled = compileStoredQuery(stored, policy)
    this.known.set(stored, { policy, compiled })
    // It was held against its policy when it was stored; the policy may have been changed since.
    if (!compiled.ok)
      this.report(`knowledge query ${stored.id} (${stored.name}) cannot be run: ${compiled.error.issue}`)
    return compiled
  }
}

type QueryLookup = Pick<QueryIndex, 'find' | 'policyViolation' | 'all'>

/**
 * For callers who show the token of a person and no key of the application: what asks for the application itself is not
 * there, since nobody has shown that it asks.
 */
export function endUserQueries(library: QueryLookup): QueryLookup {
  const isOfPersons = ({ policy }: CompiledQuery): boolean => policy.document.subject.type !== APPLICATION_TYPE
  return {
    find(projectId, key) {
      const found = library.find(projectId, key)
      return found !== null && isOfPersons(found) ? found : null
    },
    policyViolation: (projectId, key) => library.policyViolation(projectId, key),
    all: (projectId) => library.all(projectId).filter(isOfPersons),
  }
}
