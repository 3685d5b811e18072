import { describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../../src/engine/errors.ts'
import { findFunction, functionNames } from '../../../../../src/engine/value/functions/function-table.ts'
import type { Value } from '../../../../../src/engine/value/value.ts'
import { Float } from '../../../../../src/kernel/float.ts'
import { show } from '../../../../generate/any-value.ts'
import { evaluate, refusalsOf } from '../../../../support/evaluate-expression.ts'
import { functionSamples } from '../../../../support/function-samples.ts'

const f = (value: number): Float => new Float(value)

describe('functions', () => {
  const table: [string, Value][] = [
    // conversions
    ["toInteger('42')", 42],
    ["toInteger(' -7 ')", null],
    ["toInteger('2.9')", 2],
    ["toInteger('foo')", null],
    ["toInteger('')", null],
    ["toInteger('9223372036854775807.0')", 9223372036854775807n],
    ["toInteger('-9223372036854775808')", -9223372036854775808n],
    ["toInteger('9007199254740993.9')", 9007199254740993n],
    ["toInteger('-1.25e2')", -125],
    ["toInteger('.5')", 0],
    ["toInteger('1e-400')", 0],
    ["toInteger('1e-2147483648')", null],
    ["toInteger('1e2147483648')", null],
    ["toIntegerOrNull('9223372036854775808')", null],
    ["toIntegerList(['9223372036854775808', '5'])", [null, 5]],
    ["toFloat('0x1p3')", f(8)],
    ["toFloat(' -0X.8P1d\\n')", f(-1)],
    ["toFloat('0x1.00000000000008p0')", f(1)],
    ["toFloat('0x1.000000000000081p0')", f(1 + 2 ** -52)],
    ["toFloat('0x1.fffffffffffff8p1023')", f(Number.POSITIVE_INFINITY)],
    ["toFloat('0x1p-1074')", f(5e-324)],
    ["toFloat('0x1p-1075')", f(0)],
    ["toFloat('0x1p-99999999999')", f(0)],
    ["toFloat('0x1p99999999999')", f(Number.POSITIVE_INFINITY)],
    ["toFloat('0x1')", null],
    ["toFloat('0x.p1')", null],
    ['toInteger(2.9)', 2],
    ['toInteger(-2.9)', -2],
    ['toInteger(true)', 1],
    ['toInteger(1e18)', 1000000000000000000n],
    ['toIntegerOrNull([1])', null],
    ["toFloat('5')", f(5)],
    ["toFloat('.5e1')", f(5)],
    ["toFloat('1.2.3')", null],
    ['toFloat(3)', f(3)],
    ['toFloatOrNull({})', null],
    ["toBoolean(' TRUE ')", true],
    ["toBoolean('yes')", null],
    ['toBoolean(0)', false],
    ['toBooleanOrNull(1.5)', null],
    ['toString(1.0)', '1.0'],
    ['toString(10000000.0)', '1.0E7'],
    ['toString(9223372036854775807)', '9223372036854775807'],
    ['toString(true)', 'true'],
    ['toStringOrNull([1])', null],
    // any type
    ['coalesce(null, 2)', 2],
    ['coalesce(null)', null],
    ['nullIf(1, 1.0)', null],
    ['nullIf(1, 2)', 1],
    ['nullIf(null, 1)', null],
    // lists
    ['size([1, 2])', 2],
    ["size('\u{1F600}a')", 2],
    ['size(null)', null],
    ['head([1, 2])', 1],
    ['head([])', null],
    ['last([1, 2])', 2],
    ['last([])', null],
    ['tail([1, 2, 3])', [2, 3]],
    ['tail([])', []],
    ['reverse([1, 2])', [2, 1]],
    ["reverse('a\u{1F600}')", '\u{1F600}a'],
    ['isEmpty([])', true],
    ['isEmpty({a: 1})', false],
    ["isEmpty('')", true],
    ['range(1, 3)', [1, 2, 3]],
    ['range(3, 1)', []],
    ['range(3, 1, -1)', [3, 2, 1]],
    ['range(0, 10, 3)', [0, 3, 6, 9]],
    ['range(0, -7, -3)', [0, -3, -6]],
    ['range(1, null)', null],
    ['range(9223372036854775806, 9223372036854775807)', [9223372036854775806n, 9223372036854775807n]],
    ['range(9007199254740990, 9007199254740992)', [9007199254740990, 9007199254740991, 9007199254740992n]],
    ['keys({a: 1, b: null})', ['a', 'b']],
    ['keys(null)', null],
    ['properties({a: 1})', new Map([['a', 1]])],
    // strings
    ["toUpper('stra\u00dfe')", 'STRASSE'],
    ["LOWER('ABC')", 'abc'],
    ["trim('  a ')", 'a'],
    ["ltrim('  a ')", 'a '],
    ["rtrim('  a ')", '  a'],
    ["btrim('xxaxx', 'x')", 'a'],
    ["ltrim('xya', 'yx')", 'a'],
    ["replace('a.b.c', '.', '$&')", 'a$&b$&c'],
    ["replace('ab', '', '-')", '-a-b-'],
    ["split('a,b,,c', ',')", ['a', 'b', '', 'c']],
    ["split('a,b;c', [',', ';'])", ['a', 'b', 'c']],
    ["split('a.b', '.')", ['a', 'b']],
    ["split('', '')", ['']],
    ["split('', ['a', ''])", ['']],
    ["split('\u{1F600}b', '')", ['\u{1F600}', 'b']],
    ["substring('hello', 1)", 'ello'],
    ["substring('hello', 1, 3)", 'ell'],
    ["substring('hello', 9)", ''],
    ["substring('hello', 1, null)", null],
    ["left('\u{1F600}ab', 2)", '\u{1F600}a'],
    ["left('ab', 5)", 'ab'],
    ["right('hello', 2)", 'lo'],
    ["right('ab', 5)", 'ab'],
    ["char_length('abc')", 3],
    ["character_length('abc')", 3],
    // mathematics
    ['abs(-1)', 1],
    ['abs(-1.5)', f(1.5)],
    ['abs(-9007199254740993)', 9007199254740993n],
    ['ceil(1.2)', f(2)],
    ['floor(-1.2)', f(-2)],
    ['sign(-3.2)', -1],
    ['sign(0.0)', 0],
    ['round(1.5)', f(2)],
    ['round(-1.5)', f(-1)],
    ['round(0.49999999999999994)', f(0)],
    ['round(3)', f(3)],
    ['round(1.005, 2)', f(1.01)],
    ['round(-1.005, 2)', f(-1.01)],
    ['round(123.456, 0)', f(123)],
    ['round(1e300, 2)', f(1e300)],
    ['round(1e-10, 5)', f(0)],
    ["round(1.25, 1, 'UP')", f(1.3)],
    ["round(1.29, 1, 'DOWN')", f(1.2)],
    ["round(-1.21, 1, 'CEILING')", f(-1.2)],
    ["round(-1.21, 1, 'FLOOR')", f(-1.3)],
    ["round(1.25, 1, 'HALF_DOWN')", f(1.2)],
    ["round(1.25, 1, 'HALF_EVEN')", f(1.2)],
    ["round(1.35, 1, 'half_even')", f(1.4)],
    ['sqrt(12.96)', f(3.6)],
    ['sqrt(-1)', f(Number.NaN)],
    ['exp(0)', f(1)],
    ['log(e())', f(1)],
    ['log10(1000)', f(3)],
    ['pi()', f(Math.PI)],
    ['sin(0) + cos(0) + tan(0)', f(1)],
    ['asin(0) + acos(1) + atan(0)', f(0)],
    ['atan2(1, 1) * 4', f(Math.PI)],
    ['round(cot(1.0), 6)', f(0.642093)],
    ['degrees(pi())', f(180)],
    ['radians(180)', f(Math.PI)],
    ['haversin(pi())', f(1)],
    ['abs(null)', null],
    // addresses
    ["net.contains('10.0.0.0/8', '10.255.255.255')", true],
    ["net.contains('10.0.0.0/8', '11.0.0.0')", false],
    ["net.contains('10.1.2.3/8', '10.0.0.1')", true],
    ["net.contains('10.0.0.0/8', '10.1.0.0/16')", true],
    ["net.contains('10.1.0.0/16', '10.0.0.0/8')", false],
    ["net.contains('0.0.0.0/0', '255.255.255.255')", true],
    ["net.contains('10.0.0.1', '10.0.0.1')", true],
    ["net.contains('2001:db8::/32', '2001:DB8:0:0::1')", true],
    ["net.contains('2001:db8::/33', '2001:db8:8000::')", false],
    ["net.contains('::/0', '10.0.0.1')", false],
    ["net.contains('0.0.0.0/0', '::')", false],
    ["net.contains('10.0.0.0/8', '::ffff:10.0.0.1')", true],
    ["net.contains('10.0.0.0/8', '::ffff:a00:1')", true],
    ["net.contains('::ffff:10.0.0.0/104', '10.0.0.1')", true],
    ["net.contains(['10.0.0.0/8', '192.168.0.0/16', '::1'], '192.168.3.4')", true],
    ["net.contains(['10.0.0.0/8', '::1'], '192.168.3.4')", false],
    ["net.contains(['10.0.0.0/8', null], '10.3.4.5')", true],
    ["net.contains(['10.0.0.0/8', null], '192.168.3.4')", null],
    ["net.contains([], '192.168.3.4')", false],
    ["net.version('127.0.0.1')", 4],
    ["net.version('10.0.0.0/8')", 4],
    ["net.version('::ffff:127.0.0.1')", 4],
    ["net.version('fe80::1')", 6],
    ["net.version('1:2:3:4:5:6:1.2.3.4')", 6],
    ...[
      ...[
        '',
        ' ',
        '10',
        '10.1',
        '10.0.0',
        '10.0.0.0.0',
        '010.0.0.1',
        '10.0.0.01',
        '0x0a.0.0.1',
        '10.0.0.256',
        '10.0.0.-1',
      ],
      ...['10.0.0.1 ', '10.0.0.1/', '10.0.0.1/33', '10.0.0.1/08', '10.0.0.1/-1', '10.0.0.1/8/8', '10.0.0.0/255.0.0.0'],
      ...[':', ':::', '::1::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7::8', '12345::', 'g::', '::/129'],
      ...['fe80::1%eth0', '::1.2.3', '1.2.3.4::', '::1.2.3.4:5', '[::1]', 'localhost', '１.0.0.1', '10.0.0.1\n'],
    ].map((text): [string, Value] => [`net.version(${JSON.stringify(text)})`, null]),
    // conversions to temporal values
    ["toString(datetimeOrNull('2026-02-28T12:00Z'))", '2026-02-28T12:00Z'],
    ["datetimeOrNull('2026-02-30T12:00Z')", null],
    ["datetimeOrNull('2026-02-28T12:00[Europe/Atlantis]')", null],
    ['datetimeOrNull({year: 2026, month: 13})', null],
    ['datetimeOrNull({yaer: 2026})', null],
    ["datetimeOrNull(localtime('12:00'))", null],
    ['dateOrNull(20260228)', null],
    ["toString(dateOrNull('20260228'))", '2026-02-28'],
    ["dateOrNull('99999999999-01-01')", null],
    ["localdatetimeOrNull('2026-02-28T12:00Z')", null],
    ["localtimeOrNull('24:01')", null],
    ["timeOrNull('12:00[Europe/Paris]')", null],
    ['durationOrNull(true)', null],
    ["durationOrNull('P1X')", null],
    ["datetimeOrNull({timezone: 'Europe/Berlin'}) = datetime({timezone: 'Europe/Berlin'})", true],
    // the time of day in a zone
    ["datetime({datetime: datetime('2026-07-01T10:30:00Z'), timezone: 'Europe/Berlin'}).hour", 12],
    ["datetime({datetime: datetime('2026-01-01T10:30:00Z'), timezone: 'Europe/Berlin'}).hour", 11],
    ["toString(localtime(datetime({datetime: datetime('2026-07-01T22:30:00Z'), timezone: 'Europe/Berlin'})))", '00:30'],
    ["toString(date(datetime({datetime: datetime('2026-07-01T22:30:00Z'), timezone: 'Europe/Berlin'})))", '2026-07-02'],
    [
      "localtime('09:00') <= localtime(datetime({datetime: datetime('2026-07-01T06:59:59Z'), timezone: 'Europe/Berlin'}))",
      false,
    ],
    ["localtime.statement('Europe/Berlin') = localtime(datetime({timezone: 'Europe/Berlin'}))", true],
    ['atan2(1, null)', null],
  ]
  for (const [text, expected] of table)
    it(`${text} is ${show(expected)}`, () => expect(evaluate(text)).toStrictEqual(expected))

  const faults: [string, string][] = [
    // The types are in a list with others, so that they are unknown at compile time.
    ['[x IN [true, []] | toBoolean(x)]', 'type InvalidArgumentValue'],
    ['[x IN [1, {}] | toInteger(x)]', 'type InvalidArgumentValue'],
    ['[x IN [1.0, true] | toFloat(x)]', 'type InvalidArgumentValue'],
    ['[x IN [1, []] | toString(x)]', 'type InvalidArgumentValue'],
    ["[x IN [1, 'a'] | size(x)]", 'type InvalidArgumentValue'],
    ["[x IN ['a', 1] | toUpper(x)]", 'type InvalidArgumentValue'],
    ["[x IN [1, 'a'] | sqrt(x)]", 'type InvalidArgumentValue'],
    ["[x IN [1, 'a'] | labels(x)]", 'type InvalidArgumentValue'],
    ["[x IN [1, 'a'] | keys(x)]", 'type InvalidArgumentValue'],
    ['toInteger(0.0 / 0.0)', 'arithmetic NumberOutOfRange'],
    ['toInteger(1e300)', 'arithmetic IntegerOverflow'],
    ["toInteger('9223372036854775808')", 'type NumberOutOfRange'],
    ["toInteger('-9223372036854775808.5')", 'type NumberOutOfRange'],
    ["toInteger('1e400')", 'type NumberOutOfRange'],
    ["left('a', -1)", 'argument NegativeIntegerArgument'],
    ["substring('a', -1)", 'argument NegativeIntegerArgument'],
    ['round(1.5, -1)', 'argument NegativeIntegerArgument'],
    ["round(1.5, 1, 'SIDEWAYS')", 'argument InvalidArgumentValue'],
    ["net.contains('10.0.0.0/33', '10.0.0.1')", 'argument InvalidArgumentValue'],
    ["net.contains('10.0.0.0/8', 'localhost')", 'argument InvalidArgumentValue'],
    ["net.contains(['10.0.0.0/8', 'x'], '11.0.0.1')", 'argument InvalidArgumentValue'],
    ["[x IN ['10.0.0.0/8', 1] | net.contains(x, '10.0.0.1')]", 'type InvalidArgumentValue'],
    ["[x IN ['10.0.0.0/8', 1] | net.contains([x], '11.0.0.1')]", 'type InvalidArgumentValue'],
  ]
  for (const [text, fault] of faults) {
    it(`${text} fails with ${fault}`, () => {
      let found = 'none'
      try {
        evaluate(text)
      } catch (thrown) {
        if (!(thrown instanceof ExecutionError)) throw thrown
        found = `${thrown.code} ${thrown.detail}`
      }
      expect(found).toBe(fault)
    })
  }

  it('an enormous replacement is refused before it is computed', () => {
    const parameters = { long: 'a'.repeat(100_000) }
    expect(() => evaluate("replace($long, 'a', $long)", { parameters })).toThrow(/more than \d+ characters/)
  })

  it('numerals of any length are read in linear time', () => {
    const parameters = { digits: '1'.repeat(1_000_000), dots: `${'1'.repeat(500_000)}x` }
    expect(evaluate('toInteger($digits)', { parameters })).toBe(null)
    expect(evaluate('toFloat($dots)', { parameters })).toBe(null)
  })

  it('rand() is between 0 and 1, timestamp() is now', () => {
    const random = evaluate('rand()') as Float
    expect(random.value >= 0 && random.value < 1).toBe(true)
    expect(Math.abs((evaluate('timestamp()') as number) - Date.now()) < 60_000).toBe(true)
  })
})

describe('the function table', () => {
  it('finds its functions in any letter case, and no members that objects inherit', () => {
    expect(findFunction('TOUPPER')?.name).toBe('toUpper')
    for (const name of ['constructor', '__proto__', 'hasOwnProperty', 'eval'])
      expect(findFunction(name)).toBe(undefined)
  })

  it('has a record for the reference and for the test of charged work for each function, and no other', () => {
    expect(Object.keys(functionSamples).sort()).toEqual([...functionNames()].sort())
  })

  it('propagates null through every function that does not handle it itself', () => {
    for (const name of functionNames()) {
      const entry = findFunction(name)!
      if (entry.nulls === 'receive' || entry.argsMin === 0) continue
      expect(evaluate(`${name}(${Array(entry.argsMin).fill('null').join(', ')})`), name).toBe(null)
    }
  })

  it('refuses too few and too many arguments of every function', () => {
    for (const name of functionNames()) {
      const { argsMin, argsMax } = findFunction(name)!
      const call = (count: number): string => `${name}(${Array(count).fill('null').join(', ')})`
      if (argsMin > 0) expect(refusalsOf(call(argsMin - 1)), name).toEqual(['InvalidNumberOfArguments'])
      if (Number.isFinite(argsMax)) expect(refusalsOf(call(argsMax + 1)), name).toEqual(['InvalidNumberOfArguments'])
    }
  })
})
