// The names in scope while a query is written, by what they hold.

export interface GeneratedScope {
  /** Nodes that are not null in any row. */
  nodes: string[]
  /** Nodes that may be null: from an optional match or a subquery. */
  maybe: string[]
  /** Relationships; may be null. */
  relationships: string[]
  /** Lists of relationships (a variable-length step); may be null. */
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

/** After WITH: only the kept names remain. */
export function restrict(scope: GeneratedScope, names: readonly string[]): void {
  for (const kind of kinds) scope[kind] = scope[kind].filter((name) => names.includes(name))
}

/** Nodes for use in expressions; every expression that is generated here accepts null. */
export const someNodes = (scope: GeneratedScope): string[] => [...scope.nodes, ...scope.maybe]

/** Returns names that no part of the query uses yet. */
export class NamesInScope {
  private count = 0
  fresh(letter: string): string {
    this.count += 1
    return `${letter}${this.count}`
  }
}
