// Mathematical functions. All return floats, except abs and sign, which preserve integers.
import { Float } from '../../../kernel/float.ts'
import { negate, toDouble } from '../arithmetic.ts'
import { isNumber } from '../compare.ts'
import type { Value } from '../value.ts'
import {
  type CypherFunction,
  defineFunction,
  invalidArgument,
  requireSmallInteger,
  requireString,
  wrongKindArgument,
} from './function.ts'

const NUMBER = ['number'] as const

function requireNumber(name: string, value: Value): number | bigint | Float {
  if (value === null || !isNumber(value)) throw wrongKindArgument(name, value, 'a number')
  return value
}

/** Defines a function of one double. */
function defineReal(name: string, compute: (x: number) => number): CypherFunction {
  return defineFunction(name, 1, [NUMBER], 'float', (_, a) => new Float(compute(toDouble(requireNumber(name, a)))))
}

/** The mathematical functions of openCypher, `rand`, `pi` and `e`. */
export const mathFunctions: readonly CypherFunction[] = [
  defineFunction('abs', 1, [NUMBER], 'number', (_, a) => {
    const number = requireNumber('abs', a)
    if (number instanceof Float) return new Float(Math.abs(number.value))
    return number < 0 ? negate(number) : number
  }),
  defineFunction('sign', 1, [NUMBER], 'integer', (_, a) => {
    const sign = Math.sign(toDouble(requireNumber('sign', a)))
    return Number.isNaN(sign) ? 0 : sign + 0
  }),
  defineFunction('round', [1, 3], [NUMBER, NUMBER, ['string']], 'float', (_, a, b, c) => {
    const x = toDouble(requireNumber('round', a))
    // Without a precision, halves round up: round(-1.5) is -1.0.
    if (b === null) return new Float(Number.isInteger(x) ? x : Math.floor(x) + (x - Math.floor(x) >= 0.5 ? 1 : 0))
    return new Float(roundTo(x, requirePrecision(b), c === null ? 'HALF_UP' : parseRoundingMode(c)))
  }),
  defineReal('ceil', Math.ceil),
  defineReal('floor', Math.floor),
  defineReal('sqrt', Math.sqrt),
  defineReal('exp', Math.exp),
  defineReal('log', Math.log),
  defineReal('log10', Math.log10),
  defineReal('sin', Math.sin),
  defineReal('cos', Math.cos),
  defineReal('tan', Math.tan),
  defineReal('cot', (x) => 1 / Math.tan(x)),
  defineReal('asin', Math.asin),
  defineReal('acos', Math.acos),
  defineReal('atan', Math.atan),
  defineFunction('atan2', 2, [NUMBER, NUMBER], 'float', (_, a, b) => {
    return new Float(Math.atan2(toDouble(requireNumber('atan2', a)), toDouble(requireNumber('atan2', b))))
  }),
  defineReal('degrees', (x) => (x * 180) / Math.PI),
  defineReal('radians', (x) => (x * Math.PI) / 180),
  defineReal('sinh', Math.sinh),
  defineReal('cosh', Math.cosh),
  defineReal('tanh', Math.tanh),
  defineReal('coth', (x) => (x === 0 ? Number.NaN : 1 / Math.tanh(x))),
  defineFunction('isNaN', 1, [NUMBER], 'boolean', (_, a) => Number.isNaN(toDouble(requireNumber('isNaN', a)))),
  defineReal('haversin', (x) => (1 - Math.cos(x)) / 2),
  defineFunction('pi', 0, [], 'float', () => new Float(Math.PI)),
  defineFunction('e', 0, [], 'float', () => new Float(Math.E)),
  defineFunction('rand', 0, [], 'float', () => new Float(Math.random()), { pure: false }),
]

const ROUNDING_MODES = ['UP', 'DOWN', 'CEILING', 'FLOOR', 'HALF_UP', 'HALF_DOWN', 'HALF_EVEN'] as const
type RoundingMode = (typeof ROUNDING_MODES)[number]

function parseRoundingMode(value: Value): RoundingMode {
  const name = requireString('round', value).toUpperCase()
  const mode = ROUNDING_MODES.find((known) => known === name)
  if (!mode)
    throw invalidArgument(
      `round() accepts the modes ${ROUNDING_MODES.join(', ')}, not \`${name}\``,
      'InvalidArgumentValue',
    )
  return mode
}

function requirePrecision(value: Value): number {
  const precision = requireSmallInteger('round', value)
  if (precision < 0) throw invalidArgument('round() does not accept a negative precision', 'NegativeIntegerArgument')
  return precision
}

/** Rounds the shortest decimal that parses to the double, so that 1.005 rounds as a half and not as slightly less. */
function roundTo(x: number, precision: number, mode: RoundingMode): number {
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

/** Whether to round away from zero. `half` compares the remainder with one half. */
function awayFromZero(mode: RoundingMode, negative: boolean, kept: bigint, rest: boolean, half: -1 | 0 | 1): boolean {
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
