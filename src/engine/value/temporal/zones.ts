// Time zones: offsets in seconds, and named zones with the rules of the runtime.
import { ExecutionError } from '../../errors.ts'
import { dayNumber } from './calendar.ts'
import { checkDay, unparsableError } from './errors.ts'
import { NANOS_PER_DAY, NANOS_PER_SECOND } from './format.ts'
import { DateTimeValue } from './temporal.ts'

/** An offset in seconds ahead of UTC, or the name of a zone. */
export type Zone = number | string

/** The offset of UTC. */
export const UTC = 0

const OFFSET = /^(?:Z|([+-])(\d\d)(?:(:?)(\d\d)(?:\3(\d\d))?)?)$/
const OFFSET_MAX = 18 * 3600

/** Parses an offset such as `+01:00` or `Z`; null if the text is not an offset. */
export function parseOffset(text: string): number | null {
  if (text.length > 9) return null
  const found = OFFSET.exec(text)
  if (!found) return null
  const [, sign, hours, , minutes = '0', seconds = '0'] = found
  if (sign === undefined) return 0
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  if (size > OFFSET_MAX || Number(minutes) > 59 || Number(seconds) > 59) return null
  return sign === '-' ? 0 - size : size
}

/** Parses `+01:00`, `Z` or `Europe/Stockholm`. Throws ExecutionError. */
export function parseZone(text: string): Zone {
  return parseOffset(text) ?? parseRegion(text)
}

/** Returns the canonical name of a zone. Throws ExecutionError. */
export function parseRegion(text: string): string {
  const known = text.length <= 64 && /^[A-Za-z]/.test(text)
  if (!known) throw unparsableError(text, 'time zone')
  try {
    return zonedDateTime(0n, text.replaceAll(' ', '_')).timeZoneId
  } catch (fault) {
    if (fault instanceof RangeError) throw unparsableError(text, 'time zone')
    throw fault
  }
}

function zonedDateTime(nanos: bigint, region: string): Temporal.ZonedDateTime {
  // Some runtimes that can load the engine lack Temporal. They support everything except named zones.
  if (typeof Temporal === 'undefined') {
    const without = 'this runtime has no time zone rules'
    throw new ExecutionError('argument', `${without}, also not for \`${region}\``, null, null, without)
  }
  return new Temporal.ZonedDateTime(nanos, region)
}

// The runtime supports instants of about 270,000 years. Before the year -10000 and after 10000 the rules repeat with the
// calendar every 400 years, so a day at the same position of the cycle has the same offset.
const DAYS_PER_CALENDAR_CYCLE = 146_097
const RULES_DAY_MIN = dayNumber(-10_000, 1, 1)
const RULES_DAY_MAX = dayNumber(10_000, 1, 1)

function dayWithinRules(day: number): number {
  if (day >= RULES_DAY_MIN && day <= RULES_DAY_MAX) return day
  const edge = day < RULES_DAY_MIN ? RULES_DAY_MIN : RULES_DAY_MAX
  return edge + ((((day - edge) % DAYS_PER_CALENDAR_CYCLE) + DAYS_PER_CALENDAR_CYCLE) % DAYS_PER_CALENDAR_CYCLE)
}

/** Returns the offset in seconds at an instant, given as day number and nanoseconds in UTC. */
export function offsetAt(zone: Zone, day: number, nanos: number): number {
  if (typeof zone === 'number') return zone
  const instant = BigInt(dayWithinRules(day)) * BigInt(NANOS_PER_DAY) + BigInt(nanos)
  return Math.floor(zonedDateTime(instant, zone).offsetNanoseconds / NANOS_PER_SECOND)
}

/** Adds seconds to a day number and nanoseconds of the day. */
export function addSeconds(
  day: number,
  nanos: number,
  seconds: number,
): { readonly day: number; readonly nanos: number } {
  const total = nanos + seconds * NANOS_PER_SECOND
  const days = Math.floor(total / NANOS_PER_DAY)
  return { day: day + days, nanos: total - days * NANOS_PER_DAY }
}

/**
 * Converts local time in a zone. If clocks go back and a local time occurs twice, the preferred offset decides, else the
 * earlier instant. A local time that a clock change skips moves forward by the length of the gap.
 */
export function fromWallClock(day: number, nanos: number, zone: Zone, preferred: number | null = null): DateTimeValue {
  if (typeof zone === 'number') return new DateTimeValue(checkDay(day), nanos, zone, null)
  const before = offsetAt(zone, day - 1, nanos)
  const after = offsetAt(zone, day + 1, nanos)
  const stands = (offset: number): boolean => {
    const utc = addSeconds(day, nanos, -offset)
    return offsetAt(zone, utc.day, utc.nanos) === offset
  }
  const offset = [preferred ?? before, before, after].find(stands)
  if (offset !== undefined) return new DateTimeValue(checkDay(day), nanos, offset, zone)
  const moved = addSeconds(day, nanos, after - before)
  return new DateTimeValue(checkDay(moved.day), moved.nanos, after, zone)
}

/** Converts an instant, given as day number and nanoseconds in UTC, to local time in a zone. */
export function fromInstant(day: number, nanos: number, zone: Zone): DateTimeValue {
  const offset = offsetAt(zone, day, nanos)
  const wall = addSeconds(day, nanos, offset)
  return new DateTimeValue(checkDay(wall.day), wall.nanos, offset, typeof zone === 'string' ? zone : null)
}

/** Returns the named zone, or the offset if none exists. */
export function zoneOfDateTime(value: DateTimeValue): Zone {
  return value.zone ?? value.offset
}

/** Returns day number and nanoseconds in UTC. */
export function instantOf(value: DateTimeValue): { readonly day: number; readonly nanos: number } {
  return addSeconds(value.day, value.nanos, -value.offset)
}

/** Returns the same instant in another zone. */
export function withZone(value: DateTimeValue, zone: Zone): DateTimeValue {
  const { day, nanos } = instantOf(value)
  return fromInstant(day, nanos, zone)
}
