// The settings of backups, as the service and the commands use them.
import { relative, resolve, sep } from 'node:path'
import type { Settings } from '../settings.ts'
import { folderOf, isS3Address } from './places/place-address.ts'

/** Where scheduled backups go; empty: nowhere. */
export function backupAddressOf({ backupTo, backupFolder }: Pick<Settings, 'backupTo' | 'backupFolder'>): string {
  return backupTo === '' ? backupFolder : backupTo
}

/** The setting that names a folder in the data folder, in which backups would be lost with the data; null: no one does. */
export function misplacedFolder({
  dataDir,
  backupFolder,
  backupTo,
  shipTo,
}: Pick<Settings, 'dataDir' | 'backupFolder' | 'backupTo' | 'shipTo'>): string | null {
  const places = [
    { name: 'backup_folder', address: backupFolder },
    { name: 'backup_to', address: backupTo },
    { name: 'ship_to', address: shipTo },
  ]
  const misplaced = places.find(
    ({ address }) => address !== '' && !isS3Address(address) && isWithinFolder(folderOf(address), dataDir),
  )
  return misplaced?.name ?? null
}

function isWithinFolder(path: string, folder: string): boolean {
  const way = relative(resolve(folder), resolve(path))
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}

/** The recipients of the setting. */
export function recipientsOf({ backupRecipients }: Pick<Settings, 'backupRecipients'>): readonly string[] {
  return backupRecipients === '' ? [] : backupRecipients.split(',')
}

/** The folder for temporary copies of backups of a place. */
export function workFolderFor(
  { backupWorkFolder, backupFolder, dataDir }: Pick<Settings, 'backupWorkFolder' | 'backupFolder' | 'dataDir'>,
  address: string,
): string {
  if (backupWorkFolder !== '') return backupWorkFolder
  if (backupFolder !== '') return backupFolder
  return isS3Address(address) ? dataDir : folderOf(address)
}
