// Type conversions, and functions over values of any kind.
import { Float } from '../../../kernel/float.ts'
import { ExecutionError } from '../../errors.ts'
import { normalizeInteger, numberText } from '../arithmetic.ts'
import { equals, isList, isNumber } from '../compare.ts'
import { floatOfText, integerOfText } from '../number-text.ts'
import { type StaticKind, staticType } from '../static-type.ts'
import { trimWhiteSpace } from '../string-operations.ts'
import { isTemporal } from '../temporal/temporal.ts'
import type { Value } from '../value.ts'
import { BoundedListBuilder, boundedList, boundedText } from '../value-size.ts'
import { valueTypeText } from '../value-type.ts'
import { type CypherFunction, defineFunction, wrongKindArgument } from './function.ts'

/**
 * Converts a value: null if a text is not a value of the target type, undefined if the kind cannot be converted at all. Returns an error
 * that only the plain function throws: the forms `…OrNull` and `…List` give null instead.
 */
type Conversion = (value: Value) => Value | undefined | ExecutionError

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
      if (converted instanceof ExecutionError) throw converted
      return converted
    }),
    defineFunction(`${name}OrNull`, 1, [], gives, (_, a) => valueOrNull(convert(a))),
    defineFunction(`${name}List`, 1, [['list']], staticType('list', staticType(gives)), (run, a) => {
      if (!isList(a)) throw wrongKindArgument(`${name}List`, a, 'a list')
      const list = new BoundedListBuilder(run.budget)
      for (const item of a) {
        run.budget.chargeSteps(1)
        list.push(valueOrNull(convert(item)))
      }
      return boundedList(run.budget, list.items)
    }),
  ]
}

function valueOrNull(converted: ReturnType<Conversion>): Value {
  return converted === undefined || converted instanceof ExecutionError ? null : converted
}

// Longer than any sensible number. The time to parse an integer is quadratic in its length.
const NUMBER_LENGTH_MAX = 400

function toInteger(value: Value): Value | undefined | ExecutionError {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Float) return truncateToInteger(value.value)
  if (typeof value !== 'string') return undefined
  if (value.length > NUMBER_LENGTH_MAX) return null
  const integer = integerOfText(value)
  if (integer !== 'too large') return integer
  const shown = 'is too large: an integer has at most 64 bits'
  return new ExecutionError('type', `\`${value}\` ${shown}`, null, 'NumberOutOfRange', `a number in a text ${shown}`)
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
  const double = floatOfText(value)
  return double === null ? null : new Float(double)
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
