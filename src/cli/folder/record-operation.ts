// Records the operations of commands for the audit log. The folder may be served: the record is appended to the environment of
// events, which several processes may have open.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { organizationsKind } from '../../config/kind.ts'
import { ConfigRepository } from '../../config/repository.ts'
import { type OperationType, operationRecord } from '../../events/operation-record.ts'
import { operatingSystemUser } from '../../events/recorders/operating-system-user.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { auditStreamOf } from '../../kernel/folder/audit-stream.ts'
import {
  AUDIT_FOLDER,
  CONFIGURATION_FOLDER,
  DATA_FILE,
  EVENTS_COMMIT_FILE,
  EVENTS_FOLDER,
} from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { openWhenUnwritten } from '../../store/lmdb/open-file.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { EventsFolder } from '../../store/outbox/events-folder.ts'
import { openCommitCounter } from '../../store/process/commit-counter.ts'

/** The operation succeeded, and only its audit record could not be written. */
export class UnrecordedOperationError extends OperationalError {
  override readonly name = 'UnrecordedOperationError'
}

/** The settings that recording needs. */
type RecordingSettings = Pick<Settings, 'dataDir' | 'audit'>

/**
 * Records an operation, unless there is no audit log or no organization. With `audit` `off` it is recorded in a folder that has an audit
 * log, which is sealed when a service with `on` starts. `members`: of the payload. Resolves when the record is on
 * disk: with false if there is nothing to record it in. Rejects with OperationalError if it cannot be written.
 */
export async function recordOperation(
  { dataDir, audit }: RecordingSettings,
  type: OperationType,
  members: object,
): Promise<boolean> {
  const path = join(dataDir, EVENTS_FOLDER)
  // Also the records of a log that was not sealed yet show that there is one.
  const hasLog = existsSync(join(dataDir, AUDIT_FOLDER))
  if (audit === 'off' && !hasLog && !existsSync(join(path, DATA_FILE))) return false
  const organizationId = await organizationOf(dataDir)
  if (organizationId === null) return false
  const timeMs = systemClock.now()
  const record = {
    stream: auditStreamOf(organizationId),
    bytes: operationRecord(type, operatingSystemUser(), members, timeMs),
    count: 1,
    timeMs,
  }
  try {
    const commitCounter = openCommitCounter(dataDir, EVENTS_COMMIT_FILE)
    const events = await openWhenUnwritten(
      path,
      () => new EventsFolder(path, { commitCounter }),
      COMMAND_LOCK_TIMEOUT_MS,
    )
    try {
      const isRecorded = audit === 'on' || hasLog || events.outbox.status(record.stream) !== null
      if (isRecorded) await events.outbox.append([record])
      return isRecorded
    } finally {
      await events.close()
    }
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new OperationalError(
      `the record of the operation cannot be written to the audit log of ${dataDir}: ${reason}`,
    )
  }
}

/**
 * Runs a command and records how it ended. `members`: of the payload, known before; `membersOf`: known after. Rejects as `run` does,
 * and with UnrecordedOperationError if only the record fails.
 */
export async function recorded<T>(
  settings: RecordingSettings,
  type: OperationType,
  members: object,
  run: () => Promise<T>,
  membersOf: (result: T) => object,
): Promise<T> {
  let result: T
  try {
    result = await run()
  } catch (failure) {
    const error = failure instanceof Error ? failure.message : String(failure)
    // The cause of the failure may prevent the record too, and it is the error to report.
    await recordOperation(settings, type, { outcome: 'failed', error, ...members }).catch(() => false)
    throw failure
  }
  try {
    await recordOperation(settings, type, { outcome: 'ok', ...members, ...membersOf(result) })
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new UnrecordedOperationError(`the operation succeeded, but ${reason}`)
  }
  return result
}

/** The organization of a folder; null: it has none. */
async function organizationOf(dataDir: string): Promise<string | null> {
  const folder = join(dataDir, CONFIGURATION_FOLDER)
  if (!existsSync(join(folder, DATA_FILE))) return null
  const collections = openCollections(folder, { readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const [organization] = new ConfigRepository(collections).all(organizationsKind)
    return organization?.id ?? null
  } finally {
    await collections.close()
  }
}
