// Restores a backup: unpacks it next to the data folder, verifies it against the manifest, and renames it into place at the
// end. Until then, and after any error, the data folder stays as it was: absent or empty.
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { OperationalError } from '../kernel/errors.ts'
import { LMDB_LOCK_FILE } from '../kernel/folder/data-folder.ts'
import { AuditIndex } from '../store/audit/audit-index.ts'
import { endCopy } from '../store/documents/document-copy.ts'
import { auditLayout, documentsLayout, eventsLayout, graphLayout, readFolderLayout } from '../store/lmdb/layout.ts'
import { renewOrigins } from '../store/outbox/renew-origins.ts'
import { auditIndexFolder } from '../transfer/files/database-folders.ts'
import { createStaging } from '../transfer/files/staging.ts'
import { syncPath } from '../transfer/files/sync-path.ts'
import { type ArchiveMember, type Manifest, readArchive } from './archive.ts'
import { type BackupSource, fileSource } from './backup-source.ts'

/** Options of a restore. `progress` gets bytes read and total. */
interface RestoreRequest {
  /** The path of a file, or another source. */
  readonly from: string | BackupSource
  readonly dataDir: string
  readonly progress: (bytesDone: number, bytesTotal: number) => void
  /** Completes or checks the restored folder before it gets its name. If it rejects, nothing is restored. */
  readonly prepare?: (folder: string) => Promise<void>
}

/**
 * Restores the archive `from` as the data folder, which must be absent or empty.
 * Returns the manifest of the backup. Throws OperationalError if the archive is damaged or the folder is in use.
 */
export async function restore({ from, dataDir, progress, prepare }: RestoreRequest): Promise<Manifest> {
  const source = typeof from === 'string' ? fileSource(from) : from
  return intoDataFolder(dataDir, async (staging) => {
    let done = 0
    const manifest = await readArchive(source.label, await source.open(), staging, (bytes) => {
      done += bytes
      progress(Math.min(done, source.bytes), source.bytes)
    })
    await checkUnpacked(source.label, staging, manifest)
    await prepare?.(staging)
    return manifest
  })
}

/**
 * Calls `fill` with a folder next to the data folder, and renames that folder into place when it is complete. The data folder must be
 * absent or empty, and stays so after a failure. Throws OperationalError, and what `fill` throws.
 */
export async function intoDataFolder<T>(dataDir: string, fill: (staging: string) => Promise<T>): Promise<T> {
  requireEmpty(dataDir)
  // If the path is a symbolic link to an empty folder, the folder is replaced, not the link.
  const target = existsSync(dataDir) ? realpathSync(dataDir) : resolve(dataDir)
  const parent = dirname(target)
  createFolder(parent)
  const temporary = createStaging(parent, `.${basename(target)}-restoring-`)
  const staging = temporary.folder
  try {
    const result = await fill(staging)
    for (const folder of foldersBelow(staging)) syncPath(folder)
    // Checked again, because it takes time to fill the folder. The system renames over an empty folder and refuses any other.
    requireEmpty(dataDir)
    temporary.removeLock()
    moveIntoPlace(staging, target)
    syncPath(parent)
    return result
  } finally {
    temporary.remove()
  }
}

/**
 * Opens every database of an archive that was unpacked into `staging`, and prepares it for another start. Throws OperationalError if
 * one cannot be used. `from`: the path of the archive.
 */
export async function checkUnpacked(
  from: string,
  staging: string,
  { members }: Pick<Manifest, 'members'>,
): Promise<void> {
  if (!members.some(({ name }) => name.startsWith('config/')))
    throw new OperationalError(`${from} is not a complete backup: it contains no configuration`)
  for (const member of members) await checkMember(from, staging, member)
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new OperationalError(`the folder ${folder} cannot be created: ${(error as Error).message}`)
  }
}

function moveIntoPlace(staging: string, target: string): void {
  try {
    renameSync(staging, target)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'EBUSY' && code !== 'EXDEV') throw error
    throw new OperationalError(
      `the folder ${target} is a mount point and cannot be replaced: restore into a folder inside it`,
    )
  }
}

function requireEmpty(dataDir: string): void {
  if (!existsSync(dataDir)) return
  if (!statSync(dataDir).isDirectory()) throw new OperationalError(`${dataDir} is a file`)
  if (readdirSync(dataDir).length > 0)
    throw new OperationalError(`the folder ${dataDir} is not empty: restore the backup into a new folder`)
}

const layouts = { graph: graphLayout, documents: documentsLayout, events: eventsLayout, audit: auditLayout }

/** Opens the database as the service would, so that an unusable database fails the restore and not the next start. */
async function checkMember(from: string, staging: string, { name, kind, layout }: ArchiveMember): Promise<void> {
  if (kind === 'file') return
  const known = layouts[kind]
  if (layout > known.version) {
    throw new OperationalError(
      `${from} contains ${known.contents} in layout version ${layout}; this program reads up to version ${known.version}: restore it with the program that made it, or a newer one`,
    )
  }
  const folder = join(staging, dirname(name))
  const found = await readFolderLayout(folder)
  if (found.kind !== known.kind || found.version !== layout)
    throw new OperationalError(
      `${from} is not a complete backup: \`${name}\` does not contain ${known.contents} as in the manifest`,
    )
  if (layout === known.version) await (kind === 'audit' ? reopenLogs(folder) : renewOrigins(folder))
  if (layout === known.version && kind === 'documents') await endCopy(folder)
  rmSync(join(folder, LMDB_LOCK_FILE), { force: true })
}

/**
 * Makes each audit log begin another generation: checkpoints after the state of the backup may have been published, and another
 * history of the same log would contradict them.
 */
async function reopenLogs(folder: string): Promise<void> {
  const index = new AuditIndex(folder, {})
  try {
    const logs = index.logs()
    const sources = index.sources()
    await index.write((edits) => {
      for (const log of logs) edits.putLog({ ...log, mustReopen: true })
      // They are of the files of the folder that was backed up.
      for (const name of sources.keys()) edits.putSource(name, null)
    })
  } finally {
    await index.close()
  }
}

/** A log that has another origin after the restore. */
interface RestoredLog {
  /** The project or the organization. */
  readonly owner: string
  /** The origin up to the backup, and the number of entries. */
  readonly origin: string
  readonly size: number
}

/** The audit logs of a restored data folder. */
export async function restoredLogs(dataDir: string): Promise<readonly RestoredLog[]> {
  const index = AuditIndex.existing(auditIndexFolder(dataDir))
  if (index === null) return []
  try {
    return index.logs().flatMap(({ owner, generations }) => {
      const last = generations.at(-1)
      return last === undefined ? [] : [{ owner, origin: last.origin, size: last.size }]
    })
  } finally {
    await index.close()
  }
}

function foldersBelow(folder: string): string[] {
  const inner = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...inner.flatMap(({ name }) => foldersBelow(join(folder, name))), folder]
}
