// Members of a map such as {year: 2015, week: 30, hour: 12}: which members each constructor accepts, which exclude each
// other, and the day and time of day that they give.
import { Float } from '../../../kernel/float.ts'
import { isNumber } from '../compare.ts'
import { kindName } from '../kind-name.ts'
import type { Value } from '../value.ts'
import { dateSystems, type IntegerFields, requireWithin } from './date-parts.ts'
import { invalidTemporalError } from './errors.ts'
import { NANOS_PER_SECOND } from './format.ts'

/** The map that a constructor is called with. */
export type TemporalFields = ReadonlyMap<string, Value>

const dateMembers = ['year', ...dateSystems.flatMap((system) => system.members)]
const timeMembers = ['hour', 'minute', 'second']
const fractionMembers = ['millisecond', 'microsecond', 'nanosecond']
const clockMembers = [...timeMembers, ...fractionMembers]

/** Members that the map of each constructor may have. */
export const membersByKind: Readonly<
  Record<'date' | 'localtime' | 'time' | 'localdatetime' | 'datetime', readonly string[]>
> = {
  date: ['date', ...dateMembers],
  localtime: ['time', ...clockMembers],
  time: ['time', ...clockMembers, 'timezone'],
  localdatetime: ['date', 'time', 'datetime', ...dateMembers, ...clockMembers],
  datetime: ['date', 'time', 'datetime', ...dateMembers, ...clockMembers, 'timezone', 'epochSeconds', 'epochMillis'],
}

/** Throws ExecutionError if the map has an unknown member. */
export function checkMemberNames(fields: TemporalFields, name: string, known: readonly string[]): void {
  for (const key of fields.keys()) {
    if (known.includes(key)) continue
    const takes = known.join(', ')
    throw invalidTemporalError(
      `${name}() does not accept \`${key}\`; it accepts ${takes}`,
      `${name}() accepts ${takes} and no other member`,
    )
  }
}

/** Returns an integer member; undefined if it is missing. Throws ExecutionError if it is not a safe integer. */
function integerMember(fields: TemporalFields, name: string): number | undefined {
  const value = fields.get(name)
  if (value === undefined) return undefined
  if (typeof value === 'number') return value
  if (value !== null && isNumber(value)) {
    const wanted = 'not a whole number within bounds'
    const shown = value instanceof Float ? value.value : value
    throw invalidTemporalError(`\`${name}\` is ${shown}, ${wanted}`, `\`${name}\` is ${wanted}`)
  }
  throw invalidTemporalError(`\`${name}\` takes an integer, not ${value === null ? 'null' : kindName(value)}`)
}

function integerFields(fields: TemporalFields, names: readonly string[]): IntegerFields {
  return Object.fromEntries(names.map((name) => [name, integerMember(fields, name)]))
}

/** Without a base date, a fine member needs the coarser ones: there is no day of an unknown month. */
function checkNoGap(parts: IntegerFields, chain: readonly string[]): void {
  const missing = chain.findIndex((name) => parts[name] === undefined)
  if (missing < 0) return
  const finer = chain.slice(missing).find((name) => parts[name] !== undefined)
  if (finer !== undefined) throw invalidTemporalError(`\`${finer}\` needs \`${chain[missing]}\``)
}

/**
 * Returns the day number that the members give. `whole`: a time of day follows, so no date member may be missing. Throws
 * ExecutionError.
 */
export function dayFromFields(fields: TemporalFields, base: number | null, whole: boolean): number {
  const parts = integerFields(fields, dateMembers)
  const used = dateSystems.filter((system) => system.members.some((name) => parts[name] !== undefined))
  const [system = dateSystems[0]!, other] = used
  if (other) {
    const [one, two] = [system, other].map((each) => each.members.find((name) => parts[name] !== undefined))
    throw invalidTemporalError(`a date has \`${one}\` or \`${two}\`, not both`)
  }
  if (base === null) {
    const chain = ['year', ...system.members]
    checkNoGap(parts, chain)
    const last = chain.at(-1)!
    if (whole && parts[last] === undefined)
      throw invalidTemporalError(`a time of day needs a complete date: \`${last}\` is missing`)
  }
  return system.resolve(parts, base)
}

/** Whether a member gives a time of day. */
export function hasTimeMember(fields: TemporalFields): boolean {
  return fields.has('time') || clockMembers.some((name) => fields.has(name))
}

/** Whether the map has one of the members. */
export function hasAnyMember(fields: TemporalFields, names: readonly string[]): boolean {
  return names.some((name) => fields.has(name))
}

/** Returns nanoseconds since midnight. Throws ExecutionError. */
export function nanosOfDayFromFields(fields: TemporalFields, base: number | null): number {
  const parts = integerFields(fields, clockMembers)
  if (base === null) {
    const given = fractionMembers.find((name) => parts[name] !== undefined)
    checkNoGap(parts, given === undefined ? timeMembers : [...timeMembers, given])
  }
  const from = base ?? 0
  const seconds = Math.floor(from / NANOS_PER_SECOND)
  const hour = requireWithin(parts, 'hour', 0, 23, Math.floor(seconds / 3600))
  const minute = requireWithin(parts, 'minute', 0, 59, Math.floor(seconds / 60) % 60)
  const second = requireWithin(parts, 'second', 0, 59, seconds % 60)
  const fraction = nanosOfSecondFromFields(parts) ?? from % NANOS_PER_SECOND
  return (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + fraction
}

/**
 * Each member is a fraction of the next coarser member of the map: `nanosecond` is at most 999,999,999 alone, and at most
 * 999,999 next to `millisecond`. Returns null if the map has none of the members.
 */
function nanosOfSecondFromFields(parts: IntegerFields): number | null {
  let nanos: number | null = null
  let unit = NANOS_PER_SECOND
  for (const [name, size] of [
    ['millisecond', 1_000_000],
    ['microsecond', 1_000],
    ['nanosecond', 1],
  ] as const) {
    if (parts[name] === undefined) continue
    nanos = (nanos ?? 0) + requireWithin(parts, name, 0, unit / size - 1, 0) * size
    unit = size
  }
  return nanos
}
