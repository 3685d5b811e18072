// Reads numbers in texts as Neo4j does: integers with `Long.parseLong` and `BigDecimal` of Java, but only ASCII digits, and floats
// with `Double.parseDouble`.
import { fitsInt64, normalizeInteger } from './arithmetic.ts'

// All patterns match in linear time: at each character only one alternative applies.
const DECIMAL = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/
/** The greatest scale of a `BigDecimal`. */
const SCALE_MAX = 2 ** 31 - 1
/** The digits of the greatest 64-bit integer. */
const INTEGER_DIGITS = 19

/**
 * Returns the integer part of a decimal number; null for any other text. No white space is accepted. `too large`: the number is not
 * within the range of 64-bit integers.
 */
export function integerOfText(text: string): number | bigint | null | 'too large' {
  const [, sign, whole = '', decimals, onlyDecimals, power = '0'] = DECIMAL.exec(text) ?? []
  if (sign === undefined) return null
  const fraction = decimals ?? onlyDecimals ?? ''
  const scale = fraction.length - Number(power)
  if (Math.abs(scale) > SCALE_MAX) return null
  const digits = (whole + fraction).replace(/^0+/, '')
  const places = digits.length - scale
  if (digits === '' || places <= 0) return 0
  if (places > INTEGER_DIGITS) return 'too large'
  const integer = BigInt(sign.replace('+', '') + digits.slice(0, places).padEnd(places, '0'))
  // A fraction after the last integer is outside too.
  const next = /[1-9]/.test(digits.slice(places)) ? (sign === '-' ? integer - 1n : integer + 1n) : integer
  return fitsInt64(next) ? normalizeInteger(integer) : 'too large'
}

/** White space of `Double.parseDouble` is everything up to U+0020. */
const FLOAT = /^[\0-\x20]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?[\0-\x20]*$/
const SPECIAL_FLOAT = /^[\0-\x20]*([+-]?(?:Infinity|NaN))[\0-\x20]*$/
const HEXADECIMAL_FLOAT =
  /^[\0-\x20]*([+-]?)0[xX](?:([\da-fA-F]+)(?:\.([\da-fA-F]*))?|\.([\da-fA-F]+))[pP]([+-]?\d+)[fFdD]?[\0-\x20]*$/
/** Powers of two beyond this, with up to 400 digits before them, are infinite or zero. */
const POWER_MAX = 4_000

/** Returns the nearest float of a decimal or hexadecimal number, also with white space around it; null for any other text. */
export function floatOfText(text: string): number | null {
  const decimal = FLOAT.exec(text)?.[1] ?? SPECIAL_FLOAT.exec(text)?.[1]
  // `+NaN` is NaN in JavaScript too.
  if (decimal !== undefined) return Number(decimal)
  const [, sign, whole = '', decimals, onlyDecimals, power = '0'] = HEXADECIMAL_FLOAT.exec(text) ?? []
  if (sign === undefined) return null
  const fraction = decimals ?? onlyDecimals ?? ''
  const magnitude = scaled(BigInt(`0x0${whole}${fraction}`), Number(power) - 4 * fraction.length)
  return sign === '-' ? -magnitude : magnitude
}

/** Returns the float that is nearest to `mantissa` · 2^`power`: exact as a decimal number, which JavaScript rounds once. */
function scaled(mantissa: bigint, power: number): number {
  if (mantissa === 0n || power < -POWER_MAX) return 0
  if (power > POWER_MAX) return Number.POSITIVE_INFINITY
  if (power >= 0) return Number(mantissa << BigInt(power))
  return Number(`${mantissa * 5n ** BigInt(-power)}e${power}`)
}
