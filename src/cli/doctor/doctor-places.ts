// The checks of `doctor` for places of backups: whether the first run can write there. A bucket is asked with a signed request; a folder
// that does not exist is not created.
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backupAddressOf } from '../../backup/backup-settings.ts'
import { BACKUP_OWNER_PREFIX, ownerName, ownersOf } from '../../backup/places/claim-place.ts'
import { openPlace, s3AccessOf } from '../../backup/places/open-place.ts'
import { PlaceError } from '../../backup/places/place.ts'
import { folderOf, isS3Address } from '../../backup/places/place-address.ts'
import { OWNER_PREFIX } from '../../backup/shipping/shipment-name.ts'
import { OperationalError } from '../../kernel/errors.ts'
import type { Settings } from '../../settings.ts'
import { type Finding, failed, passed } from './doctor-checks.ts'

/** A bucket that does not answer within this time is unreachable, milliseconds. */
const ANSWER_MS = 10_000

const CHECK = 'places'

/** Checks the places of the settings `backup_to` (or `backup_folder`) and `ship_to`. Empty without them. */
export async function checkPlaces(settings: Settings): Promise<Finding[]> {
  const { backupTo, shipTo } = settings
  const backups = backupAddressOf(settings)
  const named = [
    ...(backups === '' ? [] : [{ setting: backupTo === '' ? 'backup_folder' : 'backup_to', address: backups }]),
    ...(shipTo === '' ? [] : [{ setting: 'ship_to', address: shipTo }]),
  ]
  return Promise.all(
    named.map(({ setting, address }) =>
      isS3Address(address) ? checkBucket(setting, address) : checkFolder(setting, folderOf(address)),
    ),
  )
}

/** Places that another organization owns. Empty for those that cannot be read: `checkPlaces` reports them. */
export async function checkOwners(settings: Settings, organizationId: string): Promise<Finding[]> {
  const { backupSchedule, shipTo } = settings
  const backups = backupSchedule === '' ? '' : backupAddressOf(settings)
  const setting = settings.backupTo === '' ? 'backup_folder' : 'backup_to'
  const claims = [
    { setting, address: backups, prefix: BACKUP_OWNER_PREFIX, found: 'scheduled backups' },
    { setting: 'ship_to', address: shipTo, prefix: OWNER_PREFIX, found: 'shipped changes' },
  ]
  const findings = await Promise.all(
    claims.map(async (claim) => {
      if (claim.address === '') return []
      const owners = await ownersAt(claim.address, claim.prefix)
      const other = owners.find((name) => name !== ownerName(claim.prefix, organizationId))
      if (other === undefined) return []
      const found = `${claim.setting}: ${claim.address} has the ${claim.found} of another organization, see ${other}`
      return [failed(CHECK, found, `name a folder or a prefix of its own with \`${claim.setting}\``)]
    }),
  )
  return findings.flat()
}

async function ownersAt(address: string, prefix: string): Promise<readonly string[]> {
  try {
    const access = s3AccessOf(process.env)
    return await ownersOf(openPlace(address, access && { ...access, attempts: 1, attemptMs: ANSWER_MS }), prefix)
  } catch (failure) {
    if (failure instanceof OperationalError) return []
    throw failure
  }
}

/** A list needs the bucket, the credentials and the right region. Nothing is written. */
async function checkBucket(setting: string, address: string): Promise<Finding> {
  try {
    const access = s3AccessOf(process.env)
    const place = openPlace(address, access && { ...access, attempts: 1, attemptMs: ANSWER_MS })
    for await (const _ of place.list('')) break
    return passed(CHECK, `${setting}: ${address} answers with these credentials`)
  } catch (failure) {
    if (!(failure instanceof OperationalError)) throw failure
    const reason = failure instanceof PlaceError ? failure.reason : 'settings'
    return failed(CHECK, `${setting}: ${failure.message}`, mends[reason](setting))
  }
}

const mends: Readonly<Record<PlaceError['reason'] | 'settings', (setting: string) => string>> = {
  absent: (setting) => `create the bucket, or correct \`${setting}\``,
  refused: () =>
    'correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this key the right to list, read and write',
  unreachable: () => 'correct AWS_ENDPOINT_URL_S3 and AWS_REGION, and see whether a firewall or a proxy is between',
  failed: () => 'see the message of the server; correct AWS_REGION if it names another one',
  settings: (setting) => `set these variables for the service, or correct \`${setting}\``,
}

function checkFolder(setting: string, folder: string): Finding {
  const name = `${setting}: ${folder}`
  const existing = nearestExisting(folder)
  if (existing === null) return failed(CHECK, `${name} cannot be reached by this user`, `correct \`${setting}\``)
  const { path, isDirectory } = existing
  if (!isDirectory) {
    const found = path === folder ? `${name} is a file` : `${name} cannot be created: ${path} is a file`
    return failed(CHECK, found, `name a folder with \`${setting}\``)
  }
  if (!canUse(path)) {
    const found = path === folder ? `${name} is not writable for this user` : `${name} cannot be created in ${path}`
    return failed(CHECK, found, `create it for the user of the service, or correct \`${setting}\``)
  }
  return passed(CHECK, path === folder ? `${name} is writable` : `${name} does not exist; the first run creates it`)
}

/** The folder, or the nearest one above that exists; null: this user may not see it. */
function nearestExisting(folder: string): { readonly path: string; readonly isDirectory: boolean } | null {
  for (let path = folder; ; path = dirname(path)) {
    try {
      return { path, isDirectory: statSync(path).isDirectory() }
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException
      // Of a path below a file the system reports ENOTDIR: the loop ends at the file.
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || path === dirname(path)) return null
    }
  }
}

function canUse(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
