// The change streams of a serving process: which decisions of a project may have changed since a revision. Writers of all processes
// note the names that they change (watch-notes.ts); policies say on which names their decisions depend. Decisions cost nothing, and
// writers of unwatched graphs cost nothing either (docs/decisions/0052-change-and-decision-streams.md).
import { readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ConfigSource, type DocumentChange, projectsKind } from '../config/kind.ts'
import type { GraphDependencies } from '../engine/conditions.ts'
import { tokenIntrospectsKind } from '../identity/token-introspect.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { CommitSignal, CommitSubscription } from '../kernel/folder/commit-signal.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { modelsKind } from '../model/stored-model.ts'
import type { WatchedDecisions, WatchRequest, WatchStreams } from '../pdp/watch-schema.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { activeDecisionHeader, type PolicyIndex } from '../policy/policy-index.ts'
import { ChangeTable, changeSlots, slotOfName } from '../store/process/change-table.ts'
import type { SharedCounter } from '../store/process/shared-counter.ts'
import type { Catalog, GraphCommits } from '../store/tenancy/catalog.ts'
import { Turns } from './turns.ts'
import { uptimeS, WATCH_LEASE_S, type WatchPlace } from './watch-notes.ts'
import { keyOfDecisions, WatchedChange, type WatchPosition, WatchStream, watchKeepAlive } from './watch-stream.ts'

/** Changes within this time are reported together. */
const TOGETHER_MS = 50
/** Time between two ticks, at most. A tick counts for keep-alives, and reads the graphs also without a commit. */
const TICK_MS = 1000
/** Interval at which credentials are checked, and writers are asked to continue their notes. */
const RENEW_MS = 5000
/** Streams that begin, or get an event, in one turn of the event loop: each takes some 25 to 70 µs. */
const STREAMS_PER_TURN = 32
/** Pause between these turns. */
const TURN_MS = 5
/** Reads for one consistent state of all graphs and of the configuration. */
const READS_MAX = 5
/** Changes of the configuration that a client can miss and still resume. */
const HISTORY_MAX = 1000

/** Limits of the change streams of a process. */
interface WatchLimits {
  readonly streamsMax: number
  readonly projectStreamsMax: number
  /** Interval of keep-alive comments, milliseconds; shorter than the idle timeout of connections. */
  readonly keepAliveMs: number
}

/** Collaborators of the hub. */
interface WatchHubDeps {
  readonly documents: ConfigSource & { readonly commit: number; catchUp(): void }
  readonly policies: PolicyIndex
  readonly catalog: Pick<Catalog, 'commitsOf' | 'openAll' | 'keepOpen'>
  /** Counts the commits of graphs of all processes. */
  readonly graphCommits: SharedCounter
  readonly signal: CommitSignal
  readonly place: WatchPlace
  readonly limits: WatchLimits
  /** Called with an unexpected error, for the log. */
  onInternalError(error: unknown): void
}

interface WatchedGraph {
  readonly commits: GraphCommits
  readonly table: ChangeTable
  /** The last transaction whose changes are reported. */
  last: number
  readonly pending: Map<number, number>
}

interface WatchedProject {
  readonly projectId: string
  readonly streams: Set<WatchStream>
  graphs: readonly WatchedGraph[]
  configuration: number
  timeDependent: readonly WatchedDecisions[]
  /** Changes of the configuration that are not reported yet; null: any decision may have changed. */
  changed: Map<string, WatchedDecisions> | null
  isAuthenticationDue: boolean
  isUpdateDue: boolean
  /** Events that not all streams have, in their order. */
  readonly deliveries: Delivery[]
  release(): void
}

/** An event for the streams that were open when it was made. */
interface Delivery {
  readonly streams: readonly WatchStream[]
  /** The number of streams that have the event. */
  done: number
  send(stream: WatchStream): void
}

/** A change of the configuration. `decisions`: null if any decision of the project may have changed. */
interface ConfigurationChange {
  readonly commit: number
  readonly projectId: string
  readonly decisions: readonly WatchedDecisions[] | null
}

interface PolicyToWatch {
  readonly decisions: readonly WatchedDecisions[]
  /** Null: not known yet. */
  readonly dependencies: GraphDependencies | null
}

/** The change streams of a process. */
export class WatchHub implements WatchStreams {
  private readonly deps: WatchHubDeps
  private readonly projects = new Map<string, WatchedProject>()
  private readonly opening = new Map<string, Promise<WatchedProject>>()
  private readonly slots = new WeakMap<GraphDependencies, readonly number[]>()
  private readonly history: ConfigurationChange[] = []
  /** `history` has all changes after this commit. */
  private historySince: number
  private readonly quietTicksMax: number
  private readonly tickMs: number
  private subscription: CommitSubscription | null = null
  private nextTickMs = 0
  private renewMs = 0
  private seenCommits = -1
  private count = 0
  private isClosed = false
  /** After a restart all clients connect again at once. */
  private readonly beginnings = new Turns(STREAMS_PER_TURN, TURN_MS)
  private readonly checks = new Turns(STREAMS_PER_TURN, TURN_MS)

  constructor(deps: WatchHubDeps) {
    this.deps = deps
    this.historySince = deps.documents.commit
    this.tickMs = Math.min(TICK_MS, deps.limits.keepAliveMs / 4)
    this.quietTicksMax = Math.max(1, Math.floor(deps.limits.keepAliveMs / this.tickMs))
    deps.documents.subscribe((changes) => this.onConfiguration(changes))
  }

  limitError(projectId: string): ServiceError | null {
    if (this.isClosed) return { kind: 'unavailable', message: 'the server is stopping' }
    const { streamsMax, projectStreamsMax } = this.deps.limits
    const inProject = this.projects.get(projectId)?.streams.size ?? 0
    if (this.count < streamsMax && inProject < projectStreamsMax) return null
    return { kind: 'unavailable', message: 'the limit of change streams is reached', retryAfterS: 30 }
  }

  async watch(request: WatchRequest): Promise<Result<AsyncIterator<string, void>, ServiceError>> {
    const { projectId } = request.caller
    const limit = this.limitError(projectId)
    if (limit !== null) return err(limit)
    this.count += 1
    try {
      await this.beginnings.next()
      const project = await this.projectOf(projectId)
      const late = this.isClosed ? this.limitError(projectId) : null
      if (late !== null) return err(late)
      this.update(project)
      const stream = new WatchStream(request, () => this.remove(project, stream))
      this.begin(project, stream)
      project.streams.add(stream)
      this.count += 1
      this.subscription ??= this.deps.signal.subscribe(() => this.look(), TOGETHER_MS)
      this.subscription.lookWithin(0)
      return ok(stream)
    } finally {
      this.count -= 1
    }
  }

  /** Ends all streams. */
  endAll(): void {
    for (const project of [...this.projects.values()]) this.endProject(project)
  }

  /** Ends all streams and opens no more. */
  close(): void {
    this.isClosed = true
    this.endAll()
  }

  private begin(project: WatchedProject, stream: WatchStream): void {
    const { lastEventId } = stream.request
    const position = this.positionOf(project)
    const missed = lastEventId === null ? [] : this.changedSince(project, lastEventId)
    stream.start(position, project.timeDependent, lastEventId !== null && missed !== null)
    if (missed === null) stream.reset(position, 'the changes since the last event are not known')
    else stream.change(new WatchedChange(position, missed, null))
  }

  /** The decisions that may have changed since an event; null: unknown. */
  private changedSince(project: WatchedProject, id: string): readonly WatchedDecisions[] | null {
    const [epoch, ...words] = id.split('.')
    const [configuration, ...transactions] = words.map(Number)
    if (epoch !== this.deps.place.epoch || configuration === undefined) return null
    if (words.some((word) => !/^\d{1,15}$/.test(word)) || transactions.length !== project.graphs.length) return null
    if (configuration < this.historySince || configuration > project.configuration) return null
    const slots = new Set<number>()
    for (const [at, { table, last }] of project.graphs.entries()) {
      const since = transactions[at]!
      const changed = since > last ? null : table.changedSince(since, last, new Map(), uptimeS())
      if (changed === null) return null
      for (const slot of changed) slots.add(slot)
    }
    const found = [...this.decisionsOf(project, slots)]
    for (const { commit, projectId, decisions } of this.history) {
      if (projectId !== project.projectId || commit <= configuration) continue
      if (decisions === null) return null
      found.push(...decisions)
    }
    return found
  }

  private positionOf({ graphs, configuration }: WatchedProject): WatchPosition {
    const transactions = graphs.map(({ last }) => last)
    return {
      id: [this.deps.place.epoch, configuration, ...transactions].join('.'),
      revision: transactions.reduce((sum, last) => sum + last, configuration),
    }
  }

  private async projectOf(projectId: string): Promise<WatchedProject> {
    const known = this.projects.get(projectId)
    if (known !== undefined) return known
    let opening = this.opening.get(projectId)
    if (opening === undefined) {
      opening = this.openProject(projectId).finally(() => this.opening.delete(projectId))
      this.opening.set(projectId, opening)
    }
    return opening
  }

  private async openProject(projectId: string): Promise<WatchedProject> {
    const { catalog, documents, place } = this.deps
    removeOldNotes(dirname(place.pathOf(projectId, '')))
    const release = catalog.keepOpen(projectId)
    try {
      await catalog.openAll(projectId)
      const graphs = catalog.commitsOf(projectId).map((commits): WatchedGraph => {
        const table = ChangeTable.open(place.pathOf(projectId, commits.part))
        return { commits, table, last: 0, pending: new Map() }
      })
      this.renewLease()
      for (const graph of graphs) await this.renew(graph)
      for (const graph of graphs) graph.last = graph.commits.lastTransaction()
      documents.catchUp()
      const project: WatchedProject = {
        projectId,
        streams: new Set(),
        graphs,
        configuration: documents.commit,
        timeDependent: [],
        changed: new Map(),
        isAuthenticationDue: false,
        isUpdateDue: false,
        deliveries: [],
        release,
      }
      project.timeDependent = timeDependentOf(this.policiesOf(projectId))
      this.projects.set(projectId, project)
      return project
    } catch (error) {
      release()
      throw error
    }
  }

  private renewLease(): void {
    this.deps.place.watchedUntil.store(uptimeS() + WATCH_LEASE_S)
  }

  /** Has the writers of a graph note their changes. Resolves when they certainly do. */
  private async renew({ table, commits }: WatchedGraph): Promise<void> {
    const nowS = uptimeS()
    if (table.renew(nowS, nowS + WATCH_LEASE_S)) return
    await commits.settleWrites()
    const transaction = commits.lastTransaction()
    // After a long pause the notes may have ended again.
    if (uptimeS() - nowS < WATCH_LEASE_S / 2) table.beComplete(transaction)
  }

  private onConfiguration(changes: readonly DocumentChange[]): void {
    const { commit } = this.deps.documents
    for (const change of changes) {
      const document = change.after ?? change.before
      if (document === null) continue
      const projectId = document.kind === projectsKind ? document.id : document.project_id
      const project = this.projects.get(projectId)
      if (project !== undefined) project.isAuthenticationDue = true
      const decisions = decisionsOfChange(change)
      if (decisions?.length === 0) continue
      this.history.push({ commit, projectId, decisions })
      if (this.history.length > HISTORY_MAX) this.historySince = this.history.shift()!.commit
      if (project === undefined) continue
      // Its graphs may be others: clients connect again.
      if (document.kind === projectsKind) this.endProject(project)
      else if (decisions === null) project.changed = null
      else for (const one of decisions) project.changed?.set(keyOfDecisions(one), one)
    }
  }

  private look(): void {
    const nowMs = performance.now()
    // A little early, so that ticks coincide with the looks of other parts of the process.
    const isTick = nowMs >= this.nextTickMs - this.tickMs / 4
    if (isTick) this.nextTickMs = nowMs + this.tickMs
    const isRenewing = isTick && nowMs >= this.renewMs
    if (isRenewing) this.renewMs = nowMs + RENEW_MS
    try {
      const commits = this.deps.graphCommits.load()
      this.deps.documents.catchUp()
      if (isRenewing) this.renewLease()
      for (const project of [...this.projects.values()]) {
        if (isRenewing) for (const graph of project.graphs) this.renewInBackground(graph)
        const isConfigured = project.changed === null || project.changed.size > 0
        if (isTick || isConfigured || commits !== this.seenCommits) project.isUpdateDue = true
        if (isRenewing) project.isAuthenticationDue = true
        // Changes in the meantime are in the next event. A keep-alive must not name a position before its event.
        if (project.deliveries.length > 0) continue
        if (project.isUpdateDue) this.update(project)
        if (project.deliveries.length > 0) continue
        this.authenticate(project)
        if (isTick) this.keepAlive(project)
      }
      this.seenCommits = commits
    } catch (error) {
      // Clients may have missed a change: they connect again, and learn that.
      for (const project of [...this.projects.values()]) this.endProject(project)
      this.deps.onInternalError(error)
    }
    const isWaiting = this.projects.values().some(({ deliveries }) => deliveries.length > 0)
    this.subscription?.lookWithin(isWaiting ? TOGETHER_MS : this.nextTickMs - nowMs)
  }

  private renewInBackground(graph: WatchedGraph): void {
    this.renew(graph).catch((error: unknown) => this.deps.onInternalError(error))
  }

  /** Reports what has changed since the last update. */
  private update(project: WatchedProject): void {
    const { documents } = this.deps
    project.isUpdateDue = false
    let current = project.graphs.map(({ commits }) => commits.lastTransaction())
    for (let reads = 0; reads < READS_MAX; reads++) {
      documents.catchUp()
      // The project may have been deleted: then its graphs are closed.
      if (this.projects.get(project.projectId) !== project) return
      const again = project.graphs.map(({ commits }) => commits.lastTransaction())
      const isSame = again.every((transaction, at) => transaction === current[at])
      current = again
      if (isSame) break
    }
    const slots = new Set<number>()
    let isUnknown = false
    for (const [at, graph] of project.graphs.entries()) {
      const changed = graph.table.changedSince(graph.last, current[at]!, graph.pending, uptimeS())
      if (changed === null) isUnknown = true
      else for (const slot of changed) slots.add(slot)
      graph.last = current[at]!
    }
    project.configuration = documents.commit
    const { changed } = project
    project.changed = new Map()
    if (!isUnknown && changed !== null && changed.size === 0 && slots.size === 0) return
    const position = this.positionOf(project)
    if (isUnknown || changed === null) {
      const reason = isUnknown ? 'the changes of the graph are not known' : 'the configuration has changed'
      project.timeDependent = timeDependentOf(this.policiesOf(project.projectId))
      const { timeDependent } = project
      this.deliver(project, (stream) => {
        stream.reset(position, reason)
        stream.change(new WatchedChange(position, [], timeDependent))
      })
      return
    }
    const decisions = new Map(changed)
    for (const one of this.decisionsOf(project, slots)) decisions.set(keyOfDecisions(one), one)
    const timeDependent = changed.size === 0 ? null : timeDependentOf(this.policiesOf(project.projectId))
    const isOther = timeDependent !== null && JSON.stringify(timeDependent) !== JSON.stringify(project.timeDependent)
    if (timeDependent !== null) project.timeDependent = timeDependent
    if (decisions.size === 0 && !isOther) return
    const change = new WatchedChange(position, [...decisions.values()], isOther ? timeDependent : null)
    this.deliver(project, (stream) => stream.change(change))
  }

  /** Gives an event to all streams, some in each turn of the event loop. */
  private deliver(project: WatchedProject, send: Delivery['send']): void {
    project.deliveries.push({ streams: [...project.streams], done: 0, send })
    if (project.deliveries.length === 1) this.continueDelivery(project)
  }

  private continueDelivery(project: WatchedProject): void {
    let left = STREAMS_PER_TURN
    for (let delivery = project.deliveries[0]; delivery !== undefined; delivery = project.deliveries[0]) {
      const { streams, send } = delivery
      for (; delivery.done < streams.length && left > 0; left--) {
        const stream = streams[delivery.done]!
        delivery.done += 1
        if (project.streams.has(stream)) send(stream)
      }
      if (delivery.done < streams.length) {
        setTimeout(() => this.continueDelivery(project), TURN_MS)
        return
      }
      project.deliveries.shift()
    }
  }

  private *decisionsOf({ projectId }: WatchedProject, slots: ReadonlySet<number>): Iterable<WatchedDecisions> {
    if (slots.size === 0) return
    for (const { decisions, dependencies } of this.policiesOf(projectId)) {
      const isTouched =
        dependencies === null || dependencies.everything || this.slotsOf(dependencies).some((slot) => slots.has(slot))
      if (isTouched) yield* decisions
    }
  }

  private policiesOf(projectId: string): readonly PolicyToWatch[] {
    return this.deps.policies.dependencies(projectId).map(({ header, dependencies }) => ({
      decisions: decisionsOfHeader(header),
      dependencies,
    }))
  }

  private slotsOf(dependencies: GraphDependencies): readonly number[] {
    const known = this.slots.get(dependencies)
    if (known !== undefined) return known
    const slots = [
      ...(dependencies.anyNode ? [changeSlots.nodes] : []),
      ...(dependencies.anyRelationship ? [changeSlots.relationships] : []),
      ...Array.from(dependencies.labels, (name) => slotOfName('label', name)),
      ...Array.from(dependencies.types, (name) => slotOfName('type', name)),
      ...Array.from(dependencies.properties, (name) => slotOfName('property', name)),
    ]
    this.slots.set(dependencies, slots)
    return slots
  }

  private authenticate(project: WatchedProject): void {
    if (!project.isAuthenticationDue) return
    project.isAuthenticationDue = false
    for (const stream of project.streams) void this.endUnlessAllowed(project, stream)
  }

  private keepAlive(project: WatchedProject): void {
    // Streams that began together are due together; they get their keep-alives within a quarter of the interval.
    let left = Math.max(STREAMS_PER_TURN, Math.ceil((4 * project.streams.size) / this.quietTicksMax))
    let text: string | null = null
    const keepAlive = (): string => {
      left -= 1
      text ??= watchKeepAlive(this.positionOf(project))
      return text
    }
    for (const stream of project.streams) {
      const ticksMax = left > 0 ? this.quietTicksMax : Number.POSITIVE_INFINITY
      if (!stream.tick(ticksMax, keepAlive)) this.end(project, stream)
    }
  }

  private async endUnlessAllowed(project: WatchedProject, stream: WatchStream): Promise<void> {
    await this.checks.next()
    if (!project.streams.has(stream)) return
    const isAllowed = await stream.request.isStillAllowed().catch(() => false)
    if (!isAllowed) this.end(project, stream)
  }

  private endProject(project: WatchedProject): void {
    for (const stream of [...project.streams]) this.end(project, stream)
    this.forget(project)
  }

  private end(project: WatchedProject, stream: WatchStream): void {
    stream.end()
    this.remove(project, stream)
  }

  private remove(project: WatchedProject, stream: WatchStream): void {
    if (!project.streams.delete(stream)) return
    this.count -= 1
    if (project.streams.size === 0) this.forget(project)
  }

  private forget(project: WatchedProject): void {
    if (this.projects.get(project.projectId) !== project) return
    this.projects.delete(project.projectId)
    project.release()
    if (this.projects.size > 0) return
    this.subscription?.close()
    this.subscription = null
  }
}

type PolicyTypes = NonNullable<ReturnType<typeof activeDecisionHeader>>

function decisionsOfHeader({ subjectType, actions, resourceType }: PolicyTypes): readonly WatchedDecisions[] {
  return actions.map((action) => ({ subject_type: subjectType, action, resource_type: resourceType }))
}

/** The decisions that a change of the configuration may change; null: all of the project. */
function decisionsOfChange({ before, after }: DocumentChange): readonly WatchedDecisions[] | null {
  switch ((after ?? before)?.kind) {
    case policiesKind:
      return [before, after].flatMap((document) => {
        const header = document === null ? null : activeDecisionHeader(document)
        return header === null ? [] : decisionsOfHeader(header)
      })
    // Which node a token stands for.
    case tokenIntrospectsKind:
      return null
    // What the relationships of policies stand for.
    case modelsKind:
      return null
    // The locations that policies name.
    case projectsKind:
      return isDeepStrictEqual(before?.fields.db_connection, after?.fields.db_connection) && after !== null ? [] : null
    // Decisions read no other document.
    default:
      return []
  }
}

function timeDependentOf(policies: readonly PolicyToWatch[]): readonly WatchedDecisions[] {
  const found = new Map<string, WatchedDecisions>()
  for (const { decisions, dependencies } of policies) {
    if (dependencies?.onTime !== true) continue
    for (const one of decisions) found.set(keyOfDecisions(one), one)
  }
  return [...found.values()]
}

/** Removes the notes of earlier starts of the service. `folder`: that of this start. */
function removeOldNotes(folder: string): void {
  const root = dirname(folder)
  try {
    for (const name of readdirSync(root)) {
      const path = join(root, name)
      if (path !== folder) rmSync(path, { recursive: true, force: true })
    }
  } catch {
    // The folder does not exist, or another process removes the same.
  }
}
