// The port through which features reach the graphs of a project. Types only: config/graphs/graph-registry.ts implements it with the
// graphs of the catalog, and features import it without the rest of the store. See docs/decisions/0002-composite-projects-and-locations.md.
import type { GraphStore } from '../../engine/store.ts'

/**
 * A part of a project's graph: `default` holds what has no location, `global` the proxies of all nodes and the relationships
 * between locations, and `database` is the name of a further database that one or more locations are mapped to.
 */
export type Constituent = 'default' | 'global' | { readonly database: string }

/** How the graph of a project is divided. Several locations may share a constituent. */
export interface GraphLayout {
  /** Whether the project has a global graph. */
  readonly isComposite: boolean
  /** The constituent of each location. */
  readonly locations: ReadonlyMap<string, Constituent>
  /** Whether the graph is in a database server. */
  readonly isInServer?: boolean
}

/** The graphs of one project. Locations are logical: callers do not learn where a graph is stored. */
export interface ProjectGraphs {
  /** The graph of everything without location. Conditions see this graph unless they have a `USE` clause. */
  readonly default: GraphStore
  /** The global graph of a composite project: a proxy of each node, and relationships between locations. Null for others. */
  readonly global: GraphStore | null
  /** The graph of a location. Null if the project does not have the location. */
  at(location: string): GraphStore | null
}
