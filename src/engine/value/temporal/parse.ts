// Parses ISO 8601 text: extended and basic form, dates by month, week, quarter or day of the year.
import { dateSystems, type IntegerFields, requireWithin } from './date-parts.ts'
import { unparsableError } from './errors.ts'
import { NANOS_PER_SECOND } from './format.ts'
import { parseOffset } from './zones.ts'

/** No valid text is longer. */
const LENGTH_MAX = 100

const DATE = new RegExp(
  [
    '^(?<year>[+-]\\d{1,9}(?=-|$)|\\d{4})',
    // Either every part has a dash before it, or none has.
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

/** Returns the day number of a date. Throws ExecutionError. */
export function parseDate(text: string): number {
  const groups = matchGroups(DATE, text)
  if (!groups) throw unparsableError(text, 'date')
  const system = dateSystems.find(({ members }) => members.some((name) => groups[name] !== undefined))
  return (system ?? dateSystems[0]!).resolve(toIntegerFields(groups), null)
}

/** Returns nanoseconds since midnight. Throws ExecutionError. */
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

/** A time of day with an optional offset and an optional region; both null if absent. */
interface ZonedTime {
  readonly nanos: number
  readonly offset: number | null
  readonly region: string | null
}

/** Parses a time of day with an optional offset and region. Throws ExecutionError. */
export function parseZonedTime(text: string): ZonedTime {
  const groups = matchGroups(TIME_ZONE, text)
  if (!groups) throw unparsableError(text, 'time')
  const offset = groups.offset === undefined ? null : parseOffset(groups.offset)
  if (offset === null && groups.offset !== undefined) throw unparsableError(groups.offset, 'offset')
  return { nanos: parseTime(groups.time!), offset, region: groups.region ?? null }
}

/** A day number with a time of day. */
interface DateAndTime extends ZonedTime {
  readonly day: number
}

/** Parses a date with an optional time of day; the default is midnight. Throws ExecutionError. */
export function parseDateTime(text: string): DateAndTime {
  const groups = matchGroups(DATE_TIME, text)
  if (!groups) throw unparsableError(text, 'date and time')
  const day = parseDate(groups.date!)
  if (groups.rest === undefined) return { day, nanos: 0, offset: null, region: null }
  return { day, ...parseZonedTime(groups.rest) }
}
