// Temporal values as ISO 8601 text in the format of Cypher: seconds only if they are not zero, fractions without
// trailing zeros.
import { calendarDate } from './calendar.ts'

/** Nanoseconds of one second. */
export const NANOS_PER_SECOND = 1_000_000_000
/** Nanoseconds of 24 hours. */
export const NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND

function padNumber(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}

function formatFraction(nanos: number): string {
  return nanos === 0 ? '' : `.${padNumber(nanos, 9).replace(/0+$/, '')}`
}

/** Formats a day number, for example `2015-07-21`. */
export function formatDate(dayNumber: number): string {
  const { year, month, day } = calendarDate(dayNumber)
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${padNumber(Math.abs(year), 4)}-${padNumber(month)}-${padNumber(day)}`
}

/** Formats nanoseconds since midnight, for example `21:40:32.142`. */
export function formatTime(nanosOfDay: number): string {
  const seconds = Math.floor(nanosOfDay / NANOS_PER_SECOND)
  const nanos = nanosOfDay % NANOS_PER_SECOND
  const minutes = `${padNumber(Math.floor(seconds / 3600))}:${padNumber(Math.floor(seconds / 60) % 60)}`
  return seconds % 60 === 0 && nanos === 0 ? minutes : `${minutes}:${padNumber(seconds % 60)}${formatFraction(nanos)}`
}

/** Formats an offset in seconds, for example `+01:00` or `Z`. */
export function formatOffset(offset: number): string {
  if (offset === 0) return 'Z'
  const size = Math.abs(offset)
  const seconds = size % 60 === 0 ? '' : `:${padNumber(size % 60)}`
  return `${offset < 0 ? '-' : '+'}${padNumber(Math.floor(size / 3600))}:${padNumber(Math.floor(size / 60) % 60)}${seconds}`
}

/**
 * Formats a duration, for example `P1Y2M3DT4H`. Months are split into years and months, nanoseconds into hours, minutes and
 * seconds, each with its own sign.
 */
export function formatDuration(months: number, days: number, nanos: bigint): string {
  const seconds = nanos / BigInt(NANOS_PER_SECOND)
  const rest = Number(nanos % BigInt(NANOS_PER_SECOND))
  const secondsOfMinute = Number(seconds % 60n)
  const date =
    formatDurationPart(Math.trunc(months / 12), 'Y') +
    formatDurationPart(months % 12, 'M') +
    formatDurationPart(days, 'D')
  const time = formatDurationPart(seconds / 3600n, 'H') + formatDurationPart((seconds / 60n) % 60n, 'M')
  const negative = secondsOfMinute < 0 || rest < 0
  const last =
    secondsOfMinute === 0 && rest === 0
      ? ''
      : `${negative ? '-' : ''}${Math.abs(secondsOfMinute)}${formatFraction(Math.abs(rest))}S`
  if (time + last === '') return date === '' ? 'PT0S' : `P${date}`
  return `P${date}T${time}${last}`
}

function formatDurationPart(value: number | bigint, letter: string): string {
  return Number(value) === 0 ? '' : `${value}${letter}`
}
