// The six temporal kinds, represented as counts of days and nanoseconds, which compare and add like numbers.
import { formatDate, formatDuration, formatOffset, formatTime } from './format.ts'

/** The kinds as named by the constructor functions. */
export type TemporalKind = 'date' | 'localtime' | 'time' | 'localdatetime' | 'datetime' | 'duration'

/** The base of all temporal values. `String(value)` is the ISO 8601 text. */
abstract class TemporalValue {
  abstract readonly kind: TemporalKind
  abstract toString(): string
}

/** DATE */
export class DateValue extends TemporalValue {
  readonly kind = 'date'
  /** Days since 1970-01-01. */
  readonly day: number
  constructor(day: number) {
    super()
    this.day = day
  }
  override toString(): string {
    return formatDate(this.day)
  }
}

/** LOCAL TIME */
export class LocalTimeValue extends TemporalValue {
  readonly kind = 'localtime'
  /** Nanoseconds since midnight. */
  readonly nanos: number
  constructor(nanos: number) {
    super()
    this.nanos = nanos
  }
  override toString(): string {
    return formatTime(this.nanos)
  }
}

/** ZONED TIME */
export class TimeValue extends TemporalValue {
  readonly kind = 'time'
  /** Nanoseconds since midnight, local time. */
  readonly nanos: number
  /** Seconds ahead of UTC. */
  readonly offset: number
  constructor(nanos: number, offset: number) {
    super()
    this.nanos = nanos
    this.offset = offset
  }
  override toString(): string {
    return formatTime(this.nanos) + formatOffset(this.offset)
  }
}

/** LOCAL DATETIME */
export class LocalDateTimeValue extends TemporalValue {
  readonly kind = 'localdatetime'
  readonly day: number
  readonly nanos: number
  constructor(day: number, nanos: number) {
    super()
    this.day = day
    this.nanos = nanos
  }
  override toString(): string {
    return `${formatDate(this.day)}T${formatTime(this.nanos)}`
  }
}

/**
 * ZONED DATETIME. Day and time are local. With the offset they give one instant, even if the rules of the zone change
 * later.
 */
export class DateTimeValue extends TemporalValue {
  readonly kind = 'datetime'
  readonly day: number
  readonly nanos: number
  readonly offset: number
  /** The name of the time zone; null if there is only an offset. */
  readonly zone: string | null
  constructor(day: number, nanos: number, offset: number, zone: string | null) {
    super()
    this.day = day
    this.nanos = nanos
    this.offset = offset
    this.zone = zone
  }
  override toString(): string {
    const zone = this.zone === null ? '' : `[${this.zone}]`
    return `${formatDate(this.day)}T${formatTime(this.nanos)}${formatOffset(this.offset)}${zone}`
  }
}

/** DURATION. Months, days and time are separate: the length of a month or a day depends on where it is added. */
export class DurationValue extends TemporalValue {
  readonly kind = 'duration'
  readonly months: number
  readonly days: number
  readonly nanos: bigint
  constructor(months: number, days: number, nanos: bigint) {
    super()
    this.months = months
    this.days = days
    this.nanos = nanos
  }
  override toString(): string {
    return formatDuration(this.months, this.days, this.nanos)
  }
}

/** Any temporal value. */
export type AnyTemporal = DateValue | LocalTimeValue | TimeValue | LocalDateTimeValue | DateTimeValue | DurationValue

/** Whether a value is a temporal value. */
export function isTemporal(value: unknown): value is AnyTemporal {
  return value instanceof TemporalValue
}
