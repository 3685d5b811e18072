// The command `settings`: lists settings with their values and sources. Secrets are masked.

import { givenMasterKey, masterKeyVariable } from '../../identity/master-key.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import { isSecretRule, settingSpecs } from '../../settings.ts'
import { columnLines } from '../output/table.ts'
import type { EnvironmentVariables } from './environment-variables.ts'
import type { ResolvedSetting } from './read-settings.ts'
import { isAdvanced } from './setting-advice.ts'

const MASK = '********'

interface SettingLine {
  readonly name: string
  readonly value: string | number
  readonly from: string
}

/**
 * The lines of the table, or one line of JSON with every setting. The table leaves out advanced settings that have their defaults,
 * unless `all`.
 */
export function formatSettings(
  found: readonly ResolvedSetting[],
  environment: EnvironmentVariables,
  { all, json }: { readonly all: boolean; readonly json: boolean },
): string[] {
  const shown = all || json ? found : found.filter(({ field, source }) => source !== null || !isAdvanced(field))
  const rows: SettingLine[] = shown.map(({ field, value, source }) => ({
    name: settingSpecs[field].name,
    value: isSecretRule(settingSpecs[field].rule) && value !== '' ? MASK : value,
    from: source ?? 'default',
  }))
  const given = givenMasterKey(masterKeyVariable, environment)
  rows.push({ name: 'master_key', value: given === null ? '' : MASK, from: given?.where ?? MASTER_KEY_FILE })
  if (json) return [JSON.stringify(rows)]
  const lines = [...columnLines(rows.map(({ name, value, from }) => [name, String(value), from]))]
  const left = found.length - shown.length
  if (left > 0)
    lines.push('', `${left} advanced settings have their defaults; \`verdigraph settings --all\` shows them`)
  return lines
}
