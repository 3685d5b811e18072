// All streams of events of a data folder: for each project with a sink those of its graphs, of its configuration and of its
// decisions and reads. The delivery of events reads them here and stores its progress.
import type { EventSourceKind, EventStreamName } from '../events/envelope.ts'
import type { SinkRoutes } from '../events/routes.ts'
import type { EventSinks } from '../events/sinks.ts'
import { GRAPH_STREAM } from '../store/graph/write-batch.ts'
import type { EventOutbox } from '../store/outbox/outbox.ts'
import type { Catalog } from '../store/tenancy/catalog.ts'

/** One stream of events. */
export interface ProjectEventStream extends EventStreamName {
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
}

/** Collaborators of the streams. */
export interface EventStreamsDeps {
  readonly catalog: Pick<Catalog, 'withOutboxes'>
  /** The outbox of the configuration. */
  readonly configuration: EventOutbox
  /** The outbox of decisions and reads; null: no such event was ever recorded. */
  activity(): Promise<EventOutbox | null>
  readonly sinks: EventSinks
  /** Ids of all projects. */
  projects(): readonly string[]
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
    return projects().flatMap((projectId) => sinks.routesOf(projectId) ?? [])
  }

  /**
   * Calls `work` with the streams of a project that have events or cursors. They stay open until it is done. Rejects with
   * LockTimeoutError if other processes keep writing.
   */
  async withStreams<T>(projectId: string, work: (streams: readonly OpenEventStream[]) => Promise<T>): Promise<T> {
    const { catalog, configuration } = this.deps
    const activity = await this.deps.activity()
    return catalog.withOutboxes(projectId, (graphs) => {
      const all: OpenEventStream[] = graphs.map(({ part, outbox }) => ({
        projectId,
        source: 'graph',
        part,
        outbox,
        name: GRAPH_STREAM,
      }))
      all.push({ projectId, source: 'configuration', part: '', outbox: configuration, name: projectId })
      if (activity !== null) all.push({ projectId, source: 'activity', part: '', outbox: activity, name: projectId })
      return work(all.filter(({ outbox, name }) => outbox.status(name) !== null))
    })
  }

  /** Removes all events, cursors and dead letters of a project, for example because its sink was deleted. */
  drop(projectId: string): Promise<void> {
    return this.withStreams(projectId, async (streams) => {
      for (const { outbox, name } of streams) await outbox.drop(name)
    })
  }
}
