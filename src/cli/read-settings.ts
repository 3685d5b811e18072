// Reads settings from flags, environment and a JSON file, and validates them.
import { err, ok, type Result } from '../kernel/result.ts'
import { suggestion } from '../kernel/suggest.ts'
import {
  defaultSettings,
  environmentNameOf,
  type SettingRule,
  type SettingSpec,
  type Settings,
  settingSpecs,
} from '../settings.ts'

/** Where settings come from. */
export interface SettingSources {
  /**
   * Values from the command line, by field. They take precedence over the environment, which takes precedence over the
   * file.
   */
  readonly flags?: Partial<Readonly<Record<keyof Settings, string>>> | undefined
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** The parsed settings file, and its path for messages. */
  readonly file?: { readonly path: string; readonly content: unknown } | undefined
}

/** The value of one setting and its source. */
export interface ResolvedSetting {
  readonly field: keyof Settings
  readonly value: string | number
  /** `--port`, `VERDIGRAPH_PORT`, `settings.json: port`; null: the default. */
  readonly source: string | null
}

/** Returns all settings. Errors: one message per invalid setting. */
export function readSettings(sources: SettingSources): Result<Settings, readonly string[]> {
  const found = resolveSettings(sources)
  if (!found.ok) return found
  return ok(Object.fromEntries(found.value.map(({ field, value }) => [field, value])) as unknown as Settings)
}

/**
 * Returns the value and source of every setting. Errors: one message per invalid setting, with its source and the
 * expected value.
 */
export function resolveSettings(sources: SettingSources): Result<readonly ResolvedSetting[], readonly string[]> {
  const faults: string[] = []
  const fromFile = membersOfFile(sources.file, faults)
  const settings: ResolvedSetting[] = []
  for (const [field, row] of Object.entries(settingSpecs) as [keyof Settings, SettingSpec][]) {
    const { name, rule } = row
    const variable = environmentNameOf(row)
    const flag = sources.flags?.[field]
    const fromEnvironment = sources.environment?.[variable]
    const [place, given] =
      flag !== undefined
        ? [`--${name}`, flag]
        : fromEnvironment !== undefined && fromEnvironment !== ''
          ? [variable, fromEnvironment]
          : [`${sources.file?.path}: ${name}`, fromFile[name]]
    const value = given === undefined ? defaultSettings[field] : readValue(rule, given)
    if (value === null) faults.push(`${place}: expected ${expectation(rule)}, found \`${String(given)}\``)
    else settings.push({ field, value, source: given === undefined ? null : place })
  }
  const value = (field: keyof Settings) => settings.find((one) => one.field === field)?.value
  if ((value('tlsCertificate') === '') !== (value('tlsKey') === '')) {
    faults.push('tls_certificate, tls_key: expected both or none')
  }
  return faults.length > 0 ? err(faults) : ok(settings)
}

function membersOfFile(file: SettingSources['file'], faults: string[]): Record<string, unknown> {
  if (file === undefined) return {}
  const { path, content } = file
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    faults.push(`${path}: expected a JSON object`)
    return {}
  }
  const known = new Set(Object.values(settingSpecs).map((row) => row.name))
  for (const name of Object.keys(content)) {
    if (known.has(name)) continue
    const hint = suggestion(name, known) || `, expected one of ${[...known].join(', ')}`
    faults.push(`${path}: unknown setting \`${name}\`${hint}`)
  }
  return content as Record<string, unknown>
}

function readValue(rule: SettingRule, given: unknown): string | number | null {
  if (rule.kind === 'text') return typeof given === 'string' && given.trim() !== '' ? given : null
  if (rule.kind === 'url') return typeof given === 'string' ? readUrl(given.trim()) : null
  if (rule.kind === 'origins') return typeof given === 'string' ? readOrigins(given) : null
  if (rule.kind === 'choice') return typeof given === 'string' && rule.of.includes(given) ? given : null
  const text = typeof given === 'number' ? String(given) : given
  if (typeof text !== 'string' || !/^\d{1,16}$/.test(text.trim())) return null
  const number = Number(text)
  return number >= rule.min && number <= rule.max ? number : null
}

function readUrl(given: string): string | null {
  const url = /^https?:\/\/[^\s?#@]+$/.test(given) && URL.canParse(given) ? new URL(given) : null
  // Clients compare URLs character by character, so the text is kept as written.
  return url === null || given.endsWith('/') ? null : given
}

function readOrigins(given: string): string | null {
  const origins = given.split(',').map((one) => one.trim())
  const isOrigin = (one: string) => /^https?:/.test(one) && URL.canParse(one) && new URL(one).origin === one
  return given.trim() === '*' || origins.every(isOrigin) ? origins.join(',') : null
}

function expectation(rule: SettingRule): string {
  if (rule.kind === 'origins') return '`*`, or origins such as `https://app.example.org`, separated by commas'
  if (rule.kind === 'choice') return rule.of.map((one) => `\`${one}\``).join(' or ')
  if (rule.kind === 'url') return 'an http or https URL without query, fragment and a slash at its end'
  return rule.kind === 'text' ? 'text' : `an integer from ${rule.min} to ${rule.max}${rule.unit}`
}
