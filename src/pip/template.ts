// URL and payload templates of a resolver, with placeholders `{$name}` and `{$name || default}`. A value or default fills
// its placeholder and nothing else: it cannot choose the host, add a path segment, or end a string or a member of the
// payload.
import { Float } from '../kernel/float.ts'
import { JSON_DEPTH_MAX, parseJson, writeJson } from '../kernel/json/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { findPlaceholders, type Placeholder } from './placeholder.ts'

/** A value that exists but may not be used. Its placeholder has no value, and the default does not stand in for it. */
export const withheld = Symbol('withheld')

/** Returns the value of a placeholder as JSON data, or `withheld`; undefined if none exists. */
export type PlaceholderLookup = (name: string) => unknown

/** Renders a template; null means that nothing is sent. The error names the placeholder, never the value. */
export type TemplateRenderer<T> = (values: PlaceholderLookup) => Result<T, string>

/** Renders a template with a value for each placeholder, whose default is used already. */
type FilledRenderer<T> = (valueFor: (placeholder: Placeholder) => unknown) => Result<T, string>

/** Common servers reject longer URLs. */
const URL_LENGTH_MAX = 8192
/** Maximum characters of a rendered payload. */
const PAYLOAD_LENGTH_MAX = 1024 * 1024

/** Compiles a URL template. The error is a message for the author. */
export function readUrlTemplate(text: string): Result<TemplateRenderer<string>, string> {
  const found = findPlaceholders(text, 'text')
  if (!found.ok) return found
  const placeholders = found.value
  const [one, other] = ['1', '2'].map((value) => replaceAll(text, placeholders, () => value))
  if (/[{}]/.test(one!)) return err('expected placeholders of the form `{$name}` or `{$name || default}`')
  const sample = URL.parse(one!)
  if (sample === null) return err('expected a URL')
  if (sample.protocol !== 'https:' && sample.protocol !== 'http:') return err('expected the scheme `https:` or `http:`')
  // Credentials come before the host, so they are checked first.
  if (sample.username !== '' || sample.password !== '') return err('a URL with user name or password is not allowed')
  // The host decides which service is called, so neither callers nor defaults choose it. Checked with the URL parser that
  // is used for the call, because a URL can be written in several ways.
  if (URL.parse(other!)?.origin !== sample.origin) return err('the host cannot contain a placeholder')
  const masked = replaceAll(text, placeholders, ({ start, end }) => 'x'.repeat(end - start))
  const pathEnd = /[?#]|$/.exec(masked)?.index ?? text.length
  const segments = segmentsOf(sample)
  const render: FilledRenderer<string> = (valueFor) => {
    const texts: string[] = []
    for (const placeholder of placeholders) {
      const { name, start } = placeholder
      const value = textOf(valueFor(placeholder))
      if (value === null) return err(noValueText(name))
      if (value === '' && start < pathEnd)
        return err(`the value of \`{$${name}}\` is empty, which the path does not allow`)
      // A lone surrogate cannot be encoded in a URL.
      if (!value.isWellFormed()) return err(notEncodableText(name))
      texts.push(encodeURIComponent(value))
    }
    const url = URL.parse(replaceAll(text, placeholders, (_, i) => texts[i]!))
    // `.` and `..` remove other segments, however they are encoded.
    if (url === null || url.origin !== sample.origin || segmentsOf(url) !== segments) {
      return err('the values of the placeholders would change the path')
    }
    return url.href.length > URL_LENGTH_MAX ? err('the URL is too long with its values') : ok(url.href)
  }
  const withDefaults = render(({ fallback }) => fallback?.text ?? '1')
  if (!withDefaults.ok) return err(`with the defaults of the placeholders: ${withDefaults.error}`)
  return ok((values) => render(({ name, fallback }) => values(name) ?? fallback?.text))
}

/** Renders the template with sample values, for what depends on scheme and host only. */
export function sampleUrl(template: string): string {
  const found = findPlaceholders(template, 'text')
  return found.ok ? replaceAll(template, found.value, () => '1') : template
}

function segmentsOf({ pathname }: URL): number {
  return pathname.split('/').filter((segment) => segment !== '').length
}

/**
 * Compiles a payload template. A placeholder inside a string accepts strings, numbers and booleans, which are escaped;
 * one outside accepts any value, written as JSON. An empty template sends nothing. The error is a message for the
 * author.
 */
export function readPayloadTemplate(text: string): Result<TemplateRenderer<string | null>, string> {
  if (text === '') return ok(() => ok(null))
  const found = findPlaceholders(text, 'json')
  if (!found.ok) return found
  const placeholders = found.value
  const empty = placeholders.find((one) => one.fallback?.data === undefined && one.fallback !== null && !one.isInString)
  if (empty !== undefined) {
    return err(`the default of \`{$${empty.name}}\` is not JSON: write \`""\` for an empty string`)
  }
  const sample = replaceAll(text, placeholders, ({ name, isInString, fallback }) => {
    if (isInString) return fallback === null ? name : escaped(fallback.text)
    return fallback === null ? 'null' : writeJson(fallback.data)
  })
  const parsed = parseJson(sample, 'plain')
  if (!parsed.ok) return err(parsed.error.message)
  const render: FilledRenderer<string> = (valueFor) => {
    const texts: string[] = []
    for (const placeholder of placeholders) {
      const { name, isInString } = placeholder
      const value = valueFor(placeholder)
      const inString = isInString ? textOf(value) : null
      const isMissing = value === undefined || value === withheld || (isInString && inString === null)
      if (isMissing) return err(noValueText(name))
      texts.push(inString === null ? writeJson(value) : escaped(inString))
    }
    const payload = replaceAll(text, placeholders, (_, i) => texts[i]!)
    if (payload.length > PAYLOAD_LENGTH_MAX) return err('the payload is too long with its values')
    // A value used as a member name may duplicate another member.
    if (placeholders.length > 0 && !parseJson(payload, 'plain').ok) {
      return err(
        `with these values the payload is not JSON, has a duplicate member or is deeper than ${JSON_DEPTH_MAX} levels`,
      )
    }
    return ok(payload)
  }
  return ok((values) =>
    render(({ name, isInString, fallback }) => {
      const value = values(name)
      if (fallback === null || (value !== undefined && value !== null)) return value
      return isInString ? fallback.text : fallback.data
    }),
  )
}

function replaceAll(
  text: string,
  placeholders: readonly Placeholder[],
  fill: (placeholder: Placeholder, index: number) => string,
): string {
  let out = ''
  let at = 0
  for (const [i, placeholder] of placeholders.entries()) {
    out += text.slice(at, placeholder.start) + fill(placeholder, i)
    at = placeholder.end
  }
  return out + text.slice(at)
}

/** The content of a JSON string. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Returns a scalar as text; null if the value is absent or not a scalar. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const isSingle = ['number', 'bigint', 'boolean'].includes(typeof value) || value instanceof Float
  const text = isSingle ? writeJson(value) : 'null'
  return text === 'null' ? null : text
}

function noValueText(name: string): string {
  return `there is no scalar value for \`{$${name}}\``
}

function notEncodableText(name: string): string {
  return `the value of \`{$${name}}\` cannot be encoded in a URL`
}
