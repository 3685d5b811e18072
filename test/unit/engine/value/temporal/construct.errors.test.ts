// Input that is no date, time or duration: each is refused with a message that names what is wrong.
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
    ["date('2015-0721')", /`2015-0721` is no date/],
    ["date('yesterday')", /`yesterday` is no date/],
    ["date('')", /`` is no date/],
    ["date('2015-07-21T21:40')", /is no date/],
    ["localtime('24:00')", /`hour` is 24/],
    ["localtime('21:4')", /is no time/],
    ["localtime('21:40+01:00')", /is no time/],
    ["localdatetime('2015-07-21T21:40Z')", /it names a zone/],
    ["time('21:40[Europe/London]')", /not in a region/],
    ["time('21:40+19:00')", /`\+19:00` is no offset/],
    ["datetime('2015-07-21T21:40+05:00[Europe/Stockholm]')", /offset and zone disagree/],
    ["datetime('2015-07-21T21:40[Europe/Atlantis]')", /`Europe\/Atlantis` is no time zone/],
    ["datetime({year: 2015, timezone: 'constructor'})", /`constructor` is no time zone/],
    ['datetime({year: 2015, timezone: 1})', /a time zone is a string, not an integer/],
    ["duration('P')", /`P` is no duration/],
    ["duration('P1DT')", /is no duration/],
    ["duration('1D')", /is no duration/],
    ['date({})', /date\(\) takes a map with members/],
    ['date({month: 5})', /`month` needs `year`/],
    ['date({year: 2015, day: 5})', /`day` needs `month`/],
    ['date({year: 2015, dayOfWeek: 5})', /`dayOfWeek` needs `week`/],
    ['date({year: 2015, month: 5, week: 5})', /by `month` or by `week`, not by both/],
    ['date({year: 2015, hour: 5})', /date\(\) takes no `hour`; it takes date, year, month/],
    ["date({year: '2015'})", /`year` takes an integer, not a string/],
    ['date({year: 2015.0})', /`year` is/],
    ['date({year: 1000000000})', /`year` is 1000000000/],
    ["date({date: localtime('12:00')})", /`date` cannot be taken from a local time/],
    ['localdatetime({year: 2015, hour: 5})', /a time of day needs a whole date: `day` is missing/],
    ['localtime({minute: 5})', /`minute` needs `hour`/],
    ['localtime({hour: 1, minute: 2, nanosecond: 3})', /`nanosecond` needs `second`/],
    ['localtime({hour: 1, minute: 2, second: 3, millisecond: 4, microsecond: 5000})', /`microsecond` is 5000/],
    ["localtime({hour: 1, timezone: '+01:00'})", /localtime\(\) takes no `timezone`/],
    ['datetime({datetime: datetime(), date: date()})', /`datetime` already holds/],
    ['datetime({epochSeconds: 1, year: 2015})', /takes no `year`/],
    ['datetime({epochMillis: 1, nanosecond: 1000000})', /not between 0 and 999999/],
    ['duration({days: 1, fortnights: 2})', /duration\(\) takes no `fortnights`/],
    ["duration({days: '1'})", /`days` takes a number, not a string/],
    ['duration({days: 0.0 / 0.0})', /NaN is no amount/],
    ["date(localtime('12:00'))", /date\(\) cannot be made of a local time/],
    ["duration(date('2015-01-01'))", /duration\(\) cannot be made of a date/],
    ["date.truncate('hour', date('2015-01-01'))", /date\.truncate\(\) knows the units millennium, .*, not `hour`/],
    ["date.truncate('constructor', date('2015-01-01'))", /not `constructor`/],
    ["datetime.truncate('hour', date('2015-01-01'))", /takes a value with a time of day, not a date/],
    ["localtime.truncate('month', localtime('12:00'))", /knows the units day, hour/],
    ["date.truncate('day', localtime('12:00'))", /takes a value with a date, not a local time/],
    ["date.truncate('day', date('2015-01-01'), {hour: 1})", /takes no `hour`/],
    ["date.truncate('day', date('2015-01-01'), {date: date()})", /takes no `date`/],
    ["date('2015-01-01').hour", /a date has no `hour`; it has year, quarter/],
    ["duration('P1D').constructor", /a duration has no `constructor`/],
    ["duration.between(duration('P1D'), date())", /takes two points in time, not a duration/],
  ]
  for (const [text, message] of table) {
    it(text, () => {
      const fault = faultOf(text)
      expect(fault.message).toMatch(message)
      expect([fault.code, fault.detail]).toEqual(['argument', 'InvalidArgumentValue'])
    })
  }
})

describe('arithmetic without meaning', () => {
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

it('a text of any length is refused in linear time, and not repeated in the message', () => {
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
