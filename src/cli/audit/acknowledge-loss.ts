// The command `audit acknowledge-loss`: records who accepts the reported loss of an audit log, and why. `verify` and `doctor` then report it
// as acknowledged. It changes nothing in the log that has the gap: its first entry after the gap names what is missing.
import { openConfiguration } from '../../app/configuration.ts'
import { operatingSystemUser } from '../../events/recorders/operating-system-user.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { putAcknowledgedLoss } from '../../store/audit/acknowledged-losses.ts'
import { type LostLog, lossName, lostLogs } from '../folder/lost-audit-logs.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printJson, printLine } from '../output/print.ts'
import { unseenCharacterIssue } from '../output/show-values.ts'

const REASON_MAX = 1000

/** The options of `audit acknowledge-loss`. */
export interface AcknowledgeLossFlags {
  readonly reason: string
  readonly json: boolean
}

/** Runs `audit acknowledge-loss`. `names`: of losses, as `verify` prints them. Rejects with CliError or OperationalError. */
export async function acknowledgeLosses(
  settings: Settings,
  names: readonly string[],
  { reason, json }: AcknowledgeLossFlags,
): Promise<void> {
  const { dataDir } = settings
  if (reason.trim() === '' || reason.length > REASON_MAX)
    throw new UsageError([`--reason: expected a text of 1 to ${REASON_MAX} characters`])
  const unseen = unseenCharacterIssue('--reason', reason)
  if (unseen !== null) throw new UsageError([unseen])
  const chosen = chosenLosses(dataDir, await lostLogs(dataDir), new Set(names))
  const { id: userId, name: userName } = operatingSystemUser()
  const by = userName === '' ? userId : userName
  const collections = openConfiguration(dataDir, { sync: true })
  try {
    for (const { id, name, origin, size, left } of chosen) {
      const timeMs = systemClock.now()
      const members = { outcome: 'ok', log: lossName({ id, name }), origin, size, left, reason }
      // The record comes first: an acknowledgement without one could not be proven.
      if (!(await recordOperation(settings, 'svc.audit.operations.auditloss.acknowledge', members)))
        throw new CliError([`${dataDir} records nothing: set \`audit\` to \`on\` and start the service once before`])
      await putAcknowledgedLoss(collections, id, { name, origin, size, left, by, timeMs, reason })
      if (json) printJson({ log: lossName({ id, name }), origin, size, left, by, reason })
      else printLine(`${lossName({ id, name })}: the loss of ${size} sealed entries of ${origin} is acknowledged`)
    }
  } finally {
    await collections.close()
  }
}

/** The losses with these names. Throws CliError if one does not exist, or cannot be acknowledged. */
function chosenLosses(dataDir: string, losses: readonly LostLog[], names: ReadonlySet<string>): readonly LostLog[] {
  const open = losses.filter(({ isMissing, acknowledged }) => isMissing && acknowledged === null)
  const chosen = open.filter((loss) => names.has(lossName(loss)))
  if (chosen.length === names.size) return chosen
  const known = new Set(chosen.map(lossName))
  const others = open.length === 0 ? 'none' : open.map(lossName).join(', ')
  throw new CliError(
    [...names]
      .filter((name) => !known.has(name))
      .map((name) => {
        const loss = losses.find((each) => lossName(each) === name)
        if (loss === undefined)
          return `${dataDir} has lost nothing of ${name}; losses that are not acknowledged: ${others}`
        return loss.acknowledged === null
          ? `the entries of ${name} are in its folder: start the service, which continues the log after them`
          : `the loss of ${name} was acknowledged by ${loss.acknowledged.by} on ${new Date(loss.acknowledged.timeMs).toISOString()}`
      }),
  )
}
