// ISO 8601 text → days, nanoseconds and zones: the extended and the basic form, by month, week, quarter or day of the year.
import { dateSystems, type IntegerFields, requireWithin } from './date-parts.ts'
import { unparsableError } from './errors.ts'
import { NANOS_PER_SECOND } from './format.ts'
import { parseOffset } from './zones.ts'

/** Longer than any text that these readers take. */
const LENGTH_MAX = 100

const DATE = new RegExp(
  [
    '^(?<year>[+-]\\d{1,9}(?=-|$)|\\d{4})',
    // Either every part stands behind a dash, or none does.
    '(?:(?<dash>-?)(?:',
    '(?<month>\\d\\d)(?:\\k<dash>(?<day>\\d\\d))?',
    '|W(?<week>\\d\\d)(?:\\k<dash>(?<dayOfWeek>\\d))?',
    '|Q(?<quarter>\\d)(?:\\k<dash>(?<dayOfQuarter>\\d\\d))?',
    '|(?<ordinalDay>\\d{3})',
    '))?$',
  ].join(''),
)
const TIME = /^(?<hour>\d\d)(?:(?<colon>:?)(?<minute>\d\d)(?:\k<colon>(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?)?$/
const DATE_TIME = /^(?<date>[^T]+)(?:T(?<rest>.+))?$/s
const TIME_ZONE = /^(?<time>[\d:.,]+)(?<offset>Z|[+-][\d:]+)?(?:\[(?<region>[^[\]]+)\])?$/

type RegexGroups = Readonly<Record<string, string | undefined>>

function matchGroups(pattern: RegExp, text: string): RegexGroups | null {
  return text.length > LENGTH_MAX ? null : (pattern.exec(text)?.groups ?? null)
}

function toIntegerFields(groups: RegexGroups): IntegerFields {
  return Object.fromEntries(
    Object.entries(groups).map(([name, text]) => [name, text === undefined ? undefined : Number(text)]),
  )
}

export function parseDate(text: string): number {
  const groups = matchGroups(DATE, text)
  if (!groups) throw unparsableError(text, 'date')
  const system = dateSystems.find(({ members }) => members.some((name) => groups[name] !== undefined))
  return (system ?? dateSystems[0]!).resolve(toIntegerFields(groups), null)
}

export function parseTime(text: string): number {
  const groups = matchGroups(TIME, text)
  if (!groups) throw unparsableError(text, 'time')
  const parts = toIntegerFields(groups)
  const seconds =
    requireWithin(parts, 'hour', 0, 23, 0) * 3600 +
    requireWithin(parts, 'minute', 0, 59, 0) * 60 +
    requireWithin(parts, 'second', 0, 59, 0)
  return seconds * NANOS_PER_SECOND + Number((groups.fraction ?? '').padEnd(9, '0'))
}

/** A time of day and what stands behind it; both null where nothing does. */
export interface ZonedTime {
  readonly nanos: number
  readonly offset: number | null
  readonly region: string | null
}

export function parseZonedTime(text: string): ZonedTime {
  const groups = matchGroups(TIME_ZONE, text)
  if (!groups) throw unparsableError(text, 'time')
  const offset = groups.offset === undefined ? null : parseOffset(groups.offset)
  if (offset === null && groups.offset !== undefined) throw unparsableError(groups.offset, 'offset')
  return { nanos: parseTime(groups.time!), offset, region: groups.region ?? null }
}

export interface DateAndTime extends ZonedTime {
  readonly day: number
}

/** A date alone is its midnight. */
export function parseDateTime(text: string): DateAndTime {
  const groups = matchGroups(DATE_TIME, text)
  if (!groups) throw unparsableError(text, 'date and time')
  const day = parseDate(groups.date!)
  if (groups.rest === undefined) return { day, nanos: 0, offset: null, region: null }
  return { day, ...parseZonedTime(groups.rest) }
}
