// Builds the recording of events, and the streams from which they are delivered.
import { projectsKind } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { ActivityLog, type ActivityRecord } from '../events/activity-log.ts'
import { writersBound } from '../events/delivery/backlog.ts'
import { EventDeliveryState } from '../events/operations/event-delivery-state.ts'
import { createEventSinkOperations } from '../events/operations/event-sink-service.ts'
import { CaptureEventLog } from '../events/recorders/record-captures.ts'
import { ChangeEventLog } from '../events/recorders/record-changes.ts'
import type { EventSinkOperations } from '../events/sink-operations.ts'
import type { AuditRules } from '../events/sink-routes.ts'
import { EventSinks } from '../events/sinks.ts'
import { EventStreams } from '../events/streams/event-streams.ts'
import { LazyEventsFolder } from '../events/streams/lazy-events-folder.ts'
import { auditOwnerOf, auditStreamOf } from '../kernel/folder/audit-stream.ts'
import type { Settings } from '../settings.ts'
import type { EventOutbox } from '../store/outbox/outbox.ts'
import { WatchNotes } from '../streams/watch-notes.ts'
import type { Platform } from './open-store.ts'

/** The recording of events in this process. The recording of each feature is in `events/recorders/`. */
export interface EventRecording {
  readonly sinks: EventSinks
  readonly captures: CaptureEventLog
  readonly activity: ActivityLog
  readonly streams: EventStreams
  /** Removes events of decisions and reads that nothing would deliver, because their project has no sink any more. */
  sweep(): Promise<void>
  /** Opens the folder of events, and creates it if necessary. */
  openFolder(): Promise<EventOutbox>
  /** As `openFolder`; null if the folder does not exist. */
  openFolderIfPresent(): Promise<EventOutbox | null>
  readonly delivery: EventDeliveryState
  readonly operations: EventSinkOperations
  /** Removes readers of killed processes. */
  clearStaleReaders(): void
  /** Writes what is left in memory and closes the folder of events. */
  close(): Promise<void>
}

/** Builds the recording of events. `sync`: false: commits are not flushed to disk. */
export function createEventRecording(
  {
    process: { settings, clock, upstream, destinations },
    reports: { report, metrics },
    configuration: { documents, collections, sealer },
    graphs: { watchPlace, catalog },
  }: Platform,
  sync: boolean,
): EventRecording {
  const folder = new LazyEventsFolder(settings.dataDir, {
    sync,
    outboxBytesMax: writersBound(settings.eventBacklogBytesMax),
  })
  const sinks = new EventSinks(documents, auditRules(settings))
  const changes = new ChangeEventLog(sinks, clock)
  const watched = new WatchNotes(watchPlace)
  catalog.observe((graph, batch) => {
    // Within the write transaction: what it writes after the snapshot of a new sink was begun is in the events of that sink.
    documents.catchUp()
    changes.record(graph.projectId, graph.isGlobal, batch)
    watched.record(graph, batch)
  })
  const append = async (records: readonly ActivityRecord[]): Promise<void> => {
    // The sink may have been deleted since: nothing would remove these events.
    const wanted = records.filter(({ projectId, isAudit }) => isAudit || sinks.sinkOf(projectId) !== null)
    if (wanted.length === 0) return
    const outbox = await folder.open()
    await outbox.append(
      wanted.map(({ projectId, isAudit, ...record }) => ({
        ...record,
        stream: isAudit ? auditStreamOf(projectId) : projectId,
      })),
    )
  }
  const activity = new ActivityLog({ append, clock, report, isStrict: settings.eventActivityStrict === 'on' })
  const hasSink = (projectId: string): boolean => {
    documents.catchUp()
    return sinks.sinkOf(projectId) !== null
  }
  const streams = new EventStreams({
    catalog,
    configuration: collections.outbox,
    activity: () => folder.openIfPresent(),
    sinks,
    projects: () => documents.all(projectsKind).map(({ id }) => id),
    hasSink,
  })
  const delivery = new EventDeliveryState({ streams, documents, clock })
  metrics.registerEventDelivery(() => delivery.totalsByKind())
  return {
    sinks,
    captures: new CaptureEventLog(sinks),
    activity,
    streams,
    delivery,
    operations: createEventSinkOperations({
      documents,
      streams,
      createActivity: () => folder.open(),
      clock,
      openSecret: (document, path) => openSecret(document, path, sealer),
      providers: { destinations, upstream },
    }),
    async sweep() {
      const outbox = await folder.openIfPresent()
      for (const stream of outbox?.streams() ?? []) {
        // Records of the audit log stay until it is sealed.
        if (auditOwnerOf(stream) === null && !hasSink(stream)) await outbox?.drop(stream, () => !hasSink(stream))
      }
    },
    openFolder: () => folder.open(),
    openFolderIfPresent: () => folder.openIfPresent(),
    clearStaleReaders: () => folder.clearStaleReaders(),
    async close() {
      await activity.close()
      await folder.close()
    },
  }
}

/** Null: there is no audit log. */
function auditRules({ audit, auditDecisions, auditDecisionsSampleRate }: Settings): AuditRules | null {
  if (audit === 'off') return null
  return { decisions: auditDecisions, isSampled: () => Math.random() * auditDecisionsSampleRate < 1 }
}
