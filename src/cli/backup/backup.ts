// The commands `backup`, `restore` and `backups list`: their output, and the note that the master key is not in the file.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { issueAdminToken } from '../../app/configuration.ts'
import { type BackupResult, backup, backupToPlace } from '../../backup/backup.ts'
import { recipientsOf, workFolderFor } from '../../backup/backup-settings.ts'
import { type BackupSource, fileSource, placeSource } from '../../backup/backup-source.ts'
import { newIdentity, readIdentities } from '../../backup/encryption.ts'
import { findPlacedBackup, placedBackupName, placedBackups } from '../../backup/placed-backups.ts'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import type { BackupPlace } from '../../backup/places/place.ts'
import { folderOf, isS3Address } from '../../backup/places/place-address.ts'
import { restore, restoredLogs } from '../../backup/restore.ts'
import { givenMasterKey, masterKeyVariable, readMasterKeyFile } from '../../identity/master-key.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { projectIdIn } from '../folder/project-id.ts'
import { recorded, recordOperation } from '../folder/record-operation.ts'
import { remoteGraphNotices } from '../folder/remote-graph-notices.ts'
import { UsageError } from '../output/cli-error.ts'
import { printAnswer, printJson, printLine, printLines, printNotice } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { tableLines } from '../output/table.ts'

/** The note after a restore without a master key. */
export const KEY_NEEDED =
  'its secrets are encrypted: before serving it, copy the original master.key into the folder, or set VERDIGRAPH_MASTER_KEY'

/** The options of `backup`. */
export interface BackupFlags {
  /** Exactly one of `out` and `to`. */
  readonly out?: string
  readonly to?: string
  readonly project?: string
  /** Instead of those of the settings. */
  readonly recipient: readonly string[]
  readonly json: boolean
}

/** Runs `backup`. Rejects with OperationalError if it fails, and with UsageError for options that do not fit together. */
export async function backupFolder(settings: Settings, flags: BackupFlags): Promise<void> {
  const { dataDir } = settings
  const { out, to, json } = flags
  if ((out === undefined) === (to === undefined))
    throw new UsageError(['backup: name either a file with `--out`, or a folder or `s3://bucket/prefix` with `--to`'])
  const recipients = flags.recipient.length > 0 ? flags.recipient : recipientsOf(settings)
  const projectId = flags.project === undefined ? undefined : await projectIdIn(dataDir, flags.project)
  const progress = progressLine(`opening ${dataDir}`)
  const nowMs = systemClock.now()
  const common = {
    dataDir,
    ...(projectId === undefined ? {} : { projectId }),
    madeBy: `verdigraph ${packageJson.version}`,
    nowMs,
    recipients,
    progress: (done: number, total: number, what: string) => progress.show(done, total, what),
  }
  const name = placedBackupName(false, recipients.length > 0, nowMs)
  const place = to === undefined ? null : openPlace(to, s3AccessOf(process.env))
  const file = place === null ? (out as string) : `${place.address}/${name}`
  const run = async (): Promise<BackupResult> => {
    if (place === null) return backup({ ...common, out: out as string })
    const workFolder = workFolderFor(settings, to as string)
    mkdirSync(workFolder, { recursive: true, mode: 0o700 })
    return backupToPlace({ ...common, place, name, workFolder })
  }
  const asked = { file, ...(projectId !== undefined && { project: projectId }) }
  try {
    const { manifest, bytes } = await recorded(settings, 'svc.audit.operations.backup', asked, run, (made) => ({
      projects: made.manifest.projects.length,
      bytes: made.bytes,
    }))
    progress.end()
    const isEncrypted = recipients.length > 0
    const { projects, members } = manifest
    if (json) {
      const where = place === null ? { out } : { to: place.address, name }
      printJson({ ...where, bytes, members: members.length, projects, encrypted: isEncrypted })
      return
    }
    printLine(`${file}: ${projectsOf(projects)}, ${bytes} bytes${isEncrypted ? ', encrypted' : ''}`)
    for (const notice of await remoteGraphNotices(dataDir, projectId)) printLine(notice)
    printLine(
      'The backup does not contain the master key. Store master.key separately: without it, the secrets cannot be decrypted.',
    )
    if (isEncrypted)
      printLine(
        'It can be restored with an age identity of its recipients only. Store the identity separately as well.',
      )
  } finally {
    progress.end()
  }
}

function projectsOf({ length }: readonly string[]): string {
  return `${length} ${length === 1 ? 'project' : 'projects'}`
}

/** The options that name a backup. */
export interface SourceFlags {
  /** Exactly one of `in` and `from`. */
  readonly in?: string
  readonly from?: string
  /** With `from`; absent: the newest one. */
  readonly name?: string
  readonly identity?: string
}

/** The backup that the options of a command name. Rejects with OperationalError, and with UsageError. */
export async function sourceOf(command: string, flags: SourceFlags): Promise<BackupSource> {
  const { in: file, from, name, identity } = flags
  if ((file === undefined) === (from === undefined))
    throw new UsageError([
      `${command}: name either a backup file with \`--in\`, or a folder or \`s3://bucket/prefix\` with \`--from\``,
    ])
  if (name !== undefined && from === undefined) throw new UsageError([`${command}: \`--name\` is for \`--from\``])
  const identities = identity === undefined ? null : await readIdentities(identity)
  if (file !== undefined) return fileSource(file, identities)
  const place = existingPlace(from as string)
  return placeSource(place, await findPlacedBackup(place, name ?? null), identities)
}

/** Throws OperationalError if the place is a folder that does not exist. */
function existingPlace(address: string): BackupPlace {
  const place = openPlace(address, s3AccessOf(process.env))
  if (!isS3Address(address) && !existsSync(folderOf(address)))
    throw new OperationalError(`the folder ${folderOf(address)} does not exist`)
  return place
}

/** The options of `restore`. */
export interface RestoreFlags extends SourceFlags {
  readonly masterKey?: string
  readonly json: boolean
}

/** Runs `restore`. Rejects with OperationalError if the folder is not empty or the backup is invalid. */
export async function restoreFolder(settings: Settings, flags: RestoreFlags): Promise<void> {
  const { dataDir } = settings
  const masterKey = flags.masterKey === undefined ? null : givenKeyFile(flags.masterKey)
  const source = await sourceOf('restore', flags)
  const progress = progressLine('unpacking')
  try {
    const manifest = await restore({
      from: source,
      dataDir,
      progress: (done, total) => progress.show(done, total, 'unpacking'),
      ...(masterKey !== null && { prepare: (folder: string) => addMasterKey(settings, folder, masterKey) }),
    })
    const made = { file: source.label, madeAt: manifest.made_at, projects: manifest.projects.length }
    await recordOperation(settings, 'svc.audit.operations.restore', made)
    progress.end()
    await printReopenedLogs(dataDir)
    if (flags.json) printJson({ data: dataDir, made_at: manifest.made_at, projects: manifest.projects })
    else {
      printLine(`${dataDir}: restored to its state at ${manifest.made_at}, ${projectsOf(manifest.projects)}`)
      if (!existsSync(join(dataDir, MASTER_KEY_FILE)) && !process.env.VERDIGRAPH_MASTER_KEY) printLine(KEY_NEEDED)
    }
  } finally {
    progress.end()
  }
}

/** Prints which audit logs continue under another origin after a restore. */
export async function printReopenedLogs(dataDir: string): Promise<void> {
  for (const { owner, origin, size } of await restoredLogs(dataDir))
    printNotice(
      `the audit log of ${owner} continues under a new origin, because entries after the ${size} of ${origin} may have been published`,
    )
}

/**
 * The text of a file with a master key. Throws OperationalError if it does not contain one, and UsageError if the process was given
 * another one, which would take precedence.
 */
export function givenKeyFile(path: string): string {
  const given = givenMasterKey(masterKeyVariable)
  if (given !== null) throw new UsageError([`--master-key: ${given.where} has a master key already: use one of both`])
  readMasterKeyFile(path)
  return readFileSync(path, 'utf8')
}

/** Puts the key into a folder. Rejects with OperationalError if it does not open the secrets. */
export async function addMasterKey(settings: Settings, folder: string, key: string): Promise<void> {
  writeFileSync(join(folder, MASTER_KEY_FILE), key, { mode: 0o600 })
  try {
    await issueAdminToken({ ...settings, dataDir: folder }, 120)
  } catch (failure) {
    throw new OperationalError(
      `the master key does not open the secrets of the backup, and nothing was restored: ${(failure as Error).message.replaceAll(folder, 'the backup')}`,
    )
  }
}

/** Runs `backups list`: the backups in a place, the newest first. */
export async function listPlacedBackups(settings: Settings, from: string | undefined, json: boolean): Promise<void> {
  const address = from ?? (settings.backupTo || settings.backupFolder)
  if (address === '')
    throw new UsageError(['backups list: name a folder or `s3://bucket/prefix` with `--from`, or set `backup_to`'])
  // The folder of the setting is created by the first backup.
  const place = from === undefined ? openPlace(address, s3AccessOf(process.env)) : existingPlace(from)
  const found = (await placedBackups(place)).map(({ name, size, madeMs, isEncrypted, isScheduled }) => ({
    name,
    made_at: new Date(madeMs).toISOString(),
    bytes: size,
    encrypted: isEncrypted,
    scheduled: isScheduled,
  }))
  if (json) printJson({ place: place.address, backups: found })
  else if (found.length === 0) printLine(`${place.address} contains no backup`)
  else
    printLines(
      tableLines(
        ['name', 'made at', 'bytes', 'encrypted'],
        found.map(({ name, made_at, bytes, encrypted }) => [name, made_at, String(bytes), encrypted ? 'yes' : 'no']),
      ),
    )
}

/** Runs `backups identity`. Rejects with OperationalError if the file exists or cannot be written. */
export async function makeIdentity(out: string, json: boolean): Promise<void> {
  const { identity, recipient } = await newIdentity()
  const lines = [`# created: ${new Date(systemClock.now()).toISOString()}`, `# public key: ${recipient}`, identity, '']
  try {
    writeFileSync(out, lines.join('\n'), { flag: 'wx', mode: 0o600 })
  } catch (failure) {
    const { code, message } = failure as { code?: string; message: string }
    throw new OperationalError(code === 'EEXIST' ? `${out} already exists` : `${out} cannot be written: ${message}`)
  }
  printAnswer(json, { recipient }, () => [recipient])
}
