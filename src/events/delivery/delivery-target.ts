// The provider that a stream is delivered to, and the collaborators of its delivery.
import type { Clock } from '../../kernel/time/clock.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { ProviderConnection } from '../providers/provider.ts'
import type { SnapshotPart, SnapshotPosition } from '../snapshot-events.ts'
import type { BacklogBounds } from './backlog.ts'
import type { DeliveryLogEntry } from './delivery-log.ts'
import type { ProviderStatus } from './status.ts'

/** The provider that a stream is delivered to. */
export interface DeliveryTarget {
  readonly sinkId: string
  readonly providerId: string
  /** The first revision of the sink with this provider: what was recorded before was for a removed provider with its id. */
  readonly addedAt: number
  /** All providers of the sink. */
  readonly providers: readonly string[]
  /** Differs if the provider has another configuration. */
  readonly configuration: string
  /** Change data capture starts with a snapshot of the graph. */
  readonly startsWithSnapshot: boolean
  /** Why the provider cannot be used, as far as its configuration shows; null if it can. */
  configError(): string | null
  /** Opens no connection before the first call. */
  connect(): ProviderConnection
}

/** Names the sink and the time of the provider that a position belongs to. */
export function ownerOf({ sinkId, addedAt }: DeliveryTarget): string {
  return `${sinkId}/${addedAt}`
}

/** Collaborators of a delivery. */
export interface StreamDeliveryDeps {
  /**
   * Calls `work` with the outbox of the stream and the name of the stream in it, which stays open until it is done. Resolves with
   * null if the stream does not exist.
   */
  withOutbox<T>(work: (outbox: EventOutbox, name: string) => T | Promise<T>): Promise<T | null>
  /**
   * Reads about `limit` elements of the initial snapshot of the graph from `position` on; null: from the first. Resolves with null
   * if the stream does not exist.
   */
  readSnapshot(position: SnapshotPosition | null, limit: number): Promise<SnapshotPart | null>
  /**
   * The providers of a sink in the newest configuration; null: the sink was deleted. Called within the transaction that stores a
   * position: every provider with events in the stream is known by then.
   */
  newestProviders(sinkId: string): readonly string[] | null
  readonly bounds: BacklogBounds
  /** Of the dead letters of the provider in this stream. Beyond it the oldest are dropped. */
  readonly deadLetterBytesMax: number
  readonly clock: Clock
  /** From 0 inclusive to 1 exclusive. */
  readonly random: () => number
  readonly log: (entry: DeliveryLogEntry) => void
  changeStatus(change: (status: ProviderStatus) => Partial<ProviderStatus>): void
}
