// Seals the logs of a data folder: looks for new records when any process has committed, and seals a log each second, or earlier if
// it has many. Only one process may do this at a time (docs/decisions/0038-audit-sealing.md).

import type { CommitSubscription } from '../../kernel/folder/commit-signal.ts'
import { type Backoff, backoffMs } from '../../kernel/time/backoff.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditCursor, AuditLog } from '../../store/audit/audit-types.ts'
import { type AuditEntry, auditEntriesOf } from '../audit-entry.ts'
import { EntryMemory } from '../entry-memory.ts'
import { LogDamagedError } from '../log/tile-folder.ts'
import { gather } from './audit-sources.ts'
import { LogMaintenance } from './log-maintenance.ts'
import { LogSealers, ownerOf } from './log-sealers.ts'
import { type LogWork, LogWorks } from './log-work.ts'
import { OutboxTrimmer, TRIM_INTERVAL_MS } from './outbox-trimmer.ts'
import type { AuditSealerDeps } from './sealer-deps.ts'
import { SealerErrors } from './sealer-errors.ts'
import { StreamScanner } from './stream-scanner.ts'

/** Time between two passes, at least, in milliseconds. */
const PAUSE_MS = 50
/** Without a commit, streams are looked through at most this often: a process may be killed between a commit and its count. */
const RESCAN_MS = 4500
/** The same while a file has changed in the last moments. */
const RESCAN_YOUNG_MS = 500
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
/** Delay after a failure. It doubles up to the maximum. */
const retryDelay: Backoff = { minMs: 1000, maxMs: 30_000 }
/** Time between checks for rotation and retention. */
const MAINTENANCE_MS = 600_000
/** The state of idle files is stored this often. */
const STAMPS_INTERVAL_MS = 30_000
/** Seals all logs of a data folder. */
export class AuditSealer {
  private readonly deps: AuditSealerDeps
  private readonly index: AuditIndex
  private readonly works: LogWorks
  private readonly sealers: LogSealers
  private readonly errors: SealerErrors
  private readonly scanner: StreamScanner
  private readonly trimmer: OutboxTrimmer
  private readonly maintenance: LogMaintenance
  private stampsMs = 0
  private subscription: CommitSubscription | null = null
  private isPassing = false
  private running: Promise<void> = Promise.resolve()
  private isClosing = false
  private commits = Number.NaN
  private indexCommits = Number.NaN
  private rescanMs = 0
  private isRecovered = false
  private nextScanMs = 0
  /** When the commit counters were compared the last time before the present one. */
  private lookedMs = performance.now()
  private maintenanceMs = 0

  constructor(deps: AuditSealerDeps) {
    this.deps = deps
    this.index = deps.index
    const isClosing = (): boolean => this.isClosing
    const works = new LogWorks(deps)
    const sealers = new LogSealers(deps)
    const errors = new SealerErrors(deps.log)
    const scanner = new StreamScanner({ ...deps, works, errors, isClosing })
    this.works = works
    this.sealers = sealers
    this.errors = errors
    this.scanner = scanner
    this.trimmer = new OutboxTrimmer(works, scanner, errors)
    this.maintenance = new LogMaintenance({ ...deps, works, sealers, errors, isClosing })
  }

  /** Starts to seal. */
  start(): void {
    this.subscription = this.deps.signal.subscribe(() => this.poll(), PAUSE_MS)
    this.poll()
  }

  /** Finishes the sealing in progress. */
  async close(): Promise<void> {
    this.isClosing = true
    this.subscription?.close()
    await this.running
    this.deps.signatures.close()
    await this.trimmer
      .trimAll(true)
      .catch((failure: unknown) => this.errors.fail('the outbox cannot be written', '', failure))
    await this.scanner
      .storeStamps()
      .catch((failure: unknown) => this.errors.fail('the index cannot be written', '', failure))
    await this.flushHeads()
  }

  private async flushHeads(): Promise<void> {
    await this.deps.heads
      .flush()
      .catch((failure: unknown) => this.errors.fail('the heads of the audit logs cannot be written', '', failure))
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
      await this.scanner.scan(true, this.lookedMs)
      const due = this.works.all().filter(({ pending }) => pending.size > 0)
      if (due.length === 0) break
      for (const work of due) await this.sealWork(work, true)
    }
    if (isTrimmed) await this.trimmer.trimAll(true)
    await this.maintenance.maintain()
    await this.deps.signatures.settle(this.sealers.signedLogs)
    await this.flushHeads()
    this.reportState()
  }

  private poll(): void {
    if (this.isClosing || this.isPassing) return
    this.isPassing = true
    this.running = this.pass().catch((failure: unknown) =>
      this.errors.fail('audit records cannot be sealed', '', failure),
    )
    void this.running.then(() => {
      this.isPassing = false
      const dueMs = this.nextDueMs()
      if (Number.isFinite(dueMs)) this.subscription?.lookWithin(Math.max(PAUSE_MS, dueMs - performance.now()))
    })
  }

  /** When something is due without a further commit. Rare work is checked once a second. */
  private nextDueMs(): number {
    let dueMs = this.deps.commits() === this.commits ? Number.POSITIVE_INFINITY : this.nextScanMs
    for (const work of this.works.all()) {
      if (work.pending.size > 0) dueMs = Math.min(dueMs, Math.max(work.retryMs, dueTimeMs(work)))
      if (work.trims.size > 0) dueMs = Math.min(dueMs, work.trimmedMs + TRIM_INTERVAL_MS)
    }
    return dueMs
  }

  private async pass(): Promise<void> {
    const { deps } = this
    deps.catchUp()
    await this.recover()
    const nowMs = performance.now()
    const commits = deps.commits()
    if (nowMs >= this.nextScanMs && (commits !== this.commits || nowMs >= this.rescanMs)) {
      // A commit wakes this process at once. Without one, a record may have been missed since the last pass.
      const sinceMs = commits === this.commits ? this.lookedMs : Math.max(this.lookedMs, nowMs - PAUSE_MS)
      // Counted before the streams are read: a commit in between is seen next time.
      this.commits = commits
      const usedBefore = process.cpuUsage()
      await this.scanner.scan(false, sinceMs)
      // Without the time in which it waits for a graph that another process keeps locked.
      const { user, system } = process.cpuUsage(usedBefore)
      const usedMs = (user + system) / 1000
      this.rescanMs = nowMs + (this.scanner.hasYoungFile ? RESCAN_YOUNG_MS : RESCAN_MS)
      const endMs = performance.now()
      this.nextScanMs = endMs + Math.min(endMs - nowMs, usedMs) * (1 / SCAN_SHARE - 1)
    }
    this.lookedMs = nowMs
    await this.sealDue(nowMs)
    await this.errors.attempt('', () => this.deps.signatures.step(this.sealers.signedLogs))
    await this.flushHeads()
    this.reportState()
    await this.trimmer.trimAll(false)
    if (nowMs - this.stampsMs >= STAMPS_INTERVAL_MS) {
      this.stampsMs = nowMs
      await this.scanner.storeStamps()
    }
    const indexCommits = deps.indexCommits()
    if (indexCommits !== this.indexCommits) {
      await this.maintenance.followKey()
      // Otherwise some log does not have the new key yet.
      if ((deps.keys.stored()?.kid ?? null) === this.maintenance.kid) this.indexCommits = indexCommits
    }
    if (nowMs >= this.maintenanceMs) {
      this.maintenanceMs = nowMs + MAINTENANCE_MS
      await this.maintenance.maintain()
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
      if (log.kind === 'project' && !projects.has(log.owner)) this.works.of(log.owner)
      await this.errors.attempt(log.owner, async () => {
        const sealer = this.sealers.of(ownerOf(log))
        const isDamaged = sealer.state.isDamaged === true
        await sealer.republish()
        if ((await sealer.reopen()) && !isDamaged) this.reportReopened(log)
        // Data folders of earlier versions have no heads.
        this.deps.heads.put(sealer.state)
      })
    }
    const known = new Set(this.index.logs().map(({ id }) => id))
    for (const head of this.deps.heads.all()) {
      if (this.isClosing) return
      if (known.has(head.id)) continue
      const { id, owner, kind } = head
      await this.errors.attempt(owner, async () => void (await this.sealers.of({ id, owner, kind }).reopen()))
    }
  }

  private reportReopened(log: AuditLog): void {
    const { origin, size } = log.generations.at(-1) ?? { origin: '', size: 0 }
    const message = 'the data was restored from a backup; the audit log has a new origin'
    const { generations } = this.sealers.of(ownerOf(log)).state
    const after = generations.at(-1)?.origin
    this.deps.log({ level: 'info', message, [log.kind]: log.owner, before: origin, size, origin: after })
  }

  private reportState(): void {
    let unsealed = 0
    let isFailing = false
    for (const { pending, failures } of this.works.all()) {
      for (const count of pending.values()) unsealed += count
      isFailing ||= failures > 0
    }
    this.deps.onState(unsealed, isFailing)
  }

  private async sealDue(nowMs: number): Promise<void> {
    const due = this.works.all().filter((work) => {
      if (work.pending.size === 0 || nowMs < work.retryMs) return false
      return nowMs >= dueTimeMs(work)
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
      work.retryMs = performance.now() + backoffMs(retryDelay, work.failures)
      // Read again from the index: the transaction may have been committed.
      this.sealers.forget(work.owner.id)
      for (const [key, cursor] of this.index.cursors(work.owner.id)) work.cursors.set(key, cursor)
      this.errors.fail('audit records cannot be sealed; they stay in the outbox', work.owner.owner, failure)
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
    const sealer = this.sealers.of(work.owner)
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
    const sealer = this.sealers.of(work.owner)
    const hashKey = sealer.hashKey()
    const keys = new Set(work.pending.keys())
    const gathered = await this.scanner.withSources(work.owner, keys, async (sources) => gather(sources, work.cursors))
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
}

/** When the records of a log that wait are sealed. */
function dueTimeMs({ pending, pendingSinceMs }: LogWork): number {
  const records = [...pending.values()].reduce((sum, count) => sum + count, 0)
  return records >= SEAL_RECORDS ? pendingSinceMs : pendingSinceMs + SEAL_DELAY_MS
}
