// Writes the audit logs next to an export: each as the folder that `audit verify` reads, and the public keys that signed them.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { verifierKey } from '../../audit/log/signed-note.ts'
import { filesOfLog } from '../../backup/audit-files.ts'
import { AUDIT_FOLDER, AUDIT_LOGS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import { syncPath } from '../files/sync-path.ts'

/** Name of the file with the public keys, one a line. */
const KEYS_FILE = 'keys'

/** What was written. */
export interface ExportedLogs {
  readonly logs: number
  readonly entries: number
}

/**
 * Writes all logs, or that of a project, to the new folder `out`: `<log>/<generation>/…`, and `keys`. `indexCopy`: a copy of the
 * index, which says how far they reach. Null: the index has not been written.
 */
export async function exportAuditLogs(
  dataDir: string,
  indexCopy: string,
  projectId: string | undefined,
  out: string,
): Promise<ExportedLogs | null> {
  const staging = `${out}.parts`
  const index = AuditIndex.existing(indexCopy)
  if (index === null) return null
  try {
    const logs = index.logs().filter(({ owner }) => projectId === undefined || owner === projectId)
    mkdirSync(out, { mode: 0o700 })
    const folders = new Set([out])
    for (const log of logs) {
      for (const file of await filesOfLog(dataDir, log, index.newestCheckpoint(log.id), staging)) {
        const made = await file.make()
        if (made === null) continue
        const path = join(out, relative(join(AUDIT_FOLDER, AUDIT_LOGS_FOLDER), file.name))
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        copyFileSync(made.path, path)
        syncPath(path)
        folders.add(dirname(path))
        file.release()
      }
    }
    const generations = logs.flatMap((log) => log.generations)
    const keys = generations.flatMap(({ origin }) =>
      index.keys().map(({ spki }) => `${verifierKey(origin, Buffer.from(spki, 'base64'))}\n`),
    )
    writeFileSync(join(out, KEYS_FILE), keys.join(''), { mode: 0o600 })
    syncPath(join(out, KEYS_FILE))
    for (const folder of folders) syncPath(folder)
    const entries = generations.reduce((sum, { size, prunedTo }) => sum + size - prunedTo, 0)
    return { logs: logs.length, entries }
  } finally {
    rmSync(staging, { recursive: true, force: true })
    await index.close()
  }
}
