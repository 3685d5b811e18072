// Verifies a backup without restoring it: unpacks it into a temporary folder, compares it with its manifest, and reads every database.
import { dirname, join } from 'node:path'
import { OperationalError } from '../kernel/errors.ts'
import { verifyFolder } from '../store/integrity/verify-folder.ts'
import { createStaging } from '../transfer/files/staging.ts'
import { type Manifest, readArchive } from './archive.ts'
import type { BackupSource } from './backup-source.ts'
import { checkUnpacked } from './restore.ts'

/**
 * Returns the manifest of a backup if it can be restored. `workFolder`: for the temporary copy. `progress`: called with the share that
 * is done, 0 to 1. Throws OperationalError that names the first damage.
 */
export async function verifyBackup(
  source: BackupSource,
  workFolder: string,
  progress: (share: number) => void,
): Promise<Manifest> {
  const staging = createStaging(workFolder, VERIFYING_PREFIX)
  try {
    let done = 0
    const manifest = await readArchive(source.label, await source.open(), staging.folder, (bytes) => {
      done += bytes
      progress(Math.min(1, done / source.bytes) / 2)
    })
    // Read before the databases are prepared for another start, which changes them.
    await verifyDatabases(staging.folder, manifest, (share) => progress(0.5 + share / 2))
    await checkUnpacked(source.label, staging.folder, manifest)
    return manifest
  } finally {
    staging.remove()
  }
}

const VERIFYING_PREFIX = '.verdigraph-verifying-'

/** Reads every database of an unpacked backup. Throws OperationalError that names the first damage. */
export async function verifyDatabases(
  folder: string,
  { members }: Manifest,
  progress: (share: number) => void,
): Promise<void> {
  const databases = members.filter(({ kind }) => kind !== 'file' && kind !== 'audit')
  for (const [at, { name }] of databases.entries()) {
    const findings = await verifyFolder(join(folder, dirname(name)), (_, share) =>
      progress((at + share) / databases.length),
    )
    const [finding] = findings
    if (finding !== undefined) throw new OperationalError(`\`${name}\` is damaged: ${finding}`)
  }
}
