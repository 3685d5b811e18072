// Records events about documents whose data is in the graph of a project, such as runs, in the transactions that store what they are about.
import type { DocumentDraft, StoredDocument } from '../../config/kind.ts'
import { auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import type { RecordedTrace } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { EventActor, RecordedEvent } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventTypeName } from '../event-types.ts'
import { routedRecords } from '../routed-records.ts'
import type { EventSinks } from '../sinks.ts'

interface DocumentEvent {
  readonly type: EventTypeName
  /** Absent: the service. */
  readonly actor?: EventActor
  readonly requestId?: string
  readonly address?: string
  readonly trace?: RecordedTrace
  readonly members: object
}

/**
 * Returns a recorder. `describe`: the labels by which routes choose events of a document, and the members that all of them have.
 */
export function documentRecorder(
  sinks: EventSinks,
  clock: Clock,
  describe: (document: StoredDocument) => { readonly labels: string | string[]; readonly members: object },
): (draft: DocumentDraft, document: StoredDocument, event: DocumentEvent) => void {
  return (draft, document, { type, actor = { type: 'service' }, requestId = '', address = '', trace, members }) => {
    const { id, kind, project_id } = document
    const { labels, members: common } = describe(document)
    const routes = sinks.routesIn(draft, project_id)
    const providers = routes?.ofType(type)?.match((key) => (key === 'captureLabel' ? labels : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const first = commonMembers({ requestId, address }, actor).slice(1)
    const text = JSON.stringify({ ...common, ...members }).slice(1, -1)
    const event: RecordedEvent = {
      type,
      providers,
      ready: { subject: subjectOf(kind, id), timeMs: clock.now(), members: `${first},${text}` },
    }
    for (const { isAudit, bytes, count } of routedRecords(routes, { requestId, actor: null, events: [event], trace }))
      draft.appendEvents(isAudit ? auditStreamOf(project_id) : project_id, bytes, count)
  }
}
