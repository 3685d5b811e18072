// Templates of a resolver: a URL and a payload with places `{$name}`, and how values come into them. A value fills its place
// and nothing else: it cannot choose the host, add a segment to the path, or end a string or a member of the payload.
import { Float } from '../kernel/float.ts'
import { JSON_DEPTH_MAX, parseJson, writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** What a name stands for, as JSON data; undefined: nothing. */
export type PlaceholderLookup = (name: string) => unknown

/** Null within: nothing is sent. An error says which place cannot be filled, and never with what. */
export type TemplateRenderer<T> = (values: PlaceholderLookup) => Result<T, string>

interface Placeholder {
  readonly name: string
  /** Where the template stands behind it. */
  readonly end: number
  readonly start: number
}

/** Longer ones are refused by usual servers. */
const URL_LENGTH_MAX = 8192
/** Characters of a filled payload. */
const PAYLOAD_LENGTH_MAX = 1024 * 1024

function placesIn(text: string): Placeholder[] {
  return [...text.matchAll(/\{\$([A-Za-z_][\w.]*)\}/g)].map(({ 0: whole, 1: name = '', index }) => ({
    name,
    start: index,
    end: index + whole.length,
  }))
}

export function readUrlTemplate(text: string): Result<TemplateRenderer<string>, string> {
  const places = placesIn(text)
  const [one, other] = ['1', '2'].map((value) => filled(text, places, () => value))
  if (/[{}]/.test(one!)) return err('expected placeholders of the form `{$name}`')
  const sample = URL.parse(one!)
  if (sample === null) return err('expected a URL')
  if (sample.protocol !== 'https:' && sample.protocol !== 'http:') return err('expected the scheme `https:` or `http:`')
  // Credentials stand before the host, so they are looked at first.
  if (sample.username !== '' || sample.password !== '') return err('a user name and a password have no place in it')
  // The host decides whom the service talks to: that is nothing for a caller to fill in. Asked of the parser that is used
  // for the call, since a URL can be written in more ways than one.
  if (URL.parse(other!)?.origin !== sample.origin) return err('a placeholder cannot stand in the host')
  const pathEnd = /[?#]|$/.exec(text)?.index ?? text.length
  const segments = segmentsOf(sample)
  return ok((values) => {
    const texts: string[] = []
    for (const { name, start } of places) {
      const value = textOf(values(name))
      if (value === null) return err(nothingFor(name))
      if (value === '' && start < pathEnd) return err(`the value of \`{$${name}}\` is empty, and stands in the path`)
      // One half of a pair of surrogates has no form in a URL.
      if (!value.isWellFormed()) return err(unfit(name))
      texts.push(encodeURIComponent(value))
    }
    const url = URL.parse(filled(text, places, (_, i) => texts[i]!))
    // `.` and `..` are segments that take others away, however they are encoded.
    if (url === null || url.origin !== sample.origin || segmentsOf(url) !== segments) {
      return err('the values of the placeholders would change the path')
    }
    return url.href.length > URL_LENGTH_MAX ? err('the URL is too long with its values') : ok(url.href)
  })
}

/** The URL with a value in each place; for what depends on scheme and host alone. */
export function sampleUrl(template: string): string {
  return filled(template, placesIn(template), () => '1')
}

function segmentsOf({ pathname }: URL): number {
  return pathname.split('/').filter((segment) => segment !== '').length
}

/**
 * A place within a string takes text, numbers and truths, escaped; one that stands alone takes any value, written as JSON.
 * An empty template sends nothing.
 */
export function readPayloadTemplate(text: string): Result<TemplateRenderer<string | null>, string> {
  if (text === '') return ok(() => ok(null))
  const places = placesIn(text).map((place) => ({ ...place, isQuoted: isInString(text, place.start) }))
  const sample = filled(text, places, ({ name }, i) => (places[i]!.isQuoted ? name : 'null'))
  const parsed = parseJson(sample, 'plain')
  if (!parsed.ok) return err(parsed.error.message)
  return ok((values) => {
    const texts: string[] = []
    for (const { name, isQuoted } of places) {
      const value = values(name)
      const inString = isQuoted ? textOf(value) : null
      if (value === undefined || (isQuoted && inString === null)) return err(nothingFor(name))
      texts.push(inString === null ? writeJson(value) : JSON.stringify(inString).slice(1, -1))
    }
    const payload = filled(text, places, (_, i) => texts[i]!)
    if (payload.length > PAYLOAD_LENGTH_MAX) return err('the payload is too long with its values')
    // A value that stands as a member's name may be one that is there already.
    if (places.length > 0 && !parseJson(payload, 'plain').ok) {
      return err(
        `the payload is no JSON with its values, gives a member twice or is deeper than ${JSON_DEPTH_MAX} levels`,
      )
    }
    return ok(payload)
  })
}

function isInString(json: string, at: number): boolean {
  let within = false
  for (let i = 0; i < at; i++) {
    if (within && json[i] === '\\') i += 1
    else if (json[i] === '"') within = !within
  }
  return within
}

function filled(
  text: string,
  places: readonly Placeholder[],
  fill: (place: Placeholder, index: number) => string,
): string {
  let out = ''
  let at = 0
  for (const [i, place] of places.entries()) {
    out += text.slice(at, place.start) + fill(place, i)
    at = place.end
  }
  return out + text.slice(at)
}

/** Null: there is none, or it is no single value. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const isSingle = ['number', 'bigint', 'boolean'].includes(typeof value) || value instanceof Float
  const text = isSingle ? writeJson(value) : 'null'
  return text === 'null' ? null : text
}

function nothingFor(name: string): string {
  return `there is no single value for \`{$${name}}\``
}

function unfit(name: string): string {
  return `the value of \`{$${name}}\` is no text that a URL can hold`
}
