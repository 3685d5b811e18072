// Conversions, and functions over values of any kind.
import { Float } from '../../../kernel/float.ts'
import { RunFault } from '../../errors.ts'
import { fitsInt64, integer, numberText } from '../arithmetic.ts'
import { equals, isNumber } from '../compare.ts'
import type { Kind } from '../static-type.ts'
import { isTemporal } from '../temporal/temporal.ts'
import type { Value } from '../value.ts'
import { type CypherFunction, define, wrongKind } from './function.ts'

/** `undefined`: the kind cannot be converted at all, against null for a text that is no such value. */
type Conversion = (value: Value) => Value | undefined

export const scalarFunctions: readonly CypherFunction[] = [
  ...conversion('toInteger', 'integer', 'a number, a boolean or a string', toInteger),
  ...conversion('toFloat', 'float', 'a number or a string', toFloat),
  ...conversion('toBoolean', 'boolean', 'a boolean, an integer or a string', toBoolean),
  ...conversion('toString', 'string', 'a string, a number, a boolean or a temporal value', toText),
  // The first that is not null; compiled by itself, so that what comes after that one is not evaluated.
  define('coalesce', [1, Number.POSITIVE_INFINITY], [], 'any', (_, a, b, c) => a ?? b ?? c, { nulls: 'given' }),
  define('nullIf', 2, [], 'any', (_, a, b) => (equals(a, b) === true ? null : a), { nulls: 'given' }),
  /** Milliseconds since the Unix epoch. */
  define('timestamp', 0, [], 'integer', (run) => run.moment.ms),
]

function conversion(name: string, gives: Kind, takes: string, convert: Conversion): readonly CypherFunction[] {
  return [
    define(name, 1, [], gives, (_, a) => {
      const converted = convert(a)
      if (converted === undefined) throw wrongKind(name, a, takes)
      return converted
    }),
    define(`${name}OrNull`, 1, [], gives, (_, a) => convert(a) ?? null),
  ]
}

const WHOLE = /^[+-]?\d+$/
// Unambiguous at every character, so that it is linear on any text.
const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/
// No number that means anything is longer, and reading a whole number is quadratic in its length.
const NUMBER_LENGTH_MAX = 400

function numeral(text: string): string {
  return text.length > NUMBER_LENGTH_MAX ? '' : text.trim()
}

function toInteger(value: Value): Value | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Float) return truncated(value.value)
  if (typeof value !== 'string') return undefined
  const text = numeral(value)
  if (WHOLE.test(text)) {
    const whole = BigInt(text.replace(/^\+/, ''))
    return fitsInt64(whole) ? integer(whole) : null
  }
  if (!DECIMAL.test(text)) return null
  const double = Math.trunc(Number(text))
  return Number.isFinite(double) && fitsInt64(BigInt(double)) ? integer(BigInt(double)) : null
}

function truncated(double: number): Value {
  if (!Number.isFinite(double)) {
    throw new RunFault('arithmetic', `${double} is no integer`, null, 'NumberOutOfRange')
  }
  return integer(BigInt(Math.trunc(double)))
}

function toFloat(value: Value): Value | undefined {
  if (value instanceof Float) return value
  if (typeof value === 'number' || typeof value === 'bigint') return new Float(Number(value))
  if (typeof value !== 'string') return undefined
  const text = numeral(value)
  return DECIMAL.test(text) ? new Float(Number(text)) : null
}

function toBoolean(value: Value): Value | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' || typeof value === 'bigint') return value !== 0
  if (typeof value !== 'string') return undefined
  const word = value.length > NUMBER_LENGTH_MAX ? '' : value.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : null
}

function toText(value: Value): Value | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isTemporal(value)) return String(value)
  return isNumber(value) ? numberText(value) : undefined
}
