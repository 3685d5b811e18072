// Builds the views of an operator: figures of all workers, settings with their origin, and backups.

import type { ListedBackup } from '../backup/backup-files.ts'
import { reportedBackupRecord } from '../backup/backup-record.ts'
import { BackupSchedule, scheduledJobs } from '../backup/backup-schedule.ts'
import { backupAddressOf, misplacedFolder, recipientsOf } from '../backup/backup-settings.ts'
import { Backups } from '../backup/backups.ts'
import { placeUrl } from '../backup/places/place-address.ts'
import { projectsKind } from '../config/kind.ts'
import type { BackupAnswer, OperatorDeps, SettingsAnswer, StatusAnswer } from '../http/routes/operator.ts'
import { OperationalError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import { type OwnFigures, type ServiceStatus, StatusReader, type WorkerFigures } from '../operator/service-status.ts'
import { durationBoundsS } from '../ops/service-metrics.ts'
import {
  environmentNameOf,
  isSecretRule,
  type SettingField,
  type Settings,
  settingFields,
  settingSpecs,
} from '../settings.ts'
import type { AppOverrides } from './overrides.ts'
import type { Platform } from './platform.ts'
import { shippingReader } from './shipping.ts'

/** The routes of an operator, and the figures of this process for the worker that answers. */
interface OperatorParts {
  readonly routes: OperatorDeps
  readonly backups: Backups
  readonly schedule: BackupSchedule
  ownFigures(): OwnFigures
}

/** Creates the parts. Throws OperationalError if a folder of backups is in the data folder. */
export function createOperator(platform: Platform, overrides: AppOverrides): OperatorParts {
  const { settings, clock, documents, organizationId, metrics, connections, catalog, version, worker, log } = platform
  const { dataDir, backupFolder } = settings
  const misplaced = misplacedFolder(settings)
  if (misplaced !== null)
    throw new OperationalError(`the setting ${misplaced} names a folder in the data folder: choose another one`)
  const ownFigures = (): OwnFigures => ({
    process: metrics.figures(),
    cache: catalog.cacheState(),
    connections: connections.read(),
  })
  const readOwn = async (): Promise<readonly WorkerFigures[]> => [{ worker: worker ?? 1, figures: ownFigures() }]
  const status = new StatusReader({ dataDir, clock, documents, readWorkers: overrides.readWorkers ?? readOwn })
  const command = overrides.backupCommand
  const backups = new Backups({
    folder: command === undefined ? '' : backupFolder,
    dataDir,
    settings,
    madeBy: `verdigraph ${version}`,
    recipients: recipientsOf(settings),
    identityFile: settings.backupIdentity,
    clock,
    log,
    figures: platform.processes,
    command: command ?? [],
    ...(overrides.supervision !== undefined && { pingMs: overrides.supervision.pingMs }),
    hasProject: (id, owner) => documents.get(projectsKind, id)?.organization_id === owner,
  })
  const schedule = new BackupSchedule({
    settings,
    clock,
    log,
    madeBy: `verdigraph ${version}`,
    organizationId,
    run: (job) => backups.runScheduled(job),
  })
  const readShipping = shippingReader(settings)
  const routes: OperatorDeps = {
    organizationId,
    status:
      settings.metricsAccess === 'off'
        ? null
        : async () => statusAnswer(await status.read(organizationId), version, settings),
    settings: () => settingsAnswer(settings, overrides.settingSources ?? {}),
    backups: {
      list() {
        const { isEnabled, backups: found } = backups.list()
        return {
          is_enabled: isEnabled,
          backups: found.map(backupAnswer),
          schedule: scheduleAnswer(settings, clock.now()),
          shipping: readShipping(clock.now()),
        }
      },
      create: async (caller, projectId) => copied(await backups.create(caller, projectId)),
      verify: async (caller, name) => copied(await backups.verify(caller, name)),
      read: (name) => backups.read(name),
      delete: (name) => backups.delete(name),
    },
  }
  return { routes, backups, schedule, ownFigures }
}

function scheduleAnswer(settings: Settings, nowMs: number): ReturnType<OperatorDeps['backups']['list']>['schedule'] {
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

function copied<E>(result: Result<ListedBackup, E>): Result<BackupAnswer, E> {
  return result.ok ? ok(backupAnswer(result.value)) : result
}

function backupAnswer({ isEncrypted, ...backup }: ListedBackup): BackupAnswer {
  return { ...backup, is_encrypted: isEncrypted }
}

function statusAnswer(
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

function settingsAnswer(settings: Settings, sources: Partial<Readonly<Record<SettingField, string>>>): SettingsAnswer {
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
