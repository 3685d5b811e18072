// The command `audit hash`: computes the hash of input parameters as the audit log of a project has it, with the secret key of the
// log.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { valuesHash } from '../../audit/audit-entry.ts'
import { hashKeyPath } from '../../audit/seal/log-sealer.ts'
import { digestOfValues } from '../../audit/values-digest.ts'
import { openSealer } from '../../identity/folder-keys.ts'
import { AUDIT_FOLDER, AUDIT_INDEX_FOLDER } from '../../kernel/folder/data-folder.ts'
import { isGid } from '../../kernel/ids.ts'
import { parseJson } from '../../kernel/json/json.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import type { Settings } from '../../settings.ts'
import { AuditIndex } from '../../store/audit/audit-index.ts'
import { projectFolderName } from '../../store/tenancy/project-folders.ts'
import { projectIdIn } from '../folder/project-id.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printLine } from '../output/print.ts'

/** Runs `audit hash`. Rejects with CliError or OperationalError. */
export async function printValuesHash({ dataDir }: Settings, project: string): Promise<void> {
  const path = join(dataDir, AUDIT_FOLDER, AUDIT_INDEX_FOLDER)
  if (!existsSync(path)) throw new CliError([`${dataDir} has no audit log`])
  // A deleted project has a log too.
  const projectId = isGid(project) ? project : await projectIdIn(dataDir, project)
  // Numbers are read as the service reads them: 1 and 1.0 have different hashes.
  const values = parseJson(await Bun.stdin.text(), 'exact')
  if (!values.ok || !isJsonObject(values.value))
    throw new UsageError(['the standard input: expected a JSON object with the input parameters'])
  const id = projectFolderName(projectId)
  const index = new AuditIndex(path, { readOnly: true })
  try {
    const log = index.state(id)
    if (log === null) throw new CliError([`${projectId} has no audit log`])
    const hashKey = Buffer.from(openSealer(dataDir).open(log.hashKey, hashKeyPath(id)), 'base64')
    printLine(valuesHash(digestOfValues(values.value), hashKey))
  } finally {
    await index.close()
  }
}
