// The answers of the HTTP interface to an operator: the state of the service, its settings and its backups.
import type { ListedBackup } from '../backup/backup-files.ts'
import { reportedBackupRecord } from '../backup/backup-record.ts'
import { scheduledJobs } from '../backup/backup-schedule.ts'
import { backupAddressOf } from '../backup/backup-settings.ts'
import { placeUrl } from '../backup/places/place-address.ts'
import type { BackupAnswer, OperatorDeps, SettingsAnswer, StatusAnswer } from '../http/routes/operator.ts'
import { ok, type Result } from '../kernel/result.ts'
import { durationBoundsS } from '../ops/service-metrics.ts'
import {
  environmentNameOf,
  isSecretRule,
  type SettingField,
  type Settings,
  settingFields,
  settingSpecs,
} from '../settings.ts'
import type { OwnFigures, ServiceStatus } from './service-status.ts'

/** The answer about scheduled backups; null: no job is scheduled. */
export function scheduleAnswer(
  settings: Settings,
  nowMs: number,
): ReturnType<OperatorDeps['backups']['list']>['schedule'] {
  const jobs = scheduledJobs(settings, nowMs)
  if (jobs.length === 0) return null
  const { newest, proven, kept } = reportedBackupRecord(settings.dataDir).record
  return {
    place: placeUrl(backupAddressOf(settings)),
    jobs: jobs.map(({ job, schedule, nextTime, overdueS, state }) => ({
      job,
      schedule,
      next_time: nextTime,
      overdue_seconds: overdueS,
      failed_runs: state?.failures ?? 0,
      last_run: state?.last_run ?? null,
    })),
    kept,
    newest,
    proven,
  }
}

/** A result whose backup is as it is answered. */
export function copied<E>(result: Result<ListedBackup, E>): Result<BackupAnswer, E> {
  return result.ok ? ok(backupAnswer(result.value)) : result
}

/** A backup as it is answered. */
export function backupAnswer({ isEncrypted, ...backup }: ListedBackup): BackupAnswer {
  return { ...backup, is_encrypted: isEncrypted }
}

/** The answer about the state of the service. */
export function statusAnswer(
  { time, workers, connections, storage }: ServiceStatus,
  version: string,
  { hotBytesMax }: Settings,
): StatusAnswer {
  return {
    time,
    version,
    duration_bounds_s: [...durationBoundsS],
    cache_bytes_max: hotBytesMax,
    workers: workers.map(({ worker, figures }) => ({
      worker,
      is_answering: figures !== null,
      figures: figures === null ? null : figuresAnswer(figures),
    })),
    connections: connections.map((one) => ({
      kind: one.kind,
      id: one.id,
      succeeded: one.succeeded,
      failed: one.failed,
      last_success_time: one.lastSuccessTime,
      last_failure_time: one.lastFailureTime,
      last_failure: one.lastFailure,
    })),
    storage: {
      bytes: storage.bytes,
      environments: storage.environments.map(({ kind, projectId, path, bytes }) => ({
        kind,
        project_id: projectId,
        path,
        bytes,
      })),
      environments_total: storage.environmentsTotal,
    },
  }
}

function figuresAnswer({ process, cache }: OwnFigures): NonNullable<StatusAnswer['workers'][number]['figures']> {
  return {
    start_time: process.startTime,
    cpu_seconds: process.cpuSeconds,
    resident_bytes: process.residentBytes,
    granted: process.granted,
    denied: process.denied,
    searches: process.searches,
    questions_refused: process.questionsRefused,
    policy_faults: process.policyFaults,
    captured_items: process.capturedItems,
    requests: process.requests,
    server_errors: process.serverErrors,
    evaluation_times: [...process.evaluationTimes],
    lanes: process.lanes,
    graphs_open: cache.graphs,
    cache_bytes: cache.bytes,
  }
}

type Origin = SettingsAnswer['settings'][number]['origin']

/** The answer about the settings. `sources`: where they have their values from. */
export function settingsAnswer(
  settings: Settings,
  sources: Partial<Readonly<Record<SettingField, string>>>,
): SettingsAnswer {
  return {
    settings: settingFields.map((field) => {
      const spec = settingSpecs[field]
      const { name, section, description, rule } = spec
      const isSecret = isSecretRule(rule)
      const source = sources[field] ?? null
      const isSet = settings[field] !== spec.default
      return {
        name,
        section,
        description,
        value: isSecret ? null : settings[field],
        default: isSecret ? '' : spec.default,
        origin: originOf(source, field, isSet),
        source,
        is_secret: isSecret,
        is_set: isSet,
      }
    }),
  }
}

function originOf(source: string | null, field: SettingField, isSet: boolean): Origin {
  if (source === null) return isSet ? 'program' : 'default'
  if (source.startsWith('--')) return 'flag'
  return source === environmentNameOf(settingSpecs[field]) ? 'environment' : 'file'
}
