// What the six temporal kinds hold: counts of days and nanoseconds, so that they compare and add as numbers do.
import { formatDate, formatDuration, formatOffset, formatTime } from './format.ts'

export type TemporalKind = 'date' | 'localtime' | 'time' | 'localdatetime' | 'datetime' | 'duration'

/** `String(value)` is its ISO text. */
export abstract class TemporalValue {
  abstract readonly kind: TemporalKind
  abstract toString(): string
}

export class DateValue extends TemporalValue {
  readonly kind = 'date'
  /** From 1970-01-01. */
  readonly day: number
  constructor(day: number) {
    super()
    this.day = day
  }
  override toString(): string {
    return formatDate(this.day)
  }
}

export class LocalTimeValue extends TemporalValue {
  readonly kind = 'localtime'
  /** From midnight. */
  readonly nanos: number
  constructor(nanos: number) {
    super()
    this.nanos = nanos
  }
  override toString(): string {
    return formatTime(this.nanos)
  }
}

export class TimeValue extends TemporalValue {
  readonly kind = 'time'
  /** From midnight, there where the clock stands. */
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

/** Day and time are those of the place; with the offset they are one instant, whatever the zone's rules become. */
export class DateTimeValue extends TemporalValue {
  readonly kind = 'datetime'
  readonly day: number
  readonly nanos: number
  readonly offset: number
  /** The name of the zone, or null where there is only an offset. */
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

/** Months, days and time keep apart: how long a month or a day is depends on where it is added. */
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

export type AnyTemporal = DateValue | LocalTimeValue | TimeValue | LocalDateTimeValue | DateTimeValue | DurationValue

export function isTemporal(value: unknown): value is AnyTemporal {
  return value instanceof TemporalValue
}
