// The scheduled jobs: makes a backup in a place, verifies it and removes old ones; or runs a drill with the newest one. Both store their
// result in the data folder (docs/decisions/0059-backups-by-itself.md).
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { backupToPlace, requireSpace } from '../../backup/backup.ts'
import type { FinishedBackup, ScheduledJob } from '../../backup/backup-job.ts'
import {
  afterRun,
  type BackupRecord,
  type BackupVerification,
  ownBackupNames,
  readBackupRecord,
  updateBackupRecord,
} from '../../backup/backup-record.ts'
import { backupAddressOf, recipientsOf, workFolderFor } from '../../backup/backup-settings.ts'
import { placeSource } from '../../backup/backup-source.ts'
import { readIdentities } from '../../backup/encryption.ts'
import {
  backupsToRemove,
  isPlacedBackupName,
  type PlacedBackup,
  placedBackupName,
  placedBackups,
} from '../../backup/placed-backups.ts'
import { BACKUP_OWNER_PREFIX, claimPlace } from '../../backup/places/claim-place.ts'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import type { BackupPlace } from '../../backup/places/place.ts'
import { verifyBackup } from '../../backup/verify-backup.ts'
import { givenMasterKey, masterKeyVariable } from '../../identity/master-key.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import { fileProblemOf } from '../../kernel/folder/file-issue.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { questionsOf, runDrill } from './backup-drill.ts'

/** Uploads of other programs, or of a service that was moved, are removed after this time. */
const ABANDONED_AFTER_MS = 24 * 3_600_000

/** Runs a job, and stores its result. `alive`: called while it works. Rejects with the failure after it was stored. */
export async function runScheduledJob(
  settings: Settings,
  job: ScheduledJob,
  clock: Clock,
  alive: () => void,
): Promise<FinishedBackup> {
  const { dataDir } = settings
  const startMs = clock.now()
  const member = job.kind === 'drill' ? 'drill' : 'backup'
  const before = readBackupRecord(dataDir)
  let name = ''
  const named = (given: string): void => {
    name = given
    // A process that is killed leaves this state.
    const last_run = { name, start_time: new Date(startMs).toISOString(), end_time: null, error: null }
    const state = readBackupRecord(dataDir)[member] ?? { due_time: new Date(0).toISOString(), failures: 0 }
    updateBackupRecord(dataDir, { [member]: { ...state, last_run } })
  }
  const ended = (error: string | null): void => {
    const run = { name, dueMs: job.dueMs, startMs, endMs: clock.now() }
    updateBackupRecord(dataDir, { [member]: afterRun(before[member], run, error) })
  }
  try {
    const run = job.kind === 'drill' ? drillNewest : makeAndVerify
    const finished = await run(settings, job, { clock, alive }, before, named)
    ended(null)
    return finished
  } catch (failure) {
    const problem = fileProblemOf(failure)
    ended(problem ?? (failure instanceof Error ? failure.message : String(failure)))
    throw problem === null ? failure : new OperationalError(problem)
  }
}

interface JobDeps {
  readonly clock: Clock
  /** Called while the job works. */
  readonly alive: () => void
}

async function makeAndVerify(
  settings: Settings,
  { madeBy, organizationId }: ScheduledJob,
  { clock, alive }: JobDeps,
  before: BackupRecord,
  named: (name: string) => void,
): Promise<FinishedBackup> {
  const { dataDir } = settings
  const startMs = clock.now()
  const { place, workFolder } = placeOf(settings)
  const recipients = recipientsOf(settings)
  const name = placedBackupName(true, recipients.length > 0, startMs)
  named(name)
  const own = ownBackupNames(before)
  const found = await placedBackups(place)
  await claimForBackups(place, organizationId, found, own)
  const made = [name, ...found.flatMap((one) => (own.has(one.name) ? one.name : []))]
  updateBackupRecord(dataDir, { made })
  await removeInterrupted(place, before.backup?.last_run ?? null, startMs)
  const { manifest, bytes, sha256 } = await backupToPlace({
    dataDir,
    place,
    name,
    workFolder,
    recipients,
    madeBy,
    nowMs: startMs,
    progress: alive,
  })
  const stored = { name, size: bytes, sha256 }
  let verification: BackupVerification
  try {
    verification = await verify(settings, place, stored, recipients.length > 0, workFolder, alive)
  } catch (failure) {
    // Damaged, or it could not be read: it does not count as one of those to keep.
    updateBackupRecord(dataDir, { known: [{ name, bytes, isSound: false }, ...before.known] })
    throw failure
  }
  const seconds = (clock.now() - startMs) / 1000
  const projects = manifest.projects.length
  const newest = { name, made_at: manifest.made_at, bytes, seconds, projects, verification }
  const sound = verification === 'sound' || verification === 'stored' ? [{ name, bytes, isSound: true }] : []
  updateBackupRecord(dataDir, { newest, known: [...sound, ...before.known] })
  await removeOld(settings, place, new Set(made))
  return { bytes, projects }
}

async function verify(
  { backupVerify, backupIdentity }: Settings,
  place: BackupPlace,
  { name, size, sha256 }: { name: string; size: number; sha256: string },
  isEncrypted: boolean,
  workFolder: string,
  alive: () => void,
): Promise<BackupVerification> {
  if (backupVerify === 'off') return 'off'
  if (isEncrypted && backupIdentity === '') {
    const hash = createHash('sha256')
    for await (const chunk of await place.get(name)) hash.update(chunk)
    if (hash.digest('hex') === sha256) return 'stored'
    throw new OperationalError(`${place.address}/${name} differs from what was written`)
  }
  const identities = backupIdentity === '' ? null : await readIdentities(backupIdentity)
  requireSpace(workFolder, size)
  await verifyBackup(placeSource(place, { name, size }, identities), workFolder, alive)
  return 'sound'
}

/** Removes the upload of the previous run if it failed or its process was killed, and others after a day. */
async function removeInterrupted(
  place: BackupPlace,
  previous: { readonly name: string; readonly end_time: string | null; readonly error: string | null } | null,
  nowMs: number,
): Promise<void> {
  const interrupted =
    previous !== null && (previous.end_time === null || previous.error !== null) ? previous.name : null
  await place.removeIncomplete(
    (name, startedMs) =>
      name === interrupted || (isPlacedBackupName(name) && startedMs > 0 && startedMs < nowMs - ABANDONED_AFTER_MS),
  )
}

/** Rejects with OperationalError for a place of another organization, and for one with scheduled backups that may be those of one. */
async function claimForBackups(
  place: BackupPlace,
  organizationId: string,
  found: readonly PlacedBackup[],
  own: ReadonlySet<string>,
): Promise<void> {
  await claimPlace(place, {
    prefix: BACKUP_OWNER_PREFIX,
    organizationId,
    verb: 'makes scheduled backups in',
    // An earlier version wrote no owner.
    allow(owner) {
      const scheduled = found.filter(({ isScheduled }) => isScheduled)
      if (scheduled.length === 0 || scheduled.some(({ name }) => own.has(name))) return
      throw new OperationalError(
        `${place.address} contains scheduled backups that this service has not made, and no object names their owner: choose a folder or a prefix of its own, or create the object \`${owner}\` there if they are of this organization`,
      )
    },
  })
}

/** Removes backups of this service only: another one with the same organization, for example a restored copy, may use the place as well. */
async function removeOld(
  { dataDir, backupKeep }: Settings,
  place: BackupPlace,
  own: ReadonlySet<string>,
): Promise<void> {
  const { known } = readBackupRecord(dataDir)
  const all = (await placedBackups(place)).filter(({ name }) => own.has(name))
  const removed = backupsToRemove(all, backupKeep, known)
  for (const { name } of removed) await place.remove(name)
  const left = all.filter((one) => one.isScheduled && !removed.includes(one))
  updateBackupRecord(dataDir, {
    kept: left.length,
    known: known.filter(({ name }) => left.some((one) => one.name === name)),
  })
}

async function drillNewest(
  settings: Settings,
  _: ScheduledJob,
  { clock, alive }: JobDeps,
  before: BackupRecord,
  named: (name: string) => void,
): Promise<FinishedBackup> {
  const { dataDir, backupIdentity, drillQuestions } = settings
  const { place, workFolder } = placeOf(settings)
  const newest = (await placedBackups(place)).find(({ isScheduled }) => isScheduled)
  if (newest === undefined) throw new OperationalError(`${place.address} contains no scheduled backup`)
  const { name, size } = newest
  named(name)
  const fileKey = join(dataDir, MASTER_KEY_FILE)
  const isGiven = givenMasterKey(masterKeyVariable) !== null
  const masterKey = !isGiven && existsSync(fileKey) ? readFileSync(fileKey, 'utf8') : null
  const { outcome, steps, made_at, end_time } = await runDrill({
    source: placeSource(place, newest, backupIdentity === '' ? null : await readIdentities(backupIdentity)),
    settings,
    workFolder,
    masterKey,
    hasMasterKey: isGiven || masterKey !== null,
    questions: drillQuestions === '' ? null : questionsOf(drillQuestions),
    clock,
    progress: alive,
  })
  const failed = steps.find((step) => step.outcome === 'failed') ?? steps.at(-1)
  if (outcome !== 'proven' || made_at === null)
    throw new OperationalError(`${name}: ${failed?.step ?? 'restore'}: ${failed?.detail ?? 'failed'}`)
  updateBackupRecord(dataDir, {
    proven: { name, made_at, proven_at: end_time },
    known: withResult(before, newest),
  })
  return { bytes: size, projects: 0 }
}

function withResult({ known }: BackupRecord, { name, size }: PlacedBackup): BackupRecord['known'] {
  return [{ name, bytes: size, isSound: true }, ...known.filter((one) => one.name !== name)]
}

function placeOf(settings: Settings): { place: BackupPlace; workFolder: string } {
  const address = backupAddressOf(settings)
  const workFolder = workFolderFor(settings, address)
  mkdirSync(workFolder, { recursive: true, mode: 0o700 })
  return { place: openPlace(address, s3AccessOf(process.env)), workFolder }
}
