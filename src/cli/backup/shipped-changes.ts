// The commands for shipped changes: `restore --at` and `backups moments`.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { decryptStream, readIdentities } from '../../backup/encryption.ts'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import { listShipped, restorablePeriods, shippingGaps } from '../../backup/shipping/moments.ts'
import { restoreShipped } from '../../backup/shipping/restore-shipped.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { listProjectFolders } from '../../store/tenancy/project-folders.ts'
import { recordOperation } from '../folder/record-operation.ts'
import { UsageError } from '../output/cli-error.ts'
import { printJson, printLine, printLines } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { tableLines } from '../output/table.ts'
import { addMasterKey, givenKeyFile, KEY_NEEDED, printReopenedLogs, type RestoreFlags } from './backup.ts'

/** RFC 3339 with a time zone: a local time would be another moment on another machine. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

/** Runs `restore --at`: restores the state of a moment from shipped changes. Rejects with OperationalError, and with UsageError. */
export async function restoreMoment(settings: Settings, at: string, flags: RestoreFlags): Promise<void> {
  const { dataDir } = settings
  const { from = settings.shipTo, name, identity, json } = flags
  if (flags.in !== undefined || name !== undefined)
    throw new UsageError([
      'restore: `--at` is for shipped changes: use `--from` with it, and neither `--in` nor `--name`',
    ])
  if (from === '')
    throw new UsageError(['restore: name the place of the shipped changes with `--from`, or set `ship_to`'])
  const atMs = at === 'latest' ? null : momentOf(at)
  const masterKey = flags.masterKey === undefined ? null : givenKeyFile(flags.masterKey)
  const identities = identity === undefined ? null : await readIdentities(identity)
  const place = openPlace(from, s3AccessOf(process.env))
  const progress = progressLine('listing the shipped changes')
  try {
    const { timeMs, objects, generation } = await restoreShipped({
      place,
      dataDir,
      atMs,
      decrypt:
        identities === null ? null : (stream, object) => decryptStream(stream, identities, `the object ${object}`),
      progress: (done, total, what) => progress.show(done, total, what),
      ...(masterKey !== null && { prepare: (folder: string) => addMasterKey(settings, folder, masterKey) }),
    })
    const restoredAt = new Date(timeMs).toISOString()
    const projects = listProjectFolders(dataDir).length
    await recordOperation(settings, 'svc.audit.operations.restore', {
      file: place.address,
      madeAt: restoredAt,
      projects,
    })
    progress.end()
    await printReopenedLogs(dataDir)
    if (json) printJson({ data: dataDir, restored_at: restoredAt, generation, objects })
    else {
      printLine(`${dataDir}: restored to its state at ${restoredAt}, from ${objects} shipped objects, and verified`)
      if (!existsSync(join(dataDir, MASTER_KEY_FILE)) && !process.env.VERDIGRAPH_MASTER_KEY) printLine(KEY_NEEDED)
    }
  } finally {
    progress.end()
  }
}

function momentOf(text: string): number {
  const ms = MOMENT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms))
    throw new UsageError([
      `restore: \`${text}\` is not a moment: expected a time such as 2026-11-23T03:00:00Z, or \`latest\``,
    ])
  return ms
}

/** Runs `backups moments`: the moments that can be restored from shipped changes, and the gaps between them. */
export async function listMoments(settings: Settings, from: string | undefined, json: boolean): Promise<void> {
  const address = from ?? settings.shipTo
  if (address === '')
    throw new UsageError(['backups moments: name the place of the shipped changes with `--from`, or set `ship_to`'])
  const place = openPlace(address, s3AccessOf(process.env))
  const shipped = await listShipped(place)
  const gaps = shippingGaps(shipped).map(({ fromMs, toMs, reason }) => ({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    reason,
  }))
  const found = restorablePeriods(shipped).map(({ fromMs, toMs, objects, generation }) => ({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    objects,
    generation,
  }))
  if (json) printJson({ place: place.address, moments: found, gaps })
  else if (found.length === 0 && gaps.length === 0) printLine(`${place.address} contains no shipped changes`)
  else
    printLines(
      tableLines(
        ['from', 'to', 'objects', 'generation'],
        [
          ...found.map((one) => [one.from, one.to, String(one.objects), one.generation]),
          ...gaps.map((one) => [one.from, one.to, 'gap', one.reason]),
        ].sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      ),
    )
}
