// The names that a graph has seen, for completion and suggestions. They are read from its dictionaries, without a walk of the graph.
import { z } from 'zod'
import { readGraphNow } from '../engine/read-graph.ts'
import type { GraphStore, Snapshot, SymbolKind } from '../engine/store.ts'

/** Names of each kind in one answer. A graph has more only if data is used as names. */
const NAMES_MAX = 10_000

const names = z.array(z.string())

/** The answer. */
export const graphNamesAnswer = z
  .object({
    labels: names.describe('labels and node types'),
    relationship_types: names,
    properties: names.describe('of nodes and relationships'),
    truncated: z.boolean().describe(`there are more than ${NAMES_MAX} names of a kind`),
  })
  .meta({ id: 'GraphNames' })
/** The names of a graph, sorted. A name stays when its last element is deleted. */
export type GraphNames = z.infer<typeof graphNamesAnswer>

/** Reads the names of a graph. Throws ThrownServiceError if it cannot be read. */
export function readGraphNames(graph: GraphStore): GraphNames {
  return readGraphNow(graph, namesIn)
}

function namesIn(snapshot: Snapshot): GraphNames {
  let truncated = false
  const namesOf = (kind: SymbolKind): string[] => {
    const found: string[] = []
    for (const name of snapshot.symbolNames(kind)) {
      // Markers of the store begin with a control character.
      if (name < ' ') continue
      if (found.length === NAMES_MAX) {
        truncated = true
        break
      }
      found.push(name)
    }
    return found.sort()
  }
  const [labels, relationship_types, properties] = [namesOf('label'), namesOf('type'), namesOf('property')]
  return { labels, relationship_types, properties, truncated }
}
