// Writes a backup: a consistent snapshot of all databases of a data folder, or of one project and its configuration, while
// the folder is being served. A restored backup is in the state of a crash at that moment, which the next start repairs.
import { createHash } from 'node:crypto'
import { existsSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { projectsKind } from '../config/kind.ts'
import { OperationalError } from '../kernel/errors.ts'
import { auditStreamOf } from '../kernel/folder/audit-stream.ts'
import {
  AUDIT_ACKNOWLEDGED_LOSSES,
  AUDIT_HEADS,
  CONFIGURATION_FOLDER,
  CURRENT_DOCUMENTS,
  DATA_FILE,
  DEMO_FILE,
  EVENTS_FOLDER,
  PAST_DOCUMENTS,
  PROJECTS_FOLDER,
} from '../kernel/folder/data-folder.ts'
import { withPath } from '../kernel/folder/file-issue.ts'
import { timestamp } from '../kernel/time/clock.ts'
import { auditHeads } from '../store/audit/audit-heads.ts'
import { AuditIndex } from '../store/audit/audit-index.ts'
import { openCollections } from '../store/documents/collections.ts'
import { compactFolder, type PinnedEnvironment, pinTogether } from '../store/lmdb/consistent-copy.ts'
import { readFolderLayout } from '../store/lmdb/layout.ts'
import { EventsFolder } from '../store/outbox/events-folder.ts'
import type { EventOutbox } from '../store/outbox/outbox.ts'
import { streamOf } from '../transfer/files/byte-stream.ts'
import {
  auditIndexFolder,
  belongsToProject,
  databaseFolders,
  type TransferredDocument,
} from '../transfer/files/database-folders.ts'
import { createStaging } from '../transfer/files/staging.ts'
import { syncPath } from '../transfer/files/sync-path.ts'
import { type ArchiveSink, type ArchiveSource, fileSink, type Manifest, writeArchive } from './archive.ts'
import { filesOfLog } from './audit-files.ts'
import { checkRecipients, encryptStream } from './encryption.ts'
import type { BackupPlace } from './places/place.ts'

/** Options of every backup. */
interface CopyRequest {
  readonly dataDir: string
  /** The project to back up; absent: all projects. */
  readonly projectId?: string
  readonly madeBy: string
  readonly nowMs: number
  /** Public keys of age identities; absent or empty: the backup is not encrypted. */
  readonly recipients?: readonly string[]
  /** Called while files are copied and packed: bytes done, bytes in total (an estimate), the file. */
  readonly progress: (done: number, total: number, what: string) => void
}

/** Options of a backup in a file. */
interface BackupRequest extends CopyRequest {
  readonly out: string
}

/** Options of a backup in a place. */
interface PlacedBackupRequest extends CopyRequest {
  readonly place: BackupPlace
  /** Of the object. */
  readonly name: string
  /** An existing folder for temporary copies: about the size of the largest database. */
  readonly workFolder: string
}

/** The manifest of a backup, and the length and the SHA-256 of what is stored. */
export interface BackupResult {
  readonly manifest: Manifest
  readonly bytes: number
  readonly sha256: string
}

/** Free space that a backup leaves on the file system of its temporary copies, bytes. */
const SPACE_KEPT_BYTES = 64 * 1024 * 1024

/** Writes a backup to the file `out`, which appears only when it is complete. Throws OperationalError. */
export async function backup(request: BackupRequest): Promise<BackupResult> {
  const { out } = request
  if (out === '-') throw new OperationalError('a backup cannot be written to the standard output: name a file')
  if (existsSync(out)) throw new OperationalError(`${out} already exists`)
  const parent = dirname(resolve(out))
  if (!existsSync(parent)) throw new OperationalError(`the folder ${parent} does not exist`)
  const temporary = createStaging(parent, `.${basename(out)}-`)
  try {
    const partial = join(temporary.folder, 'archive')
    const made = await copyFolder(request, temporary.folder, fileSink(partial))
    renameSync(partial, out)
    syncPath(parent)
    return made
  } catch (failure) {
    throw withPath(failure, out)
  } finally {
    temporary.remove()
  }
}

/** Writes a backup to a place, where it appears only when it is complete. Throws OperationalError. */
export async function backupToPlace(request: PlacedBackupRequest): Promise<BackupResult> {
  const { place, name, workFolder, dataDir, projectId } = request
  const sizes = databaseFolders(dataDir, projectId).map((folder) => statSync(join(folder, DATA_FILE)).size)
  requireSpace(workFolder, Math.max(0, ...sizes))
  const temporary = createStaging(workFolder, WORK_PREFIX)
  try {
    const sizeHint = sizes.reduce((sum, size) => sum + size, 0)
    return await copyFolder(request, temporary.folder, (archive) => place.put(name, archive, sizeHint))
  } catch (failure) {
    throw withPath(failure, workFolder)
  } finally {
    temporary.remove()
  }
}

const WORK_PREFIX = '.verdigraph-backup-'

/** Throws OperationalError if temporary copies of `bytes` do not fit into a folder: a full disk would stop the service's writes. */
export function requireSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  if (free < bytes + SPACE_KEPT_BYTES)
    throw new OperationalError(
      `the temporary copies need up to ${bytes} bytes in ${folder}, where ${free} are free, of which ${SPACE_KEPT_BYTES} must stay free: make space, or set \`backup_work_folder\` to a folder of another disk`,
    )
}

async function copyFolder(request: CopyRequest, staging: string, sink: ArchiveSink): Promise<BackupResult> {
  const { dataDir, projectId, recipients = [] } = request
  const folders = databaseFolders(dataDir, projectId)
  // Each file is copied and then packed. A packed copy is at most as long as its source.
  const total = 2 * folders.reduce((sum, folder) => sum + statSync(join(folder, DATA_FILE)).size, 0)
  let done = 0
  const progress = (what: string, bytes: number): void => {
    done += bytes
    request.progress(done, total, what)
  }
  await checkRecipients(recipients)
  const stored = { bytes: 0, sha256: '' }
  const storing: ArchiveSink = async (archive) => {
    const stream = recipients.length === 0 ? archive : await encryptStream(archive, recipients)
    await sink(streamOf(measured(stream, stored)))
  }
  const manifest = await pinTogether(folders, async (held) => {
    const copies = held.map((each, at) => databaseSource(request, each, join(staging, `${at}`), progress))
    const configuration = held.find(({ folder }) => folder === join(dataDir, CONFIGURATION_FOLDER))
    const projects =
      projectId === undefined
        ? await listProjects(configuration as PinnedEnvironment, join(staging, 'listed'))
        : [projectId]
    const index = held.find(({ folder }) => folder === auditIndexFolder(dataDir))
    const logs = index === undefined ? [] : await auditFiles(request, index, staging)
    const demo = projectId === undefined && existsSync(join(dataDir, DEMO_FILE)) ? [demoSource(dataDir)] : []
    const about = { made_by: request.madeBy, made_at: timestamp(request.nowMs), projects }
    return writeArchive(storing, about, [...copies, ...demo, ...logs], (name, bytes) =>
      progress(`packing ${name}`, bytes),
    )
  })
  return { manifest, ...stored }
}

/** Passes a stream on, and stores its length and hash when it has ended. */
async function* measured(
  stream: ReadableStream<Uint8Array>,
  stored: { bytes: number; sha256: string },
): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of stream) {
    hash.update(chunk)
    stored.bytes += chunk.length
    yield chunk
  }
  stored.sha256 = hash.digest('hex')
}

function databaseSource(
  request: CopyRequest,
  held: PinnedEnvironment,
  staging: string,
  progress: (what: string, bytes: number) => void,
): ArchiveSource {
  const name = [...relative(request.dataDir, held.folder).split(sep), DATA_FILE].join('/')
  const isConfiguration = name === `${CONFIGURATION_FOLDER}/${DATA_FILE}`
  const isEvents = name === `${EVENTS_FOLDER}/${DATA_FILE}`
  const isAudit = held.folder === auditIndexFolder(request.dataDir)
  return {
    name,
    kind: isAudit ? 'audit' : isEvents ? 'events' : name.startsWith(`${PROJECTS_FOLDER}/`) ? 'graph' : 'documents',
    async make() {
      progress(`copying ${name}`, 0)
      await held.copyTo(staging, (bytes) => progress(`copying ${name}`, bytes))
      let folder = staging
      if ((isConfiguration || isEvents || isAudit) && request.projectId !== undefined) {
        const removeOthers = isAudit ? removeOtherLogs : isEvents ? removeOtherStreams : removeOtherProjects
        await removeOthers(staging, request.projectId)
        folder = join(staging, 'kept')
        await compactFolder(staging, folder)
      }
      const path = join(folder, DATA_FILE)
      return { path, bytes: statSync(path).size, layout: (await readFolderLayout(folder)).version }
    },
    release: () => rmSync(staging, { recursive: true }),
  }
}

function demoSource(dataDir: string): ArchiveSource {
  const path = join(dataDir, DEMO_FILE)
  return {
    name: DEMO_FILE,
    kind: 'file',
    make: () => Promise.resolve({ path, bytes: statSync(path).size, layout: 0 }),
    release: () => undefined,
  }
}

/** Removes the configuration of other projects, which would be unavailable without their graphs. */
async function removeOtherProjects(folder: string, projectId: string): Promise<void> {
  const collections = openCollections(folder, {})
  try {
    await collections.transact((changes) => {
      const others = [CURRENT_DOCUMENTS, PAST_DOCUMENTS].map((collection) => ({
        collection,
        documents: changes
          .all(collection)
          .filter(([, value]) => !belongsToProject(value as TransferredDocument, projectId)),
      }))
      const heads = auditHeads(changes).filter(({ owner }) => owner !== projectId)
      for (const { collection, documents } of others) for (const [key] of documents) changes.delete(collection, key)
      for (const { id } of heads)
        for (const collection of [AUDIT_HEADS, AUDIT_ACKNOWLEDGED_LOSSES]) changes.delete(collection, id)
    })
    await removeOtherStreamsOf(collections.outbox, projectId)
  } finally {
    await collections.close()
  }
}

/** Removes the events of other projects. */
async function removeOtherStreams(folder: string, projectId: string): Promise<void> {
  const events = new EventsFolder(folder, {})
  try {
    await removeOtherStreamsOf(events.outbox, projectId)
  } finally {
    await events.close()
  }
}

async function removeOtherStreamsOf(outbox: EventOutbox, projectId: string): Promise<void> {
  const kept = [projectId, auditStreamOf(projectId)]
  for (const stream of outbox.streams()) if (!kept.includes(stream)) await outbox.drop(stream)
}

/** Removes the audit logs of others. */
async function removeOtherLogs(folder: string, projectId: string): Promise<void> {
  const index = new AuditIndex(folder, {})
  try {
    const others = index.logs().filter(({ owner }) => owner !== projectId)
    await index.write((edits) => {
      for (const { id } of others) edits.removeLog(id)
    })
    for (const { generations } of others)
      for (const { number } of generations) await index.removeBundles(number, 2 ** 32 - 1)
  } finally {
    await index.close()
  }
}

/** The files of the audit logs, as the index at the moment of the backup describes them. */
async function auditFiles(
  { dataDir, projectId }: CopyRequest,
  held: PinnedEnvironment,
  staging: string,
): Promise<ArchiveSource[]> {
  const copy = join(staging, 'listed-audit')
  await held.copyTo(copy)
  const index = AuditIndex.existing(copy)
  try {
    const logs = (index?.logs() ?? []).filter(({ owner }) => projectId === undefined || owner === projectId)
    const files: ArchiveSource[] = []
    for (const log of logs)
      files.push(...(await filesOfLog(dataDir, log, index?.newestCheckpoint(log.id) ?? null, staging)))
    return files
  } finally {
    await index?.close()
    rmSync(copy, { recursive: true })
  }
}

async function listProjects(configuration: PinnedEnvironment, staging: string): Promise<string[]> {
  await configuration.copyTo(staging)
  const collections = openCollections(staging, { readOnly: true })
  try {
    return collections
      .all(CURRENT_DOCUMENTS)
      .map(([, value]) => value as TransferredDocument)
      .flatMap(({ kind, id }) => (kind === projectsKind ? [id] : []))
  } finally {
    await collections.close()
    rmSync(staging, { recursive: true })
  }
}
