// Records operations of commands on the whole folder, for the audit log.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AUDIT_FOLDER } from '../../kernel/folder/data-folder.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ActivityLog } from '../activity-log.ts'
import { type OperationType, operationEvent } from '../operation-record.ts'
import { noContext, SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'
import type { EventStreams } from '../streams/event-streams.ts'
import { operatingSystemUser } from './operating-system-user.ts'

/** Collaborators of the record of operations. */
interface OperationRecorderDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly streams: EventStreams
  readonly clock: Clock
  readonly dataDir: string
  readonly organizationId: string
}

/** Returns a function that records an operation, and resolves when it is on disk. `members`: of the payload. */
export function operationRecorder(
  deps: OperationRecorderDeps,
): (type: OperationType, members: object) => Promise<void> {
  const { sinks, activity, streams, clock, dataDir, organizationId } = deps
  return async (type, members) => {
    const routes =
      sinks.routesOfOrganization(organizationId) ?? (await routesWithoutRecording(dataDir, organizationId, streams))
    const receivers = routes?.ofType(type)?.match(noContext) ?? 0
    if (routes === null || receivers === 0) return
    const ready = operationEvent(type, operatingSystemUser(), members, clock.now())
    activity.record({ routes, type, providers: receivers, encode: () => ready })
    await activity.settled()
  }
}

/**
 * Where operations are recorded with `audit` `off`: nowhere in a folder that never had an audit log. Otherwise the log must show that
 * it has a gap.
 */
async function routesWithoutRecording(
  dataDir: string,
  organizationId: string,
  streams: EventStreams,
): Promise<SinkRoutes | null> {
  // Also the records of a log that was not sealed yet show that there is one.
  if (!existsSync(join(dataDir, AUDIT_FOLDER)) && !(await streams.auditOwners()).includes(organizationId)) return null
  return new SinkRoutes(organizationId, null, { decisions: 'none', isSampled: () => false })
}
