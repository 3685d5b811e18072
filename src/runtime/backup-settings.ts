// The settings of backups, as the service and the commands use them.
import type { Settings } from '../settings.ts'
import { folderOf, isS3Address } from '../transfer/places/place-address.ts'

/** Where scheduled backups go; empty: nowhere. */
export function backupAddressOf({ backupTo, backupFolder }: Pick<Settings, 'backupTo' | 'backupFolder'>): string {
  return backupTo === '' ? backupFolder : backupTo
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
