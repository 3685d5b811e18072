// Index of the ACTIVE knowledge queries of each project by id and name. Queries are compiled on first use.

import { type ConfigSource, projectsKind, queriesKind, type StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { CompiledForPair, CompiledOnce } from '../kernel/compiled-once.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { Result } from '../kernel/result.ts'
import { modelsKind, type StoredModel } from '../model/stored-model.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { CompileBudget, type IndexOptions } from '../policy/compile-budget.ts'
import { type CompiledQuery, compileStoredQuery, type QueryCompileError } from './compile-query.ts'
import { APPLICATION_TYPE } from './parameters.ts'

export type { CompiledQuery } from './compile-query.ts'

/** The ACTIVE queries of one project, in the order of their creation. */
interface ProjectQueryIndex {
  readonly byKey: ReadonlyMap<string, StoredDocument>
  readonly active: readonly StoredDocument[]
}

type QueryCompilation = Result<CompiledQuery, QueryCompileError>

/** Finds the knowledge queries of a project. */
export class QueryIndex {
  private readonly documents: ConfigSource
  private readonly report: (line: string) => void
  private readonly options: IndexOptions
  private readonly indexes: PerProjectCache<ProjectQueryIndex>
  /** Compiled queries by model, stored policy and stored query: a query is compiled again when one of them changes. */
  private readonly byPolicy = new CompiledForPair<
    StoredModel,
    StoredDocument,
    CompiledOnce<StoredDocument, QueryCompilation>
  >()

  /**
   * `report` receives a log line for each query that cannot run. With `options.maxInlineChars`, a method that would
   * compile more characters of queries and policies throws LaneRequiredError.
   */
  constructor(documents: ConfigSource, report: (line: string) => void, options: IndexOptions = {}) {
    this.documents = documents
    this.report = report
    this.options = options
    this.indexes = new PerProjectCache(documents, [queriesKind, policiesKind, modelsKind], (projectId) =>
      this.fill(projectId),
    )
  }

  /**
   * Compiles one query at each step, after a start, and reports those that no longer compile. Skips queries that are
   * too large for the event loop.
   */
  *warming(): Generator<void, void> {
    for (const { id } of [...this.documents.all(projectsKind)]) {
      for (const document of this.documents.inScope(queriesKind, id)) {
        if (document.fields.status !== 'ACTIVE') continue
        try {
          this.compiled(document, new CompileBudget(this.options))
        } catch (error) {
          if (!(error instanceof LaneRequiredError)) throw error
        }
        yield
      }
    }
  }

  /**
   * Returns the query with this id or name; null if it or its policy does not exist or is not ACTIVE. Throws
   * LaneRequiredError (see the constructor).
   */
  find(projectId: string, key: string): CompiledQuery | null {
    const compiled = this.compiledFor(projectId, key)
    return compiled?.ok ? compiled.value : null
  }

  /** Returns how an ACTIVE query exceeds its policy, if the policy was changed after the query; otherwise null. */
  policyViolation(projectId: string, key: string): string | null {
    const compiled = this.compiledFor(projectId, key)
    return compiled?.ok === false && compiled.error.kind === 'beyond-policy' ? compiled.error.issue : null
  }

  /** Returns all ACTIVE queries of a project, in the order of their creation. */
  all(projectId: string): readonly CompiledQuery[] {
    const budget = new CompileBudget(this.options)
    return this.indexes.get(projectId).active.flatMap((document) => {
      const compiled = this.compiled(document, budget)
      return compiled?.ok ? [compiled.value] : []
    })
  }

  private fill(projectId: string): ProjectQueryIndex {
    const active = this.documents.inScope(queriesKind, projectId).filter(({ fields }) => fields.status === 'ACTIVE')
    // An id takes precedence; names cannot have the form of an id.
    return { byKey: new Map(active.flatMap((one) => [[one.name, one] as const, [one.id, one] as const])), active }
  }

  private compiledFor(projectId: string, key: string): QueryCompilation | null {
    const document = this.indexes.get(projectId).byKey.get(key)
    return document === undefined ? null : this.compiled(document, new CompileBudget(this.options))
  }

  private compiled(stored: StoredDocument, budget: CompileBudget): QueryCompilation | null {
    const policy = this.documents.get(policiesKind, stored.fields.policy_id as string)
    if (policy === null || policy.fields.status !== 'ACTIVE') return null
    const model = budget.modelOf(this.documents, stored.project_id)
    const queries = this.byPolicy.get(model, policy, () => new CompiledOnce())
    return queries.get(stored, () => {
      const characters = (stored.fields.query as string).length + (policy.fields.policy as string).length
      budget.charge(characters, stored, () => {
        this.compiled(stored, new CompileBudget())
        return null
      })
      return this.compile(stored, policy, model)
    })
  }

  private compile(stored: StoredDocument, policy: StoredDocument, model: StoredModel): QueryCompilation {
    const compiled = compileStoredQuery(stored, policy, model)
    // It passed the check when it was stored; the policy may have changed since.
    if (!compiled.ok)
      this.report(`knowledge query ${stored.id} (${stored.name}) cannot be run: ${compiled.error.issue}`)
    return compiled
  }
}

/** The queries that a caller may run. */
export interface QueryLookup extends Pick<QueryIndex, 'find' | 'policyViolation' | 'all'> {
  /** Whether the query exists, but only for callers with the key of the application. */
  isForApplicationOnly(projectId: string, key: string): boolean
}

/** Whether the subject of a query is the application of the calling agent. */
export function isApplicationQuery({ policy }: CompiledQuery): boolean {
  return policy.document.subject.type === APPLICATION_TYPE
}

/** All queries. */
export function allQueries(index: QueryIndex): QueryLookup {
  return {
    find: (projectId, key) => index.find(projectId, key),
    policyViolation: (projectId, key) => index.policyViolation(projectId, key),
    all: (projectId) => index.all(projectId),
    isForApplicationOnly: () => false,
  }
}

/**
 * The queries that an end user may run: a caller with a user token and no application key cannot run queries whose
 * subject is the application.
 */
export function endUserQueries(index: QueryIndex): QueryLookup {
  return {
    find(projectId, key) {
      const found = index.find(projectId, key)
      return found === null || isApplicationQuery(found) ? null : found
    },
    policyViolation: (projectId, key) => index.policyViolation(projectId, key),
    all: (projectId) => index.all(projectId).filter((query) => !isApplicationQuery(query)),
    isForApplicationOnly(projectId, key) {
      const found = index.find(projectId, key)
      return found !== null && isApplicationQuery(found)
    },
  }
}
