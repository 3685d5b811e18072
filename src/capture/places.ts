// Where a captured item is kept: in the constituent of its location, in the default one, or in the global graph.
// Locations are logical, in requests and in answers (ruling R5).
import { keepsNoNodes, unknownLocation } from '../config/db-connection.ts'
import type { GraphStore, ProjectGraphs } from '../engine/store.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { EndNode } from './schema.ts'

/** A graph, or the sentences that tell why there is none. */
export type Place = Result<GraphStore, readonly string[]>

function refused(...faults: readonly string[]): Place {
  return { ok: false, error: faults }
}

function constituent(graphs: ProjectGraphs, path: string, location: string | undefined): Place {
  if (location === undefined) return ok(graphs.default)
  const graph = graphs.at(location)
  if (graph !== null) return ok(graph)
  return refused(`${path}.location: ${unknownLocation(location, graphs.global !== null)}`)
}

/** The global graph holds proxies, which follow the nodes of the constituents and are not written by themselves. */
export function placeOfNode(graphs: ProjectGraphs, path: string, location: string | undefined): Place {
  const place = constituent(graphs, path, location)
  if (!place.ok || place.value !== graphs.global) return place
  return refused(`${path}.location: ${keepsNoNodes(location ?? '')}`)
}

/** Ruling G7. */
export function placeOfRelationship(
  graphs: ProjectGraphs,
  path: string,
  { source, target }: { readonly source: EndNode; readonly target: EndNode },
  useGlobal: boolean,
): Place {
  const from = constituent(graphs, `${path}.source`, source.location)
  const to = constituent(graphs, `${path}.target`, target.location)
  if (!from.ok || !to.ok) return refused(...(from.ok ? [] : from.error), ...(to.ok ? [] : to.error))
  if (useGlobal && graphs.global !== null) return ok(graphs.global)
  if (from.value === to.value) return from
  const where = (end: EndNode) => (end.location === undefined ? 'the default one' : end.location)
  return refused(
    `${path}: source and target are in different constituents, ${where(source)} and ${where(target)}; \`use_global_db\` joins them`,
  )
}
