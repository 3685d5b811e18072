// Maintenance of the logs: changes of the platform key, retention, and logs of deleted projects.
import { rm } from 'node:fs/promises'
import { isGid } from '../../kernel/ids.ts'
import type { AuditIndex } from '../../store/audit/audit-index.ts'
import type { AuditLog } from '../../store/audit/audit-types.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import type { LogSealer } from './log-sealer.ts'
import { type LogSealers, ownerOf } from './log-sealers.ts'
import type { LogWorks } from './log-work.ts'
import type { PlatformKeys } from './platform-keys.ts'
import type { AuditSealerDeps } from './sealer-deps.ts'
import type { SealerErrors } from './sealer-errors.ts'

const DAY_MS = 86_400_000
/** All checkpoints stay in the index for so many days, and one per hour after that. */
const CHECKPOINTS_DAYS = 7
/** Transactions of one check that remove checkpoints and batches, at most, for each log. More are removed than are added. */
const THINNED_PARTS_MAX = 5
/** Bundles that one check removes at most, for each log. */
const PRUNED_MAX = 1000

/** Collaborators of the maintenance. */
interface LogMaintenanceDeps extends AuditSealerDeps {
  readonly works: LogWorks
  readonly sealers: LogSealers
  readonly errors: SealerErrors
  isClosing(): boolean
}

/** Maintains the logs of a data folder. */
export class LogMaintenance {
  /** The platform key that all logs have; null: unknown. */
  kid: string | null = null
  private readonly deps: LogMaintenanceDeps
  private readonly index: AuditIndex
  private readonly keys: PlatformKeys
  private readonly works: LogWorks
  private readonly sealers: LogSealers
  private readonly errors: SealerErrors
  /** Up to which entry this process has removed the files of a generation, by its number. */
  private readonly prunedTo = new Map<number, number>()

  constructor(deps: LogMaintenanceDeps) {
    this.deps = deps
    this.index = deps.index
    this.keys = deps.keys
    this.works = deps.works
    this.sealers = deps.sealers
    this.errors = deps.errors
  }

  /** Signs a checkpoint of each log with both keys after the platform key was changed, by whatever process. */
  async followKey(): Promise<void> {
    const stored = this.keys.stored()
    if (stored === null || stored.kid === this.kid) return
    for (const log of this.index.logs()) {
      if (this.deps.isClosing()) return
      if (!(await this.errors.attempt(log.owner, async () => void (await this.sealers.of(ownerOf(log)).changeKey()))))
        return
    }
    this.kid = stored.kid
    await this.keys.forgetBefore(stored)
  }

  /** Rotates the platform key if it is due, and removes what is too old. */
  async maintain(): Promise<void> {
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
      if (this.deps.isClosing()) return
      const isDeleted = log.kind === 'project' && !projects.has(log.owner)
      await this.errors.attempt(log.owner, async () => {
        if (isDeleted && log.deletedMs === null) await this.sealers.of(ownerOf(log)).markDeleted()
        if (retentionDays > 0) await this.prune(log, clock.now() - retentionDays * DAY_MS)
        if (this.index.state(log.id) !== null) await this.thin(log)
      })
    }
  }

  /** A project may have been deleted before this process has seen it. */
  private findLeftProjects(): void {
    const known = new Set(
      [...this.deps.projects(), ...this.works.all().map(({ owner }) => owner.owner)].map((owner) =>
        this.deps.logId(owner),
      ),
    )
    for (const folder of this.deps.projectFolders()) {
      const owner = `gid:${folder}`
      if (!known.has(folder) && isGid(owner) && this.deps.logId(owner) === folder) this.works.of(owner)
    }
  }

  private async thin(log: AuditLog): Promise<void> {
    const sealer = this.sealers.of(ownerOf(log))
    const beforeMs = this.deps.clock.now() - CHECKPOINTS_DAYS * DAY_MS
    // Nothing is sealed during this, so the rest waits for the next check.
    for (let part = 0; part < THINNED_PARTS_MAX && !this.deps.isClosing(); part++)
      if (await sealer.thin(beforeMs)) return
  }

  private async prune(log: AuditLog, oldestMs: number): Promise<void> {
    const sealer = this.sealers.of(ownerOf(log))
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
    // First: a head without its log would be taken for a loss.
    await this.deps.heads.remove(log.id)
    await this.index.write((edits) => edits.removeLog(log.id))
    for (const { number } of log.generations) await this.index.removeBundles(number, 2 ** 32 - 1)
    await rm(sealer.folder(), { recursive: true, force: true })
    this.sealers.forget(log.id)
    this.works.delete(log.owner)
    this.deps.log({ level: 'info', message: 'the audit log of a deleted project was removed', project: log.owner })
  }
}
