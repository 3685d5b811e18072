// Values as both engines return them, in one form: elements by their numbers, and a text that is equal for equal values.
import { dayNumber } from '../../src/engine/value/temporal/calendar.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  DurationValue,
  isTemporal,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../src/engine/value/temporal/temporal.ts'

/** The number of an element in its graph. */
export class ElementNumber {
  readonly kind: 'node' | 'relationship'
  readonly number: number
  constructor(kind: 'node' | 'relationship', number: number) {
    this.kind = kind
    this.number = number
  }
}

/** A path: node, relationship, node, and so on. */
export class JudgedPath {
  readonly elements: readonly ElementNumber[]
  constructor(elements: readonly ElementNumber[]) {
    this.elements = elements
  }
}

/** A value that has no counterpart, such as a point, as its text. */
export class OtherValue {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Integers are bigints, floats are numbers. */
export type JudgedValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | AnyTemporal
  | ElementNumber
  | JudgedPath
  | OtherValue
  | readonly JudgedValue[]
  | ReadonlyMap<string, JudgedValue>

/** Digits of floats that are compared: the engines add in different orders. */
const FLOAT_DIGITS = 12
const FLOAT_SMALLEST = 1e-14

interface Looseness {
  /** The order of lists does not count. */
  readonly bag?: boolean
  /** Whether a number is an integer or a float does not count. */
  readonly numbers?: boolean
}

/** Equal for equal values. */
export function textOf(value: JudgedValue, loose: Looseness = {}): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return loose.numbers ? floatText(Number(value)) : String(value)
  if (typeof value === 'number') return floatText(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (isTemporal(value)) return `${value.kind} ${value instanceof DurationValue ? durationText(value) : value}`
  if (value instanceof ElementNumber) return `${value.kind} ${value.number}`
  if (value instanceof JudgedPath) return `<${value.elements.map((element) => textOf(element)).join(', ')}>`
  if (value instanceof OtherValue) return value.text
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, JudgedValue>)]
    return `{${entries
      .map(([key, item]) => `${JSON.stringify(key)}: ${textOf(item, loose)}`)
      .sort()
      .join(', ')}}`
  }
  const items = (value as readonly JudgedValue[]).map((item) => textOf(item, loose))
  return `[${(loose.bag ? items.sort() : items).join(', ')}]`
}

function floatText(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  // The rest of a sum of opposite numbers; also, -0.0 equals 0.0.
  if (Math.abs(value) < FLOAT_SMALLEST) return '0.0'
  const rounded = Number(value.toPrecision(FLOAT_DIGITS))
  return Number.isInteger(rounded) && Math.abs(rounded) < 1e21 ? `${rounded}.0` : String(rounded)
}

function durationText({ months, days, nanos }: DurationValue): string {
  return `${months} months ${days} days ${nanos} ns`
}

/** The fields of a temporal value in the driver of Neo4j. */
interface DriverTemporal {
  readonly year: bigint
  readonly month: bigint
  readonly day: bigint
  readonly hour: bigint
  readonly minute: bigint
  readonly second: bigint
  readonly nanosecond: bigint
  readonly timeZoneOffsetSeconds: bigint
  readonly timeZoneId?: string | null
}

const dayOf = ({ year, month, day }: DriverTemporal): number => dayNumber(Number(year), Number(month), Number(day))
const nanosOf = ({ hour, minute, second, nanosecond }: DriverTemporal): number =>
  ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1e9 + Number(nanosecond)

/** A temporal value of the driver as one of Verdigraph. */
export const ofDriver = {
  date: (value: DriverTemporal): AnyTemporal => new DateValue(dayOf(value)),
  localTime: (value: DriverTemporal): AnyTemporal => new LocalTimeValue(nanosOf(value)),
  time: (value: DriverTemporal): AnyTemporal => new TimeValue(nanosOf(value), Number(value.timeZoneOffsetSeconds)),
  localDateTime: (value: DriverTemporal): AnyTemporal => new LocalDateTimeValue(dayOf(value), nanosOf(value)),
  dateTime: (value: DriverTemporal): AnyTemporal =>
    new DateTimeValue(
      dayOf(value),
      nanosOf(value),
      Number(value.timeZoneOffsetSeconds),
      value.timeZoneId === 'Z' ? null : (value.timeZoneId ?? null),
    ),
  duration: (value: {
    readonly months: bigint
    readonly days: bigint
    readonly seconds: bigint
    readonly nanoseconds: bigint
  }): AnyTemporal =>
    new DurationValue(Number(value.months), Number(value.days), value.seconds * 1_000_000_000n + value.nanoseconds),
}
