// Builds the views of an operator: figures of all workers, settings with their origin, and backups.

import { BackupSchedule } from '../backup/backup-schedule.ts'
import { misplacedFolder, recipientsOf } from '../backup/backup-settings.ts'
import { Backups } from '../backup/backups.ts'
import { shippingReader } from '../backup/shipping/shipping-status.ts'
import { projectsKind } from '../config/kind.ts'
import type { OperatorDeps } from '../http/routes/operator.ts'
import { OperationalError } from '../kernel/errors.ts'
import { backupAnswer, copied, scheduleAnswer, settingsAnswer, statusAnswer } from '../operator/operator-answers.ts'
import { type OwnFigures, StatusReader, type WorkerFigures } from '../operator/service-status.ts'
import type { Platform } from './open-store.ts'
import type { AppOverrides } from './overrides.ts'

/** The routes of an operator, and the figures of this process for the worker that answers. */
export interface OperatorParts {
  readonly routes: OperatorDeps
  readonly backups: Backups
  readonly schedule: BackupSchedule
  ownFigures(): OwnFigures
}

/** Creates the parts. Throws OperationalError if a folder of backups is in the data folder. */
export function createOperator(platform: Platform, overrides: AppOverrides): OperatorParts {
  const {
    process: { settings, signal, clock, version, worker },
    reports: { metrics, connections, log },
    configuration: { documents, organizationId },
    graphs: { catalog },
  } = platform
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
    figures: platform.reports.processes,
    command: command ?? [],
    ...(overrides.supervision !== undefined && { pingMs: overrides.supervision.pingMs }),
    hasProject: (id, owner) => documents.get(projectsKind, id)?.organization_id === owner,
  })
  const schedule = new BackupSchedule({
    settings,
    signal,
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
