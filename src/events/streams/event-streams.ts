// All streams of events of a data folder: for each project with a sink those of its graphs, of its configuration and of its
// decisions and reads. The delivery of events reads them here and stores its progress.
import type { OpenSnapshot } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { AUDIT_STREAM, auditOwnerOf, auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import { GRAPH_STREAM } from '../../store/graph/write-batch.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { Catalog } from '../../store/tenancy/catalog.ts'
import { type ProviderStatus, readStatuses } from '../delivery/status.ts'
import type { EventSourceKind, EventStreamName } from '../envelope.ts'
import type { SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'
import { readSnapshotPart, type SnapshotPart, type SnapshotPosition, snapshotStart } from '../snapshot-events.ts'

/** The part of a composite project whose nodes are proxies. */
const GLOBAL_PART = 'global'

/** One stream of events. */
interface ProjectEventStream extends EventStreamName {
  readonly projectId: string
  readonly source: EventSourceKind
  /** Names the graph among those of the project; internal. Empty for other sources. */
  readonly part: string
}

/** A stream in its outbox. */
export interface OpenEventStream extends ProjectEventStream {
  readonly outbox: EventOutbox
  /** The name of the stream in the outbox. */
  readonly name: string
  /** A snapshot of the graph, to be closed in the same turn of the event loop; null: the events are not of a graph. */
  readonly snapshot: (() => OpenSnapshot) | null
}

/** Collaborators of the streams. */
interface EventStreamsDeps {
  readonly catalog: Pick<Catalog, 'withOutboxes'>
  /** The outbox of the configuration. */
  readonly configuration: EventOutbox
  /** The outbox of decisions and reads; null: no such event was ever recorded. */
  activity(): Promise<EventOutbox | null>
  readonly sinks: EventSinks
  /** Ids of all projects. */
  projects(): readonly string[]
  /** Whether a project has a sink in the newest configuration of all processes. */
  hasSink(projectId: string): boolean
}

/** The streams of events of a data folder. */
export class EventStreams {
  private readonly deps: EventStreamsDeps

  constructor(deps: EventStreamsDeps) {
    this.deps = deps
  }

  /** The projects that have a sink, with its compiled routes. */
  sinks(): readonly SinkRoutes[] {
    const { projects, sinks } = this.deps
    return projects().flatMap((projectId) => sinks.sinkOf(projectId) ?? [])
  }

  /**
   * Calls `work` with all streams of a project, also those that have no events yet. They stay open until it is done. Rejects with
   * LockTimeoutError if other processes keep writing.
   */
  async withStreams<T>(projectId: string, work: (streams: readonly OpenEventStream[]) => Promise<T>): Promise<T> {
    const { catalog, configuration } = this.deps
    const activity = await this.deps.activity()
    return catalog.withOutboxes(projectId, (graphs) => {
      const all: OpenEventStream[] = graphs.map(({ part, outbox, snapshot }) => ({
        projectId,
        source: 'graph',
        part,
        outbox,
        name: GRAPH_STREAM,
        snapshot,
      }))
      const common = { projectId, part: '', name: projectId, snapshot: null }
      all.push({ ...common, source: 'configuration', outbox: configuration })
      if (activity !== null) all.push({ ...common, source: 'activity', outbox: activity })
      return work(all)
    })
  }

  /**
   * As `withStreams`, with the streams of the audit log of a project or an organization. A project that was deleted has no graphs.
   */
  async withAuditStreams<T>(
    owner: { readonly projectId: string } | { readonly organizationId: string },
    work: (streams: readonly OpenEventStream[]) => Promise<T>,
  ): Promise<T> {
    const activity = await this.deps.activity()
    const isProject = 'projectId' in owner
    const id = isProject ? owner.projectId : owner.organizationId
    const common = {
      projectId: isProject ? id : '',
      ...(!isProject && { organizationId: id }),
      isAudit: true,
      snapshot: null,
    }
    const stored = { ...common, part: '', name: auditStreamOf(id) }
    const all: OpenEventStream[] = [{ ...stored, source: 'configuration', outbox: this.deps.configuration }]
    if (activity !== null) all.push({ ...stored, source: 'activity', outbox: activity })
    if (!isProject) return work(all)
    return this.deps.catalog.withOutboxes(id, (graphs) =>
      work([
        ...graphs.map(({ part, outbox }) => ({
          ...common,
          source: 'graph' as const,
          part,
          outbox,
          name: AUDIT_STREAM,
        })),
        ...all,
      ]),
    )
  }

  /** Ids of the projects and organizations that have a stream of the audit log outside of graphs; also of deleted ones. */
  async auditOwners(): Promise<readonly string[]> {
    const activity = await this.deps.activity()
    const names = [...this.deps.configuration.streams(), ...(activity?.streams() ?? [])]
    return [...new Set(names.flatMap((name) => auditOwnerOf(name) ?? []))]
  }

  /**
   * Reads about `limit` elements of the initial snapshot of a graph for a provider, from `position` on; null: from the first.
   * The snapshot is followed by the stream from the event that was the next one before the first part. Begin the stream before
   * (`EventOutbox.begin`).
   */
  readSnapshot(
    { projectId, source, part, outbox, name, snapshot: open }: OpenEventStream,
    routes: SinkRoutes,
    provider: string,
    position: SnapshotPosition | null,
    limit: number,
  ): SnapshotPart {
    // Read before the snapshot: the stream from here on contains everything that the snapshot may lack.
    const status = outbox.status(name)
    assert(open !== null && status !== null, 'the stream of a graph was begun before its snapshot is read')
    const { origin, next: lsn } = status
    const snapshot = open()
    try {
      const target = { stream: { projectId, source }, origin, lsn, routes, provider, isGlobal: part === GLOBAL_PART }
      return readSnapshotPart(snapshot, position ?? snapshotStart, limit, target)
    } finally {
      snapshot.close()
    }
  }

  /**
   * Removes all events, cursors, dead letters and statuses of a project whose sink was deleted. What is left when the project gets
   * another sink stays: its delivery skips what belongs to the deleted one. Resolves with the number of events before.
   */
  drop(projectId: string): Promise<number> {
    return this.withStreams(projectId, async (streams) => {
      let events = 0
      for (const { outbox, name } of streams) {
        const status = outbox.status(name)
        if (status?.oldest != null) events += status.next - status.oldest.sequence
        await outbox.drop(name, () => !this.deps.hasSink(projectId))
      }
      return events
    })
  }

  /** The statuses of the providers of a project, as the dispatcher last stored them. */
  async statuses(projectId: string): Promise<ReadonlyMap<string, ProviderStatus>> {
    const outbox = await this.deps.activity()
    return outbox === null ? new Map() : readStatuses(outbox, projectId)
  }
}
