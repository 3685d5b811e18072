// Finds where the events of a project or of the organization go, with one look-up.
import { type ConfigReader, type ConfigSource, organizationsKind, type StoredDocument } from '../config/kind.ts'
import { PerProjectCache } from '../config/per-project-cache.ts'
import { eventSinksKind } from './event-sink.ts'
import { type AuditRules, SinkRoutes } from './sink-routes.ts'

/** The compiled event sinks of all projects, and what the audit log receives. */
export class EventSinks {
  private readonly documents: ConfigSource
  private readonly audit: AuditRules | null
  private readonly current: PerProjectCache<SinkRoutes | null>
  private readonly compiled = new WeakMap<StoredDocument, SinkRoutes>()
  private readonly organizations = new Map<string, SinkRoutes>()

  /** `audit`: null: nothing is in the audit log. */
  constructor(documents: ConfigSource, audit: AuditRules | null) {
    this.documents = documents
    this.audit = audit
    this.current = new PerProjectCache(documents, [eventSinksKind], (projectId) => this.routesIn(documents, projectId))
  }

  /** Where the events of a project go; null: nowhere, because it has no sink, and there is no audit log. */
  routesOf(projectId: string): SinkRoutes | null {
    return this.current.get(projectId)
  }

  /** The routes of the sink of a project; null: it has no sink. */
  sinkOf(projectId: string): SinkRoutes | null {
    const routes = this.routesOf(projectId)
    return routes === null || routes.sinkId === '' ? null : routes
  }

  /** As `routesOf`, in another version of the configuration, such as a change in progress. */
  routesIn(reader: ConfigReader, projectId: string): SinkRoutes | null {
    const [sink] = projectId === '' ? [] : reader.inScope(eventSinksKind, projectId)
    if (sink === undefined) return this.audit && new SinkRoutes(projectId, null, this.audit)
    let routes = this.compiled.get(sink)
    if (routes === undefined) {
      routes = new SinkRoutes(projectId, sink, this.audit)
      this.compiled.set(sink, routes)
    }
    return routes
  }

  /** Where events go that are of no project; null: nowhere. Only the audit log receives them. */
  routesOfOrganization(organizationId: string): SinkRoutes | null {
    const { audit, organizations } = this
    if (audit === null) return null
    const known = organizations.get(organizationId)
    if (known !== undefined) return known
    const routes = new SinkRoutes(organizationId, null, audit)
    // An unknown id must not occupy memory.
    if (this.documents.get(organizationsKind, organizationId) !== null) organizations.set(organizationId, routes)
    return routes
  }
}
