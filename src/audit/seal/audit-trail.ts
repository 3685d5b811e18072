// The audit logs of a process: their index, and the election of the process that seals. The background process seals; a process without
// one seals on demand.
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { AUDIT_STREAM } from '../../kernel/folder/audit-stream.ts'
import type { CommitSignal } from '../../kernel/folder/commit-signal.ts'
import { AUDIT_COMMIT_FILE, AUDIT_FOLDER, AUDIT_INDEX_FOLDER } from '../../kernel/folder/data-folder.ts'
import { backoffMs } from '../../kernel/time/backoff.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import { openWhenUnwritten } from '../../store/lmdb/open-file.ts'
import { LockTimeoutError } from '../../store/lmdb/open-lock.ts'
import { openCommitCounter } from '../../store/process/commit-counter.ts'
import { LeaderElection } from '../../store/process/leader-election.ts'
import type { Catalog } from '../../store/tenancy/catalog.ts'
import { projectFolderName } from '../../store/tenancy/project-folders.ts'
import type { AuditSealer } from './audit-sealer.ts'

/** The task of the election: one process seals. */
const TASK = 'audit-sealing'
/** How long the deletion of a project waits until its records are sealed. After that the sealer deletes its graphs. */
const DELETION_WAIT_MS = 3000
/** Delay before a failed start of the sealing is repeated. It doubles up to the maximum. */
const startRetryDelay = { minMs: 1000, maxMs: 32_000 }

/** Opens the index of the audit logs of a data folder, and creates it if necessary. Rejects with OperationalError. */
export function openAuditIndex(dataDir: string, sync: boolean): Promise<AuditIndex> {
  const path = join(dataDir, AUDIT_FOLDER, AUDIT_INDEX_FOLDER)
  const commitCounter = openCommitCounter(dataDir, AUDIT_COMMIT_FILE)
  return openWhenUnwritten(path, () => new AuditIndex(path, { sync, commitCounter }))
}

/** Collaborators of the audit logs. */
interface AuditTrailDeps {
  readonly dataDir: string
  readonly signal: CommitSignal
  /** False: commits are not flushed to disk. */
  readonly sync: boolean
  readonly report: (line: string) => void
  readonly catalog: Pick<Catalog, 'delete' | 'withOutboxes'>
  /** Resolves when the events of decisions and reads so far are on disk. */
  settled(): Promise<void> | null
  createSealer(index: AuditIndex): AuditSealer
}

/** The audit logs of this process. */
export class AuditTrail {
  private readonly deps: AuditTrailDeps
  private readonly elections: LeaderElection
  private opening: Promise<AuditIndex> | null = null
  private sealing: Promise<AuditSealer> | null = null
  private sealer: AuditSealer | null = null
  private startTimer: ReturnType<typeof setTimeout> | null = null
  private isClosing = false

  constructor(deps: AuditTrailDeps) {
    this.deps = deps
    this.elections = new LeaderElection(deps.dataDir, deps.signal)
  }

  /** Opens the index when it is first needed. Rejects with OperationalError. */
  index(): Promise<AuditIndex> {
    this.opening ??= openAuditIndex(this.deps.dataDir, this.deps.sync).catch((failure: unknown) => {
      this.opening = null
      throw failure
    })
    return this.opening
  }

  /** Seals from now on, as soon as no other process does. */
  start(): void {
    this.elections.campaign(TASK, () => this.startSealer(1))
  }

  /** Tries again until it succeeds: the disk may be full, which is no reason to seal nothing until the next start. */
  private startSealer(attempt: number): void {
    const retryMs = backoffMs(startRetryDelay, attempt)
    this.createSealer().then(
      (sealer) => {
        if (!this.isClosing) sealer.start()
      },
      (failure: unknown) => {
        if (this.isClosing) return
        // Reported again only when the delay is at its maximum.
        if (attempt === 1 || retryMs === startRetryDelay.maxMs)
          this.deps.report(`audit records cannot be sealed: ${String(failure)}`)
        this.startTimer = setTimeout(() => this.startSealer(attempt + 1), retryMs)
      },
    )
  }

  /**
   * Seals everything that was recorded before the call. Rejects with OperationalError if another process seals, and with the error
   * if something cannot be sealed. `isTrimmed`: false: the sealed records stay in the outboxes until later.
   */
  async sealAll(isTrimmed = true): Promise<void> {
    await this.deps.settled()
    if (this.sealing === null) {
      let isLeading = false
      this.elections.campaign(TASK, () => {
        isLeading = true
      })
      if (!isLeading) throw new OperationalError('another process seals the audit logs of this data folder')
      this.sealing = this.createSealer()
    }
    await (await this.sealing).sealAll(isTrimmed)
  }

  /**
   * Deletes the graphs of a project, after their records are sealed. If they cannot be sealed soon, the process that seals deletes
   * them later. `isSealedHere`: no other process seals.
   */
  async deleteGraphs(projectId: string, isSealedHere: boolean): Promise<void> {
    const { catalog, report } = this.deps
    if (isSealedHere) {
      try {
        await this.sealAll(false)
      } catch (failure) {
        report(`the graphs of the deleted project ${projectId} are left until they are sealed: ${String(failure)}`)
        return
      }
      await catalog.delete(projectId)
      return
    }
    try {
      const isSealed = await this.deps.signal.until(() => this.isSealed(projectId), DELETION_WAIT_MS)
      if (isSealed) await catalog.delete(projectId)
    } catch (failure) {
      // The project is deleted. A process that opens a graph of it, or is stopped in that, delays only the graphs.
      if (!(failure instanceof LockTimeoutError)) throw failure
      report(`the graphs of the deleted project ${projectId} are left to the process that seals: ${failure.message}`)
    }
  }

  /** Whether all records of the graphs of a project are sealed. */
  private async isSealed(projectId: string): Promise<boolean> {
    const cursors = (await this.index()).cursors(projectFolderName(projectId))
    return this.deps.catalog.withOutboxes(projectId, async (graphs) =>
      graphs.every(({ part, outbox }) => {
        const status = outbox.status(AUDIT_STREAM)
        const cursor = cursors.get(`graph/${part}`)
        return status === null || status.next === 1 || (cursor?.origin === status.origin && cursor.next >= status.next)
      }),
    )
  }

  /** Waits for the sealing in progress and closes the index. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.startTimer !== null) clearTimeout(this.startTimer)
    await this.sealing?.catch(() => undefined)
    await this.sealer?.close()
    this.elections.close()
    await (await this.opening?.catch(() => undefined))?.close()
  }

  /** Removes readers of killed processes. */
  clearStaleReaders(): void {
    this.opening?.then((index) => index.clearStaleReaders()).catch(() => undefined)
  }

  private async createSealer(): Promise<AuditSealer> {
    const created = this.deps.createSealer(await this.index())
    this.sealer = created
    return created
  }
}
