// The names that are in reach while a query is written, by what they hold.

export interface GeneratedScope {
  /** Nodes that are there in every row. */
  nodes: string[]
  /** Nodes that may be null: an optional match or a subquery brought them in. */
  maybe: string[]
  /** Relationships; may be null. */
  relationships: string[]
  /** Lists of relationships (a step of variable length); may be null. */
  trails: string[]
  /** Numbers or null. */
  numbers: string[]
  /** Lists of nodes. */
  lists: string[]
  /** Named paths; may be null. */
  paths: string[]
}

export const emptyScope = (): GeneratedScope => ({
  nodes: [],
  maybe: [],
  relationships: [],
  trails: [],
  numbers: [],
  lists: [],
  paths: [],
})

export function copyOf(scope: GeneratedScope): GeneratedScope {
  const copy = emptyScope()
  for (const kind of kinds) copy[kind] = [...scope[kind]]
  return copy
}

export const kinds = Object.keys(emptyScope()) as (keyof GeneratedScope)[]

export const allNames = (scope: GeneratedScope): string[] => kinds.flatMap((kind) => scope[kind])

/** After WITH: what is not among the names is gone. */
export function restrict(scope: GeneratedScope, names: readonly string[]): void {
  for (const kind of kinds) scope[kind] = scope[kind].filter((name) => names.includes(name))
}

/** Nodes to ask something of; null has an answer to everything that is asked here. */
export const someNodes = (scope: GeneratedScope): string[] => [...scope.nodes, ...scope.maybe]

/** Hands out names that no part of the query has yet. */
export class NamesInScope {
  private count = 0
  fresh(letter: string): string {
    this.count += 1
    return `${letter}${this.count}`
  }
}
