// Mathematical functions. All give floats, but for abs and sign, which keep integers.
import { Float } from '../../../kernel/float.ts'
import { negate, toDouble } from '../arithmetic.ts'
import { isNumber } from '../compare.ts'
import type { Value } from '../value.ts'
import { type CypherFunction, define, smallInteger, stringOf, wrongArgument, wrongKind } from './function.ts'

const NUMBER = ['number'] as const

function numberOf(name: string, value: Value): number | bigint | Float {
  if (value === null || !isNumber(value)) throw wrongKind(name, value, 'a number')
  return value
}

/** A function of one double. */
function real(name: string, compute: (x: number) => number): CypherFunction {
  return define(name, 1, [NUMBER], 'float', (_, a) => new Float(compute(toDouble(numberOf(name, a)))))
}

export const mathFunctions: readonly CypherFunction[] = [
  define('abs', 1, [NUMBER], 'number', (_, a) => {
    const number = numberOf('abs', a)
    if (number instanceof Float) return new Float(Math.abs(number.value))
    return number < 0 ? negate(number) : number
  }),
  define('sign', 1, [NUMBER], 'integer', (_, a) => {
    const sign = Math.sign(toDouble(numberOf('sign', a)))
    return Number.isNaN(sign) ? 0 : sign + 0
  }),
  define('round', [1, 3], [NUMBER, NUMBER, ['string']], 'float', (_, a, b, c) => {
    const x = toDouble(numberOf('round', a))
    // Without a precision, halves go up: round(-1.5) is -1.0.
    if (b === null) return new Float(Number.isInteger(x) ? x : Math.floor(x) + (x - Math.floor(x) >= 0.5 ? 1 : 0))
    return new Float(roundTo(x, precisionOf(b), c === null ? 'HALF_UP' : modeOf(c)))
  }),
  real('ceil', Math.ceil),
  real('floor', Math.floor),
  real('sqrt', Math.sqrt),
  real('exp', Math.exp),
  real('log', Math.log),
  real('log10', Math.log10),
  real('sin', Math.sin),
  real('cos', Math.cos),
  real('tan', Math.tan),
  real('cot', (x) => 1 / Math.tan(x)),
  real('asin', Math.asin),
  real('acos', Math.acos),
  real('atan', Math.atan),
  define('atan2', 2, [NUMBER, NUMBER], 'float', (_, a, b) => {
    return new Float(Math.atan2(toDouble(numberOf('atan2', a)), toDouble(numberOf('atan2', b))))
  }),
  real('degrees', (x) => (x * 180) / Math.PI),
  real('radians', (x) => (x * Math.PI) / 180),
  real('haversin', (x) => (1 - Math.cos(x)) / 2),
  define('pi', 0, [], 'float', () => new Float(Math.PI)),
  define('e', 0, [], 'float', () => new Float(Math.E)),
  define('rand', 0, [], 'float', () => new Float(Math.random()), { pure: false }),
]

const MODES = ['UP', 'DOWN', 'CEILING', 'FLOOR', 'HALF_UP', 'HALF_DOWN', 'HALF_EVEN'] as const
type Mode = (typeof MODES)[number]

function modeOf(value: Value): Mode {
  const word = stringOf('round', value).toUpperCase()
  const mode = MODES.find((known) => known === word)
  if (!mode) throw wrongArgument(`round() knows the modes ${MODES.join(', ')}, not \`${word}\``, 'InvalidArgumentValue')
  return mode
}

function precisionOf(value: Value): number {
  const precision = smallInteger('round', value)
  if (precision < 0) throw wrongArgument('round() takes no negative precision', 'NegativeIntegerArgument')
  return precision
}

/** Over the shortest decimal that reads back as the double, so that 1.005 is a half and not a little less. */
function roundTo(x: number, precision: number, mode: Mode): number {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)\.?(\d*)(?:e([+-]\d+))?$/.exec(String(x)) ?? []
  if (whole === undefined) return x
  const scale = fraction.length - Number(exponent)
  if (scale <= precision) return x
  const digits = BigInt(whole + fraction)
  const unit = 10n ** BigInt(scale - precision)
  const kept = digits / unit
  const twice = (digits % unit) * 2n
  const away = awayFromZero(mode, sign === '-', kept, digits % unit !== 0n, twice === unit ? 0 : twice > unit ? 1 : -1)
  return Number(`${sign}${kept + (away ? 1n : 0n)}e-${precision}`)
}

/** `half`: the rest against one half. */
function awayFromZero(mode: Mode, negative: boolean, kept: bigint, rest: boolean, half: -1 | 0 | 1): boolean {
  switch (mode) {
    case 'UP':
      return rest
    case 'DOWN':
      return false
    case 'CEILING':
      return rest && !negative
    case 'FLOOR':
      return rest && negative
    case 'HALF_UP':
      return half >= 0
    case 'HALF_DOWN':
      return half > 0
    case 'HALF_EVEN':
      return half > 0 || (half === 0 && kept % 2n === 1n)
  }
}
