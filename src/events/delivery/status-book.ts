// The statuses of all providers in memory. They are stored shortly after a change: they inform, and nothing depends on them.
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import { withDelivery } from './delivery-rate.ts'
import { type ProviderStatus, readStatuses, statusOf, storeStatuses } from './status.ts'

/** How long a change may stay in memory, in milliseconds. */
const STORE_DELAY_MS = 500
/** Time after which a failed write is repeated, in milliseconds. */
const RETRY_DELAY_MS = 5000

/** Collaborators of the statuses. */
interface StatusBookDeps {
  /** Opens the folder of events, and creates it if necessary. */
  open(): Promise<EventOutbox>
  /** Logs an error. */
  readonly report: (line: string) => void
}

/** The statuses of the providers of one sink. */
interface SinkStatuses {
  readonly sinkId: string
  readonly byProvider: Map<string, ProviderStatus>
  readonly removed: Set<string>
}

/** The statuses of all projects with a sink. */
export class StatusBook {
  private readonly deps: StatusBookDeps
  private readonly sinks = new Map<string, SinkStatuses>()
  private readonly changed = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | null = null
  private storing: Promise<void> = Promise.resolve()
  private isClosed = false

  constructor(deps: StatusBookDeps) {
    this.deps = deps
  }

  /** Takes the stored statuses of a sink; call it again when its providers have changed. */
  async load(
    projectId: string,
    sinkId: string,
    providers: readonly { readonly providerId: string; readonly addedAt: number }[],
  ): Promise<void> {
    const outbox = await this.deps.open()
    const known = this.sinks.get(projectId)
    const stored = known?.sinkId === sinkId ? known.byProvider : readStatuses(outbox, projectId)
    const byProvider = new Map<string, ProviderStatus>()
    for (const { providerId, addedAt } of providers)
      byProvider.set(providerId, statusOf(stored, sinkId, providerId, addedAt))
    const removed = new Set([...stored.keys()].filter((provider) => !byProvider.has(provider)))
    this.sinks.set(projectId, { sinkId, byProvider, removed })
    this.scheduleStore(projectId)
  }

  /** Changes the status of a provider. Does nothing for a provider that is not loaded. */
  change(projectId: string, provider: string, change: (status: ProviderStatus) => Partial<ProviderStatus>): void {
    const byProvider = this.sinks.get(projectId)?.byProvider
    const status = byProvider?.get(provider)
    if (byProvider === undefined || status === undefined) return
    byProvider.set(provider, withRecent(status, { ...status, ...change(status) }))
    this.scheduleStore(projectId)
  }

  /** Forgets the statuses of a deleted sink, which are removed with its events. */
  forget(projectId: string): void {
    this.sinks.delete(projectId)
    this.changed.delete(projectId)
  }

  private scheduleStore(projectId: string, delayMs = STORE_DELAY_MS): void {
    this.changed.add(projectId)
    if (this.isClosed) return
    this.timer ??= setTimeout(() => {
      this.timer = null
      void this.store()
    }, delayMs)
  }

  /** Stores all changes. Never rejects. */
  private store(): Promise<void> {
    this.storing = this.storing.then(async () => {
      const changed = [...this.changed]
      this.changed.clear()
      try {
        const outbox = await this.deps.open()
        await Promise.all(
          changed.map(async (projectId) => {
            const sink = this.sinks.get(projectId)
            if (sink === undefined) return
            await storeStatuses(outbox, projectId, sink.byProvider.values(), [...sink.removed])
            sink.removed.clear()
          }),
        )
      } catch (failure) {
        this.deps.report(`the statuses of event providers cannot be stored: ${String(failure)}`)
        for (const projectId of changed) if (this.sinks.has(projectId)) this.scheduleStore(projectId, RETRY_DELAY_MS)
      }
    })
    return this.storing
  }

  /** Stores what is left. */
  async close(): Promise<void> {
    this.isClosed = true
    if (this.timer !== null) clearTimeout(this.timer)
    await this.store()
  }
}

/** Counts what a change has delivered among the deliveries of the last minute. */
function withRecent(before: ProviderStatus, after: ProviderStatus): ProviderStatus {
  const events = after.delivered - before.delivered
  if (events <= 0 || after.lastDeliveryTime === null) return after
  return { ...after, recent: withDelivery(before.recent ?? [], events, after.lastDeliveryTime) }
}
