// The port through which the configuration service reports changes and reads. events/recorders/record-configuration.ts implements it.
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { ConfigKind, DocumentDraft, StoredDocument } from './kind.ts'

/** Who calls, and in which request. */
export interface ConfigRequest {
  readonly caller: ServiceAccountCaller
  readonly origin: RequestOrigin
}

/** One document that a request created (`before` is null), updated, or deleted (`after` is null). */
export interface ConfigChange {
  readonly kind: ConfigKind
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
}

/** The identifier that a caller sent: an id, or a name with its location. Empty for a list. */
export interface ReadIdentifier {
  readonly id?: string
  readonly name?: string
  readonly location?: string
}

/** Records events of the configuration. */
export interface ConfigEvents {
  /** Called within the write, after `draft` contains all changes of the request. Must not throw. */
  changed(request: ConfigRequest, draft: DocumentDraft, changes: readonly ConfigChange[]): void
  /** Called after documents were read. */
  read(request: ConfigRequest, kind: ConfigKind, identifier: ReadIdentifier, documents: readonly StoredDocument[]): void
}
