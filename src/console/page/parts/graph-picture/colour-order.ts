// Which kind of nodes has which colour, by the names of the kinds.

/**
 * Kinds in the order of their colours: by name, so that a kind has the same colour whatever was read first. `known`: of the data schema,
 * which has all kinds of the graph; others come after them.
 */
export function colourOrder(known: readonly string[], others: Iterable<string> = []): readonly string[] {
  const byName = (names: Iterable<string>): string[] => [...new Set(names)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const first = byName(known)
  const isKnown = new Set(first)
  return [...first, ...byName([...others].filter((name) => !isKnown.has(name)))]
}

/** The index of each kind, in the order of the list; another kind has the index after the last. */
export function colourIndex(kinds: readonly string[]): (kind: string) => number {
  const indexes = new Map(kinds.map((kind, index) => [kind, index]))
  return (kind) => indexes.get(kind) ?? kinds.length
}
