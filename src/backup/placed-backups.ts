// The backups in a place: their names, which contain when they were made, and which of them the schedule may remove.
import { OperationalError } from '../kernel/errors.ts'
import { type BackupPlace, isPlaceName } from './places/place.ts'

/** A backup in a place. */
export interface PlacedBackup {
  /** Of the object, with its extension. */
  readonly name: string
  /** As it is stored, bytes. */
  readonly size: number
  /** When it was begun, by its name. */
  readonly madeMs: number
  readonly isEncrypted: boolean
  /** Made by the schedule, and not by a command. */
  readonly isScheduled: boolean
}

const NAME = /^(verdigraph|scheduled)-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.tar(\.age)?$/

/** The name of the object of a backup that is made at a time. */
export function placedBackupName(isScheduled: boolean, isEncrypted: boolean, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace(/[:.]/g, '-')
  return `${isScheduled ? 'scheduled' : 'verdigraph'}-${time}.tar${isEncrypted ? '.age' : ''}`
}

/** True if the name is one of a backup in a place. */
export function isPlacedBackupName(name: string): boolean {
  return NAME.test(name)
}

/** The backups in a place, the newest first. Other objects are left out. Rejects with PlaceError. */
export async function placedBackups(place: BackupPlace): Promise<readonly PlacedBackup[]> {
  const found: PlacedBackup[] = []
  for await (const { name, size } of place.list('')) {
    const [, origin, date, hour, minute, second, ms, age] = NAME.exec(name) ?? []
    const madeMs = Date.parse(`${date}T${hour}:${minute}:${second}.${ms}Z`)
    if (Number.isNaN(madeMs)) continue
    found.push({ name, size, madeMs, isEncrypted: age !== undefined, isScheduled: origin === 'scheduled' })
  }
  return found.sort((a, b) => b.madeMs - a.madeMs)
}

/** A backup of a place: the one with this name, or the newest one. Rejects with OperationalError if it does not exist. */
export async function findPlacedBackup(
  place: BackupPlace,
  name: string | null,
): Promise<Pick<PlacedBackup, 'name' | 'size'>> {
  if (name === null) {
    const [newest] = await placedBackups(place)
    if (newest === undefined) throw new OperationalError(`${place.address} contains no backup`)
    return newest
  }
  if (isPlaceName(name)) for await (const found of place.list(name)) if (found.name === name) return found
  throw new OperationalError(
    `${place.address} contains no backup \`${name.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)}\`: \`verdigraph backups list\` shows them`,
  )
}

/** A scheduled backup that is known to be good or bad. */
interface KnownBackup {
  readonly name: string
  readonly bytes: number
  readonly isSound: boolean
}

/**
 * The scheduled backups to remove, so that `keep` good ones are left. `known`: results of verifications; a backup without one counts as
 * good. The newest one that is known to be sound is never removed, and bad ones are kept as long as a good one of the same age would be.
 */
export function backupsToRemove(
  all: readonly PlacedBackup[],
  keep: number,
  known: readonly KnownBackup[],
): readonly PlacedBackup[] {
  const results = new Map(known.map((one) => [one.name, one]))
  const scheduled = all.filter(({ isScheduled }) => isScheduled).sort((a, b) => b.madeMs - a.madeMs)
  const isGood = ({ name, size }: PlacedBackup): boolean => {
    const result = results.get(name)
    return size > 0 && (result === undefined || (result.isSound && result.bytes === size))
  }
  const newestSound = scheduled.find((one) => isGood(one) && results.has(one.name))
  let good = 0
  return scheduled.filter((one) => {
    const isBeyond = good >= keep
    if (isGood(one)) good++
    return isBeyond && one !== newestSound
  })
}
