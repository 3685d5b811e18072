import { environmentNameOf, settingSpecs } from '../../settings.ts'
import { UsageError } from '../output/cli-error.ts'
import {
  agentKeyVariable,
  contextVariable,
  projectVariable,
  settingsFileVariable,
  tokenVariable,
  urlVariable,
} from '../settings/environment-variables.ts'

import type { CliCommand } from './cli-command.ts'

export { type Flags, readSettingsFrom, settingSourcesOf, settingsFrom, sourcesFrom } from '../settings/flag-settings.ts'

/** Settings that `serve` also accepts as options. */
const listeningFields = ['host', 'port', 'workers'] as const

/** For commands that need the address of the service. */
export function withListening(command: CliCommand): CliCommand {
  for (const field of listeningFields) addSettingOption(command, field)
  return command
}

/** For commands that call a running service. */
export function withService(command: CliCommand): CliCommand {
  return withListening(withSettings(command))
    .requiredOption('--project <name>', 'name or id of the project')
    .option(
      '--url <url>',
      `the URL of the service (default: from the settings); ${tokenVariable} may hold a token for it`,
    )
}

/** For commands that compare names with those of the data. */
export function withNames(command: CliCommand): CliCommand {
  return withSettings(command)
    .option('--schema <file>', 'the data schema: the answer of GET /data-schema/v1')
    .option('--project <name>', 'name or id of the project whose data has the names')
    .option(
      '--url <url>',
      `read the project from this service, not from the data folder; ${tokenVariable} may hold a token for it, ${agentKeyVariable} a key for its data schema`,
    )
}

/** For commands that ask a graph. */
export function withTarget(command: CliCommand): CliCommand {
  return withSettings(command)
    .option('--context <name>', `a context of \`context list\` (${contextVariable})`)
    .option(
      '--url <url>',
      `the URL of a service (${urlVariable}); ${agentKeyVariable} may hold an agent key for it, ${tokenVariable} a token`,
    )
    .option('--project <name>', `name or id of the project, if there are several (${projectVariable})`)
    .option('--folder <dir>', 'a project folder, whose policies decide')
    .option('--graph <file>', 'a scenario file with the graph, in memory')
}

/** Collects an option that may be repeated. */
export function appended(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

/** For commands that need a data folder. */
export function withSettings(command: CliCommand): CliCommand {
  return addSettingOption(command, 'dataDir').option(
    '--settings <file>',
    `JSON file with settings (${settingsFileVariable})`,
  )
}

function addSettingOption(command: CliCommand, field: (typeof listeningFields)[number] | 'dataDir'): CliCommand {
  const setting = settingSpecs[field]
  const about = `${environmentNameOf(setting)}, default ${setting.default}`
  return command.option(`--${setting.name} <${setting.option}>`, `${asHelp(setting.description)} (${about})`)
}

/** Help texts start in lower case and end without a full stop. */
function asHelp(description: string): string {
  const text = description.replace(/\.$/, '').replaceAll('. ', '; ')
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Reads `--lifetime`; throws UsageError. */
export function lifetimeFrom(text: string): number {
  const seconds = Number(text)
  if (Number.isInteger(seconds) && seconds >= 120 && seconds <= 86_400) return seconds
  throw new UsageError([`--lifetime: expected an integer from 120 to 86400 seconds, found \`${text}\``])
}

/** Reads `--timeout` in seconds, and returns milliseconds; throws UsageError. */
export function timeoutFrom(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 1 && seconds <= 60) return seconds * 1000
  throw new UsageError([`--timeout: expected a number of seconds from 1 to 60, found \`${text}\``])
}
