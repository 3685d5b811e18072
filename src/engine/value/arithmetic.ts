// Arithmetic on 64-bit integers and floats, and the arithmetic operators for strings, lists and temporals. An operand
// null gives null. An integer result beyond 64 bits is an error and is never rounded.
import { Float } from '../../kernel/float.ts'
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { isList, isNumber } from './compare.ts'
import { kindName } from './kind-name.ts'
import { concatLists } from './list-operations.ts'
import { addTemporals, subtractTemporals } from './temporal/add-duration.ts'
import { divideDuration, multiplyDuration } from './temporal/duration.ts'
import { DurationValue } from './temporal/temporal.ts'
import type { Value } from './value.ts'
import { boundedList, boundedText } from './value-size.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

type CypherInteger = number | bigint

/**
 * Returns the canonical form of an integer: a number if it is safe, else a bigint. Throws ExecutionError beyond 64 bits.
 */
export function normalizeInteger(value: bigint): CypherInteger {
  if (value >= -9007199254740991n && value <= 9007199254740991n) return Number(value)
  if (value < INT64_MIN || value > INT64_MAX) {
    const [message, without] = [`${value}`, 'a result'].map((what) => `integer overflow: ${what} does not fit 64 bits`)
    throw new ExecutionError('arithmetic', message!, null, 'IntegerOverflow', without)
  }
  return value
}

/** Whether an integer fits 64 bits, signed. */
export function fitsInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX
}

/** Returns the nearest double; `toDouble(2^53 + 1)` rounds as IEEE 754 does. */
export function toDouble(value: number | bigint | Float): number {
  return value instanceof Float ? value.value : Number(value)
}

/**
 * `a + b` for numbers, strings, lists and temporals. Charges copies of lists and strings. Throws ExecutionError for
 * operands of other kinds.
 */
export function add(budget: Budget, a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    return Number.isSafeInteger(sum) ? sum : normalizeInteger(BigInt(a) + BigInt(b))
  }
  if (a === null || b === null) return null
  if (isList(a)) return boundedList(budget, concatLists(budget, a, isList(b) ? b : [b]))
  if (isList(b)) return boundedList(budget, concatLists(budget, [a], b))
  if (isNumber(a) && isNumber(b)) {
    if (a instanceof Float || b instanceof Float) return new Float(toDouble(a) + toDouble(b))
    return normalizeInteger(BigInt(a) + BigInt(b))
  }
  if (typeof a === 'string' && typeof b === 'string') return boundedText(budget, a + b)
  if (typeof a === 'string' && isNumber(b)) return boundedText(budget, a + numberText(b))
  if (isNumber(a) && typeof b === 'string') return boundedText(budget, numberText(a) + b)
  const sum = addTemporals(a, b)
  if (sum === null) throw operandMismatchError('+', a, b)
  return sum
}

/** `a || b` for two strings or two lists. Charges the copy. Throws ExecutionError for operands of other kinds. */
export function concatenate(budget: Budget, a: Value, b: Value): Value {
  if (a === null || b === null) return null
  if (typeof a === 'string' && typeof b === 'string') return boundedText(budget, a + b)
  if (isList(a) && isList(b)) return boundedList(budget, concatLists(budget, a, b))
  throw operandMismatchError('||', a, b)
}

/** `a - b` for numbers and temporals. Throws ExecutionError for operands of other kinds. */
export function subtract(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    return Number.isSafeInteger(difference) ? difference : normalizeInteger(BigInt(a) - BigInt(b))
  }
  if (a === null || b === null) return null
  if (!isNumber(a) || !isNumber(b)) {
    const difference = subtractTemporals(a, b)
    if (difference === null) throw operandMismatchError('-', a, b)
    return difference
  }
  if (a instanceof Float || b instanceof Float) return new Float(toDouble(a) - toDouble(b))
  return normalizeInteger(BigInt(a) - BigInt(b))
}

/** `a * b` for numbers, and for a duration and a number. Throws ExecutionError for operands of other kinds. */
export function multiply(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    // `+ 0` turns the -0 of `0 * -1` into 0: there is one integer zero.
    return Number.isSafeInteger(product) ? product + 0 : normalizeInteger(BigInt(a) * BigInt(b))
  }
  if (a === null || b === null) return null
  if (a instanceof DurationValue && isNumber(b)) return multiplyDuration(a, b)
  if (b instanceof DurationValue && isNumber(a)) return multiplyDuration(b, a)
  if (!isNumber(a) || !isNumber(b)) throw operandMismatchError('*', a, b)
  if (a instanceof Float || b instanceof Float) return new Float(toDouble(a) * toDouble(b))
  return normalizeInteger(BigInt(a) * BigInt(b))
}

/**
 * `a / b` for numbers, and for a duration and a number. Integers divide towards zero. Throws ExecutionError for an integer
 * zero.
 */
export function divide(a: Value, b: Value): Value {
  if (a === null || b === null) return null
  if (a instanceof DurationValue && isNumber(b)) return divideDuration(a, b)
  if (!isNumber(a) || !isNumber(b)) throw operandMismatchError('/', a, b)
  if (a instanceof Float || b instanceof Float) return new Float(toDouble(a) / toDouble(b))
  if (b === 0) throw divisionByZeroError()
  // Subtracts the remainder first: `Math.trunc(a / b)` is off by one if the quotient rounds up to a whole number.
  if (typeof a === 'number' && typeof b === 'number') return (a - (a % b)) / b + 0
  return normalizeInteger(BigInt(a) / BigInt(b))
}

/** `a % b` for numbers; the result has the sign of the dividend. Throws ExecutionError for an integer zero. */
export function modulo(a: Value, b: Value): Value {
  if (a === null || b === null) return null
  if (!isNumber(a) || !isNumber(b)) throw operandMismatchError('%', a, b)
  if (a instanceof Float || b instanceof Float) return new Float(toDouble(a) % toDouble(b))
  if (b === 0) throw divisionByZeroError()
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  return normalizeInteger(BigInt(a) % BigInt(b))
}

/** `a ^ b` for numbers; the result is always a float. */
export function power(a: Value, b: Value): Value {
  if (a === null || b === null) return null
  if (!isNumber(a) || !isNumber(b)) throw operandMismatchError('^', a, b)
  return new Float(toDouble(a) ** toDouble(b))
}

/** `-a` for numbers. Throws ExecutionError for other kinds. */
export function negate(a: Value): Value {
  if (typeof a === 'number') return 0 - a
  if (a === null) return null
  if (a instanceof Float) return new Float(-a.value)
  if (typeof a === 'bigint') return normalizeInteger(-a)
  throw new ExecutionError('type', `\`-\` takes a number, not ${kindName(a)}`, null, 'InvalidArgumentType')
}

// ---------------------------------------------------------------- numbers as text

/** Formats a number as Cypher does: `1`, `1.0`, `1.0E7`, `1.5E-4`, `NaN`. */
export function numberText(value: number | bigint | Float): string {
  if (!(value instanceof Float)) return String(value)
  const double = value.value
  if (!Number.isFinite(double)) return String(double)
  if (double === 0) return Object.is(double, -0) ? '-0.0' : '0.0'
  const size = Math.abs(double)
  if (size >= 1e-3 && size < 1e7) {
    const text = String(double)
    return text.includes('.') ? text : `${text}.0`
  }
  const [digits, exponent] = double.toExponential().split('e') as [string, string]
  return `${digits.includes('.') ? digits : `${digits}.0`}E${Number(exponent)}`
}

function operandMismatchError(operator: string, a: Value, b: Value): ExecutionError {
  const message = `\`${operator}\` does not accept ${kindName(a)} and ${kindName(b)}`
  return new ExecutionError('type', message, null, 'InvalidArgumentType')
}

function divisionByZeroError(): ExecutionError {
  return new ExecutionError('arithmetic', '/ by zero', null, 'DivisionByZero')
}
