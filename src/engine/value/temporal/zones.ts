// Time zones: offsets as numbers of seconds, named zones by the rules that the runtime carries.
import { ExecutionError } from '../../errors.ts'
import { dayNumber } from './calendar.ts'
import { checkDay, unparsableError } from './errors.ts'
import { NANOS_PER_DAY, NANOS_PER_SECOND } from './format.ts'
import { DateTimeValue } from './temporal.ts'

/** Seconds ahead of UTC, or the name of a zone. */
export type Zone = number | string

export const UTC = 0

const OFFSET = /^(?:Z|([+-])(\d\d)(?:(:?)(\d\d)(?:\3(\d\d))?)?)$/
const OFFSET_MAX = 18 * 3600

/** Null for a text that is no offset. */
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

/** `+01:00`, `Z`, `Europe/Stockholm`. */
export function parseZone(text: string): Zone {
  return parseOffset(text) ?? parseRegion(text)
}

/** In the spelling of the zone's own name. */
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
  // Of the runtimes that the engine loads in, some lack it; they do all but named zones.
  if (typeof Temporal === 'undefined') {
    const without = 'this runtime has no rules of time zones'
    throw new ExecutionError('argument', `${without}, nor of \`${region}\``, null, null, without)
  }
  return new Temporal.ZonedDateTime(nanos, region)
}

// The runtime's instants end some 270,000 years from now. Beyond the years -10000 and 10000 rules only repeat with the
// calendar, every 400 years, so that a day of the same place in that cycle has the same offset.
const DAYS_PER_CALENDAR_CYCLE = 146_097
const RULES_DAY_MIN = dayNumber(-10_000, 1, 1)
const RULES_DAY_MAX = dayNumber(10_000, 1, 1)

function dayWithinRules(day: number): number {
  if (day >= RULES_DAY_MIN && day <= RULES_DAY_MAX) return day
  const edge = day < RULES_DAY_MIN ? RULES_DAY_MIN : RULES_DAY_MAX
  return edge + ((((day - edge) % DAYS_PER_CALENDAR_CYCLE) + DAYS_PER_CALENDAR_CYCLE) % DAYS_PER_CALENDAR_CYCLE)
}

/** The offset in force at an instant, given as day and nanoseconds in UTC. */
export function offsetAt(zone: Zone, day: number, nanos: number): number {
  if (typeof zone === 'number') return zone
  const instant = BigInt(dayWithinRules(day)) * BigInt(NANOS_PER_DAY) + BigInt(nanos)
  return Math.floor(zonedDateTime(instant, zone).offsetNanoseconds / NANOS_PER_SECOND)
}

/** Day and nanoseconds moved by seconds. */
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
 * The wall clock of a zone. Where clocks are turned back, so that a time comes twice, the preferred offset decides, else
 * the earlier time is taken; where they are turned forward, a time that never was moves on by as much.
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

/** An instant, given as day and nanoseconds in UTC, on the wall clock of a zone. */
export function fromInstant(day: number, nanos: number, zone: Zone): DateTimeValue {
  const offset = offsetAt(zone, day, nanos)
  const wall = addSeconds(day, nanos, offset)
  return new DateTimeValue(checkDay(wall.day), wall.nanos, offset, typeof zone === 'string' ? zone : null)
}

export function zoneOfDateTime(value: DateTimeValue): Zone {
  return value.zone ?? value.offset
}

/** Day and nanoseconds in UTC. */
export function instantOf(value: DateTimeValue): { readonly day: number; readonly nanos: number } {
  return addSeconds(value.day, value.nanos, -value.offset)
}

/** The same instant elsewhere. */
export function withZone(value: DateTimeValue, zone: Zone): DateTimeValue {
  const { day, nanos } = instantOf(value)
  return fromInstant(day, nanos, zone)
}
