// Compares the audit logs of a data folder with their newest states in the configuration.
import { join } from 'node:path'
import { TileFolder } from '../audit/log/tile-folder.ts'
import { AUDIT_FOLDER, AUDIT_INDEX_FOLDER, AUDIT_LOGS_FOLDER, CONFIGURATION_FOLDER } from '../kernel/data-folder.ts'
import { auditHeads, continuesHead } from '../store/audit/audit-heads.ts'
import { AuditIndex } from '../store/audit/audit-index.ts'
import type { AuditLog, LostLogEnd } from '../store/audit/audit-types.ts'
import { openCollections } from '../store/documents/collections.ts'
import { holdsEnvironment } from '../store/lmdb/environment-folder.ts'
import { NoLayoutError } from '../store/lmdb/layout.ts'
import { MissingDatabaseError } from '../store/lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../store/lmdb/open-lock.ts'

/**
 * Returns the losses of the audit logs as sentences: entries that the configuration knows and the index does not, because the folder of
 * the audit trail was removed or replaced by an older one; also those after which the log continues already. The folder may be in use.
 */
export async function lostLogFindings(dataDir: string): Promise<string[]> {
  const options = { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS }
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), options)
  // Read before the index: a head is written after the state that it describes.
  const heads = collections.read(auditHeads)
  await collections.close()
  const folder = join(dataDir, AUDIT_FOLDER)
  const logs = new Map((await readLogs(join(folder, AUDIT_INDEX_FOLDER), options)).map((log) => [log.id, log]))
  const findings = heads
    .filter((head) => !continuesHead(logs.get(head.id) ?? null, head))
    .map(({ id, generation }) => lossFinding(id, generation))
  for (const { id, lost = [] } of logs.values()) {
    for (const end of lost) {
      const published = await new TileFolder(join(folder, AUDIT_LOGS_FOLDER, id, end.name)).published()
      if ((published?.size ?? 0) < end.size) findings.push(lossFinding(id, end))
    }
  }
  return findings
}

async function readLogs(path: string, options: LmdbFileOptions): Promise<readonly AuditLog[]> {
  if (!holdsEnvironment(path)) return []
  let index: AuditIndex
  try {
    index = new AuditIndex(path, options)
  } catch (failure) {
    // A service that starts creates it at this moment.
    if (failure instanceof NoLayoutError || failure instanceof MissingDatabaseError) return []
    throw failure
  }
  try {
    return index.logs()
  } finally {
    await index.close()
  }
}

function lossFinding(id: string, { name, origin, size }: LostLogEnd): string {
  return `${id}/${name}: entries of ${origin} are missing, of which ${size} were sealed: the folder was removed, or replaced by an older one`
}
