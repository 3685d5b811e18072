// Who listens for changes, project by project: a change of what the resources of a project show is told to its own listeners
// and to nobody else. A listener stays as long as they would be let in anew.
import { type ConfigSource, projectsKind } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { EventStream, McpCaller } from './method.ts'
import { NotificationStream } from './notification-stream.ts'
import type { McpServer, McpServers } from './servers.ts'

export interface SubscriptionRequest {
  readonly caller: McpCaller
  /** Whoever listens under the same one again takes the place of the earlier one. Null: each is another. */
  readonly replacementKey: string | null
  /** Events. */
  readonly firstEvents: readonly string[]
  /** What is said of a change of these resources, their list included: none where it is not theirs to hear. */
  eventsFor(uris: ReadonlySet<string>): readonly string[]
  /** What is said when the server ends the stream. */
  readonly lastEvents: readonly string[]
  /** Asked a few times in a second; whether the token holds is asked beside it. */
  isValid(): boolean
}

export interface SubscriptionService {
  subscribe(listener: SubscriptionRequest): Result<EventStream, ServiceError>
  /** What `listen` would answer, with a stream that is over: nothing is opened, and nothing ended. */
  checkSubscribe(listener: SubscriptionRequest): Result<EventStream, ServiceError>
}

export interface SubscriptionLimits {
  /** In this process. */
  readonly streamsMax: number
  /** Of one project, in this process. */
  readonly projectStreamsMax: number
  /** How often a silent stream says that it is there: more often than silent connections are ended. */
  readonly keepAliveMs: number
}

interface SubscriptionsDeps {
  readonly documents: ConfigSource
  readonly servers: McpServers
  readonly clock: Clock
  readonly limits: SubscriptionLimits
  /** Of what revision each resource is, by its addresses. */
  resourceVersions(server: McpServer): ReadonlyMap<string, string>
  /** A promise of our own code was broken, where no request waits for an answer. */
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
  /** Changes of a moment are looked at together. */
  coalesceTimer: ReturnType<typeof setTimeout> | null
}

/** Of a project's streams, so that nobody takes them all. */
const USER_SHARE = 1 / 4

const COALESCE_MS = 50
const TICK_MS = 250
/** For the connection: whoever reads events skips it. */
const KEEP_ALIVE = ': still here\n\n'

export class Subscriptions implements SubscriptionService {
  private readonly parts: SubscriptionsDeps
  private readonly projects = new Map<string, ProjectSubscriptions>()
  private readonly quietTicksMax: number
  private count = 0
  private ticker: ReturnType<typeof setInterval> | null = null
  private isClosed = false

  constructor(parts: SubscriptionsDeps) {
    this.parts = parts
    this.quietTicksMax = Math.max(1, Math.floor(parts.limits.keepAliveMs / TICK_MS))
    parts.documents.subscribe((changes) => {
      if (this.projects.size === 0) return
      for (const { before, after } of changes) {
        const changed = after ?? before
        // Of any kind: agents, policies and token introspections have their part in who sees what.
        if (changed !== null) this.scheduleNotify(changed.kind === projectsKind ? changed.id : changed.project_id)
      }
    })
  }

  subscribe(listener: SubscriptionRequest): Result<EventStream, ServiceError> {
    const refused = this.checkLimits(listener)
    if (refused !== null) return err(refused)
    const { server, user } = listener.caller
    for (const open of this.inProject(server.projectId)) if (isReplacedBy(open, listener)) this.end(open)
    const { exp } = user.claims
    const untilMs = typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY
    const stream = new NotificationStream(listener.firstEvents, () => this.remove(open))
    const open: ActiveSubscription = { request: listener, stream, untilMs, quietTicks: 0 }
    const project = this.projects.get(server.projectId) ?? this.createProject(server)
    project.active.add(open)
    this.count += 1
    this.ticker ??= setInterval(() => this.onTick(), TICK_MS)
    this.ticker.unref()
    return ok(stream)
  }

  checkSubscribe(listener: SubscriptionRequest): Result<EventStream, ServiceError> {
    const refused = this.checkLimits(listener)
    return refused === null ? ok(new NotificationStream([], () => undefined)) : err(refused)
  }

  /** Ends all of them, and takes no more. */
  close(): void {
    this.isClosed = true
    for (const project of this.projects.values()) this.endAll(project)
  }

  private checkLimits(listener: SubscriptionRequest): ServiceError | null {
    if (this.isClosed) return { kind: 'unavailable', message: 'the server is stopping' }
    if (this.isWithinLimits(listener)) return null
    return { kind: 'unavailable', message: 'as many listen as may listen at once', retryAfterS: 30 }
  }

  /** Whose place it takes makes room for it. */
  private isWithinLimits(listener: SubscriptionRequest): boolean {
    const { streamsMax, projectStreamsMax } = this.parts.limits
    const { server, user } = listener.caller
    const inProject = this.inProject(server.projectId)
    const staying = inProject.filter((open) => !isReplacedBy(open, listener))
    const count = this.count - (inProject.length - staying.length)
    // Whose tokens are taken is one issuer, so subjects are told apart by their names.
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
      versions: this.parts.resourceVersions(server),
      coalesceTimer: null,
    }
    this.projects.set(server.projectId, project)
    return project
  }

  private endAll({ active }: ProjectSubscriptions): void {
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
        // They may have missed something, which they learn when they listen again.
        this.endAll(project)
        this.parts.onInternalError(error)
      }
    }, COALESCE_MS)
    project.coalesceTimer.unref()
  }

  private notify(projectId: string, project: ProjectSubscriptions): void {
    const server = this.parts.servers.find(projectId)
    if (server === null || server.tokenIntrospectId !== project.introspectId) {
      this.endAll(project)
      return
    }
    for (const open of project.active) void this.endUnlessAdmitted(open)
    const before = project.versions
    project.versions = this.parts.resourceVersions(server)
    const changed = new Set([...before, ...project.versions].map(([uri]) => uri))
    for (const uri of changed) if (before.get(uri) === project.versions.get(uri)) changed.delete(uri)
    if (changed.size === 0) return
    for (const { request, stream } of project.active) for (const event of request.eventsFor(changed)) stream.push(event)
  }

  private onTick(): void {
    const nowMs = this.parts.clock.now()
    for (const { active } of this.projects.values()) {
      for (const one of active) {
        if (nowMs >= one.untilMs || !one.request.isValid()) {
          this.end(one)
          continue
        }
        one.quietTicks += 1
        if (one.quietTicks < this.quietTicksMax) continue
        one.quietTicks = 0
        // Nobody has read anything for a while: the connection may be gone without a word.
        if (one.stream.push(KEEP_ALIVE)) void this.endUnlessAdmitted(one)
        else this.end(one)
      }
    }
  }

  /** Fails closed: also where it cannot be told now. */
  private async endUnlessAdmitted(open: ActiveSubscription): Promise<void> {
    const admitted = await open.request.caller.isAdmitted().catch(() => false)
    if (!admitted) this.end(open)
  }
}

function isReplacedBy(open: ActiveSubscription, { replacementKey }: SubscriptionRequest): boolean {
  return replacementKey !== null && open.request.replacementKey === replacementKey
}
