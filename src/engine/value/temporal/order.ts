// Equality and order of temporal values of one kind. Values with a time zone are ordered by instant, then by offset,
// then by the name of the zone. Two values of the same instant can therefore differ.
import { NANOS_PER_DAY, NANOS_PER_MONTH } from './duration.ts'
import { NANOS_PER_SECOND } from './format.ts'
import {
  type AnyTemporal,
  type DateTimeValue,
  DurationValue,
  type LocalDateTimeValue,
  type TemporalKind,
  type TimeValue,
} from './temporal.ts'
import { instantOf } from './zones.ts'

/** Ascending order of the kinds. */
const kindRanks: Readonly<Record<TemporalKind, number>> = {
  datetime: 0,
  localdatetime: 1,
  date: 2,
  time: 3,
  localtime: 4,
  duration: 5,
}

/** The position of a kind among the temporal kinds, 0 to 5. */
export function kindRank(value: AnyTemporal): number {
  return kindRanks[value.kind]
}

/** Returns a negative number, 0 or a positive number; 0 if and only if the values are equal. Both must be of one kind. */
export function orderTemporals(a: AnyTemporal, b: AnyTemporal): number {
  switch (a.kind) {
    case 'date':
      return a.day - (b as typeof a).day
    case 'localtime':
      return a.nanos - (b as typeof a).nanos
    case 'time':
      return orderTimes(a, b as TimeValue)
    case 'localdatetime':
      return orderLocalInstants(a, b as LocalDateTimeValue)
    case 'datetime':
      return orderDateTimes(a, b as DateTimeValue)
    case 'duration':
      return orderDurations(a, b as DurationValue)
  }
}

/** Whether two temporal values are equal. */
export function sameTemporal(a: AnyTemporal, b: AnyTemporal): boolean {
  return a.kind === b.kind && orderTemporals(a, b) === 0
}

/** Compares for `<`: null if the values have no order. */
export function compareTemporals(a: AnyTemporal, b: AnyTemporal): number | null {
  if (a.kind !== b.kind) return null
  return a instanceof DurationValue ? compareDurations(a, b as DurationValue) : orderTemporals(a, b)
}

/**
 * Compares two durations as the times that they end at from one start: null unless the result is the same for every start. A day has 24
 * hours, as between values without a zone; a month has 28 to 31 days, and twelve months have 365 or 366.
 */
function compareDurations(a: DurationValue, b: DurationValue): number | null {
  const months = a.months - b.months
  const [years, rest] = [Math.trunc(months / 12), months % 12]
  const [shortest, longest] = [daysOf(years, 365) + daysOf(rest, 28), daysOf(years, 366) + daysOf(rest, 31)]
  const fixed = (BigInt(a.days) - BigInt(b.days)) * NANOS_PER_DAY + a.nanos - b.nanos
  const [one, other] = [shortest, longest].map((days) => sign(days * NANOS_PER_DAY + fixed))
  return one === other ? one! : null
}

function daysOf(count: number, days: number): bigint {
  return BigInt(count) * BigInt(days)
}

type LocalInstant = { readonly day: number; readonly nanos: number }

function orderLocalInstants(a: LocalInstant, b: LocalInstant): number {
  return a.day - b.day || a.nanos - b.nanos
}

function orderTimes(a: TimeValue, b: TimeValue): number {
  return a.nanos - b.nanos - (a.offset - b.offset) * NANOS_PER_SECOND || a.offset - b.offset
}

function orderDateTimes(a: DateTimeValue, b: DateTimeValue): number {
  const zones = (): number => {
    const [one, other] = [a.zone ?? '', b.zone ?? '']
    return one < other ? -1 : one > other ? 1 : 0
  }
  return orderLocalInstants(instantOf(a), instantOf(b)) || a.offset - b.offset || zones()
}

/** By average length, then by months, then by days. */
function orderDurations(a: DurationValue, b: DurationValue): number {
  return sign(averageNanos(a) - averageNanos(b)) || a.months - b.months || a.days - b.days
}

function averageNanos({ months, days, nanos }: DurationValue): bigint {
  return BigInt(months) * NANOS_PER_MONTH + BigInt(days) * NANOS_PER_DAY + nanos
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0
}
