// The command `audit rotate-key`: generates another platform key. The folder may be served: its background process signs a checkpoint
// of each log with both keys within seconds. Otherwise the next start does.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openAuditIndex } from '../../audit/seal/audit-trail.ts'
import { PlatformKeys, type RotatedPlatformKey } from '../../audit/seal/platform-keys.ts'
import { openSealer } from '../../identity/folder-keys.ts'
import { CONFIGURATION_FOLDER } from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { recorded } from '../folder/record-operation.ts'
import { CliError } from '../output/cli-error.ts'
import { printJson, printLine } from '../output/print.ts'

/** Runs `audit rotate-key`. Rejects with CliError or OperationalError; the old key then stays in use. */
export async function rotateAuditKey(settings: Settings, json: boolean): Promise<void> {
  const { kid, before } = await recorded(
    settings,
    'svc.audit.operations.auditkey.rotate',
    {},
    () => rotate(settings.dataDir),
    (rotated) => ({ keyId: rotated.kid }),
  )
  if (json) {
    printJson({ kid, before })
    return
  }
  printLine(`${kid} signs the audit logs from now on${before === null ? '' : ` instead of ${before}`}`)
  if (before !== null)
    printLine('the next checkpoint of each log is signed by both keys; give the new key to those who verify the logs')
}

async function rotate(dataDir: string): Promise<RotatedPlatformKey> {
  if (!existsSync(join(dataDir, CONFIGURATION_FOLDER))) throw new CliError([`${dataDir} has no organization`])
  const sealer = openSealer(dataDir)
  const index = await openAuditIndex(dataDir, true)
  try {
    return await new PlatformKeys(index, sealer, systemClock).rotate()
  } finally {
    await index.close()
  }
}
