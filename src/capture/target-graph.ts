// Where a captured item is kept: in the constituent of its location, in the default one, or in the global graph.
// Locations are logical, in requests and in answers (ruling R5).

import { compositeLocationMessage, unknownLocationMessage } from '../config/db-connection.ts'
import type { GraphStore } from '../engine/store.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { NodeKeyInput } from './schema.ts'

/** A graph, or the sentences that tell why there is none. */
export type TargetGraph = Result<GraphStore, readonly string[]>

function refused(...faults: readonly string[]): TargetGraph {
  return { ok: false, error: faults }
}

function constituent(graphs: ProjectGraphs, path: string, location: string | undefined): TargetGraph {
  if (location === undefined) return ok(graphs.default)
  const graph = graphs.at(location)
  if (graph !== null) return ok(graph)
  return refused(`${path}.location: ${unknownLocationMessage(location, graphs.global !== null)}`)
}

/** The global graph holds proxies, which follow the nodes of the constituents and are not written by themselves. */
export function targetGraphOfNode(graphs: ProjectGraphs, path: string, location: string | undefined): TargetGraph {
  const place = constituent(graphs, path, location)
  if (!place.ok || place.value !== graphs.global) return place
  return refused(`${path}.location: ${compositeLocationMessage(location ?? '')}`)
}

/** Ruling G7. */
export function targetGraphOfRelationship(
  graphs: ProjectGraphs,
  path: string,
  { source, target }: { readonly source: NodeKeyInput; readonly target: NodeKeyInput },
  useGlobal: boolean,
): TargetGraph {
  const from = constituent(graphs, `${path}.source`, source.location)
  const to = constituent(graphs, `${path}.target`, target.location)
  if (!from.ok || !to.ok) return refused(...(from.ok ? [] : from.error), ...(to.ok ? [] : to.error))
  if (useGlobal && graphs.global !== null) return ok(graphs.global)
  if (from.value === to.value) return from
  const where = (end: NodeKeyInput) => (end.location === undefined ? 'the default one' : end.location)
  return refused(
    `${path}: source and target are in different constituents, ${where(source)} and ${where(target)}; \`use_global_db\` joins them`,
  )
}
