// The streams of the audit log. They are in the same outboxes as those of event sinks, and separate from them: what the audit log
// receives is in no backlog of a sink, and has no bound until it is sealed.

/** The stream in the outbox of a graph. */
export const AUDIT_STREAM = 'audit'

/** The only provider of these streams: its cursor is the progress of sealing. No provider of an event sink has this id. */
export const AUDIT_PROVIDER = '$audit'

const PREFIX = 'audit/'

/** The stream of a project, or of an organization, in the outboxes of the configuration and of the activity. */
export function auditStreamOf(ownerId: string): string {
  return `${PREFIX}${ownerId}`
}

/** The project or organization of a stream in these outboxes; null: it is the stream of an event sink. */
export function auditOwnerOf(stream: string): string | null {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : null
}

/** Whether a stream of any outbox is one of the audit log. */
export function isAuditStream(stream: string): boolean {
  return stream === AUDIT_STREAM || stream.startsWith(PREFIX)
}
