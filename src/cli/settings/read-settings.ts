// Reads settings from flags, environment and a JSON file, and validates them.

import { suggestion } from '../../../grammar/suggest.ts'
import { misplacedFolder } from '../../backup/backup-settings.ts'
import { placeAddressProblem } from '../../backup/places/place-address.ts'
import { fixedTokenPattern } from '../../identity/token-file.ts'
import { parseBoltUrl } from '../../kernel/bolt-address.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { parsePairs } from '../../kernel/text/pairs.ts'
import { cronProblem } from '../../kernel/time/period-schedule.ts'
import {
  defaultSettings,
  environmentNameOf,
  expectationOf,
  isSecretRule,
  type SettingField,
  type SettingRule,
  type Settings,
  settingFields,
  settingSpecs,
} from '../../settings.ts'
import type { EnvironmentVariables } from './environment-variables.ts'

/** Where settings come from. */
export interface SettingSources {
  /**
   * Values from the command line, by field. They take precedence over the environment, which takes precedence over the
   * file.
   */
  readonly flags?: Partial<Readonly<Record<SettingField, string>>> | undefined
  readonly environment?: EnvironmentVariables | undefined
  /** The parsed settings file, and its path for messages. */
  readonly file?: { readonly path: string; readonly content: unknown } | undefined
}

/** The value of one setting and its source. */
export interface ResolvedSetting {
  readonly field: SettingField
  readonly value: string | number
  /** `--port`, `VERDIGRAPH_PORT`, `settings.json: port`; null: the default. */
  readonly source: string | null
}

/** Returns all settings. Errors: one message per invalid setting. */
export function readSettings(sources: SettingSources): Result<Settings, readonly string[]> {
  const resolved = resolveSettings(sources)
  if (!resolved.ok) return resolved
  return ok(Object.fromEntries(resolved.value.map(({ field, value }) => [field, value])) as unknown as Settings)
}

/**
 * Returns the value and source of every setting. Errors: one message per invalid setting, with its source and the
 * expected value.
 */
export function resolveSettings(sources: SettingSources): Result<readonly ResolvedSetting[], readonly string[]> {
  const errors: string[] = []
  const fileMembers = membersOfFile(sources.file, errors)
  const settings: ResolvedSetting[] = []
  for (const field of settingFields) {
    const { rule } = settingSpecs[field]
    const given = givenValue(sources, fileMembers, field)
    if (given === null) {
      settings.push({ field, value: defaultSettings[field], source: null })
      continue
    }
    const value = parseValue(rule, given.value)
    if (value === null) {
      const found = isSecretRule(rule) ? '' : `, found \`${shownValue(rule, String(given.value))}\``
      // It repeats no secret.
      const problem = rule.kind === 'place' ? placeAddressProblem(String(given.value).trim()) : null
      errors.push(`${given.source}: ${problem ?? `expected ${expectationOf(rule)}${found}`}`)
    } else settings.push({ field, value, source: given.source })
  }
  const resolved = (field: SettingField) => settings.find((one) => one.field === field)?.value
  if ((resolved('tlsCertificate') === '') !== (resolved('tlsKey') === '')) {
    errors.push('tls_certificate, tls_key: expected both or none')
  }
  if ((resolved('configStoreUsername') === '') !== (resolved('configStorePassword') === '')) {
    errors.push('config_store_username, config_store_password: expected both or none')
  }
  if (resolved('configStore') === '' && resolved('configStoreUsername') !== '') {
    errors.push('config_store_username: expected together with config_store')
  }
  const access = resolved('metricsAccess')
  if (
    resolved('metricsToken') !== '' &&
    resolved('metricsToken') !== undefined &&
    access !== undefined &&
    access !== 'account'
  ) {
    errors.push(`metrics_token: has no effect with metrics_access \`${access}\`; expected \`account\``)
  }
  const tokenFile = resolved('metricsTokenFile')
  if (tokenFile !== '' && tokenFile !== undefined) {
    if (resolved('metricsToken') !== '') errors.push('metrics_token, metrics_token_file: expected one of them')
    if (access !== undefined && access !== 'account') {
      errors.push(`metrics_token_file: has no effect with metrics_access \`${access}\`; expected \`account\``)
    }
  }
  if (resolved('otlpHeaders') !== '' && resolved('otlpEndpoint') === '' && resolved('otlpTracesEndpoint') === '') {
    errors.push('otlp_headers: has no effect without otlp_endpoint or otlp_traces_endpoint')
  }
  if (resolved('backupSchedule') !== '' && resolved('backupTo') === '' && resolved('backupFolder') === '')
    errors.push('backup_schedule: needs backup_to or backup_folder, where the backups go')
  if (resolved('drillSchedule') !== '' && resolved('backupTo') === '' && resolved('backupFolder') === '')
    errors.push('drill_schedule: needs backup_to or backup_folder, where the backups are')
  const values = Object.fromEntries(settingFields.map((field) => [field, resolved(field) ?? '']))
  const misplaced = misplacedFolder(values as unknown as Settings)
  if (misplaced !== null) errors.push(`${misplaced}: names a folder in the data folder; choose another one`)
  return errors.length > 0 ? err(errors) : ok(settings)
}

/** The value of the source with the highest precedence; null if none has one. An empty variable counts as unset. */
function givenValue(
  { flags, environment, file }: SettingSources,
  fileMembers: Readonly<Record<string, unknown>>,
  field: SettingField,
): { readonly value: unknown; readonly source: string } | null {
  const { name } = settingSpecs[field]
  const flag = flags?.[field]
  if (flag !== undefined) return { value: flag, source: `--${name}` }
  const variable = environmentNameOf(settingSpecs[field])
  const fromEnvironment = environment?.[variable] ?? ''
  if (fromEnvironment !== '') return { value: fromEnvironment, source: variable }
  const value = fileMembers[name]
  return value === undefined ? null : { value, source: `${file?.path}: ${name}` }
}

function membersOfFile(file: SettingSources['file'], errors: string[]): Record<string, unknown> {
  if (file === undefined) return {}
  const { path, content } = file
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    errors.push(`${path}: expected a JSON object`)
    return {}
  }
  const names = new Set<string>(settingFields.map((field) => settingSpecs[field].name))
  for (const name of Object.keys(content)) {
    if (names.has(name)) continue
    const hint = suggestion(name, names) || `, expected one of ${[...names].join(', ')}`
    errors.push(`${path}: unknown setting \`${name}\`${hint}`)
  }
  return content as Record<string, unknown>
}

/** Returns null if the rule does not accept the value. */
function parseValue(rule: SettingRule, given: unknown): string | number | null {
  if (rule.kind === 'integer')
    return parseInteger(typeof given === 'number' ? String(given) : given, rule.min, rule.max)
  if (rule.kind === 'share') return parseShare(typeof given === 'number' ? String(given) : given)
  if (typeof given !== 'string') return null
  switch (rule.kind) {
    case 'text':
      return given.trim() === '' ? null : given
    case 'url':
      return parseUrl(given.trim())
    case 'origins':
      return parseOrigins(given)
    case 'header':
      return HEADER_NAME.test(given) ? given.toLowerCase() : null
    case 'choice':
      return rule.of.includes(given) ? given : null
    case 'tokens':
      return parseTokens(given)
    case 'pairs':
      return parsePairs(given) === null ? null : given.trim()
    case 'place':
      return placeAddressProblem(given.trim()) === null ? given.trim() : null
    case 'database':
      return parseBoltUrl(given.trim()).ok ? given.trim() : null
    case 'secret':
      return given === '' ? null : given
    case 'cron':
      return CRON.test(given.trim()) && cronProblem(given.trim()) === null ? given.trim() : null
    case 'recipients':
      return parseRecipients(given)
  }
}

function parseInteger(given: unknown, min: number, max: number): number | null {
  if (typeof given !== 'string' || !/^\d{1,16}$/.test(given.trim())) return null
  const number = Number(given)
  return number >= min && number <= max ? number : null
}

function parseShare(given: unknown): number | null {
  if (typeof given !== 'string' || !/^\d{1,6}(?:\.\d{1,20})?$/.test(given.trim())) return null
  const number = Number(given)
  return number >= 0 && number <= 1 ? number : null
}

/** A refused URL may have a password, or a key in its query. */
function shownValue(rule: SettingRule, given: string): string {
  // A private key instead of a public one.
  if (rule.kind === 'recipients') return given.replace(/AGE-SECRET-KEY-[0-9A-Z-]*/gi, '(not shown)')
  if (rule.kind !== 'url' && rule.kind !== 'place' && rule.kind !== 'database') return given
  return given.replace(/\/\/.*@/s, '//(not shown)@').replace(/\?.*/s, '?(not shown)')
}

function parseUrl(given: string): string | null {
  const url = /^https?:\/\/[^\s?#@]+$/.test(given) && URL.canParse(given) ? new URL(given) : null
  // Clients compare URLs character by character, so the text is kept as written.
  return url === null || given.endsWith('/') ? null : given
}

/** A field name (RFC 9110, section 5.1). */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,256}$/

/** Five or six fields, or a name such as `@daily`. */
const CRON = /^(?:@[a-z]+|[\w*?/,#+-]+(?: +[\w*?/,#+-]+){4,5})$/
/** https://github.com/C2SP/C2SP/blob/main/age.md: Bech32, in lower case. */
const RECIPIENT = /^age1[0-9a-z]{50,4000}$/

function parseRecipients(given: string): string | null {
  const recipients = given.split(',').map((one) => one.trim())
  return recipients.every((one) => RECIPIENT.test(one)) ? recipients.join(',') : null
}

const TOKENS_MAX = 2

function parseTokens(given: string): string | null {
  const tokens = given.split(',').map((token) => token.trim())
  return tokens.length <= TOKENS_MAX && tokens.every((token) => fixedTokenPattern.test(token)) ? tokens.join(',') : null
}

function parseOrigins(given: string): string | null {
  const origins = given.split(',').map((one) => one.trim())
  const isOrigin = (one: string) => /^https?:/.test(one) && URL.canParse(one) && new URL(one).origin === one
  return given.trim() === '*' || origins.every(isOrigin) ? origins.join(',') : null
}
