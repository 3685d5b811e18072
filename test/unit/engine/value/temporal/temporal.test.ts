// Temporal values: parsing, printing, comparison and arithmetic. Expected texts are those of Cypher.
import { describe, expect, it } from 'vitest'
import { toJson } from '../../../../../src/engine/value/json-conversion.ts'
import { isTemporal } from '../../../../../src/engine/value/temporal/temporal.ts'
import type { Value } from '../../../../../src/engine/value/value.ts'
import { evaluate } from '../../../../support/evaluate-expression.ts'

/** Temporal values as their text, everything else unchanged. */
function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain)
  return isTemporal(value) ? String(value) : value
}

function gives(table: readonly (readonly [text: string, value: unknown])[]): void {
  for (const [text, value] of table) it(text, () => expect(plain(evaluate(text))).toEqual(value))
}

describe('parsing', () => {
  gives([
    ["date('2015-07-21')", '2015-07-21'],
    ["date('2015-Q2-60')", '2015-05-30'],
    ["date('2015Q260')", '2015-05-30'],
    ["date('2015-Q2')", '2015-04-01'],
    ["date('-0044-03-15')", '-0044-03-15'],
    ["date('+999999999-12-31')", '+999999999-12-31'],
    ["date('2016-366')", '2016-12-31'],
    ["time('21:40:32.142+0100')", '21:40:32.142+01:00'],
    ["time('2140-00:00')", '21:40Z'],
    ["time('22+18:00')", '22:00+18:00'],
    ["time('214032,5Z')", '21:40:32.5Z'],
    ["time('21:40')", '21:40Z'],
    ["datetime('2015-W30-2T214032.142Z')", '2015-07-21T21:40:32.142Z'],
    ["datetime('2015T214032-0100')", '2015-01-01T21:40:32-01:00'],
    ["datetime('2015-07-21')", '2015-07-21T00:00Z'],
    ["datetime('2015-07-21T21:40[europe/stockholm]')", '2015-07-21T21:40+02:00[Europe/Stockholm]'],
    ["datetime('2026-01-02T03:04:05.000Z')", '2026-01-02T03:04:05Z'],
    ["duration('P14DT16H12M')", 'P14DT16H12M'],
    ["duration('P5M1.5D')", 'P5M1DT12H'],
    ["duration('PT0.75M')", 'PT45S'],
    ["duration('P2.5W')", 'P17DT12H'],
    ["duration('P2012-02-02T14:37:21.545')", 'P2012Y2M2DT14H37M21.545S'],
    ["duration('P20120202T143721.545')", 'P2012Y2M2DT14H37M21.545S'],
    ["duration('-P1Y2M')", 'P-1Y-2M'],
    ["duration('P0.1M')", 'P3DT1H2M54.6S'],
    ["duration('PT-0.000000001S')", 'PT-0.000000001S'],
  ])
})

describe('the members of a map', () => {
  gives([
    ['date({year: 1984, quarter: 3, dayOfQuarter: 45})', '1984-08-14'],
    ['date({date: date("2016-02-29"), year: 2015})', '2015-02-28'],
    ['date({date: date("2015-12-31"), week: 1})', '2015-01-01'],
    ['date({date: date("2015-08-31"), quarter: 2})', '2015-05-31'],
    ['date({date: date("2015-08-31"), dayOfQuarter: 2})', '2015-07-02'],
    ['datetime({epochSeconds: 416779, nanosecond: 1})', '1970-01-05T19:46:19.000000001Z'],
    ['datetime({epochMillis: -1, timezone: "+01:00"})', '1970-01-01T00:59:59.999+01:00'],
    ['datetime.fromEpochMillis(-1)', '1969-12-31T23:59:59.999Z'],
    // An unknown part makes the whole unknown, not January 1st.
    ['date({year: 2015, month: null})', null],
    ['duration({days: null})', null],
    ['date.truncate("month", date("2015-05-06"), {day: null})', null],
    ['date(null)', null],
  ])
})

describe('the zone', () => {
  gives([
    // Clocks change from 02:00 to 03:00 and back from 03:00 to 02:00.
    ["datetime('2017-03-26T02:30[Europe/Stockholm]')", '2017-03-26T03:30+02:00[Europe/Stockholm]'],
    ["datetime('2017-10-29T02:30[Europe/Stockholm]')", '2017-10-29T02:30+02:00[Europe/Stockholm]'],
    ["datetime('2017-10-29T02:30+01:00[Europe/Stockholm]')", '2017-10-29T02:30+01:00[Europe/Stockholm]'],
    // Beyond the end of the runtime's own calendar.
    ["datetime('+500000-07-01T12:00[Europe/Stockholm]').offset", '+02:00'],
    ["datetime('+500000-01-01T12:00[Europe/Stockholm]').offset", '+01:00'],
    ["datetime('-500000-01-01T12:00[Europe/Stockholm]').offset", '+00:53:28'],
    [
      "datetime({datetime: datetime('2017-07-01T23:30-05:00'), timezone: 'Asia/Tokyo'})",
      '2017-07-02T13:30+09:00[Asia/Tokyo]',
    ],
    ["datetime({datetime: localdatetime('2017-07-01T23:30'), timezone: '+09:00'})", '2017-07-01T23:30+09:00'],
    ["time({time: time('23:30-05:00'), timezone: '+09:00'})", '13:30+09:00'],
    ["datetime({date: datetime('2017-07-01T23:30-05:00'), hour: 1})", '2017-07-01T01:00Z'],
  ])
})

describe('truncation', () => {
  gives([
    ["date.truncate('WEEKYEAR', date('2017-01-01'))", '2016-01-04'],
    ["date.truncate('century', date('-0001-05-05'))", '-0100-01-01'],
    ["localtime.truncate('day', localtime('12:31:14.645'), {nanosecond: 2})", '00:00:00.000000002'],
    ["time.truncate('hour', localtime('12:31'), {timezone: '+01:00'})", '12:00+01:00'],
    [
      "datetime.truncate('millennium', datetime('2017-10-11T12:31+03:00'), {timezone: 'Europe/Stockholm'})",
      '2000-01-01T00:00+01:00[Europe/Stockholm]',
    ],
    [
      "datetime.truncate('millisecond', datetime('2017-01-01T00:00:00.645876123'), {microsecond: 7})",
      '2017-01-01T00:00:00.645007Z',
    ],
  ])
})

describe('components', () => {
  gives([
    ["date('1984-10-11')['weekYear']", 1984],
    ["[date('2021-01-03').week, date('2021-01-03').weekYear, date('2021-01-03').weekDay]", [53, 2020, 7]],
    [
      "[d IN [datetime('1984-11-11T12:31:14.645876123[Europe/Stockholm]')] | [d.timezone, d.offset, d.offsetMinutes, d.epochSeconds, d.epochMillis]]",
      [['Europe/Stockholm', '+01:00', 60, 469020674, 469020674645]],
    ],
    ["datetime('2015-01-01').timezone", 'Z'],
    ["duration('PT-1.5S').secondsOfMinute", -2],
    ["duration('PT-1.5S').millisecondsOfSecond", 500],
    ["duration('PT-0.5S').seconds", -1],
    ["duration('PT-0.5S').milliseconds", -500],
    ["duration('PT-0.0000015S').microseconds", -2],
    ["duration('PT-0.1S').minutes", 0],
    ["duration('PT-59.1S').minutes", -1],
    ["duration('P-1Y').monthsOfYear", 0],
    ["datetime('+999999999-12-31T23:59:59Z').epochSeconds", 31556889832780799n],
  ])
  it('are never a negative zero', () => {
    for (const text of ["duration('P-12M').monthsOfYear", "duration('P-7D').daysOfWeek", "duration('P-1M').years"]) {
      expect(Object.is(evaluate(text), 0), text).toBe(true)
    }
  })
})

describe('arithmetic', () => {
  gives([
    ["date('2015-01-31') + duration('P1M')", '2015-02-28'],
    ["duration('P1M1D') + date('2015-01-31')", '2015-03-01'],
    ["localtime('23:00') + duration('P1DT2H')", '01:00'],
    ["time('01:00+01:00') - duration('PT2H')", '23:00+01:00'],
    // Days follow the local clock, hours the elapsed time.
    ["datetime('2017-03-25T12:00[Europe/Stockholm]') + duration('P1D')", '2017-03-26T12:00+02:00[Europe/Stockholm]'],
    ["datetime('2017-03-25T12:00[Europe/Stockholm]') + duration('PT24H')", '2017-03-26T13:00+02:00[Europe/Stockholm]'],
    ["duration('P1Y2M3DT4H') * 2", 'P2Y4M6DT8H'],
    ["0.5 * duration('P12Y5M14DT16H13M10.000000001S')", 'P6Y2M22DT13H21M8S'],
    ["duration('P1M') / -2", 'P-15DT-5H-14M-33S'],
    ["duration('P1D') + duration('PT-1H') - duration('P2M')", 'P-2M1DT-1H'],
    ['null + duration("P1D")', null],
    ["[1] + date('2015-01-01')", [1, '2015-01-01']],
  ])
})

describe('durations between', () => {
  gives([
    ["duration.between(localdatetime('2018-01-01T12:00'), localdatetime('2018-01-02T10:00'))", 'PT22H'],
    [
      "duration.between(localdatetime('2018-01-02T10:00:00.1'), localdatetime('2018-01-01T10:00:00.2'))",
      'PT-23H-59M-59.9S',
    ],
    ["duration.between(date('2018-01-31'), date('2018-02-28'))", 'P28D'],
    ["duration.between(date('-999999999-01-01'), date('+999999999-12-31'))", 'P1999999998Y11M30D'],
    [
      "duration.inSeconds(localdatetime('-999999999-01-01'), localdatetime('+999999999-12-31T23:59:59'))",
      'PT17531639991215H59M59S',
    ],
    ["duration.inDays(datetime('2018-01-01T12:00Z'), datetime('2018-01-04T10:00Z'))", 'P2D'],
    ["duration.inDays(date('1984-10-11'), date('2015-06-24'))", 'P11213D'],
    // The night of the change back has an extra hour.
    ["duration.inSeconds(datetime('2017-10-29T00:00[Europe/Stockholm]'), localdatetime('2017-10-29T04:00'))", 'PT5H'],
    ["duration.inSeconds(date('2017-10-29'), datetime('2017-10-29T04:00[Europe/Stockholm]'))", 'PT5H'],
    [
      "duration.between(datetime('2017-10-28T23:00[Europe/Stockholm]'), datetime('2017-10-29T04:00[Europe/Stockholm]'))",
      'PT6H',
    ],
    ["duration.between(localtime('14:30'), time('16:30+0100'))", 'PT2H'],
  ])
})

describe('comparison', () => {
  gives([
    ["date('2015-01-01') < date('2015-01-02')", true],
    ["date('2015-01-01') < localdatetime('2015-01-02')", null],
    ["date('2015-01-01') = localdatetime('2015-01-01')", false],
    ["date('2015-01-01') = '2015-01-01'", false],
    // One instant in two zones: neither equal nor unordered.
    ["datetime('2015-01-01T12:00+01:00') = datetime('2015-01-01T11:00Z')", false],
    ["datetime('2015-01-01T12:00+01:00') > datetime('2015-01-01T11:00Z')", true],
    ["datetime('2015-01-01T12:00+01:00') < datetime('2015-01-01T11:01Z')", true],
    ["time('10:00+01:00') < time('09:30Z')", true],
    // Durations have an order where it is the same for every start.
    ["duration('P1M') < duration('P2M')", true],
    ["duration('PT90M') < duration('PT1H30M1S')", true],
    ["duration('PT90M') <= duration('PT1H30M')", true],
    ["duration('PT25H') > duration('P1D')", true],
    ["duration('PT24H') <= duration('P1D') AND duration('PT24H') >= duration('P1D')", true],
    ["duration('PT24H') < duration('P1D')", false],
    ["duration('PT24H') = duration('P1D')", false],
    ["duration('P27D') < duration('P1M')", true],
    ["duration('P28D') < duration('P1M')", null],
    ["duration('P31D') >= duration('P1M')", null],
    ["duration('P32D') > duration('P1M')", true],
    ["duration('P1M2D') > duration('P30D')", null],
    ["duration('P1M3D') > duration('P30D')", true],
    ["duration('P12M') = duration('P1Y')", true],
    ["duration('P1Y') > duration('P364D')", true],
    ["duration('P1Y') > duration('P365D')", null],
    ["duration('P1Y') < duration('P367D')", true],
    ["duration('-P1M') < duration('PT0S')", true],
    ["duration('-P1M') < duration('-P32D')", false],
    ["duration.between(date('2026-01-01'), date('2026-02-15')) > duration('P40D')", true],
    ["duration('P1D') < 1", null],
    ["[duration('P1M')] < [duration('P30D')]", null],
    ["duration('PT60S') = duration('PT1M')", true],
    ["duration('P30D') = duration('P1M')", false],
    ["date('2015-01-02') IN [date('2015-01-01'), date('2015-01-02')]", true],
  ])
})

describe('the time of a run', () => {
  it('is the same for all reads within the run', () => {
    expect(evaluate('datetime() = datetime.statement() AND datetime() = datetime.transaction()')).toBe(true)
    expect(evaluate('date() = date(datetime()) AND timestamp() = datetime().epochMillis')).toBe(true)
    expect(evaluate('all(x IN range(1, 100000) WHERE datetime() = datetime())')).toBe(true)
  })
  it('is the current time, and real time is never before it', () => {
    const ms = evaluate('datetime().epochMillis') as number
    expect(Math.abs(ms - Date.now()) < 60_000).toBe(true)
    expect(evaluate('datetime() <= datetime.realtime()')).toBe(true)
  })
  it('can be given in another time zone', () => {
    expect(evaluate("datetime({timezone: 'Asia/Tokyo'}).timezone")).toBe('Asia/Tokyo')
    expect(evaluate("duration.inSeconds(datetime(), datetime.statement('Asia/Tokyo')) = duration('PT0S')")).toBe(true)
    expect(evaluate("localtime.transaction('+01:00') = localtime(datetime({timezone: '+01:00'}))")).toBe(true)
  })
})

describe('as text', () => {
  gives([
    ["toString(datetime('2015-07-21T21:40:32.142[Europe/London]'))", '2015-07-21T21:40:32.142+01:00[Europe/London]'],
    ["toString(localtime('12:00:00.100'))", '12:00:00.1'],
    ["toStringOrNull(duration('PT0S'))", 'PT0S'],
  ])
  it('leaves the engine as text', () => {
    const value = evaluate("{a: [date('2015-07-21')], b: duration('P1D')}")
    expect(toJson(value, () => null)).toEqual({ a: ['2015-07-21'], b: 'P1D' })
  })
})
