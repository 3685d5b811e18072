// What is refused of temporal input, and the bounds that results must keep.
import { ExecutionError } from '../../errors.ts'
import { DAY_MAX, DAY_MIN, YEAR_MAX } from './calendar.ts'
import { DurationValue } from './temporal.ts'

/** Longer than any text that means something; keeps messages short and readers linear. */
const QUOTED_LENGTH_MAX = 80

/** `withoutValues`: where the message quotes what it was given. */
export function invalidTemporalError(message: string, withoutValues = message): ExecutionError {
  return new ExecutionError('argument', message, null, 'InvalidArgumentValue', withoutValues)
}

export function unparsableError(text: string, what: string): ExecutionError {
  const shown = text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
  return invalidTemporalError(`\`${shown}\` is no ${what}`, `a text is no ${what}`)
}

export function checkDay(day: number): number {
  if (day >= DAY_MIN && day <= DAY_MAX) return day
  const message = `a date lies between the years -${YEAR_MAX} and ${YEAR_MAX}`
  throw new ExecutionError('arithmetic', message, null, 'NumberOutOfRange')
}

const SECONDS_MAX = 2n ** 63n - 1n
const NANOS_PER_SECOND = 1_000_000_000n

/** Months and days stay exact as numbers; seconds stay within 64 bits. */
export function checkDuration(months: bigint, days: bigint, nanos: bigint): DurationValue {
  const seconds = nanos / NANOS_PER_SECOND
  const fits = isSafe(months) && isSafe(days) && seconds >= -SECONDS_MAX && seconds <= SECONDS_MAX
  if (!fits) throw new ExecutionError('arithmetic', 'a duration is too long to be held', null, 'NumberOutOfRange')
  return new DurationValue(Number(months), Number(days), nanos)
}

function isSafe(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
}
