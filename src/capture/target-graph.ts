// Finds the graph of a captured item: the constituent of its location, the default constituent, or the global graph.
// Locations are logical names (docs/decisions/0002-composite-projects-and-locations.md).
import { compositeLocationMessage, unknownLocationMessage } from '../config/db-connection.ts'
import type { GraphStore } from '../engine/store.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { NodeKeyInput } from './schema.ts'

/** A graph, or the issues that prevent it. */
export type TargetGraph = Result<GraphStore, readonly string[]>

function rejected(...issues: readonly string[]): TargetGraph {
  return { ok: false, error: issues }
}

function constituent(graphs: ProjectGraphs, path: string, location: string | undefined): TargetGraph {
  if (location === undefined) return ok(graphs.default)
  const graph = graphs.at(location)
  if (graph !== null) return ok(graph)
  return rejected(`${path}.location: ${unknownLocationMessage(location, graphs.global !== null)}`)
}

/**
 * Returns the graph of a node. The global graph is rejected: it holds proxies, which follow the nodes of the
 * constituents.
 */
export function targetGraphOfNode(graphs: ProjectGraphs, path: string, location: string | undefined): TargetGraph {
  const target = constituent(graphs, path, location)
  if (!target.ok || target.value !== graphs.global) return target
  return rejected(`${path}.location: ${compositeLocationMessage(location ?? '')}`)
}

/**
 * Returns the graph of a relationship. Both end nodes must be in one constituent, unless `useGlobal` joins their
 * proxies in the global graph.
 */
export function targetGraphOfRelationship(
  graphs: ProjectGraphs,
  path: string,
  { source, target }: { readonly source: NodeKeyInput; readonly target: NodeKeyInput },
  useGlobal: boolean,
): TargetGraph {
  const sourceGraph = constituent(graphs, `${path}.source`, source.location)
  const targetGraph = constituent(graphs, `${path}.target`, target.location)
  if (!sourceGraph.ok || !targetGraph.ok)
    return rejected(...(sourceGraph.ok ? [] : sourceGraph.error), ...(targetGraph.ok ? [] : targetGraph.error))
  if (useGlobal && graphs.global !== null) return ok(graphs.global)
  if (sourceGraph.value === targetGraph.value) return sourceGraph
  const locationText = (end: NodeKeyInput) => (end.location === undefined ? 'the default one' : end.location)
  return rejected(
    `${path}: source and target are in different constituents, ${locationText(source)} and ${locationText(target)}; \`use_global_db\` joins them`,
  )
}
