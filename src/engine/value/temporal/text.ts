// Temporals as ISO 8601 text, as Cypher prints them: seconds only where there are some, fractions without trailing zeros.
import { calendarDate } from './calendar.ts'

export const NANOS_PER_SECOND = 1_000_000_000
export const NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND

function padded(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${padded(nanos, 9).replace(/0+$/, '')}`
}

export function dateText(dayNumber: number): string {
  const { year, month, day } = calendarDate(dayNumber)
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${padded(Math.abs(year), 4)}-${padded(month)}-${padded(day)}`
}

export function timeText(nanosOfDay: number): string {
  const seconds = Math.floor(nanosOfDay / NANOS_PER_SECOND)
  const nanos = nanosOfDay % NANOS_PER_SECOND
  const minutes = `${padded(Math.floor(seconds / 3600))}:${padded(Math.floor(seconds / 60) % 60)}`
  return seconds % 60 === 0 && nanos === 0 ? minutes : `${minutes}:${padded(seconds % 60)}${fraction(nanos)}`
}

export function offsetText(offset: number): string {
  if (offset === 0) return 'Z'
  const size = Math.abs(offset)
  const seconds = size % 60 === 0 ? '' : `:${padded(size % 60)}`
  return `${offset < 0 ? '-' : '+'}${padded(Math.floor(size / 3600))}:${padded(Math.floor(size / 60) % 60)}${seconds}`
}

/** Months as years and months, nanoseconds as hours, minutes and seconds, each with its sign; days as they are. */
export function durationText(months: number, days: number, nanos: bigint): string {
  const seconds = nanos / BigInt(NANOS_PER_SECOND)
  const rest = Number(nanos % BigInt(NANOS_PER_SECOND))
  const secondsOfMinute = Number(seconds % 60n)
  const date = part(Math.trunc(months / 12), 'Y') + part(months % 12, 'M') + part(days, 'D')
  const time = part(seconds / 3600n, 'H') + part((seconds / 60n) % 60n, 'M')
  const negative = secondsOfMinute < 0 || rest < 0
  const last =
    secondsOfMinute === 0 && rest === 0
      ? ''
      : `${negative ? '-' : ''}${Math.abs(secondsOfMinute)}${fraction(Math.abs(rest))}S`
  if (time + last === '') return date === '' ? 'PT0S' : `P${date}`
  return `P${date}T${time}${last}`
}

function part(value: number | bigint, letter: string): string {
  return Number(value) === 0 ? '' : `${value}${letter}`
}
