// Type conversions, and functions over values of any kind.
import { Float } from '../../../kernel/float.ts'
import { ExecutionError } from '../../errors.ts'
import { fitsInt64, normalizeInteger, numberText } from '../arithmetic.ts'
import { equals, isList, isNumber } from '../compare.ts'
import { type StaticKind, staticType } from '../static-type.ts'
import { trimWhiteSpace } from '../string-operations.ts'
import { isTemporal } from '../temporal/temporal.ts'
import type { Value } from '../value.ts'
import { BoundedListBuilder, boundedList, boundedText } from '../value-size.ts'
import { valueTypeText } from '../value-type.ts'
import { type CypherFunction, defineFunction, wrongKindArgument } from './function.ts'

/** Converts a value: null if a text is not a value of the target type, undefined if the kind cannot be converted at all. */
type Conversion = (value: Value) => Value | undefined

/**
 * The conversions `toInteger`, `toFloat`, `toBoolean`, `toString` and their `…OrNull` and `…List` forms, `coalesce`,
 * `nullIf`, `valueType`, `randomUUID` and `timestamp`.
 */
export const scalarFunctions: readonly CypherFunction[] = [
  ...defineConversion('toInteger', 'integer', 'a number, a boolean or a string', toInteger),
  ...defineConversion('toFloat', 'float', 'a number or a string', toFloat),
  ...defineConversion('toBoolean', 'boolean', 'a boolean, an integer or a string', toBoolean),
  ...defineConversion('toString', 'string', 'a string, a number, a boolean or a temporal value', toCypherString),
  // Compiled by `exec/function-call.ts`, so that the arguments after the first non-null one are not evaluated.
  defineFunction('coalesce', [1, Number.POSITIVE_INFINITY], [], 'any', (_, a, b, c) => a ?? b ?? c, {
    nulls: 'receive',
  }),
  defineFunction('nullIf', 2, [], 'any', (run, a, b) => (equals(run.budget, a, b) === true ? null : a), {
    nulls: 'receive',
  }),
  defineFunction('valueType', 1, [], 'string', (run, a) => boundedText(run.budget, valueTypeText(run.budget, a)), {
    nulls: 'receive',
  }),
  defineFunction('randomUUID', 0, [], 'string', () => crypto.randomUUID(), { pure: false }),
  /** Milliseconds since the Unix epoch. */
  defineFunction('timestamp', 0, [], 'integer', (run) => run.clock.ms),
]

function defineConversion(
  name: string,
  gives: StaticKind,
  takes: string,
  convert: Conversion,
): readonly CypherFunction[] {
  return [
    defineFunction(name, 1, [], gives, (_, a) => {
      const converted = convert(a)
      if (converted === undefined) throw wrongKindArgument(name, a, takes)
      return converted
    }),
    defineFunction(`${name}OrNull`, 1, [], gives, (_, a) => convert(a) ?? null),
    defineFunction(`${name}List`, 1, [['list']], staticType('list', staticType(gives)), (run, a) => {
      if (!isList(a)) throw wrongKindArgument(`${name}List`, a, 'a list')
      const list = new BoundedListBuilder(run.budget)
      for (const item of a) {
        run.budget.chargeSteps(1)
        list.push(convert(item) ?? null)
      }
      return boundedList(run.budget, list.items)
    }),
  ]
}

const INTEGER_TEXT = /^[+-]?\d+$/
// Matches in linear time: at each character only one alternative applies.
const DECIMAL_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/
// Longer than any sensible number. The time to parse an integer is quadratic in its length.
const NUMBER_LENGTH_MAX = 400

/** As Neo4j, which reads a float with `Double.parseDouble` of Java: its white space is everything up to U+0020. */
const FLOAT_TEXT = /^[\0-\x20]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?[\0-\x20]*$/
const SPECIAL_FLOAT_TEXT = /^[\0-\x20]*([+-]?(?:Infinity|NaN))[\0-\x20]*$/

function toInteger(value: Value): Value | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Float) return truncateToInteger(value.value)
  if (typeof value !== 'string') return undefined
  // No white space around an integer, as in Neo4j.
  const text = value.length > NUMBER_LENGTH_MAX ? '' : value
  if (INTEGER_TEXT.test(text)) {
    const whole = BigInt(text.replace(/^\+/, ''))
    return fitsInt64(whole) ? normalizeInteger(whole) : null
  }
  if (!DECIMAL_TEXT.test(text)) return null
  const double = Math.trunc(Number(text))
  return Number.isFinite(double) && fitsInt64(BigInt(double)) ? normalizeInteger(BigInt(double)) : null
}

function truncateToInteger(double: number): Value {
  if (!Number.isFinite(double)) {
    throw new ExecutionError('arithmetic', `${double} is not an integer`, null, 'NumberOutOfRange')
  }
  return normalizeInteger(BigInt(Math.trunc(double)))
}

function toFloat(value: Value): Value | undefined {
  if (value instanceof Float) return value
  if (typeof value === 'number' || typeof value === 'bigint') return new Float(Number(value))
  if (typeof value !== 'string') return undefined
  if (value.length > NUMBER_LENGTH_MAX) return null
  const decimal = FLOAT_TEXT.exec(value)?.[1]
  if (decimal !== undefined) return new Float(Number(decimal))
  const special = SPECIAL_FLOAT_TEXT.exec(value)?.[1]
  // `+NaN` is NaN, and JavaScript reads it as NaN too.
  return special === undefined ? null : new Float(Number(special))
}

function toBoolean(value: Value): Value | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' || typeof value === 'bigint') return value !== 0
  if (typeof value !== 'string') return undefined
  const word = value.length > NUMBER_LENGTH_MAX ? '' : trimWhiteSpace(value, true, true).toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : null
}

function toCypherString(value: Value): Value | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isTemporal(value)) return String(value)
  return isNumber(value) ? numberText(value) : undefined
}
