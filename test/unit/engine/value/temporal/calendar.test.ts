// Days, weeks, zones and sums compared with the runtime's own calendar on random dates; and properties of text and
// order.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unlimitedBudget } from '../../../../../src/engine/budget.ts'
import { order } from '../../../../../src/engine/value/compare.ts'
import { addDuration } from '../../../../../src/engine/value/temporal/add-duration.ts'
import {
  calendarDate,
  DAY_MAX,
  DAY_MIN,
  dayNumber,
  dayOfYear,
  daysInMonth,
  monthsBetween,
  plusMonths,
  weekDate,
  weekYearStart,
} from '../../../../../src/engine/value/temporal/calendar.ts'
import { construct } from '../../../../../src/engine/value/temporal/construct.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../../../../src/engine/value/temporal/temporal.ts'
import { fromInstant, fromWallClock, instantOf } from '../../../../../src/engine/value/temporal/zones.ts'

const NANOS_PER_DAY = 86_400_000_000_000

const days = fc.integer({ min: -2_000_000, max: 2_000_000 })
const anyDay = fc.oneof(days, fc.integer({ min: DAY_MIN, max: DAY_MAX }), fc.constantFrom(DAY_MIN, DAY_MAX))
const nanos = fc.oneof(fc.integer({ min: 0, max: NANOS_PER_DAY - 1 }), fc.constantFrom(0, NANOS_PER_DAY - 1))
const offsets = fc.integer({ min: -18 * 3600, max: 18 * 3600 })
const zones = fc.constantFrom('Europe/Stockholm', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata')

const ofRuntime = (day: number): Temporal.PlainDate => new Temporal.PlainDate(1970, 1, 1).add({ days: day })
const wallOfRuntime = (day: number, ns: number): Temporal.PlainDateTime =>
  ofRuntime(day).toPlainDateTime(new Temporal.PlainTime().add({ nanoseconds: ns }))

describe('the calendar', () => {
  it('agrees with the calendar of the runtime', () => {
    fc.assert(
      fc.property(days, (day) => {
        const theirs = ofRuntime(day)
        expect(calendarDate(day)).toEqual({ year: theirs.year, month: theirs.month, day: theirs.day })
        expect(weekDate(day)).toEqual({
          weekYear: theirs.yearOfWeek,
          week: theirs.weekOfYear,
          weekDay: theirs.dayOfWeek,
        })
        expect(dayOfYear(day)).toBe(theirs.dayOfYear)
        expect(daysInMonth(theirs.year, theirs.month)).toBe(theirs.daysInMonth)
      }),
      { numRuns: 2000 },
    )
  })

  it('parses what it prints, to the limits of time', () => {
    fc.assert(
      fc.property(anyDay, (day) => {
        const date = calendarDate(day)
        expect(dayNumber(date.year, date.month, date.day)).toBe(day)
        const week = weekDate(day)
        expect(weekYearStart(week.weekYear) + (week.week - 1) * 7 + week.weekDay - 1).toBe(day)
      }),
      { numRuns: 2000 },
    )
  })

  it('adds months as the runtime does, and counts them back', () => {
    fc.assert(
      fc.property(days, fc.integer({ min: -5000, max: 5000 }), (day, months) => {
        const theirs = ofRuntime(day).add({ months })
        const ours = plusMonths(day, months)
        expect(calendarDate(ours)).toEqual({ year: theirs.year, month: theirs.month, day: theirs.day })
        // Forward from the 31st to the 30th the last month lacks a day; backward it has one more.
        const isShort = months > 0 && calendarDate(ours).day < calendarDate(day).day
        expect(monthsBetween(day, ours)).toBe(isShort ? months - 1 : months)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('zones', () => {
  it('convert an instant to local time as the runtime does', () => {
    fc.assert(
      fc.property(days, nanos, zones, (day, ns, zone) => {
        const theirs = wallOfRuntime(day, ns).toZonedDateTime('UTC').withTimeZone(zone)
        const ours = fromInstant(day, ns, zone)
        expect(wallOfRuntime(ours.day, ours.nanos).equals(theirs.toPlainDateTime())).toBe(true)
        expect(instantOf(ours)).toEqual({ day, nanos: ns })
      }),
      { numRuns: 1000 },
    )
  })

  // Days around a change of clocks in steps of half an hour, to cover gaps and repeated hours.
  const nearChanges = fc
    .tuple(fc.constantFrom(17_251, 17_468, 17_237, 17_475, 17_258, 17_440), fc.integer({ min: -48, max: 96 }))
    .map(([day, halves]) => ({ day: day + Math.floor(halves / 48), ns: ((halves + 48) % 48) * 1_800_000_000_000 }))

  it('convert local time as the runtime does, including gaps and repeated hours', () => {
    fc.assert(
      fc.property(nearChanges, zones, ({ day, ns }, zone) => {
        const theirs = wallOfRuntime(day, ns).toZonedDateTime(zone, { disambiguation: 'compatible' })
        const ours = fromWallClock(day, ns, zone)
        expect(ours.offset).toBe(theirs.offsetNanoseconds / 1e9)
        expect(wallOfRuntime(ours.day, ours.nanos).equals(theirs.toPlainDateTime())).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  it('add durations as the runtime does', () => {
    const span = fc.tuple(fc.integer({ min: 0, max: 24 }), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0 }))
    fc.assert(
      fc.property(nearChanges, zones, span, ({ day, ns }, zone, [months, extra, seconds]) => {
        const start = fromWallClock(day, ns, zone)
        const theirs = wallOfRuntime(start.day, start.nanos).toZonedDateTime(zone).add({ months, days: extra, seconds })
        // If the local time occurs twice, ours keeps its offset.
        const onWay = wallOfRuntime(start.day, start.nanos).add({ months, days: extra })
        const isTwice =
          onWay.toZonedDateTime(zone, { disambiguation: 'earlier' }).offset !==
          onWay.toZonedDateTime(zone, { disambiguation: 'later' }).offset
        fc.pre(!isTwice)
        const ours = addDuration(start, new DurationValue(months, extra, BigInt(seconds) * 1_000_000_000n), 1)
        const utc = instantOf(ours as DateTimeValue)
        expect(BigInt(utc.day) * BigInt(NANOS_PER_DAY) + BigInt(utc.nanos)).toBe(theirs.epochNanoseconds)
      }),
      { numRuns: 1000 },
    )
  })
})

const temporals: fc.Arbitrary<AnyTemporal> = fc.oneof(
  anyDay.map((day) => new DateValue(day)),
  nanos.map((ns) => new LocalTimeValue(ns)),
  fc.tuple(nanos, offsets).map(([ns, offset]) => new TimeValue(ns, offset)),
  fc.tuple(anyDay, nanos).map(([day, ns]) => new LocalDateTimeValue(day, ns)),
  fc.tuple(anyDay, nanos, offsets).map(([day, ns, offset]) => new DateTimeValue(day, ns, offset, null)),
  fc.tuple(days, nanos, zones).map(([day, ns, zone]) => fromInstant(day, ns, zone)),
  fc
    .tuple(fc.integer(), fc.integer(), fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }))
    .map(([months, day, ns]) => new DurationValue(months, day, ns)),
)

describe('the text form', () => {
  it('of every temporal value is parsed to the same value', () => {
    fc.assert(
      fc.property(temporals, (value) => {
        const back = construct(value.kind, String(value))
        expect(back).toStrictEqual(value)
        expect(order(unlimitedBudget(), back, value)).toBe(0)
      }),
      { numRuns: 5000 },
    )
  })
})
