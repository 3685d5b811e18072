// Converts values between the engine and the driver of Bolt (neo4j-driver-lite with `useBigInt`): integers are bigints there,
// floats are numbers.
import type neo4j from 'neo4j-driver-lite'
import { calendarDate, dayNumber } from '../engine/value/temporal/calendar.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  DurationValue,
  isTemporal,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue, Value } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'

/** The module of the driver, which is loaded when a project first needs it. */
export type BoltDriver = typeof neo4j

const NANOS_PER_SECOND = 1_000_000_000

/** A value as the driver sends it. Elements of a graph are sent as their keys, never as values. */
export function toDriver(driver: BoltDriver, value: Value): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'bigint')
    return value
  if (typeof value === 'number') return BigInt(value)
  if (value instanceof Float) return value.value
  if (isTemporal(value)) return temporalToDriver(driver, value)
  if (Array.isArray(value)) return (value as readonly Value[]).map((item) => toDriver(driver, item))
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, Value>)].map(([key, item]) => [key, toDriver(driver, item)])
    return Object.fromEntries(entries)
  }
  throw new TypeError('an element of a graph cannot be a parameter')
}

/**
 * A property value as the driver sends it. The database stores lists of one type only: if a list has floats, its integers
 * become floats.
 */
export function propertyToDriver(driver: BoltDriver, value: PropertyValue): unknown {
  if (!Array.isArray(value)) return toDriver(driver, value as PropertyScalar)
  const items = value as readonly PropertyScalar[]
  if (!items.some((item) => item instanceof Float)) return items.map((item) => toDriver(driver, item))
  return items.map((item) => (item instanceof Float ? item.value : Number(item)))
}

/** A stored property as the engine reads it. Null for a value that the engine does not have, such as a point. */
export function propertyOfDriver(driver: BoltDriver, value: unknown): PropertyValue | null {
  if (!Array.isArray(value)) return scalarOfDriver(driver, value)
  const items = value.map((item) => scalarOfDriver(driver, item))
  return items.includes(null) ? null : (items as PropertyScalar[])
}

/** A scalar as the engine reads it; null for null and for a value that the engine does not have. */
export function scalarOfDriver(driver: BoltDriver, value: unknown): PropertyScalar | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return new Float(value)
    case 'bigint':
      return integerOf(value)
    case 'object':
      return value === null ? null : temporalOfDriver(driver, value)
    default:
      return null
  }
}

/** An integer as the engine holds it. */
export function integerOf(value: bigint): number | bigint {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}

function temporalToDriver(driver: BoltDriver, value: AnyTemporal): unknown {
  const { types } = driver
  const date = (day: number): [number, number, number] => {
    const { year, month, day: ofMonth } = calendarDate(day)
    return [year, month, ofMonth]
  }
  const time = (nanos: number): [number, number, number, number] => {
    const seconds = Math.floor(nanos / NANOS_PER_SECOND)
    return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60, nanos - seconds * NANOS_PER_SECOND]
  }
  if (value instanceof DateValue) return new types.Date(...date(value.day))
  if (value instanceof LocalTimeValue) return new types.LocalTime(...time(value.nanos))
  if (value instanceof TimeValue) return new types.Time(...time(value.nanos), value.offset)
  if (value instanceof LocalDateTimeValue) return new types.LocalDateTime(...date(value.day), ...time(value.nanos))
  if (value instanceof DateTimeValue)
    return new types.DateTime(...date(value.day), ...time(value.nanos), value.offset, value.zone ?? undefined)
  const { months, days, nanos } = value
  const perSecond = BigInt(NANOS_PER_SECOND)
  return new types.Duration(months, days, (nanos / perSecond) as never, (nanos % perSecond) as never)
}

interface DriverDate {
  readonly year: bigint | number
  readonly month: bigint | number
  readonly day: bigint | number
}

interface DriverTime {
  readonly hour: bigint | number
  readonly minute: bigint | number
  readonly second: bigint | number
  readonly nanosecond: bigint | number
}

interface DriverZone {
  readonly timeZoneOffsetSeconds?: bigint | number | null
  readonly timeZoneId?: string | null
}

function temporalOfDriver(driver: BoltDriver, value: object): AnyTemporal | null {
  const dayOf = ({ year, month, day }: DriverDate): number => dayNumber(Number(year), Number(month), Number(day))
  const nanosOf = ({ hour, minute, second, nanosecond }: DriverTime): number =>
    (Number(hour) * 3600 + Number(minute) * 60 + Number(second)) * NANOS_PER_SECOND + Number(nanosecond)
  const offsetOf = (zone: DriverZone): number => Number(zone.timeZoneOffsetSeconds ?? 0)
  if (driver.isDate(value)) return new DateValue(dayOf(value as never))
  if (driver.isLocalTime(value)) return new LocalTimeValue(nanosOf(value as never))
  if (driver.isTime(value)) return new TimeValue(nanosOf(value as never), offsetOf(value as never))
  if (driver.isLocalDateTime(value)) return new LocalDateTimeValue(dayOf(value as never), nanosOf(value as never))
  if (driver.isDateTime(value)) {
    const zone = value as unknown as DriverZone
    return new DateTimeValue(dayOf(value as never), nanosOf(value as never), offsetOf(zone), zone.timeZoneId ?? null)
  }
  if (driver.isDuration(value)) {
    const { months, days, seconds, nanoseconds } = value as unknown as Readonly<Record<string, bigint | number>>
    const nanos = BigInt(seconds ?? 0) * BigInt(NANOS_PER_SECOND) + BigInt(nanoseconds ?? 0)
    return new DurationValue(Number(months), Number(days), nanos)
  }
  return null
}
