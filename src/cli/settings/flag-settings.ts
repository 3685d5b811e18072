// The settings that the options of a command select, together with the environment and the settings file.
import { existsSync, readFileSync } from 'node:fs'
import { environmentNameOf, type SettingField, type Settings, settingFields, settingSpecs } from '../../settings.ts'
import { folderPermissionWarning } from '../../store/process/folder-permissions.ts'
import { UsageError } from '../output/cli-error.ts'
import { printNotice } from '../output/print.ts'
import { settingsFileVariable, unknownVariables, withoutServiceLinks } from './environment-variables.ts'
import { readSettings, resolveSettings, type SettingSources } from './read-settings.ts'

/** Options of a command by name: settings, `--settings`, and the command's own. */
export type Flags = Readonly<Record<string, unknown>>

/** Reads the settings, and prints a warning if other users can access the data folder. */
export function settingsFrom(flags: Flags): Settings {
  const settings = readSettingsFrom(flags)
  const warning = folderPermissionWarning(settings.dataDir)
  if (warning !== null) printNotice(`warning: ${warning}`)
  return settings
}

/** Reads the settings of a command; throws UsageError. */
export function readSettingsFrom(flags: Flags): Settings {
  const read = readSettings(sourcesFrom(flags))
  const unknown = unknownVariables(process.env)
  if (!read.ok || unknown.length > 0) throw new UsageError([...unknown, ...(read.ok ? [] : read.error)])
  return read.value
}

/** Where a setting has its value from. */
export function settingSourceOf(flags: Flags, field: SettingField): 'flag' | 'environment' | 'default' {
  const resolved = resolveSettings(sourcesFrom(flags))
  const source = resolved.ok ? resolved.value.find((one) => one.field === field)?.source : null
  if (source === null || source === undefined) return 'default'
  const isFile = !source.startsWith('--') && source !== environmentNameOf(settingSpecs[field])
  return source.startsWith('--') || (isFile && typeof flags.settings === 'string') ? 'flag' : 'environment'
}

/** The flag, the variable or the file of each setting that has one, such as `--port` or `VERDIGRAPH_PORT`. */
export function settingSourcesOf(flags: Flags): Partial<Readonly<Record<SettingField, string>>> {
  const resolved = resolveSettings(sourcesFrom(flags))
  if (!resolved.ok) return {}
  return Object.fromEntries(resolved.value.flatMap(({ field, source }) => (source === null ? [] : [[field, source]])))
}

/** Flags take precedence over the environment, which takes precedence over the file. */
export function sourcesFrom(flags: Flags): SettingSources {
  const { settings } = flags
  const path = typeof settings === 'string' ? settings : process.env[settingsFileVariable]
  const values: Partial<Record<SettingField, string>> = {}
  for (const field of settingFields) {
    const value = flags[settingSpecs[field].name]
    if ('option' in settingSpecs[field] && typeof value === 'string') values[field] = value
  }
  return {
    flags: values,
    environment: withoutServiceLinks(process.env),
    file: path === undefined || path === '' ? undefined : { path, content: readFile(path) },
  }
}

function readFile(path: string): unknown {
  if (!existsSync(path)) throw new UsageError([`${path}: the settings file does not exist`])
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError([`${path}: ${error instanceof Error ? error.message : 'invalid JSON'}`])
  }
}
