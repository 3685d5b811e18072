// Invalid temporal input: each error message names what is wrong.
import { describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../../src/engine/errors.ts'
import { evaluate, refusalsOf } from '../../../../support/evaluate-expression.ts'

function faultOf(text: string): ExecutionError {
  try {
    evaluate(text)
  } catch (fault) {
    if (fault instanceof ExecutionError) return fault
    throw fault
  }
  throw new Error(`${text} is taken`)
}

describe('refused at run time', () => {
  const table: [text: string, message: RegExp][] = [
    ["date('2015-02-29')", /`day` is 29, not between 1 and 28/],
    ["date('2015-13-01')", /`month` is 13/],
    ["date('2015-W54')", /`week` is 54, not between 1 and 53/],
    ["date('2015-366')", /`ordinalDay` is 366/],
    ["date('2015-0721')", /`2015-0721` is not a valid date/],
    ["date('yesterday')", /`yesterday` is not a valid date/],
    ["date('')", /`` is not a valid date/],
    ["date('2015-07-21T21:40')", /is not a valid date/],
    ["localtime('24:00')", /`hour` is 24/],
    ["localtime('21:4')", /is not a valid time/],
    ["localtime('21:40+01:00')", /is not a valid time/],
    ["localdatetime('2015-07-21T21:40Z')", /it names a zone/],
    ["time('21:40[Europe/London]')", /not a named time zone/],
    ["time('21:40+19:00')", /`\+19:00` is not a valid offset/],
    ["datetime('2015-07-21T21:40+05:00[Europe/Stockholm]')", /offset and zone disagree/],
    ["datetime('2015-07-21T21:40[Europe/Atlantis]')", /`Europe\/Atlantis` is not a valid time zone/],
    ["datetime({year: 2015, timezone: 'constructor'})", /`constructor` is not a valid time zone/],
    ['datetime({year: 2015, timezone: 1})', /a time zone is a string, not an integer/],
    ["duration('P')", /`P` is not a valid duration/],
    ["duration('P1DT')", /is not a valid duration/],
    ["duration('1D')", /is not a valid duration/],
    ['date({})', /date\(\) needs a map with members/],
    ['date({month: 5})', /`month` needs `year`/],
    ['date({year: 2015, day: 5})', /`day` needs `month`/],
    ['date({year: 2015, dayOfWeek: 5})', /`dayOfWeek` needs `week`/],
    ['date({year: 2015, month: 5, week: 5})', /a date has `month` or `week`, not both/],
    ['date({year: 2015, hour: 5})', /date\(\) does not accept `hour`; it accepts date, year, month/],
    ["date({year: '2015'})", /`year` takes an integer, not a string/],
    ['date({year: 2015.0})', /`year` is/],
    ['date({year: 1000000000})', /`year` is 1000000000/],
    ["date({date: localtime('12:00')})", /`date` does not accept a local time/],
    ['localdatetime({year: 2015, hour: 5})', /a time of day needs a complete date: `day` is missing/],
    ['localtime({minute: 5})', /`minute` needs `hour`/],
    ['localtime({hour: 1, minute: 2, nanosecond: 3})', /`nanosecond` needs `second`/],
    ['localtime({hour: 1, minute: 2, second: 3, millisecond: 4, microsecond: 5000})', /`microsecond` is 5000/],
    ["localtime({hour: 1, timezone: '+01:00'})", /localtime\(\) does not accept `timezone`/],
    ['datetime({datetime: datetime(), date: date()})', /`datetime` excludes/],
    ['datetime({epochSeconds: 1, year: 2015})', /does not accept `year`/],
    ['datetime({epochMillis: 1, nanosecond: 1000000})', /not between 0 and 999999/],
    ['duration({days: 1, fortnights: 2})', /duration\(\) does not accept `fortnights`/],
    ["duration({days: '1'})", /`days` takes a number, not a string/],
    ['duration({days: 0.0 / 0.0})', /NaN is not a finite number/],
    ["date(localtime('12:00'))", /date\(\) does not accept a local time/],
    ["duration(date('2015-01-01'))", /duration\(\) does not accept a date/],
    ["date.truncate('hour', date('2015-01-01'))", /date\.truncate\(\) accepts the units millennium, .*, not `hour`/],
    ["date.truncate('constructor', date('2015-01-01'))", /not `constructor`/],
    ["datetime.truncate('hour', date('2015-01-01'))", /needs a value with a time of day, not a date/],
    ["localtime.truncate('month', localtime('12:00'))", /accepts the units day, hour/],
    ["date.truncate('day', localtime('12:00'))", /needs a value with a date, not a local time/],
    ["date.truncate('day', date('2015-01-01'), {hour: 1})", /does not accept `hour`/],
    ["date.truncate('day', date('2015-01-01'), {date: date()})", /does not accept `date`/],
    ["date('2015-01-01').hour", /a date has no `hour`; it has year, quarter/],
    ["duration('P1D').constructor", /a duration has no `constructor`/],
    ["duration.between(duration('P1D'), date())", /needs two instants, not a duration/],
  ]
  for (const [text, message] of table) {
    it(text, () => {
      const fault = faultOf(text)
      expect(fault.message).toMatch(message)
      expect([fault.code, fault.detail]).toEqual(['argument', 'InvalidArgumentValue'])
    })
  }
})

describe('arithmetic without a meaning', () => {
  const table: [text: string, detail: string][] = [
    ["date('2015-01-02') - date('2015-01-01')", 'InvalidArgumentType'],
    ["date('2015-01-01') + date('2015-01-01')", 'InvalidArgumentType'],
    ["date('2015-01-01') * 2", 'InvalidArgumentType'],
    ["duration('P1D') - date('2015-01-01')", 'InvalidArgumentType'],
    ["2 / duration('P1D')", 'InvalidArgumentType'],
    ["duration('P1D') / 0", 'DivisionByZero'],
    ["duration('P1D') / 0.0", 'DivisionByZero'],
    ["date('+999999999-12-31') + duration('P1D')", 'NumberOutOfRange'],
    ["date('2015-01-01') + duration('P999999999999M')", 'NumberOutOfRange'],
    ["duration('P1D') * 1e300", 'NumberOutOfRange'],
    ["duration({seconds: 9223372036854775807}) + duration('PT1S')", 'NumberOutOfRange'],
    ['duration({seconds: 9223372036854775807}).nanoseconds', 'IntegerOverflow'],
  ]
  for (const [text, detail] of table) it(text, () => expect(faultOf(text).detail).toBe(detail))
})

describe('refused when it is compiled', () => {
  for (const text of [
    "date('2015-01-01') + 1",
    "date('2015-01-01') % 2",
    "date('2015-01-01') ^ 2",
    'date(1)',
    'NOT date()',
  ]) {
    it(text, () => expect(refusalsOf(text)).toEqual(['InvalidArgumentType']))
  }
})

it('a text of any length is refused in linear time, and is not repeated in the message', () => {
  for (const kind of ['date', 'time', 'localtime', 'datetime', 'localdatetime', 'duration']) {
    for (const text of ['1'.repeat(1_000_000), `P${'1'.repeat(1_000_000)}`, `2015-01-01T${'0'.repeat(1_000_000)}`]) {
      let fault: unknown
      try {
        evaluate(`${kind}($text)`, { parameters: { text } })
      } catch (thrown) {
        fault = thrown
      }
      expect(fault).toBeInstanceOf(ExecutionError)
      expect((fault as ExecutionError).message.length).toBeLessThan(200)
    }
  }
})
