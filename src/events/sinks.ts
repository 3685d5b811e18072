// Finds the event sink of a project, with one look-up for a project that has none.
import type { ConfigReader, ConfigSource, StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { eventSinksKind } from './event-sink.ts'
import { SinkRoutes } from './routes.ts'

/** The compiled event sinks of all projects. */
export class EventSinks {
  private readonly current: PerProjectCache<SinkRoutes | null>
  private readonly compiled = new WeakMap<StoredDocument, SinkRoutes>()

  constructor(documents: ConfigSource) {
    this.current = new PerProjectCache(documents, [eventSinksKind], (projectId) => this.routesIn(documents, projectId))
  }

  /** The routes of a project; null: it has no sink. */
  routesOf(projectId: string): SinkRoutes | null {
    return this.current.get(projectId)
  }

  /** The routes of a project in another version of the configuration, such as a change in progress. */
  routesIn(reader: ConfigReader, projectId: string): SinkRoutes | null {
    const [sink] = projectId === '' ? [] : reader.inScope(eventSinksKind, projectId)
    if (sink === undefined) return null
    let routes = this.compiled.get(sink)
    if (routes === undefined) {
      routes = new SinkRoutes(sink)
      this.compiled.set(sink, routes)
    }
    return routes
  }
}
