// Who listens for changes, project by project: a change of what the resources of a project show is told to its own listeners
// and to nobody else. A listener stays as long as they would be let in anew.
import type { ConfigSource } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { NoticeStream } from './notice-stream.ts'
import type { Live, McpCaller } from './parts.ts'
import type { McpServer, McpServers } from './servers.ts'

export interface Listener {
  readonly caller: McpCaller
  /** Whoever listens under the same one again takes the place of the earlier one. Null: each is another. */
  readonly place: string | null
  /** Events. */
  readonly first: readonly string[]
  /** What is said of a change of these resources, their list included: none where it is not theirs to hear. */
  told(uris: ReadonlySet<string>): readonly string[]
  /** What is said when the server ends the stream. */
  readonly last: readonly string[]
  /** Asked a few times in a second; whether the token holds is asked beside it. */
  stands(): boolean
}

export interface Listening {
  listen(listener: Listener): Result<Live, ServiceError>
  /** What `listen` would answer, with a stream that is over: nothing is opened, and nothing ended. */
  wouldListen(listener: Listener): Result<Live, ServiceError>
}

export interface ListenerLimits {
  /** In this process. */
  readonly streamsMax: number
  /** Of one project, in this process. */
  readonly projectStreamsMax: number
  /** How often a silent stream says that it is there: more often than silent connections are ended. */
  readonly keepAliveMs: number
}

interface ListenerParts {
  readonly documents: ConfigSource
  readonly servers: McpServers
  readonly clock: Clock
  readonly limits: ListenerLimits
  /** Of what revision each resource is, by its addresses. */
  versions(server: McpServer): ReadonlyMap<string, string>
  /** A promise of our own code was broken, where no request waits for an answer. */
  onFailure(error: unknown): void
}

interface Open {
  readonly listener: Listener
  readonly stream: NoticeStream
  readonly untilMs: number
  quietLooks: number
}

interface Project {
  readonly introspectId: string
  readonly open: Set<Open>
  versions: ReadonlyMap<string, string>
  /** Changes of a moment are looked at together. */
  gathering: ReturnType<typeof setTimeout> | null
}

/** Of a project's streams, so that nobody takes them all. */
const PERSON_SHARE = 1 / 4

const GATHER_MS = 50
const LOOK_MS = 250
/** For the connection: whoever reads events skips it. */
const KEEP_ALIVE = ': still here\n\n'

export class Listeners implements Listening {
  private readonly parts: ListenerParts
  private readonly projects = new Map<string, Project>()
  private readonly quietLooksMax: number
  private count = 0
  private looking: ReturnType<typeof setInterval> | null = null
  private closed = false

  constructor(parts: ListenerParts) {
    this.parts = parts
    this.quietLooksMax = Math.max(1, Math.floor(parts.limits.keepAliveMs / LOOK_MS))
    parts.documents.subscribe((changes) => {
      if (this.projects.size === 0) return
      for (const { before, after } of changes) {
        const changed = after ?? before
        // Of any kind: agents, policies and token introspections have their part in who sees what.
        if (changed !== null) this.gather(changed.kind === 'projects' ? changed.id : changed.project_id)
      }
    })
  }

  listen(listener: Listener): Result<Live, ServiceError> {
    const refused = this.refusal(listener)
    if (refused !== null) return err(refused)
    const { server, user } = listener.caller
    for (const open of this.inProject(server.projectId)) if (sharesPlace(open, listener)) this.end(open)
    const { exp } = user.claims
    const untilMs = typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY
    const stream = new NoticeStream(listener.first, () => this.forget(open))
    const open: Open = { listener, stream, untilMs, quietLooks: 0 }
    const project = this.projects.get(server.projectId) ?? this.begin(server)
    project.open.add(open)
    this.count += 1
    this.looking ??= setInterval(() => this.look(), LOOK_MS)
    this.looking.unref()
    return ok(stream)
  }

  wouldListen(listener: Listener): Result<Live, ServiceError> {
    const refused = this.refusal(listener)
    return refused === null ? ok(new NoticeStream([], () => undefined)) : err(refused)
  }

  /** Ends all of them, and takes no more. */
  close(): void {
    this.closed = true
    for (const project of this.projects.values()) this.endAll(project)
  }

  private refusal(listener: Listener): ServiceError | null {
    if (this.closed) return { kind: 'unavailable', message: 'the server is stopping' }
    if (this.hasRoom(listener)) return null
    return { kind: 'unavailable', message: 'as many listen as may listen at once', retryAfterS: 30 }
  }

  /** Whose place it takes makes room for it. */
  private hasRoom(listener: Listener): boolean {
    const { streamsMax, projectStreamsMax } = this.parts.limits
    const { server, user } = listener.caller
    const inProject = this.inProject(server.projectId)
    const staying = inProject.filter((open) => !sharesPlace(open, listener))
    const count = this.count - (inProject.length - staying.length)
    // Whose tokens are taken is one issuer, so subjects are told apart by their names.
    const own = staying.filter((open) => open.listener.caller.user.subjectId === user.subjectId).length
    const ownMax = Math.max(1, Math.floor(projectStreamsMax * PERSON_SHARE))
    return count < streamsMax && staying.length < projectStreamsMax && own < ownMax
  }

  private inProject(projectId: string): readonly Open[] {
    return [...(this.projects.get(projectId)?.open ?? [])]
  }

  private begin(server: McpServer): Project {
    const project: Project = {
      introspectId: server.tokenIntrospectId,
      open: new Set(),
      versions: this.parts.versions(server),
      gathering: null,
    }
    this.projects.set(server.projectId, project)
    return project
  }

  private endAll({ open }: Project): void {
    for (const one of open) this.end(one)
  }

  private end(open: Open): void {
    open.stream.end(open.listener.last)
    this.forget(open)
  }

  private forget(open: Open): void {
    const { projectId } = open.listener.caller.server
    const project = this.projects.get(projectId)
    if (project?.open.delete(open) !== true) return
    this.count -= 1
    if (project.open.size === 0) {
      if (project.gathering !== null) clearTimeout(project.gathering)
      this.projects.delete(projectId)
    }
    if (this.count === 0 && this.looking !== null) {
      clearInterval(this.looking)
      this.looking = null
    }
  }

  private gather(projectId: string): void {
    const project = this.projects.get(projectId)
    if (project === undefined || project.gathering !== null) return
    project.gathering = setTimeout(() => {
      project.gathering = null
      try {
        this.tell(projectId, project)
      } catch (error) {
        // They may have missed something, which they learn when they listen again.
        this.endAll(project)
        this.parts.onFailure(error)
      }
    }, GATHER_MS)
    project.gathering.unref()
  }

  private tell(projectId: string, project: Project): void {
    const server = this.parts.servers.find(projectId)
    if (server === null || server.tokenIntrospectId !== project.introspectId) {
      this.endAll(project)
      return
    }
    for (const open of project.open) void this.endUnlessAdmitted(open)
    const before = project.versions
    project.versions = this.parts.versions(server)
    const changed = new Set([...before, ...project.versions].map(([uri]) => uri))
    for (const uri of changed) if (before.get(uri) === project.versions.get(uri)) changed.delete(uri)
    if (changed.size === 0) return
    for (const { listener, stream } of project.open) for (const event of listener.told(changed)) stream.say(event)
  }

  private look(): void {
    const nowMs = this.parts.clock.now()
    for (const { open } of this.projects.values()) {
      for (const one of open) {
        if (nowMs >= one.untilMs || !one.listener.stands()) {
          this.end(one)
          continue
        }
        one.quietLooks += 1
        if (one.quietLooks < this.quietLooksMax) continue
        one.quietLooks = 0
        // Nobody has read anything for a while: the connection may be gone without a word.
        if (one.stream.say(KEEP_ALIVE)) void this.endUnlessAdmitted(one)
        else this.end(one)
      }
    }
  }

  /** Fails closed: also where it cannot be told now. */
  private async endUnlessAdmitted(open: Open): Promise<void> {
    const admitted = await open.listener.caller.isAdmitted().catch(() => false)
    if (!admitted) this.end(open)
  }
}

function sharesPlace(open: Open, { place }: Listener): boolean {
  return place !== null && open.listener.place === place
}
