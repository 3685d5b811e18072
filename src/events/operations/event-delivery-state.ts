// The state of the delivery of events: what a read of an event sink shows, and what the metrics add up.
import type { ConfigReader, DocumentFields, StoredDocument } from '../../config/kind.ts'
import { OperationalError, ThrownServiceError } from '../../kernel/errors.ts'
import { type Clock, timestamp } from '../../kernel/time/clock.ts'
import type { DeliveryTotals } from '../../ops/service-metrics.ts'
import { missedEvents } from '../../store/outbox/outbox-format.ts'
import { deliveryRate } from '../delivery/delivery-rate.ts'
import { type ProviderStatus, statusOf } from '../delivery/status.ts'
import {
  addedAt,
  configurationOf,
  type DeliveryState,
  eventSinksKind,
  providerNames,
  type SinkProviderName,
  withDeliveryStates,
} from '../event-sink.ts'
import type { EventStreams, OpenEventStream } from '../streams/event-streams.ts'

/** The events that a provider has not received yet. */
interface ProviderBacklog {
  /** Stored events after its position, also those for other providers. */
  readonly events: number
  /** Bytes of their records. */
  readonly bytes: number
  /** Time of the oldest record, in milliseconds since the epoch; null: the backlog is empty. */
  readonly oldestMs: number | null
}

interface ProviderState {
  readonly kind: SinkProviderName
  readonly status: ProviderStatus
  readonly backlog: ProviderBacklog
}

/** Scrapes within this time share one result, because it needs the graphs of all projects with a sink. */
const TOTALS_KEPT_MS = 5000

/** Collaborators of the state of delivery. */
interface EventDeliveryStateDeps {
  readonly streams: EventStreams
  readonly documents: ConfigReader
  readonly clock: Clock
}

/** Reads the state of delivery. */
export class EventDeliveryState {
  private readonly deps: EventDeliveryStateDeps
  private totals: Promise<readonly DeliveryTotals[]> | null = null
  private totalsMs = 0

  constructor(deps: EventDeliveryStateDeps) {
    this.deps = deps
  }

  /** Adds the state to the body of a sink. The body is unchanged if the events cannot be read now. */
  async withState(sink: StoredDocument, body: DocumentFields): Promise<DocumentFields> {
    const states = await this.statesOf(sink).catch(nullIfUnavailable)
    if (states === null) return body
    const shown = new Map([...states].map(([id, state]) => [id, shownState(state, this.deps.clock.now())]))
    return { ...body, providers: withDeliveryStates(body.providers as DocumentFields, shown) }
  }

  /** The sums of all projects, one entry for each provider kind. Projects whose events cannot be read now are left out. */
  totalsByKind(): Promise<readonly DeliveryTotals[]> {
    const nowMs = this.deps.clock.now()
    if (this.totals === null || nowMs - this.totalsMs >= TOTALS_KEPT_MS || nowMs < this.totalsMs) {
      this.totals = this.readTotals(nowMs)
      this.totalsMs = nowMs
    }
    return this.totals
  }

  private async readTotals(nowMs: number): Promise<readonly DeliveryTotals[]> {
    const { streams, documents } = this.deps
    const totals = new Map(providerNames.map((kind) => [kind, noTotals(kind)]))
    for (const { sinkId } of streams.sinks()) {
      const sink = documents.get(eventSinksKind, sinkId)
      const states = sink === null ? null : await this.statesOf(sink).catch(nullIfUnavailable)
      for (const state of states?.values() ?? [])
        totals.set(state.kind, added(totals.get(state.kind) ?? noTotals(state.kind), state, nowMs))
    }
    return [...totals.values()]
  }

  private async statesOf(sink: StoredDocument): Promise<ReadonlyMap<string, ProviderState>> {
    const { streams } = this.deps
    const providers = Object.entries(sink.fields.providers as Readonly<Record<string, DocumentFields>>)
    const statuses = await streams.statuses(sink.project_id)
    return streams.withStreams(sink.project_id, async (open) => {
      const states = new Map<string, ProviderState>()
      for (const [id, provider] of providers) {
        const status = statusOf(statuses, sink.id, id, addedAt(sink.fields, id))
        const skipped = status.skipped + lostEvents(open, id)
        const { kind } = configurationOf(provider)
        states.set(id, { kind, status: { ...status, skipped }, backlog: backlogOf(open, id) })
      }
      return states
    })
  }
}

function backlogOf(streams: readonly OpenEventStream[], provider: string): ProviderBacklog {
  let events = 0
  let bytes = 0
  let oldestMs: number | null = null
  for (const { outbox, name } of streams) {
    const status = outbox.status(name)
    const [first] = outbox.readHeads(name, outbox.cursors(name).get(provider)?.next ?? 0, 1)
    if (status === null || first === undefined) continue
    const next = Math.max(first.sequence, outbox.cursors(name).get(provider)?.next ?? 0)
    events += status.next - next
    bytes += status.bytes - first.offset
    oldestMs = Math.min(oldestMs ?? first.timeMs, first.timeMs)
  }
  return { events, bytes, oldestMs }
}

/** Events that writers have removed, and that the delivery has not counted yet because it does not run. */
function lostEvents(streams: readonly OpenEventStream[], provider: string): number {
  let events = 0
  for (const { outbox, name } of streams) {
    const loss = outbox.status(name)?.loss ?? null
    if (loss !== null) events += missedEvents(loss, outbox.cursors(name).get(provider)?.next ?? 0)
  }
  return events
}

function shownState({ status, backlog }: ProviderState, nowMs: number): { lastError: string; delivery: DeliveryState } {
  const { lastError, lastErrorTime, lastDeliveryTime, delivered, failed, deadLettered, deadLettersDropped, skipped } =
    status
  const { events, bytes, oldestMs } = backlog
  return {
    lastError,
    delivery: {
      backlog: { events, bytes, ...(oldestMs !== null && { oldest_time: timestamp(oldestMs) }) },
      delivered,
      delivered_per_second: rounded(deliveryRate(status.recent ?? [], nowMs)),
      failed,
      dead_lettered: deadLettered,
      dead_letters_dropped: deadLettersDropped,
      skipped,
      ...(lastDeliveryTime !== null && { last_delivery_time: timestamp(lastDeliveryTime) }),
      ...(lastErrorTime !== null && { last_error_time: timestamp(lastErrorTime) }),
    },
  }
}

/** To hundredths. */
function rounded(rate: number): number {
  return Math.round(rate * 100) / 100
}

function noTotals(kind: string): DeliveryTotals {
  return {
    kind,
    providers: 0,
    failing: 0,
    pending: 0,
    pendingBytes: 0,
    oldestS: 0,
    delivered: 0,
    rate: 0,
    failed: 0,
    deadLettered: 0,
    deadLettersDropped: 0,
    skipped: 0,
  }
}

function added(totals: DeliveryTotals, { status, backlog }: ProviderState, nowMs: number): DeliveryTotals {
  const ageS = backlog.oldestMs === null ? 0 : Math.max(0, nowMs - backlog.oldestMs) / 1000
  return {
    kind: totals.kind,
    providers: totals.providers + 1,
    failing: totals.failing + (status.lastError === '' ? 0 : 1),
    pending: totals.pending + backlog.events,
    pendingBytes: totals.pendingBytes + backlog.bytes,
    oldestS: Math.max(totals.oldestS, ageS),
    delivered: totals.delivered + status.delivered,
    rate: totals.rate + deliveryRate(status.recent ?? [], nowMs),
    failed: totals.failed + status.failed,
    deadLettered: totals.deadLettered + status.deadLettered,
    deadLettersDropped: totals.deadLettersDropped + status.deadLettersDropped,
    skipped: totals.skipped + status.skipped,
  }
}

/** Delivery must not make the configuration unreadable. Rethrows unexpected errors. */
function nullIfUnavailable(error: unknown): null {
  if (error instanceof ThrownServiceError || error instanceof OperationalError) return null
  throw error
}
