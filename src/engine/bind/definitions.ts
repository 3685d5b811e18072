// Definitions, as the binder reads them: relationship types that are derived by a query and not stored.
import type { Clause } from '../../../grammar/ast.ts'
import type { TabledDefinition } from './bound.ts'

/** One alternative of a definition: clauses after which both ends have a value, and in which a MATCH introduces them. */
export interface DefinitionBranch {
  /** The variable of the source. */
  readonly source: string
  /** The variable of the target. */
  readonly target: string
  readonly clauses: readonly Clause[]
}

/** A derived relationship type. */
export interface Definition {
  readonly name: string
  readonly branches: readonly DefinitionBranch[]
  /** Whether the definition uses itself, directly or through others. */
  readonly isRecursive: boolean
}

/** The derived relationship types that a query can use. */
export interface Definitions {
  has(name: string): boolean
  get(name: string): Definition | undefined
  /** The definitions of these names, and all that they use with a table, each with its alternatives bound. */
  tabled(names: Iterable<string>): readonly TabledDefinition[]
}

/** Without definitions, every relationship type is stored. */
export const noDefinitions: Definitions = {
  has: () => false,
  get: () => undefined,
  tabled: () => [],
}
