// Finds the patterns of a query that a search must match (a selector or a quantified path pattern) where there may be no match.
import { parse } from '../../grammar/index.ts'

const PLACES = {
  exists: 'EXISTS',
  'count-subquery': 'COUNT',
  'collect-subquery': 'COLLECT',
  call: 'CALL',
  match: 'OPTIONAL MATCH',
} as const
/** An outer place counts only if no inner one is nearer. */
export type SearchedPlace = (typeof PLACES)[keyof typeof PLACES]

/** One entry for each such pattern: the innermost optional place around it, and its selector or `quantified`. */
export function searchedPlaces(text: string): readonly string[] {
  const parsed = parse(text)
  if (!parsed.ok) return []
  const found: string[] = []
  const look = (tree: unknown, place: SearchedPlace | null): void => {
    if (tree === null || typeof tree !== 'object') return
    const { kind, optional, selector, relationships } = tree as {
      kind?: string
      optional?: boolean
      selector?: { keep: string; count: number } | null
      relationships?: readonly { kind: string }[]
    }
    const isPlace = kind !== undefined && kind in PLACES && (kind !== 'match' || optional === true)
    const here = isPlace ? PLACES[kind as keyof typeof PLACES] : place
    if (kind === 'path' && here !== null) {
      if (selector) found.push(`${here} ${selector.keep}`)
      else if (relationships?.some((step) => step.kind === 'quantified-path')) found.push(`${here} quantified`)
    }
    for (const child of Object.values(tree)) look(child, here)
  }
  look(parsed.query, null)
  return found
}
