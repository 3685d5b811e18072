// Records the events of the configuration: changes and changes of permissions in the transaction of the change, reads with the
// decisions. Secrets are never in an event: fields that hold one are left out, as in a response, and texts are masked as in the
// log, because people also write keys and tokens into descriptions and policies.
import type { ConfigChange, ConfigEvents, ConfigRequest, ReadIdentifier } from '../../config/config-events.ts'
import {
  applicationAgentsKind,
  type ConfigKind,
  type ConfigReader,
  type DocumentDraft,
  type DocumentFields,
  organizationsKind,
  projectsKind,
  type StoredDocument,
} from '../../config/kind.ts'
import { representationOf } from '../../config/representation.ts'
import { auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import { writeJson } from '../../kernel/json/json.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ActivityLog } from '../activity-log.ts'
import { actorOf, type RecordedEvent } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventTypeName } from '../event-types.ts'
import { routedRecords } from '../routed-records.ts'
import { AUDIT_BIT, type ContextValue, type EventContext, type SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

/** Collaborators of the recording. */
interface ConfigEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly documents: ConfigReader
  readonly clock: Clock
  /** Masks what looks like a secret in a text. */
  readonly maskText: (text: string) => string
}

/** An event before it is known who receives it. */
interface DraftEvent {
  readonly type: EventTypeName
  readonly subject: string
  readonly context: EventContext
  /** The members of the payload. */
  members(): object
}

/** Records events of configuration changes and reads. */
export class ConfigEventLog implements ConfigEvents {
  private readonly deps: ConfigEventLogDeps

  constructor(deps: ConfigEventLogDeps) {
    this.deps = deps
  }

  changed(request: ConfigRequest, draft: DocumentDraft, changes: readonly ConfigChange[]): void {
    const { sinks } = this.deps
    const byProject = Map.groupBy(changes, ({ before, after }) => projectOf((after ?? before) as StoredDocument))
    request.origin.noteEvent()
    for (const [projectId, all] of byProject) {
      if (projectId === '') continue
      const routes = sinks.routesIn(draft, projectId)
      if (routes !== null) this.append(request, draft, routes, all)
    }
    const outside = Map.groupBy(changes.filter(isOfOrganization), ({ before, after }) =>
      organizationOf(after ?? before),
    )
    for (const [organizationId, all] of outside) {
      const routes = sinks.routesOfOrganization(organizationId)
      if (routes !== null) this.append(request, draft, routes, all)
    }
  }

  private append(
    { caller, origin }: ConfigRequest,
    draft: DocumentDraft,
    routes: SinkRoutes,
    changes: readonly ConfigChange[],
  ): void {
    const timeMs = this.deps.clock.now()
    const common = commonMembers(origin, actorOf(caller)).slice(1)
    const events: RecordedEvent[] = []
    for (const change of changes) {
      const document = (change.after ?? change.before) as StoredDocument
      for (const { type, subject, context, members } of this.eventsOf(change, draft)) {
        const matched = routes.ofType(type)?.match(context) ?? 0
        // One entry of the audit log for each change.
        const isElsewhere = isOfOrganization(change) && routes.projectId === document.id
        const providers = isElsewhere ? matched % AUDIT_BIT : matched
        if (providers === 0) continue
        events.push({ type, providers, ready: { subject, timeMs, members: joined(common, members()) } })
      }
    }
    const { projectId } = routes
    const content = { requestId: '', actor: null, events, ...tracedBy(origin) }
    for (const { isAudit, bytes, count } of routedRecords(routes, content))
      draft.appendEvents(isAudit ? auditStreamOf(projectId) : projectId, bytes, count)
  }

  private eventsOf({ kind, before, after }: ConfigChange, reader: ConfigReader): DraftEvent[] {
    const document = (after ?? before) as StoredDocument
    const shown = (one: StoredDocument): DocumentFields => this.masked(representationOf(one, kind, reader))
    const draft = (type: EventTypeName, members: () => object): DraftEvent => ({
      type,
      subject: subjectOf(kind.path, document.id),
      context: (key): ContextValue => (key === 'configType' ? kind.path : undefined),
      members,
    })
    const about = { id: document.id, type: kind.path, containersPath: containersOf(document) }
    const permissions = permissionEvents(before, after)
    if (before === null) {
      const detail = (): object => {
        const { name, fields } = document
        const { display_name: displayName, description } = fields
        return {
          ...(name !== '' && { name }),
          ...this.masked({ displayName, description }),
          version: document.revision,
          configuration: shown(document),
        }
      }
      const location = { id: document.parent_id, type: kind.parent.kind }
      return [draft('svc.audit.config.create', () => ({ ...about, location, detail: detail() })), ...permissions]
    }
    if (after === null) return [...permissions, draft('svc.audit.config.delete', () => about)]
    return [
      draft('svc.audit.config.update', () => ({ ...about, before: shown(before), after: shown(after) })),
      ...permissions,
    ]
  }

  read(
    { caller, origin }: ConfigRequest,
    kind: ConfigKind,
    identifier: ReadIdentifier,
    documents: readonly StoredDocument[],
  ): void {
    const { sinks } = this.deps
    const byProject = Map.groupBy(documents, projectOf)
    // A list without documents is of no project.
    if (documents.length === 0) byProject.set('', [])
    origin.noteEvent()
    const type = 'svc.audit.config.read'
    let common = ''
    for (const [projectId, found] of byProject) {
      const routes = projectId === '' ? sinks.routesOfOrganization(caller.organizationId) : sinks.routesOf(projectId)
      const providers = routes?.ofType(type)?.match((key) => (key === 'configType' ? kind.path : undefined)) ?? 0
      if (routes === null || providers === 0) continue
      const [first] = found
      const isList = identifier.id === undefined && identifier.name === undefined
      const timeMs = this.deps.clock.now()
      if (common === '') common = commonMembers(origin, actorOf(caller)).slice(1)
      const start = common
      const traced = tracedBy(origin)
      this.deps.activity.record({
        routes,
        type,
        providers,
        requestId: origin.requestId,
        encode: () => ({
          timeMs,
          ...traced,
          subject: isList || first === undefined ? subjectOf(kind.path) : subjectOf(kind.path, first.id),
          members: joined(start, {
            identifier: this.masked({ ...identifier }),
            type: kind.path,
            containersPath: first === undefined ? { organizationId: caller.organizationId } : containersOf(first),
            ids: found.map(({ id }) => id),
          }),
        }),
      })
    }
  }

  /** Masks every text in a value. */
  private masked<T>(value: T): T {
    if (typeof value === 'string') return this.deps.maskText(value) as T
    if (Array.isArray(value)) return value.map((item: unknown) => this.masked(item)) as T
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.masked(member)])) as T
  }
}

/** The project whose sink receives the events of a document; empty for documents outside of projects. */
function projectOf({ kind, id, project_id }: StoredDocument): string {
  return kind === projectsKind ? id : project_id
}

/** Whether the log of the organization has the change: of what is in no project, and where projects begin and end. */
function isOfOrganization({ before, after }: ConfigChange): boolean {
  const document = (after ?? before) as StoredDocument
  return document.kind === projectsKind ? before === null || after === null : document.project_id === ''
}

function organizationOf(document: StoredDocument | null): string {
  const { kind, id, organization_id } = document as StoredDocument
  return kind === organizationsKind ? id : organization_id
}

function containersOf(document: StoredDocument): object {
  const { organization_id: organizationId, project_id: projectId } = document
  return projectId === '' ? { organizationId } : { organizationId, projectId }
}

/** The API permissions that an agent gains and loses by the change. */
function permissionEvents(before: StoredDocument | null, after: StoredDocument | null): DraftEvent[] {
  const document = (after ?? before) as StoredDocument
  if (document.kind !== applicationAgentsKind) return []
  const had = permissionsOf(before)
  const has = permissionsOf(after)
  const draft = (type: EventTypeName, role: string): DraftEvent => ({
    type,
    subject: subjectOf(applicationAgentsKind, document.id),
    context: (key): ContextValue => (key === 'role' ? role : undefined),
    members: () => ({
      targetIdentifier: document.id,
      targetType: applicationAgentsKind,
      role,
      organizationId: document.organization_id,
      objectId: document.project_id,
      objectType: projectsKind,
    }),
  })
  return [
    ...had.filter((role) => !has.includes(role)).map((role) => draft('svc.audit.config.permission.revoke', role)),
    ...has.filter((role) => !had.includes(role)).map((role) => draft('svc.audit.config.permission.assign', role)),
  ]
}

function permissionsOf(agent: StoredDocument | null): readonly string[] {
  return (agent?.fields.api_permissions ?? []) as readonly string[]
}

function joined(common: string, members: object): string {
  return `${common},${writeJson(members).slice(1, -1)}`
}
