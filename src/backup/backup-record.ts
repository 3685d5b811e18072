// The results of scheduled backups and drills: a file in the data folder, so that every process of the service sees them, also after a
// restart. Only the holder of the lock of jobs writes it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { OperationalError } from '../kernel/errors.ts'
import { BACKUP_RECORD_FILE } from '../kernel/folder/data-folder.ts'
import { fileIssueOf } from '../kernel/folder/file-issue.ts'
import { syncPath } from '../transfer/files/sync-path.ts'

const runSchema = z.object({
  /** The object; empty: it failed before it had one. */
  name: z.string(),
  start_time: z.string(),
  /** Null: it is running, or its process ended early. */
  end_time: z.string().nullable(),
  /** Null: it succeeded, or has not ended. */
  error: z.string().nullable(),
})

const jobSchema = z.object({
  /** The newest time at which a run was due that was made, or is not made up for. */
  due_time: z.string(),
  /** Failed runs since the last success. */
  failures: z.int().min(0),
  /** Null: there was none. */
  last_run: runSchema.nullable(),
})

const verificationSchema = z
  .enum(['sound', 'stored', 'damaged', 'off'])
  .describe(
    '`sound`: it was read back, unpacked and verified; `stored`: the stored bytes are those that were written; `damaged`; `off`: not verified',
  )

const recordSchema = z.object({
  backup: jobSchema.nullable(),
  drill: jobSchema.nullable(),
  /** The newest complete scheduled backup. */
  newest: z
    .object({
      name: z.string(),
      made_at: z.string(),
      bytes: z.int().min(0),
      seconds: z.number(),
      projects: z.int().min(0),
      verification: verificationSchema,
    })
    .nullable(),
  /** The newest backup that a drill has restored. */
  proven: z.object({ name: z.string(), made_at: z.string(), proven_at: z.string() }).nullable(),
  /** Scheduled backups with a known state. */
  known: z.array(z.object({ name: z.string(), bytes: z.number(), isSound: z.boolean() })),
  /** Scheduled backups that this service has begun, complete or not. Only these are removed. Absent: the record of an earlier version. */
  made: z.array(z.string()).optional(),
  /** Scheduled backups of this service in the place after the last run. */
  kept: z.int().min(0),
})

/** The results of scheduled backups and drills. */
export type BackupRecord = z.infer<typeof recordSchema>
/** The state of a scheduled job. */
export type ScheduledJobState = z.infer<typeof jobSchema>
/** The result of a verification. */
export type BackupVerification = z.infer<typeof verificationSchema>

const empty: BackupRecord = { backup: null, drill: null, newest: null, proven: null, known: [], kept: 0 }

/**
 * The results in a data folder; empty if nothing was recorded yet. Throws OperationalError for a file that cannot be read: an empty record in
 * its place would forget what is due, and which backups this service has made.
 */
export function readBackupRecord(dataDir: string): BackupRecord {
  const path = join(dataDir, BACKUP_RECORD_FILE)
  try {
    return recordSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return empty
    const reason = fileIssueOf(failure) ?? 'it is damaged'
    const mend = 'put back a copy, or remove it: the schedules then start again, and remove no earlier backup'
    throw new OperationalError(`the record of backups ${path} cannot be read (${reason}): ${mend}`)
  }
}

/** As `readBackupRecord`, for a report. `problem`: why the record is empty although there is a file; null: it is not. */
export function reportedBackupRecord(dataDir: string): {
  readonly record: BackupRecord
  readonly problem: string | null
} {
  try {
    return { record: readBackupRecord(dataDir), problem: null }
  } catch (failure) {
    if (!(failure instanceof OperationalError)) throw failure
    return { record: empty, problem: failure.message }
  }
}

/** The names of the scheduled backups that this service has begun. */
export function ownBackupNames({ made, known, newest, backup }: BackupRecord): ReadonlySet<string> {
  const names = made ?? [...known.map(({ name }) => name), newest?.name ?? '', backup?.last_run?.name ?? '']
  return new Set(names.filter((name) => name !== ''))
}

/** Stores changed members. */
export function updateBackupRecord(dataDir: string, changed: Partial<BackupRecord>): void {
  const path = join(dataDir, BACKUP_RECORD_FILE)
  const next = `${path}.next`
  writeFileSync(next, JSON.stringify({ ...readBackupRecord(dataDir), ...changed }), { mode: 0o600 })
  // A power failure must not leave an empty file under the final name.
  syncPath(next)
  renameSync(next, path)
}

/** The state of a job after a run that began at `startMs`. `error`: null: it succeeded. */
export function afterRun(
  before: ScheduledJobState | null,
  run: { readonly name: string; readonly dueMs: number; readonly startMs: number; readonly endMs: number },
  error: string | null,
): ScheduledJobState {
  const time = (ms: number): string => new Date(ms).toISOString()
  const isOk = error === null
  return {
    // A failed run is still due.
    due_time: isOk || before === null ? time(isOk ? run.dueMs : 0) : before.due_time,
    failures: isOk ? 0 : (before?.failures ?? 0) + 1,
    last_run: { name: run.name, start_time: time(run.startMs), end_time: time(run.endMs), error },
  }
}
