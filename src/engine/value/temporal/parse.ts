// ISO 8601 text → days, nanoseconds and zones: the extended and the basic form, by month, week, quarter or day of the year.
import { dateSystems, type Parts, within } from './date-parts.ts'
import { unreadable } from './faults.ts'
import { NANOS_PER_SECOND } from './text.ts'
import { offsetNamed } from './zones.ts'

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

type Groups = Readonly<Record<string, string | undefined>>

function groupsOf(pattern: RegExp, text: string): Groups | null {
  return text.length > LENGTH_MAX ? null : (pattern.exec(text)?.groups ?? null)
}

function numbers(groups: Groups): Parts {
  return Object.fromEntries(
    Object.entries(groups).map(([name, text]) => [name, text === undefined ? undefined : Number(text)]),
  )
}

export function readDate(text: string): number {
  const groups = groupsOf(DATE, text)
  if (!groups) throw unreadable(text, 'date')
  const system = dateSystems.find(({ members }) => members.some((name) => groups[name] !== undefined))
  return (system ?? dateSystems[0]!).resolve(numbers(groups), null)
}

export function readTime(text: string): number {
  const groups = groupsOf(TIME, text)
  if (!groups) throw unreadable(text, 'time')
  const parts = numbers(groups)
  const seconds =
    within(parts, 'hour', 0, 23, 0) * 3600 + within(parts, 'minute', 0, 59, 0) * 60 + within(parts, 'second', 0, 59, 0)
  return seconds * NANOS_PER_SECOND + Number((groups.fraction ?? '').padEnd(9, '0'))
}

/** A time of day and what stands behind it; both null where nothing does. */
export interface ZonedTime {
  readonly nanos: number
  readonly offset: number | null
  readonly region: string | null
}

export function readZonedTime(text: string): ZonedTime {
  const groups = groupsOf(TIME_ZONE, text)
  if (!groups) throw unreadable(text, 'time')
  const offset = groups.offset === undefined ? null : offsetNamed(groups.offset)
  if (offset === null && groups.offset !== undefined) throw unreadable(groups.offset, 'offset')
  return { nanos: readTime(groups.time!), offset, region: groups.region ?? null }
}

export interface DateAndTime extends ZonedTime {
  readonly day: number
}

/** A date alone is its midnight. */
export function readDateTime(text: string): DateAndTime {
  const groups = groupsOf(DATE_TIME, text)
  if (!groups) throw unreadable(text, 'date and time')
  const day = readDate(groups.date!)
  if (groups.rest === undefined) return { day, nanos: 0, offset: null, region: null }
  return { day, ...readZonedTime(groups.rest) }
}
