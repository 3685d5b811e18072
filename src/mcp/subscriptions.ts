// Subscriptions to changes of resources, by project. A change is sent only to subscribers of its project. A subscription
// ends when its token expires or would no longer be accepted.
import { type ConfigSource, projectsKind } from '../config/kind.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Clock } from '../kernel/time/clock.ts'
import type { EventStream, McpCaller } from './method.ts'
import { NotificationStream } from './notification-stream.ts'
import type { McpServer, McpServers } from './servers.ts'

/** A request for a stream of notifications. */
export interface SubscriptionRequest {
  readonly caller: McpCaller
  /** A new subscription with the same key replaces the earlier one. Null: it replaces none. */
  readonly replacementKey: string | null
  /** Events sent at the beginning. */
  readonly firstEvents: readonly string[]
  /** The events for a change of these resources; empty if the client did not subscribe to any of them. */
  eventsFor(uris: ReadonlySet<string>): readonly string[]
  /** Events sent when the server ends the stream. */
  readonly lastEvents: readonly string[]
  /** False: the subscription ends. Polled several times per second; the token is checked separately. */
  isValid(): boolean
}

/** Opens event streams. */
export interface SubscriptionService {
  /** Opens a stream. Errors: `unavailable` if a limit is reached or the server is stopping. */
  subscribe(request: SubscriptionRequest): Result<EventStream, ServiceError>
  /** Returns what `subscribe` would, with a stream that has ended. Changes no subscription. */
  checkSubscribe(request: SubscriptionRequest): Result<EventStream, ServiceError>
}

/** Limits of the event streams of a process. */
export interface SubscriptionLimits {
  /** Maximum number of streams of this process. */
  readonly streamsMax: number
  /** Maximum number of streams of one project in this process. */
  readonly projectStreamsMax: number
  /** Interval of keep-alive comments on a silent stream, milliseconds; shorter than the idle timeout of connections. */
  readonly keepAliveMs: number
}

interface SubscriptionsDeps {
  readonly documents: ConfigSource
  readonly servers: McpServers
  readonly clock: Clock
  readonly limits: SubscriptionLimits
  /** URI of each resource of a server → its version. */
  resourceVersions(server: McpServer): ReadonlyMap<string, string>
  /** Called with an unexpected error outside of a request, for the log. */
  onInternalError(error: unknown): void
}

interface ActiveSubscription {
  readonly request: SubscriptionRequest
  readonly stream: NotificationStream
  readonly untilMs: number
  quietTicks: number
}

interface ProjectSubscriptions {
  readonly introspectId: string
  readonly active: Set<ActiveSubscription>
  versions: ReadonlyMap<string, string>
  /** Changes within `COALESCE_MS` are processed together. */
  coalesceTimer: ReturnType<typeof setTimeout> | null
}

/** Share of the streams of a project that one user may open. */
const USER_SHARE = 1 / 4

const COALESCE_MS = 50
const TICK_MS = 250
/** A comment, which readers of events ignore. */
const KEEP_ALIVE = ': still here\n\n'

/** The subscriptions of a process. */
export class Subscriptions implements SubscriptionService {
  private readonly deps: SubscriptionsDeps
  private readonly projects = new Map<string, ProjectSubscriptions>()
  private readonly quietTicksMax: number
  private count = 0
  private ticker: ReturnType<typeof setInterval> | null = null
  private isClosed = false

  constructor(deps: SubscriptionsDeps) {
    this.deps = deps
    this.quietTicksMax = Math.max(1, Math.floor(deps.limits.keepAliveMs / TICK_MS))
    deps.documents.subscribe((changes) => {
      if (this.projects.size === 0) return
      for (const { before, after } of changes) {
        const changed = after ?? before
        // Any kind may matter: agents, policies and token introspections decide who sees which resource.
        if (changed !== null) this.scheduleNotify(changed.kind === projectsKind ? changed.id : changed.project_id)
      }
    })
  }

  subscribe(request: SubscriptionRequest): Result<EventStream, ServiceError> {
    const refused = this.checkLimits(request)
    if (refused !== null) return err(refused)
    const { server, user } = request.caller
    for (const open of this.inProject(server.projectId)) if (isReplacedBy(open, request)) this.end(open)
    const { exp } = user.claims
    const untilMs = typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY
    const stream = new NotificationStream(request.firstEvents, () => this.remove(open))
    const open: ActiveSubscription = { request, stream, untilMs, quietTicks: 0 }
    const project = this.projects.get(server.projectId) ?? this.createProject(server)
    project.active.add(open)
    this.count += 1
    this.ticker ??= setInterval(() => this.onTick(), TICK_MS)
    this.ticker.unref()
    return ok(stream)
  }

  checkSubscribe(request: SubscriptionRequest): Result<EventStream, ServiceError> {
    const refused = this.checkLimits(request)
    return refused === null ? ok(new NotificationStream([], () => undefined)) : err(refused)
  }

  /** Ends all streams. */
  endAll(): void {
    for (const project of this.projects.values()) this.endProject(project)
  }

  /** Ends all streams and accepts no more. */
  close(): void {
    this.isClosed = true
    this.endAll()
  }

  private checkLimits(request: SubscriptionRequest): ServiceError | null {
    if (this.isClosed) return { kind: 'unavailable', message: 'the server is stopping' }
    if (this.isWithinLimits(request)) return null
    return { kind: 'unavailable', message: 'subscription limit reached', retryAfterS: 30 }
  }

  /** Does not count subscriptions that the new one replaces. */
  private isWithinLimits(request: SubscriptionRequest): boolean {
    const { streamsMax, projectStreamsMax } = this.deps.limits
    const { server, user } = request.caller
    const inProject = this.inProject(server.projectId)
    const staying = inProject.filter((open) => !isReplacedBy(open, request))
    const count = this.count - (inProject.length - staying.length)
    // A server accepts tokens of one issuer, so the subject id identifies the user.
    const own = staying.filter((open) => open.request.caller.user.subjectId === user.subjectId).length
    const ownMax = Math.max(1, Math.floor(projectStreamsMax * USER_SHARE))
    return count < streamsMax && staying.length < projectStreamsMax && own < ownMax
  }

  private inProject(projectId: string): readonly ActiveSubscription[] {
    return [...(this.projects.get(projectId)?.active ?? [])]
  }

  private createProject(server: McpServer): ProjectSubscriptions {
    const project: ProjectSubscriptions = {
      introspectId: server.tokenIntrospectId,
      active: new Set(),
      versions: this.deps.resourceVersions(server),
      coalesceTimer: null,
    }
    this.projects.set(server.projectId, project)
    return project
  }

  private endProject({ active }: ProjectSubscriptions): void {
    for (const one of active) this.end(one)
  }

  private end(open: ActiveSubscription): void {
    open.stream.end(open.request.lastEvents)
    this.remove(open)
  }

  private remove(open: ActiveSubscription): void {
    const { projectId } = open.request.caller.server
    const project = this.projects.get(projectId)
    if (project?.active.delete(open) !== true) return
    this.count -= 1
    if (project.active.size === 0) {
      if (project.coalesceTimer !== null) clearTimeout(project.coalesceTimer)
      this.projects.delete(projectId)
    }
    if (this.count === 0 && this.ticker !== null) {
      clearInterval(this.ticker)
      this.ticker = null
    }
  }

  private scheduleNotify(projectId: string): void {
    const project = this.projects.get(projectId)
    if (project === undefined || project.coalesceTimer !== null) return
    project.coalesceTimer = setTimeout(() => {
      project.coalesceTimer = null
      try {
        this.notify(projectId, project)
      } catch (error) {
        // Clients may have missed a change, and read the resources again when they subscribe again.
        this.endProject(project)
        this.deps.onInternalError(error)
      }
    }, COALESCE_MS)
    project.coalesceTimer.unref()
  }

  private notify(projectId: string, project: ProjectSubscriptions): void {
    const server = this.deps.servers.find(projectId)
    if (server === null || server.tokenIntrospectId !== project.introspectId) {
      this.endProject(project)
      return
    }
    for (const open of project.active) void this.endUnlessAuthenticated(open)
    const before = project.versions
    project.versions = this.deps.resourceVersions(server)
    const changed = new Set([...before, ...project.versions].map(([uri]) => uri))
    for (const uri of changed) if (before.get(uri) === project.versions.get(uri)) changed.delete(uri)
    if (changed.size === 0) return
    for (const { request, stream } of project.active) for (const event of request.eventsFor(changed)) stream.push(event)
  }

  private onTick(): void {
    const nowMs = this.deps.clock.now()
    for (const { active } of this.projects.values()) {
      for (const one of active) {
        if (nowMs >= one.untilMs || !one.request.isValid()) {
          this.end(one)
          continue
        }
        one.quietTicks += 1
        if (one.quietTicks < this.quietTicksMax) continue
        one.quietTicks = 0
        // The stream was silent for a while. If the last keep-alive is still unread, the connection is dead.
        if (one.stream.push(KEEP_ALIVE)) void this.endUnlessAuthenticated(one)
        else this.end(one)
      }
    }
  }

  /** Ends the subscription if its token is not accepted any more, or if that cannot be determined. */
  private async endUnlessAuthenticated(open: ActiveSubscription): Promise<void> {
    const isAuthenticated = await open.request.caller.isStillAuthenticated().catch(() => false)
    if (!isAuthenticated) this.end(open)
  }
}

function isReplacedBy(open: ActiveSubscription, { replacementKey }: SubscriptionRequest): boolean {
  return replacementKey !== null && open.request.replacementKey === replacementKey
}
