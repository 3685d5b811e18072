// Exact decimals for durations: 0.1 of a month is one tenth, not the double nearest to it.
import { Float } from '../../../kernel/float.ts'
import { invalidTemporalError } from './errors.ts'

/** digits / 10^scale */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

const DECIMAL = /^([+-]?\d+)(?:[.,](\d+))?(?:e([+-]\d+))?$/

/** Returns the decimal whose shortest text parses to the double. Throws ExecutionError for NaN and infinities. */
export function toDecimal(value: number | bigint | Float): Decimal {
  if (!(value instanceof Float)) return { digits: BigInt(value), scale: 0 }
  if (!Number.isFinite(value.value)) throw invalidTemporalError(`${value.value} is not a finite number`)
  return parseDecimal(String(value.value))
}

/** Parses decimal text, which must match `DECIMAL`. */
export function parseDecimal(text: string): Decimal {
  const [, whole, fraction = '', exponent = '0'] = DECIMAL.exec(text)!
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole! + fraction)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

/** Returns the digits of the decimal at another, not smaller scale. */
export function scaleTo({ digits, scale }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - scale)
}
