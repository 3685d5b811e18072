// Errors for invalid temporal input, and range checks of results.
import { ExecutionError } from '../../errors.ts'
import { DAY_MAX, DAY_MIN, YEAR_MAX } from './calendar.ts'
import { DurationValue } from './temporal.ts'

/** Longer texts are cut in messages. */
const QUOTED_LENGTH_MAX = 80

/** The error for an invalid argument. `redacted` is the message without values, if `message` quotes one. */
export function invalidTemporalError(message: string, redacted = message): ExecutionError {
  return new ExecutionError('argument', message, null, 'InvalidArgumentValue', redacted)
}

/** The error for a text that is not a temporal value; `what` names the expected kind. */
export function unparsableError(text: string, what: string): ExecutionError {
  const shown = text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
  return invalidTemporalError(`\`${shown}\` is not a valid ${what}`, `a text is not a valid ${what}`)
}

/** Returns the day number. Throws ExecutionError if it is out of range. */
export function checkDay(day: number): number {
  if (day >= DAY_MIN && day <= DAY_MAX) return day
  const message = `the year of a date must be between -${YEAR_MAX} and ${YEAR_MAX}`
  throw new ExecutionError('arithmetic', message, null, 'NumberOutOfRange')
}

const SECONDS_MAX = 2n ** 63n - 1n
const NANOS_PER_SECOND = 1_000_000_000n

/** Creates a duration. Throws ExecutionError if months or days are not safe integers, or seconds exceed 64 bits. */
export function checkDuration(months: bigint, days: bigint, nanos: bigint): DurationValue {
  const seconds = nanos / NANOS_PER_SECOND
  const fits = isSafe(months) && isSafe(days) && seconds >= -SECONDS_MAX && seconds <= SECONDS_MAX
  if (!fits) throw new ExecutionError('arithmetic', 'the duration is out of range', null, 'NumberOutOfRange')
  return new DurationValue(Number(months), Number(days), nanos)
}

function isSafe(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
}
