// Seals the logs of a data folder: looks for new records when any process has committed, and seals a log each second, or earlier if
// it has many. Only one process may do this at a time (docs/decisions/0038-audit-sealing.md).
import { rm } from 'node:fs/promises'
import { AUDIT_PROVIDER, AUDIT_STREAM, auditOwnerOf, auditStreamOf } from '../../kernel/audit-stream.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isGid } from '../../kernel/ids.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditCursor, AuditLog } from '../../store/audit/audit-types.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import { type AuditEntry, auditEntriesOf } from '../audit-entry.ts'
import { EntryMemory } from '../entry-memory.ts'
import { LogDamagedError } from '../log/tile-folder.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import { type AuditSource, gather } from './audit-sources.ts'
import type { CustomerSignatures, SignedLogs } from './customer-signatures.ts'
import { type LogOwner, LogSealer, type LogSealerDeps } from './log-sealer.ts'
import type { PlatformKeys } from './platform-keys.ts'

/** Time between two looks at the commit counters while records wait or are being recorded, in milliseconds. */
const POLL_MS = 50
/** The same after a look that found nothing. Each look wakes the process, which costs about 0.1 ms. */
const IDLE_POLL_MS = 500
/** Streams are looked through at least this often, because a process may be killed between a commit and its count. */
const RESCAN_MS = 5000
/** The same while a file has changed in the last moments. */
const RESCAN_YOUNG_MS = 1000
/** Looking through the streams takes at most this share of a processor. */
const SCAN_SHARE = 0.1
/** A record waits at most this long, unless there are more than can be sealed. */
const SEAL_DELAY_MS = 1000
/** A log with this many records is sealed at once. */
const SEAL_RECORDS = 256
/** Parts of a log that are sealed in one turn, so that a busy log does not delay others for long. */
const PARTS_MAX = 8
/** Logs that are sealed at the same time: they share the commits of the disk. */
const LOGS_AT_ONCE = 4
/** The cursor of an outbox is stored this often. Sealed records are removed by it; the truth is in the index. */
const TRIM_INTERVAL_MS = 1000
const TRIM_EVENTS = 5000
/** Delay after a failure. It doubles up to the maximum. */
const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000
/** The same error is logged this often. */
const ERROR_INTERVAL_MS = 60_000
/** Time between checks for rotation and retention. */
const MAINTENANCE_MS = 600_000
/** A file that changed in the last moments may change again without another time stamp. */
const STAMP_AGE_MS = 100
/** The state of idle files is stored this often. */
const STAMPS_INTERVAL_MS = 30_000
/** Logs whose state is in memory. */
const LOGS_MAX = 256
const DAY_MS = 86_400_000
/** All checkpoints stay in the index for so many days, and one per hour after that. */
const CHECKPOINTS_DAYS = 7
/** Transactions of one check that remove checkpoints and batches, at most, for each log. More are removed than are added. */
const THINNED_PARTS_MAX = 5

/** The data file of a graph. */
export interface GraphFile {
  /** Names the graph among those of the project. */
  readonly part: string
  /** Differs after each commit. */
  readonly stamp: string
  readonly changedMs: number
}

/** The outbox of a graph. */
export interface OpenGraphOutbox {
  readonly part: string
  readonly outbox: EventOutbox
}

/** Collaborators of the sealer. */
export interface AuditSealerDeps extends Pick<LogSealerDeps, 'index' | 'keys' | 'sealer' | 'folder' | 'origin'> {
  readonly clock: Clock
  /** Signatures of keys that customers manage. */
  readonly signatures: CustomerSignatures
  /** The outbox of the configuration. Its streams are named by projects and organizations. */
  readonly configuration: EventOutbox
  /** The outbox of activity; null: nothing was ever recorded. */
  activity(): Promise<EventOutbox | null>
  /** Takes over the changes of other processes. */
  catchUp(): void
  /** Differs after any process has committed to an environment with events. */
  commits(): number
  /** Differs after any process has committed to the index. */
  indexCommits(): number
  /** Ids of the projects in the newest configuration. */
  projects(): readonly string[]
  /** Whether an id is that of an organization. */
  isOrganization(id: string): boolean
  /** The name of the folder of a log. */
  logId(owner: string): string
  /** The files of the graphs of a project, without opening them. */
  graphFiles(projectId: string): readonly GraphFile[]
  /** Calls `work` with the outboxes of the graphs of a project, which stay open until it is done. */
  withGraphs<T>(projectId: string, work: (graphs: readonly OpenGraphOutbox[]) => Promise<T>): Promise<T>
  /** Deletes the graphs of a project that was deleted, after its records are sealed. */
  deleteGraphs(projectId: string): Promise<void>
  /** Called when the platform key was replaced because of its age. */
  onRotated(kid: string): void
  /** Days after which the platform key is replaced; 0: never. */
  readonly rotationDays: number
  /** Days after which entries are removed; 0: never. */
  readonly retentionDays: number
  /** The names of the folders of all projects. */
  projectFolders(): readonly string[]
  /** Called several times in a second with the number of records that are not sealed. `isFailing`: some cannot be sealed. */
  onState(unsealed: number, isFailing: boolean): void
  readonly log: (entry: {
    readonly level: 'info' | 'error'
    readonly message: string
    readonly [field: string]: unknown
  }) => void
}

interface Trim {
  readonly source: Pick<AuditSource, 'key' | 'name'>
  readonly cursor: AuditCursor
  events: number
}

/** A log in work. */
interface LogWork {
  readonly owner: LogOwner
  /** How far each stream is sealed, or known to have nothing to seal. */
  readonly cursors: Map<string, AuditCursor>
  /** Number of records that wait, by stream. */
  readonly pending: Map<string, number>
  pendingSinceMs: number
  readonly trims: Map<string, Trim>
  trimmedMs: number
  failures: number
  retryMs: number
}

const CONFIGURATION = 'configuration'
const ACTIVITY = 'activity'
const GRAPH = 'graph/'

/** Seals all logs of a data folder. */
export class AuditSealer {
  private readonly deps: AuditSealerDeps
  private readonly index: AuditIndex
  private readonly keys: PlatformKeys
  private readonly works = new Map<string, LogWork>()
  private readonly sealers = new Map<string, LogSealer>()
  private readonly errors = new Map<string, number>()
  /** Files of graphs that were read to their end, by project and part. */
  private readonly stamps: Map<string, string>
  private readonly changedStamps = new Set<string>()
  private stampsMs = 0
  private lastGeneration: number
  /** Up to which entry this process has removed the files of a generation, by its number. */
  private readonly prunedTo = new Map<number, number>()
  private kid: string | null = null
  private timer: ReturnType<typeof setTimeout> | null = null
  private running: Promise<void> = Promise.resolve()
  private isClosing = false
  private commits = Number.NaN
  private hasNewCommits = true
  private indexCommits = Number.NaN
  private rescanMs = 0
  private hasYoungFile = false
  private isRecovered = false
  private nextScanMs = 0
  /** When the commit counters were compared the last time before the present one. */
  private lookedMs = performance.now()
  private maintenanceMs = 0

  constructor(deps: AuditSealerDeps) {
    this.deps = deps
    this.index = deps.index
    this.keys = deps.keys
    this.stamps = new Map(deps.index.sources())
    const generations = deps.index.logs().flatMap((log) => log.generations)
    this.lastGeneration = Math.max(0, ...generations.map(({ number }) => number))
  }

  /** Starts to seal. */
  start(): void {
    this.poll()
  }

  /** Finishes the sealing in progress. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.timer !== null) clearTimeout(this.timer)
    await this.running
    this.deps.signatures.close()
    await this.trimAll(true).catch((failure: unknown) => this.fail('the outbox cannot be written', '', failure))
    await this.storeStamps().catch((failure: unknown) => this.fail('the index cannot be written', '', failure))
  }

  /**
   * Seals everything that was recorded before the call, and does what is due. `isTrimmed`: false: the sealed records stay in the outboxes
   * until later. Rejects if something cannot be sealed.
   */
  async sealAll(isTrimmed = true): Promise<void> {
    const { running } = this
    const next = running.then(() => this.sealEverything(isTrimmed))
    this.running = next.catch(() => undefined)
    await next
  }

  private async sealEverything(isTrimmed: boolean): Promise<void> {
    this.deps.catchUp()
    await this.recover()
    for (;;) {
      await this.scan(true)
      const due = [...this.works.values()].filter(({ pending }) => pending.size > 0)
      if (due.length === 0) break
      for (const work of due) await this.sealWork(work, true)
    }
    if (isTrimmed) await this.trimAll(true)
    await this.maintain()
    await this.deps.signatures.settle(this.signedLogs)
    this.reportState()
  }

  private poll(): void {
    if (this.isClosing) return
    this.running = this.pass().catch((failure: unknown) => this.fail('audit records cannot be sealed', '', failure))
    void this.running.then(() => {
      if (!this.isClosing) this.timer = setTimeout(() => this.poll(), this.isIdle() ? IDLE_POLL_MS : POLL_MS)
    })
  }

  /** Whether the last look has found nothing to do. */
  private isIdle(): boolean {
    if (this.hasNewCommits) return false
    for (const { pending, trims } of this.works.values()) if (pending.size > 0 || trims.size > 0) return false
    return true
  }

  private async pass(): Promise<void> {
    const { deps } = this
    deps.catchUp()
    await this.recover()
    const nowMs = performance.now()
    const commits = deps.commits()
    this.hasNewCommits = commits !== this.commits
    if (nowMs >= this.nextScanMs && (commits !== this.commits || nowMs >= this.rescanMs)) {
      // Counted before the streams are read: a commit in between is seen next time.
      this.commits = commits
      this.hasYoungFile = false
      await this.scan(false)
      this.rescanMs = nowMs + (this.hasYoungFile ? RESCAN_YOUNG_MS : RESCAN_MS)
      const endMs = performance.now()
      this.nextScanMs = endMs + (endMs - nowMs) * (1 / SCAN_SHARE - 1)
    }
    this.lookedMs = nowMs
    await this.sealDue(nowMs)
    await this.attempt('', () => this.deps.signatures.step(this.signedLogs))
    this.reportState()
    await this.trimAll(false)
    if (nowMs - this.stampsMs >= STAMPS_INTERVAL_MS) await this.storeStamps()
    const indexCommits = deps.indexCommits()
    if (indexCommits !== this.indexCommits) {
      await this.followKey()
      // Otherwise some log does not have the new key yet.
      if ((this.keys.stored()?.kid ?? null) === this.kid) this.indexCommits = indexCommits
    }
    if (nowMs >= this.maintenanceMs) {
      this.maintenanceMs = nowMs + MAINTENANCE_MS
      await this.maintain()
    }
  }

  /** Completes what a killed process has left, and begins new generations after a restore. */
  private async recover(): Promise<void> {
    if (this.isRecovered) return
    this.isRecovered = true
    const projects = new Set(this.deps.projects())
    for (const log of this.index.logs()) {
      if (this.isClosing) return
      // Its graphs may be left.
      if (log.kind === 'project' && !projects.has(log.owner)) this.workOf(log.owner)
      await this.attempt(log.owner, async () => {
        const sealer = this.sealerOf(ownerOf(log))
        await sealer.republish()
        if (await sealer.reopen()) this.reportReopened(log)
      })
    }
  }

  private reportReopened(log: AuditLog): void {
    const { origin, size } = log.generations.at(-1) ?? { origin: '', size: 0 }
    const message = 'the data was restored from a backup; the audit log has a new origin'
    const { generations } = this.sealerOf(ownerOf(log)).state
    const after = generations.at(-1)?.origin
    this.deps.log({ level: 'info', message, [log.kind]: log.owner, before: origin, size, origin: after })
  }

  // -- what waits

  /** Finds out which streams have records that are not sealed. `isFull`: also graphs whose file has not changed. */
  private async scan(isFull: boolean): Promise<void> {
    const { configuration } = this.deps
    const activity = await this.deps.activity()
    for (const [key, outbox] of [
      [CONFIGURATION, configuration],
      [ACTIVITY, activity],
    ] as const) {
      for (const [name, head] of outbox?.heads() ?? []) {
        const owner = auditOwnerOf(name)
        if (owner !== null) this.note(this.workOf(owner), key, head)
      }
    }
    const projects = new Set(this.deps.projects())
    for (const projectId of this.projectsWithGraphs(projects)) {
      if (this.isClosing) return
      await this.attempt(projectId, async () => {
        await this.scanGraphs(projectId, isFull || !projects.has(projectId))
        if (!projects.has(projectId)) await this.deleteLeftGraphs(projectId)
      })
    }
  }

  /** The projects of the configuration, and deleted ones whose graphs wait for their records to be sealed. */
  private projectsWithGraphs(projects: ReadonlySet<string>): ReadonlySet<string> {
    const ids = new Set(projects)
    for (const { owner } of this.works.values()) if (owner.kind === 'project') ids.add(owner.owner)
    return ids
  }

  private async scanGraphs(projectId: string, isFull: boolean): Promise<void> {
    const files = this.deps.graphFiles(projectId)
    const changed = files.filter(({ part, stamp }) => this.stamps.get(`${projectId} ${part}`) !== stamp)
    if (changed.length === 0 && !(isFull && files.length > 0)) return
    const nowMs = Date.now()
    await this.deps.withGraphs(projectId, async (graphs) => {
      for (const { part, outbox } of graphs) {
        const key = `${GRAPH}${part}`
        const status = outbox.status(AUDIT_STREAM)
        const work = status === null ? this.works.get(projectId) : this.workOf(projectId)
        if (status !== null && work !== undefined) this.note(work, key, status)
        const file = changed.find((each) => each.part === part)
        const isRead = (work?.pending.get(key) ?? 0) === 0 && !(work?.trims.has(key) ?? false)
        if (file === undefined || !isRead) continue
        if (nowMs - file.changedMs > STAMP_AGE_MS) this.stamp(projectId, file)
        else this.hasYoungFile = true
      }
    })
  }

  /** Deletes the graphs of a deleted project that were left because their records were not sealed. */
  private async deleteLeftGraphs(projectId: string): Promise<void> {
    const { pending, trims } = this.workOf(projectId)
    if (pending.size > 0 || trims.size > 0 || this.deps.graphFiles(projectId).length === 0) return
    // Another process may have created the project since.
    this.deps.catchUp()
    if (!this.deps.projects().includes(projectId)) await this.deps.deleteGraphs(projectId)
  }

  private stamp(projectId: string, { part, stamp }: GraphFile): void {
    const name = `${projectId} ${part}`
    this.stamps.set(name, stamp)
    this.changedStamps.add(name)
  }

  private note(work: LogWork, key: string, { origin, next }: { readonly origin: string; readonly next: number }): void {
    const cursor = work.cursors.get(key)
    // The number is not known if the stream has another origin.
    const waiting = cursor === undefined ? next - 1 : cursor.origin === origin ? next - cursor.next : 1
    if (waiting <= 0) work.pending.delete(key)
    else {
      // Recorded at any time since the last look.
      if (work.pending.size === 0) work.pendingSinceMs = this.lookedMs
      work.pending.set(key, waiting)
    }
  }

  private reportState(): void {
    let unsealed = 0
    let isFailing = false
    for (const { pending, failures } of this.works.values()) {
      for (const count of pending.values()) unsealed += count
      isFailing ||= failures > 0
    }
    this.deps.onState(unsealed, isFailing)
  }

  private workOf(owner: string): LogWork {
    let work = this.works.get(owner)
    if (work === undefined) {
      const kind = this.deps.isOrganization(owner) ? 'organization' : 'project'
      const id = this.deps.logId(owner)
      work = {
        owner: { id, owner, kind },
        cursors: new Map(this.index.cursors(id)),
        pending: new Map(),
        pendingSinceMs: 0,
        trims: new Map(),
        trimmedMs: 0,
        failures: 0,
        retryMs: 0,
      }
      this.works.set(owner, work)
    }
    return work
  }

  // -- sealing

  private async sealDue(nowMs: number): Promise<void> {
    const due = [...this.works.values()].filter((work) => {
      if (work.pending.size === 0 || nowMs < work.retryMs) return false
      const records = [...work.pending.values()].reduce((sum, count) => sum + count, 0)
      return records >= SEAL_RECORDS || nowMs - work.pendingSinceMs >= SEAL_DELAY_MS
    })
    const queue = due.values()
    const sealNext = async (): Promise<void> => {
      for (const work of queue) if (!this.isClosing) await this.sealWork(work)
    }
    await Promise.all(Array.from({ length: LOGS_AT_ONCE }, sealNext))
  }

  private async sealWork(work: LogWork, isRethrown = false): Promise<void> {
    try {
      await this.sealParts(work).catch((failure: unknown) => this.reopenDamaged(work, failure))
      if (work.failures > 0) {
        const { kind, owner } = work.owner
        this.deps.log({ level: 'info', message: 'audit records are sealed again', [kind]: owner })
      }
      work.failures = 0
    } catch (failure) {
      work.failures += 1
      work.retryMs = performance.now() + Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (work.failures - 1))
      // Read again from the index: the transaction may have been committed.
      this.sealers.delete(work.owner.id)
      for (const [key, cursor] of this.index.cursors(work.owner.id)) work.cursors.set(key, cursor)
      this.fail('audit records cannot be sealed; they stay in the outbox', work.owner.owner, failure)
      if (isRethrown) throw failure
    }
  }

  /**
   * Continues a log under another origin after its files were changed: otherwise a changed file would end the audit trail. Rethrows
   * other failures.
   */
  private async reopenDamaged(work: LogWork, failure: unknown): Promise<void> {
    if (!(failure instanceof LogDamagedError)) throw failure
    const { kind, owner } = work.owner
    const sealer = this.sealerOf(work.owner)
    await sealer.abandon()
    await this.sealParts(work)
    const [before, after] = sealer.state.generations.slice(-2)
    const message = 'the files of the audit log were changed or removed; it continues under another origin'
    const { message: error } = failure
    this.deps.log({ level: 'error', message, [kind]: owner, before: before?.origin, origin: after?.origin, error })
  }

  private async sealParts(work: LogWork): Promise<void> {
    for (let part = 0; part < PARTS_MAX && work.pending.size > 0; part++) if (!(await this.sealPart(work))) return
  }

  /** Seals some records. Resolves with false if no stream has more. */
  private async sealPart(work: LogWork): Promise<boolean> {
    const sealer = this.sealerOf(work.owner)
    const hashKey = sealer.hashKey()
    const keys = new Set(work.pending.keys())
    const gathered = await this.withSources(work.owner, keys, async (sources) => gather(sources, work.cursors))
    const cursors = new Map([...work.cursors, ...gathered.cursors])
    const memory = new EntryMemory()
    try {
      const entries: AuditEntry[] = []
      for (const { source, record, from } of gathered.records)
        entries.push(...auditEntriesOf(record, source.stream, from, hashKey, memory))
      if (entries.length > 0) await sealer.seal(entries, cursors)
    } finally {
      memory.release()
    }
    for (const { source, record } of gathered.records) {
      const events = (work.trims.get(source.key)?.events ?? 0) + record.count
      const cursor = gathered.cursors.get(source.key) as AuditCursor
      work.trims.set(source.key, { source, cursor, events })
    }
    for (const [key, cursor] of gathered.cursors) work.cursors.set(key, cursor)
    work.pending.clear()
    if (!gathered.hasMore) return false
    for (const key of keys) work.pending.set(key, 1)
    return true
  }

  private async withSources<T>(
    { kind, owner }: LogOwner,
    keys: ReadonlySet<string>,
    work: (sources: readonly AuditSource[]) => Promise<T>,
  ): Promise<T> {
    const names = {
      ...(kind === 'project' ? { projectId: owner } : { projectId: '', organizationId: owner }),
      isAudit: true,
    }
    const name = auditStreamOf(owner)
    const activity = keys.has(ACTIVITY) ? await this.deps.activity() : null
    const sources: AuditSource[] = []
    if (keys.has(CONFIGURATION)) {
      const stream = { ...names, source: 'configuration' } as const
      sources.push({ stream, key: CONFIGURATION, outbox: this.deps.configuration, name })
    }
    if (activity !== null)
      sources.push({ stream: { ...names, source: 'activity' }, key: ACTIVITY, outbox: activity, name })
    if (![...keys].some((key) => key.startsWith(GRAPH))) return work(sources)
    return this.deps.withGraphs(owner, (graphs) => {
      for (const { part, outbox } of graphs) {
        const key = `${GRAPH}${part}`
        if (keys.has(key)) sources.push({ stream: { ...names, source: 'graph' }, key, outbox, name: AUDIT_STREAM })
      }
      return work(sources)
    })
  }

  private sealerOf(owner: LogOwner): LogSealer {
    let sealer = this.sealers.get(owner.id)
    if (sealer === undefined) {
      const { index, keys, sealer: box, clock, folder, origin } = this.deps
      sealer = new LogSealer(owner, {
        index,
        keys,
        sealer: box,
        clock,
        folder,
        origin,
        nextGeneration: () => {
          this.lastGeneration += 1
          return this.lastGeneration
        },
        onIndexLost: ({ kind, owner }, before, after) =>
          this.deps.log({
            level: 'error',
            message: 'the index of the audit log was lost; the log continues under another origin',
            [kind]: owner,
            before: before.origin,
            size: before.size,
            origin: after,
          }),
      })
    } else this.sealers.delete(owner.id)
    // Moved to the end: the least recently used ones come first.
    this.sealers.set(owner.id, sealer)
    for (const id of this.sealers.keys()) {
      if (this.sealers.size <= LOGS_MAX) break
      this.sealers.delete(id)
    }
    return sealer
  }

  /** The logs, as signatures change them. */
  private readonly signedLogs: SignedLogs = {
    addSignatures: (projectId, checkpoint, lines, change) =>
      this.projectSealer(projectId).addSignatures(checkpoint, lines, change),
    record: (projectId, type, members, change) => this.projectSealer(projectId).record(type, members, change),
  }

  private projectSealer(projectId: string): LogSealer {
    return this.sealerOf({ id: this.deps.logId(projectId), owner: projectId, kind: 'project' })
  }

  // -- progress in the outboxes

  private async trimAll(isFinal: boolean): Promise<void> {
    const nowMs = performance.now()
    const due = [...this.works.values()].filter(({ trims, trimmedMs }) => {
      if (trims.size === 0) return false
      const events = [...trims.values()].reduce((sum, each) => sum + each.events, 0)
      return isFinal || events >= TRIM_EVENTS || nowMs - trimmedMs >= TRIM_INTERVAL_MS
    })
    // In one turn, so that streams of one environment share a transaction.
    await Promise.all(
      due.map((work) => {
        work.trimmedMs = nowMs
        return this.attempt(work.owner.owner, () => this.trim(work))
      }),
    )
  }

  private async trim(work: LogWork): Promise<void> {
    const trims = new Map(work.trims)
    await this.withSources(work.owner, new Set(trims.keys()), async (sources) => {
      await Promise.all(
        sources.map(async ({ key, outbox, name }) => {
          const { cursor } = trims.get(key) as Trim
          const { origin, next } = { ...cursor, origin: outbox.status(name)?.origin ?? cursor.origin }
          if (next <= (outbox.cursors(name).get(AUDIT_PROVIDER)?.next ?? 0)) return
          const providers = [AUDIT_PROVIDER]
          await outbox.commit(name, { provider: AUDIT_PROVIDER, origin, next, gap: null, providers })
        }),
      )
    })
    for (const [key, trim] of trims) if (work.trims.get(key) === trim) work.trims.delete(key)
  }

  private async storeStamps(): Promise<void> {
    this.stampsMs = performance.now()
    if (this.changedStamps.size === 0) return
    const changed = [...this.changedStamps]
    this.changedStamps.clear()
    await this.index.write((edits) => {
      for (const name of changed) edits.putSource(name, this.stamps.get(name) ?? null)
    })
  }

  // -- keys, retention, deleted projects

  /** Signs a checkpoint of each log with both keys after the platform key was changed, by whatever process. */
  private async followKey(): Promise<void> {
    const stored = this.keys.stored()
    if (stored === null || stored.kid === this.kid) return
    for (const log of this.index.logs()) {
      if (this.isClosing) return
      if (!(await this.attempt(log.owner, async () => void (await this.sealerOf(ownerOf(log)).changeKey())))) return
    }
    this.kid = stored.kid
    await this.keys.forgetBefore(stored)
  }

  private async maintain(): Promise<void> {
    const { rotationDays, retentionDays, clock } = this.deps
    const stored = this.keys.stored()
    if (stored !== null && rotationDays > 0 && clock.now() - stored.createdMs >= rotationDays * DAY_MS) {
      const { kid } = await this.keys.rotate()
      this.deps.onRotated(kid)
      this.deps.log({ level: 'info', message: 'the platform key of the audit logs was replaced', kid })
    }
    await this.followKey()
    this.findLeftProjects()
    const projects = new Set(this.deps.projects())
    for (const log of this.index.logs()) {
      if (this.isClosing) return
      const isDeleted = log.kind === 'project' && !projects.has(log.owner)
      await this.attempt(log.owner, async () => {
        if (isDeleted && log.deletedMs === null) await this.sealerOf(ownerOf(log)).markDeleted()
        if (retentionDays > 0) await this.prune(log, clock.now() - retentionDays * DAY_MS)
        if (this.index.state(log.id) !== null) await this.thin(log)
      })
    }
  }

  /** A project may have been deleted before this process has seen it. */
  private findLeftProjects(): void {
    const known = new Set([...this.deps.projects(), ...this.works.keys()].map((owner) => this.deps.logId(owner)))
    for (const folder of this.deps.projectFolders()) {
      const owner = `gid:${folder}`
      if (!known.has(folder) && isGid(owner) && this.deps.logId(owner) === folder) this.workOf(owner)
    }
  }

  private async thin(log: AuditLog): Promise<void> {
    const sealer = this.sealerOf(ownerOf(log))
    const beforeMs = this.deps.clock.now() - CHECKPOINTS_DAYS * DAY_MS
    // Nothing is sealed during this, so the rest waits for the next check.
    for (let part = 0; part < THINNED_PARTS_MAX && !this.isClosing; part++) if (await sealer.thin(beforeMs)) return
  }

  private async prune(log: AuditLog, oldestMs: number): Promise<void> {
    const sealer = this.sealerOf(ownerOf(log))
    for (const generation of log.generations) {
      let before = generation.prunedTo
      // A process that was killed may have left files that its entry names. To look for them reads the whole generation.
      if (before > 0 && this.prunedTo.get(generation.number) !== before) await sealer.removeFiles(generation, before)
      const position = { generation: generation.number, bundle: Math.ceil(before / TILE_WIDTH) }
      for (const { generation: number, bundle, toMs } of this.index.find(log.id, {}, position, PRUNED_MAX)) {
        const end = (bundle + 1) * TILE_WIDTH
        // The last bundle of a log that no longer grows may be partial.
        const isOver = end <= generation.size || generation !== log.generations.at(-1)
        if (number !== generation.number || toMs >= oldestMs || !isOver) break
        before = Math.min(end, generation.size)
      }
      if (before > generation.prunedTo) await sealer.prune(generation, before)
      this.prunedTo.set(generation.number, before)
    }
    const isOver = log.deletedMs !== null && log.deletedMs < oldestMs && log.sealedMs < oldestMs
    if (isOver && sealer.state.sealedMs < oldestMs) await this.removeLog(log, sealer)
  }

  /** Removes the log of a project that was deleted, and all of whose entries are too old. */
  private async removeLog(log: AuditLog, sealer: LogSealer): Promise<void> {
    await this.index.write((edits) => edits.removeLog(log.id))
    for (const { number } of log.generations) await this.index.removeBundles(number, 2 ** 32 - 1)
    await rm(sealer.folder(), { recursive: true, force: true })
    this.sealers.delete(log.id)
    this.works.delete(log.owner)
    this.deps.log({ level: 'info', message: 'the audit log of a deleted project was removed', project: log.owner })
  }

  // -- errors

  /** Resolves with false if `work` fails, which is logged. */
  private async attempt(owner: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (failure) {
      this.fail('the audit log cannot be completed', owner, failure)
      return false
    }
  }

  private fail(message: string, owner: string, failure: unknown): void {
    const error = failure instanceof Error ? failure.message : String(failure)
    const name = `${message} ${owner}`
    const nowMs = performance.now()
    if (nowMs - (this.errors.get(name) ?? Number.NEGATIVE_INFINITY) < ERROR_INTERVAL_MS) return
    this.errors.set(name, nowMs)
    this.deps.log({ level: 'error', message, ...(owner !== '' && { log: owner }), error })
  }
}

/** Bundles that one check removes at most, for each log. */
const PRUNED_MAX = 1000

function ownerOf({ id, owner, kind }: AuditLog): LogOwner {
  return { id, owner, kind }
}
