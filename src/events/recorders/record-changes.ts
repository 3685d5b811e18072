// Records change data capture: for each element that a batch creates, updates or deletes an event with its images before and
// after, in the transaction of the batch. From these events alone a receiver can build a copy of the graph.
import type { ElementChange, NodeImage, RelationshipImage, WrittenBatch } from '../../engine/store.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { ElementWriter, elementContext, subjectOfElement } from '../element-text.ts'
import { encodeRecord, type RecordedEvent } from '../event-record.ts'
import { type EventTypeName, eventTypeNames, isChangeType } from '../event-types.ts'
import { noContext, type SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

/** Events of one record. A batch that deletes a node of many relationships has many. */
const RECORD_EVENTS_MAX = 1000
/** Characters of the payloads of one record. */
const RECORD_CHARACTERS_MAX = 1_000_000

const changeTypes = eventTypeNames.filter(isChangeType)

/** Records the changes of batches. */
export class ChangeEventLog {
  private readonly sinks: EventSinks
  private readonly clock: Clock

  constructor(sinks: EventSinks, clock: Clock) {
    this.sinks = sinks
    this.clock = clock
  }

  /** Appends the events of a batch to it. `isGlobal`: the nodes of the graph are proxies, which follow those of other graphs. */
  record(projectId: string, isGlobal: boolean, batch: WrittenBatch): void {
    const sink = this.sinks.routesOf(projectId)
    if (sink === null || !sink.mayMatch(changeTypes)) return
    let events: RecordedEvent[] = []
    let characters = 0
    const writer = new ElementWriter()
    // A deleted element has only the time of its last update.
    const deletedMs = this.clock.now()
    const append = (): void => {
      if (events.length === 0) return
      const { sinkId, revision, providers } = sink
      const record = encodeRecord({ sinkId, revision, providers, requestId: '', actor: null, events })
      batch.appendEvents(record, events.length)
      events = []
      characters = 0
    }
    for (const change of batch.changes()) {
      if (isGlobal && change.element === 'node') continue
      const event = changeEvent(sink, change, deletedMs, writer)
      if (event === null) continue
      events.push(event)
      characters += event.ready?.members.length ?? 0
      if (events.length >= RECORD_EVENTS_MAX || characters >= RECORD_CHARACTERS_MAX) append()
    }
    append()
  }
}

function changeEvent(
  sink: SinkRoutes,
  change: ElementChange,
  deletedMs: number,
  writer: ElementWriter,
): RecordedEvent | null {
  const { element, before, after } = change
  const image = (after ?? before) as NodeImage | RelationshipImage
  const action = before === null ? 'create' : after === null ? 'delete' : 'update'
  const type: EventTypeName = `svc.audit.cdc.${element}.${action}`
  const routes = sink.ofType(type)
  const providers = routes?.match(routes.readsContext ? elementContext(image.type, image) : noContext) ?? 0
  if (providers === 0) return null
  const members = `"before":${before && writer.element(before)},"after":${after && writer.element(after)}`
  return {
    type,
    providers,
    ready: { subject: subjectOfElement(image), timeMs: after?.updatedMs ?? deletedMs, members },
  }
}
