// Delivers the events of all projects that have a sink: one delivery for each stream and provider. It follows the configuration,
// and looks for new events when any process has committed.

import type { CommitSignal, CommitSubscription } from '../../kernel/folder/commit-signal.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { EventStreamName } from '../envelope.ts'
import type { SnapshotPart, SnapshotPosition } from '../snapshot-events.ts'
import type { BacklogBounds } from './backlog.ts'
import type { DeliveryLogEntry } from './delivery-log.ts'
import type { DeliveryTarget } from './delivery-target.ts'
import { StatusBook } from './status-book.ts'
import { StreamDelivery } from './stream-delivery.ts'

/** Without a commit, projects are looked through at most this often: a process may be killed between a commit and its count. */
const RESCAN_MS = 500
/** Delay before the sinks are loaded again, or a project is read again, after a failure. */
const RETRY_MS = 1000
/** Looking through the projects takes at most this share of a processor. */
const SCAN_SHARE = 0.05

/** A stream that is open for reading. */
interface DeliveredStream extends EventStreamName {
  /** Names the graph among those of the project. */
  readonly part: string
  readonly outbox: EventOutbox
  /** The name of the stream in the outbox. */
  readonly name: string
}

/** A sink with the configuration of its providers. */
export interface DeliveredSink {
  readonly projectId: string
  readonly sinkId: string
  readonly targets: readonly DeliveryTarget[]
}

/** Collaborators of the dispatcher. */
interface EventDispatcherDeps<S extends DeliveredStream = DeliveredStream> {
  /** The sinks of all projects, in the newest configuration. */
  sinks(): readonly DeliveredSink[]
  /** Registers a listener for changes of the sinks. */
  onSinksChanged(listener: () => void): void
  /** Takes over the changes of other processes. Calls the listeners. */
  catchUp(): void
  readonly signal: CommitSignal
  /** Differs after any process has committed to an environment with events. */
  commits(): number
  /** The providers of a sink in the newest configuration; null: the sink was deleted. */
  newestProviders(projectId: string, sinkId: string): readonly string[] | null
  /** Calls `work` with the streams of a project. They stay open until it is done. */
  withStreams<T>(projectId: string, work: (streams: readonly S[]) => Promise<T>): Promise<T>
  /** Reads about `limit` elements of the initial snapshot of a graph for a provider. */
  readSnapshot(stream: S, provider: string, position: SnapshotPosition | null, limit: number): SnapshotPart | null
  /** Opens the folder of events, and creates it if necessary. */
  openEvents(): Promise<EventOutbox>
  readonly bounds: BacklogBounds
  /** Of the dead letters of a provider in one stream. */
  readonly deadLetterBytesMax: number
  readonly clock: Clock
  /** From 0 inclusive to 1 exclusive: for the jitter of retries. */
  readonly random: () => number
  readonly log: (entry: DeliveryLogEntry) => void
}

interface ProjectDeliveries {
  sink: DeliveredSink
  /** By stream and provider. */
  readonly deliveries: Map<string, { readonly providerId: string; readonly delivery: StreamDelivery }>
}

/** Delivers the events of a data folder. Only one process may do this at a time. */
export class EventDispatcher<S extends DeliveredStream = DeliveredStream> {
  private readonly deps: EventDispatcherDeps<S>
  private readonly statuses: StatusBook
  private readonly projects = new Map<string, ProjectDeliveries>()
  private readonly stopped = new Set<Promise<void>>()
  private subscription: CommitSubscription | null = null
  private haveSinksChanged = true
  private commits = Number.NaN
  private nextScanMs = 0
  /** After the sinks could not be loaded. */
  private nextApplyMs = 0
  private rescanMs = 0
  private working: Promise<void> | null = null
  private isClosing = false

  constructor(deps: EventDispatcherDeps<S>) {
    this.deps = deps
    const { log } = deps
    this.statuses = new StatusBook({
      open: () => deps.openEvents(),
      report: (message) => log({ level: 'error', message }),
    })
    deps.onSinksChanged(() => {
      this.haveSinksChanged = true
      this.subscription?.lookWithin(0)
    })
  }

  /** Starts to deliver. */
  start(): void {
    this.subscription = this.deps.signal.subscribe(() => this.poll())
    this.poll()
  }

  /** Stores the progress, and closes all connections. */
  async close(): Promise<void> {
    this.isClosing = true
    this.subscription?.close()
    await this.working
    for (const { deliveries } of this.projects.values())
      for (const { delivery } of deliveries.values()) this.finish(delivery.stop())
    await Promise.all(this.stopped)
    await this.statuses.close()
  }

  private poll(): void {
    if (this.working !== null || this.isClosing) return
    this.deps.catchUp()
    if (!this.isDue()) {
      this.lookAgain()
      return
    }
    this.working = this.look()
      .catch((failure: unknown) =>
        this.deps.log({ level: 'error', message: `events cannot be looked for: ${String(failure)}` }),
      )
      .finally(() => {
        this.working = null
        this.lookAgain()
      })
  }

  /** Without work the next look is after the next commit. */
  private lookAgain(): void {
    const nowMs = performance.now()
    const dueMs = Math.min(
      this.haveSinksChanged ? this.nextApplyMs : Number.POSITIVE_INFINITY,
      this.deps.commits() === this.commits ? Number.POSITIVE_INFINITY : this.nextScanMs,
    )
    if (Number.isFinite(dueMs)) this.subscription?.lookWithin(dueMs - nowMs)
  }

  private isDue(): boolean {
    const nowMs = performance.now()
    if (this.haveSinksChanged && nowMs >= this.nextApplyMs) return true
    if (nowMs < this.nextScanMs) return false
    return nowMs >= this.rescanMs || this.deps.commits() !== this.commits
  }

  private async look(): Promise<void> {
    if (this.haveSinksChanged && performance.now() >= this.nextApplyMs) {
      this.haveSinksChanged = false
      await this.applySinks().catch((failure: unknown) => {
        // Tried again: without its sinks the process would deliver nothing until the next change of one.
        this.haveSinksChanged = true
        this.nextApplyMs = performance.now() + RETRY_MS
        throw failure
      })
      this.rescanMs = 0
    }
    const nowMs = performance.now()
    // Read before the projects: a commit in between is seen next time.
    const commits = this.deps.commits()
    this.commits = commits
    this.rescanMs = nowMs + RESCAN_MS
    for (const [projectId, project] of this.projects) {
      if (this.isClosing) return
      await this.scan(projectId, project)
    }
    const endMs = performance.now()
    this.nextScanMs = endMs + (endMs - nowMs) * (1 / SCAN_SHARE - 1)
  }

  private async scan(projectId: string, project: ProjectDeliveries): Promise<void> {
    try {
      await this.deps.withStreams(projectId, async (streams) => {
        for (const stream of streams) this.notify(project, stream)
      })
    } catch (failure) {
      const message = 'the events of a project cannot be read'
      this.deps.log({ level: 'error', message, project: projectId, error: String(failure) })
      this.nextScanMs = performance.now() + RETRY_MS
    }
  }

  private notify(project: ProjectDeliveries, stream: DeliveredStream): void {
    if (this.projects.get(stream.projectId) !== project) return
    const status = stream.outbox.status(stream.name)
    const hasRequests = stream.outbox.deadLetters.hasRequests(stream.name)
    for (const target of project.sink.targets) {
      const key = `${stream.source} ${stream.part} ${target.providerId}`
      const known = project.deliveries.get(key)
      if (known === undefined) {
        const { providerId } = target
        if (status === null && !(target.startsWithSnapshot && stream.source === 'graph')) continue
        project.deliveries.set(key, { providerId, delivery: this.begin(stream, target) })
      } else if (status !== null) known.delivery.notify(status.origin, status.next, hasRequests)
    }
  }

  private begin({ projectId, source, part }: DeliveredStream, target: DeliveryTarget): StreamDelivery {
    const { readSnapshot, bounds, deadLetterBytesMax, clock, random, log } = this.deps
    const { providerId } = target
    const withStream = <T>(work: (stream: S) => T | Promise<T>): Promise<T | null> =>
      this.deps.withStreams(projectId, async (streams) => {
        const stream = streams.find((each) => each.source === source && each.part === part)
        return stream === undefined ? null : work(stream)
      })
    return new StreamDelivery({ projectId, source }, target, {
      withOutbox: (work) => withStream(({ outbox, name }) => work(outbox, name)),
      readSnapshot: (position, limit) => withStream((stream) => readSnapshot(stream, providerId, position, limit)),
      newestProviders: (sinkId) => this.deps.newestProviders(projectId, sinkId),
      bounds,
      deadLetterBytesMax,
      clock,
      random,
      log,
      changeStatus: (change) => this.statuses.change(projectId, providerId, change),
    })
  }

  private async applySinks(): Promise<void> {
    const sinks = new Map(this.deps.sinks().map((sink) => [sink.projectId, sink]))
    for (const projectId of [...this.projects.keys()]) {
      if (sinks.has(projectId)) continue
      for (const { delivery } of this.projects.get(projectId)?.deliveries.values() ?? [])
        this.finish(delivery.abandon())
      this.projects.delete(projectId)
      this.statuses.forget(projectId)
    }
    for (const [projectId, sink] of sinks) {
      await this.statuses.load(projectId, sink.sinkId, sink.targets)
      const project = this.projects.get(projectId)
      this.showConfigErrors(project?.sink.targets ?? [], sink)
      if (project === undefined) this.projects.set(projectId, { sink, deliveries: new Map() })
      else this.retarget(project, sink)
    }
  }

  /** Shown before the first attempt to send: the first event may come much later. */
  private showConfigErrors(before: readonly DeliveryTarget[], { projectId, targets }: DeliveredSink): void {
    for (const target of targets) {
      const { providerId, configuration } = target
      if (before.find((each) => each.providerId === providerId)?.configuration === configuration) continue
      const error = target.configError()
      this.statuses.change(projectId, providerId, ({ lastError, configError }) => {
        if (error !== null && error === lastError && error === configError) return {}
        if (error !== null) return { lastError: error, configError: error, lastErrorTime: this.deps.clock.now() }
        if (configError === undefined) return {}
        // Corrected, also by a setting before this start.
        return { configError: undefined, ...(configError === lastError && { lastError: '' }) }
      })
    }
  }

  private retarget(project: ProjectDeliveries, sink: DeliveredSink): void {
    project.sink = sink
    const removed = new Set<string>()
    for (const [key, { providerId, delivery }] of project.deliveries) {
      const target = sink.targets.find((each) => each.providerId === providerId)
      if (target !== undefined) {
        delivery.retarget(target)
        continue
      }
      project.deliveries.delete(key)
      removed.add(providerId)
      this.finish(delivery.abandon())
    }
    const message = 'a provider was removed from its event sink; the events that it had not received are dropped'
    for (const provider of removed) this.deps.log({ level: 'info', message, project: sink.projectId, provider })
  }

  private finish(ending: Promise<void>): void {
    const stopped = ending.finally(() => this.stopped.delete(stopped))
    this.stopped.add(stopped)
  }
}
