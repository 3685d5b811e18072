// Instants as counts from 1970-01-01T00:00Z.
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { checkDay, invalidTemporalError } from './errors.ts'
import { checkMemberNames, type TemporalFields } from './fields.ts'
import { DateTimeValue } from './temporal.ts'
import { instantOf, UTC } from './zones.ts'

const NANOS_PER_DAY = 86_400_000_000_000n
const NANOS_PER_SECOND = 1_000_000_000n
const NANOS_PER_MILLISECOND = 1_000_000n

/** Returns the instant in UTC. */
export function fromEpochNanos(nanos: bigint): DateTimeValue {
  const rest = ((nanos % NANOS_PER_DAY) + NANOS_PER_DAY) % NANOS_PER_DAY
  return new DateTimeValue(checkDay(Number((nanos - rest) / NANOS_PER_DAY)), Number(rest), UTC, null)
}

/** Returns the instant in UTC; the arguments are integers. Throws ExecutionError. */
export function fromEpochSeconds(seconds: Value, nanoseconds: Value): DateTimeValue {
  return fromEpochNanos(
    requireInteger('the seconds', seconds) * NANOS_PER_SECOND + requireInteger('the nanoseconds', nanoseconds),
  )
}

/** Returns the instant in UTC; the argument is an integer. Throws ExecutionError. */
export function fromEpochMillis(milliseconds: Value): DateTimeValue {
  return fromEpochNanos(requireInteger('the milliseconds', milliseconds) * NANOS_PER_MILLISECOND)
}

/**
 * Constructs from {epochSeconds, nanosecond} or {epochMillis, nanosecond}. `nanosecond` is the fraction of the coarser
 * unit. Throws ExecutionError.
 */
export function fromEpochFields(fields: TemporalFields): DateTimeValue {
  const unit = fields.has('epochSeconds') ? 'epochSeconds' : 'epochMillis'
  checkMemberNames(fields, `datetime({${unit}: …})`, [unit, 'nanosecond', 'timezone'])
  const size = unit === 'epochSeconds' ? NANOS_PER_SECOND : NANOS_PER_MILLISECOND
  const nanosecond = requireInteger('`nanosecond`', fields.get('nanosecond') ?? 0)
  if (nanosecond < 0n || nanosecond >= size) {
    const wanted = `not between 0 and ${size - 1n}`
    throw invalidTemporalError(`\`nanosecond\` is ${nanosecond}, ${wanted}`, `\`nanosecond\` is ${wanted}`)
  }
  return fromEpochNanos(requireInteger(`\`${unit}\``, fields.get(unit)!) * size + nanosecond)
}

/** Returns nanoseconds since the epoch. */
export function epochNanos(value: DateTimeValue): bigint {
  const { day, nanos } = instantOf(value)
  return BigInt(day) * NANOS_PER_DAY + BigInt(nanos)
}

function requireInteger(name: string, value: Value): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value)
  throw invalidTemporalError(`${name} must be an integer, not ${kindName(value)}`)
}
