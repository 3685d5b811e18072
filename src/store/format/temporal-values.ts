// Encodes temporal values with one tag per kind. Days and nanoseconds are stored as doubles, which hold them exactly.
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  type TemporalKind,
  TimeValue,
} from '../../engine/value/temporal/temporal.ts'
import type { ByteWriter, ValueView } from './bytes.ts'
import { readText } from './text.ts'

const tags: Readonly<Record<TemporalKind, number>> = {
  date: 9,
  localtime: 10,
  time: 11,
  localdatetime: 12,
  datetime: 13,
  duration: 14,
}

const NANOS_PER_SECOND = 1_000_000_000n

/** Whether the tag is that of a temporal value. */
export function isTemporalTag(tag: number): boolean {
  return tag >= tags.date && tag <= tags.duration
}

/** Appends a temporal value with its tag. */
export function writeTemporal(writer: ByteWriter, value: AnyTemporal): void {
  writer.u8(tags[value.kind])
  switch (value.kind) {
    case 'date':
      writer.f64(value.day)
      return
    case 'localtime':
      writer.f64(value.nanos)
      return
    case 'time':
      writer.f64(value.nanos)
      writer.i32(value.offset)
      return
    case 'localdatetime':
      writer.f64(value.day)
      writer.f64(value.nanos)
      return
    case 'datetime':
      writer.f64(value.day)
      writer.f64(value.nanos)
      writer.i32(value.offset)
      // A zone name is never empty, so an empty text means no zone.
      writer.text(value.zone ?? '')
      return
    case 'duration':
      writer.f64(value.months)
      writer.f64(value.days)
      writer.i64(value.nanos / NANOS_PER_SECOND)
      writer.i32(Number(value.nanos % NANOS_PER_SECOND))
  }
}

/** Reads a temporal value. `at` is the offset of its tag. */
export function readTemporal({ view, text }: ValueView, at: number): AnyTemporal {
  const double = (offset: number): number => view.getFloat64(at + offset, true)
  switch (view.getUint8(at)) {
    case tags.date:
      return new DateValue(double(1))
    case tags.localtime:
      return new LocalTimeValue(double(1))
    case tags.time:
      return new TimeValue(double(1), view.getInt32(at + 9, true))
    case tags.localdatetime:
      return new LocalDateTimeValue(double(1), double(9))
    case tags.datetime: {
      const zone = readText(text, at + 25, at + 25 + view.getUint32(at + 21, true))
      return new DateTimeValue(double(1), double(9), view.getInt32(at + 17, true), zone === '' ? null : zone)
    }
    default: {
      const seconds = view.getBigInt64(at + 17, true)
      const nanos = seconds * NANOS_PER_SECOND + BigInt(view.getInt32(at + 25, true))
      return new DurationValue(double(1), double(9), nanos)
    }
  }
}

/** Encoded size in bytes, with the tag. `at` is the offset of the tag. */
export function temporalSize({ view }: ValueView, at: number): number {
  switch (view.getUint8(at)) {
    case tags.date:
    case tags.localtime:
      return 9
    case tags.time:
      return 13
    case tags.localdatetime:
      return 17
    case tags.datetime:
      return 25 + view.getUint32(at + 21, true)
    default:
      return 29
  }
}
