// The status of each provider of an event sink: its last error and counts. The dispatcher stores it in the folder of events;
// serving processes read it. The backlog is not part of it: it follows from the streams and cursors of the outbox.
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { RecentDeliveries } from './delivery-rate.ts'

/** The status of one provider, as the dispatcher last stored it. Counts are since the provider was created. */
export interface ProviderStatus {
  readonly sinkId: string
  readonly providerId: string
  /** The first revision of the sink with this provider. */
  readonly addedAt: number
  /** One line without secrets; empty after a success. */
  readonly lastError: string
  /** The last error of the configuration itself. Absent: it has none. */
  readonly configError?: string | undefined
  /** Milliseconds since the epoch; null: no error since the provider was created. */
  readonly lastErrorTime: number | null
  /** Milliseconds since the epoch; null: nothing was delivered yet. */
  readonly lastDeliveryTime: number | null
  /** Events that the receiver acknowledged. Not exact after a crash: the last half second may be missing. */
  readonly delivered: number
  /** Of `delivered`, those of the last minute. Absent: an earlier release stored the status. */
  readonly recent?: RecentDeliveries
  /** Attempts to deliver that failed. */
  readonly failed: number
  /** Events that became dead letters. */
  readonly deadLettered: number
  /** Dead letters that were dropped because there were too many. */
  readonly deadLettersDropped: number
  /** Events in gaps: dropped because the backlog exceeded its bounds. */
  readonly skipped: number
}

/** The status of a provider that has delivered nothing. */
export function initialStatus(sinkId: string, providerId: string, addedAt: number): ProviderStatus {
  return {
    sinkId,
    providerId,
    addedAt,
    lastError: '',
    lastErrorTime: null,
    lastDeliveryTime: null,
    delivered: 0,
    failed: 0,
    deadLettered: 0,
    deadLettersDropped: 0,
    skipped: 0,
  }
}

/** The stored status of a provider of a sink; the initial one if it belongs to a deleted sink, or to a removed provider. */
export function statusOf(
  stored: ReadonlyMap<string, ProviderStatus>,
  sinkId: string,
  providerId: string,
  addedAt: number,
): ProviderStatus {
  const status = stored.get(providerId)
  const isOwn = status?.sinkId === sinkId && status.addedAt === addedAt
  return isOwn ? status : initialStatus(sinkId, providerId, addedAt)
}

/** The statuses of a project as stored, by provider. Use `statusOf` to find that of a provider. */
export function readStatuses(outbox: EventOutbox, projectId: string): ReadonlyMap<string, ProviderStatus> {
  const statuses = new Map<string, ProviderStatus>()
  for (const [provider, bytes] of outbox.statuses(projectId))
    statuses.set(provider, JSON.parse(new TextDecoder().decode(bytes)) as ProviderStatus)
  return statuses
}

/** Stores statuses, and removes those of the providers `removed`. */
export function storeStatuses(
  outbox: EventOutbox,
  projectId: string,
  statuses: Iterable<ProviderStatus>,
  removed: readonly string[] = [],
): Promise<void> {
  const encoded = new Map<string, Uint8Array | null>(removed.map((provider) => [provider, null]))
  for (const status of statuses) encoded.set(status.providerId, Buffer.from(JSON.stringify(status)))
  return outbox.putStatuses(projectId, encoded)
}
