// Definitions, as the binder reads them: relationship types that are derived by a query and not stored.
import type { Clause, QuantifiedPath, Query, RelationshipPattern } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import type { NamedSymbol, TabledDefinition } from './bound.ts'
import type { Dialect } from './dialect.ts'

/** One alternative of a definition: clauses after which both ends have a value, and in which a MATCH introduces them. */
export interface DefinitionBranch {
  /** The variable of the source. */
  readonly source: string
  /** The variable of the target. */
  readonly target: string
  readonly clauses: readonly Clause[]
  /** The end that must be given for the alternative to be needed: another one finds the same pairs otherwise. Null: always. */
  readonly needs: 'source' | 'target' | null
}

/** A derived relationship type. */
export interface Definition {
  readonly name: string
  readonly branches: readonly DefinitionBranch[]
  /** Whether it is evaluated with a table: it uses itself, directly or through others, or repeats another one. */
  readonly isTabled: boolean
  /** The step for which it was added; null for a definition of a model. */
  readonly step: RelationshipPattern | QuantifiedPath | null
}

/** A query whose repeated steps over derived relationships are plain steps over added definitions. */
export interface QueryDefinitions {
  readonly query: Query
  readonly definitions: Definitions
  /** The names of graph symbols in the repeated patterns. */
  readonly symbols: readonly NamedSymbol[]
  readonly diagnostics: readonly Diagnostic[]
  /** A diagnostic of the query as its author can understand it. */
  readonly explain: (diagnostic: Diagnostic) => Diagnostic
}

/** The derived relationship types that a query can use. */
export interface Definitions {
  has(name: string): boolean
  get(name: string): Definition | undefined
  /** The definitions of these names, and all that they use with a table, each with its alternatives bound. */
  tabled(names: Iterable<string>): readonly TabledDefinition[]
  /** The same definitions, each evaluated with a table of its alternatives as the text has them: an explanation shows these. */
  readonly written: Definitions
  /** The query with the definitions that its repeated steps need. */
  forQuery(query: Query, dialect: Dialect): QueryDefinitions
}

/** Without definitions, every relationship type is stored. */
export const noDefinitions: Definitions = {
  get written() {
    return noDefinitions
  },
  has: () => false,
  get: () => undefined,
  tabled: () => [],
  forQuery: (query) => ({ query, definitions: noDefinitions, symbols: [], diagnostics: [], explain: (one) => one }),
}
