// The port through which captures report what they write: one event for each element, in the transaction of the write.
// events/recorders/record-captures.ts implements it.
import type { NodeKey, RelationshipKey, WriteBatch } from '../engine/store.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'

/** The operation of a capture, the same for all its elements. */
export type CaptureOperation =
  | 'upsert.node'
  | 'upsert.relationship'
  | 'delete.node'
  | 'delete.relationship'
  | 'delete.node.property'
  | 'delete.relationship.property'
  | 'delete.node.property.metadata'

/** The element of an item, and what is deleted of it. */
export interface CaptureElement {
  readonly key: NodeKey | RelationshipKey
  /** The labels of an upserted node after the upsert; absent: it keeps its labels. */
  readonly labels?: readonly string[] | undefined
  /** Names of deleted properties. */
  readonly properties?: readonly string[]
  /** Names of deleted metadata of the only property. */
  readonly metadata?: readonly string[]
}

/** Who captures, and in which request. */
export interface CaptureCall {
  readonly caller: AgentCaller
  readonly origin: RequestOrigin
}

/** Records events of captures. */
export interface CaptureEvents {
  /** Returns null if no event of the operation can have a receiver; then nothing is recorded. */
  begin(request: CaptureCall, operation: CaptureOperation): CaptureEventRecorder | null
}

/** Records the events of one request. */
export interface CaptureEventRecorder {
  /** Begins the events of one transaction. */
  batch(batch: WriteBatch): CaptureEventBatch
}

/** The events of one transaction. */
export interface CaptureEventBatch {
  /**
   * Runs `apply`, which writes the element and returns its global id, or null if there is nothing to write. Records the event
   * if there is one.
   */
  apply(element: CaptureElement, apply: () => string | null): string | null
  /** Appends the events to the transaction. */
  end(): void
}
