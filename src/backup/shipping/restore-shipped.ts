// Restores a data folder from shipped objects: applies a base and its segments, verifies every database, and reduces the audit logs to
// what the restored index lists.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER, DATA_FILE, LMDB_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import { verifyFolder } from '../../store/integrity/verify-folder.ts'
import { auditLayout, documentsLayout, eventsLayout, graphLayout, readFolderLayout } from '../../store/lmdb/layout.ts'
import { auditIndexFolder } from '../../transfer/files/database-folders.ts'
import { syncPath } from '../../transfer/files/sync-path.ts'
import type { ArchiveMember } from '../archive.ts'
import { filesOfLog } from '../audit-files.ts'
import type { BackupPlace } from '../places/place.ts'
import { checkUnpacked, intoDataFolder } from '../restore.ts'
import { ShipmentApplier } from './apply-shipment.ts'
import { listShipped, planRestore } from './moments.ts'
import { readObject, type StreamCipher } from './spool.ts'

/** Objects of a place that are requested before they are applied. */
const READ_AHEAD = 4

/** Options of a restore from shipped objects. */
interface ShippedRestoreRequest {
  readonly place: BackupPlace
  readonly dataDir: string
  /** Milliseconds since the epoch; null: the newest moment. */
  readonly atMs: number | null
  /** Decrypts the object of that name; null: there is no identity to decrypt with. */
  readonly decrypt: ((stream: ReadableStream<Uint8Array>, object: string) => Promise<ReadableStream<Uint8Array>>) | null
  /** Completes or checks the restored folder before it gets its name. If it rejects, nothing is restored. */
  readonly prepare?: (folder: string) => Promise<void>
  /** Parts done and in total, and what is done. */
  readonly progress: (done: number, total: number, what: string) => void
}

/** The restored moment. */
interface ShippedRestoreResult {
  readonly timeMs: number
  readonly generation: string
  readonly objects: number
  readonly environments: number
}

/**
 * Restores the state of a moment as the data folder, which must be absent or empty. Throws OperationalError if the moment cannot be
 * restored, an object is damaged, or the restored data is.
 */
export async function restoreShipped(request: ShippedRestoreRequest): Promise<ShippedRestoreResult> {
  const { place, dataDir, atMs, decrypt, progress } = request
  const { objects, timeMs } = planRestore(await listShipped(place), atMs, place.address)
  const isEncrypted = objects.some((object) => object.isEncrypted)
  if (isEncrypted && decrypt === null)
    throw new OperationalError(
      `the objects in ${place.address} are encrypted: name a file with the age identity (\`--identity FILE\`)`,
    )
  const decrypterOf = ({ name, isEncrypted }: { name: string; isEncrypted: boolean }): StreamCipher | null =>
    decrypt === null || !isEncrypted ? null : (stream) => decrypt(stream, name)
  return intoDataFolder(dataDir, async (staging) => {
    const applier = new ShipmentApplier(staging)
    const opened = objects.slice(0, READ_AHEAD).map(({ name }) => open(place, name))
    for (const [at, object] of objects.entries()) {
      progress(at, objects.length, 'applying')
      const ahead = objects[at + READ_AHEAD]
      const body = await (opened.shift() as ReturnType<typeof open>)
      if (ahead !== undefined) opened.push(open(place, ahead.name))
      if (body instanceof Error) throw body
      await applier.apply(object, contentOf(object.name, readObject(body, decrypterOf(object))))
    }
    const environments = [...applier.environments].sort()
    removeDeleted(staging, new Set(environments))
    const members: ArchiveMember[] = []
    for (const [at, path] of environments.entries()) {
      const folder = join(staging, path)
      const member = await memberOf(path, folder)
      const report = (share: number) => progress(at + share, environments.length, `verifying ${path}`)
      const [damage] = await verifyFolder(folder, (_, share) => report(share))
      if (damage !== undefined) throw new OperationalError(`the restored database \`${path}\` is damaged: ${damage}`)
      members.push(member)
    }
    await keepListedLogs(staging)
    await checkUnpacked(place.address, staging, { members })
    await request.prepare?.(staging)
    syncFiles(staging)
    return { timeMs, generation: objects[0]!.generation, objects: objects.length, environments: environments.length }
  })
}

/** Settles without rejecting: a failure of an object that is read ahead is reported at its turn. */
async function open(place: BackupPlace, name: string): Promise<ReadableStream<Uint8Array> | Error> {
  try {
    return await place.get(name)
  } catch (failure) {
    return failure as Error
  }
}

async function* contentOf(name: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (failure) {
    if (failure instanceof OperationalError) throw failure
    throw new OperationalError(`the object ${name} is damaged: ${(failure as Error).message}`)
  }
}

const kinds = [
  ['graph', graphLayout],
  ['documents', documentsLayout],
  ['events', eventsLayout],
  ['audit', auditLayout],
] as const

async function memberOf(path: string, folder: string): Promise<ArchiveMember> {
  const { kind, version } = await readFolderLayout(folder)
  const known = kinds.find(([, layout]) => layout.kind === kind)
  if (known === undefined)
    throw new OperationalError(`\`${path}\` has contents of a kind that this program does not know`)
  const bytes = statSync(join(folder, DATA_FILE)).size
  return { name: `${path}/${DATA_FILE}`, bytes, sha256: '', kind: known[0], layout: version }
}

/** Folders of environments that were removed while changes were shipped. */
function removeDeleted(staging: string, environments: ReadonlySet<string>): void {
  const visit = (path: string): boolean => {
    let isEmpty = true
    for (const entry of readdirSync(join(staging, path), { withFileTypes: true })) {
      const inner = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory() && inner !== `${AUDIT_FOLDER}/${AUDIT_LOGS_FOLDER}`) isEmpty = visit(inner) && isEmpty
      else isEmpty = false
    }
    if (!isEmpty || path === '' || environments.has(path)) return false
    rmSync(join(staging, path), { recursive: true })
    return true
  }
  visit('')
}

/** Shipped files may be ahead of the index: the logs get exactly the files that it lists. */
async function keepListedLogs(staging: string): Promise<void> {
  const logs = join(staging, AUDIT_FOLDER, AUDIT_LOGS_FOLDER)
  const folder = auditIndexFolder(staging)
  const index = AuditIndex.existing(folder)
  if (index === null) {
    rmSync(logs, { recursive: true, force: true })
    rmSync(join(folder, LMDB_LOCK_FILE), { force: true })
    return
  }
  const kept = join(staging, AUDIT_FOLDER, `.${AUDIT_LOGS_FOLDER}`)
  const parts = join(staging, AUDIT_FOLDER, '.parts')
  try {
    for (const log of index.logs()) {
      for (const { name, make } of await filesOfLog(staging, log, index.newestCheckpoint(log.id), parts)) {
        const made = await make()
        if (made === null) continue
        const target = join(kept, name.slice(`${AUDIT_FOLDER}/${AUDIT_LOGS_FOLDER}/`.length))
        mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
        renameSync(made.path, target)
      }
    }
  } finally {
    await index.close()
    rmSync(join(folder, LMDB_LOCK_FILE), { force: true })
  }
  rmSync(logs, { recursive: true, force: true })
  rmSync(parts, { recursive: true, force: true })
  if (existsSync(kept)) renameSync(kept, logs)
}

function syncFiles(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) syncFiles(path)
    else if (entry.isFile()) syncPath(path)
  }
}
