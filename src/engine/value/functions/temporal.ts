// Constructors and functions of temporal values, and the time of the statement for calls without an argument.
import { systemClock } from '../../../kernel/time/clock.ts'
import { ExecutionError, type ExecutionErrorCode } from '../../errors.ts'
import { isMap } from '../compare.ts'
import { staticType } from '../static-type.ts'
import { construct } from '../temporal/construct.ts'
import { durationMeasures } from '../temporal/duration-between.ts'
import { fromEpochMillis, fromEpochNanos, fromEpochSeconds } from '../temporal/epoch.ts'
import { requireZone } from '../temporal/select.ts'
import type { TemporalKind } from '../temporal/temporal.ts'
import { type InstantKind, truncate } from '../temporal/truncate.ts'
import { withZone } from '../temporal/zones.ts'
import type { Value } from '../value.ts'
import { type CypherFunction, defineFunction, requireString, wrongKindArgument } from './function.ts'

const TEMPORAL = staticType('temporal')
const SOURCE = ['string', 'map', 'temporal'] as const
const INSTANT = ['temporal'] as const

const instantKinds: readonly InstantKind[] = ['date', 'localtime', 'time', 'localdatetime', 'datetime']

/** Parsing a text or a map, or applying the rules of a time zone, takes some microseconds. */
const TEMPORAL_STEPS = 4

const functions: readonly CypherFunction[] = [
  ...instantKinds.flatMap(instantFunctions),
  defineFunction('datetime.fromEpoch', 2, [['integer'], ['integer']], TEMPORAL, (_, a, b) => fromEpochSeconds(a, b)),
  defineFunction('datetime.fromEpochMillis', 1, [['integer']], TEMPORAL, (_, a) => fromEpochMillis(a)),
  defineFunction('duration', 1, [SOURCE], TEMPORAL, (_, a) => construct('duration', a)),
  orNull('duration', (_, a) => construct('duration', a)),
  ...durationMeasures.map(([name, measure]) =>
    defineFunction(name, 2, [INSTANT, INSTANT], TEMPORAL, (_, a, b) => measure(a, b)),
  ),
]

/**
 * The temporal functions: constructors and their `…OrNull` forms, `….transaction`, `….statement`, `….realtime`, `….truncate`, `datetime.fromEpoch…`
 * and `duration…`.
 */
export const temporalFunctions: readonly CypherFunction[] = functions.map((entry) => ({
  ...entry,
  steps: TEMPORAL_STEPS,
}))

function instantFunctions(kind: InstantKind): readonly CypherFunction[] {
  const make: CypherFunction['call'] = (run, a) => {
    if (a === null) return nowAs(kind, run.clock.ms, 'Z')
    // A map with only a time zone, such as {timezone: 'Europe/Stockholm'}, gives the current time in that zone.
    const isPlace = isMap(a) && a.size === 1 && a.has('timezone')
    return isPlace ? nowAs(kind, run.clock.ms, a.get('timezone')!) : construct(kind, a)
  }
  return [
    defineFunction(kind, [0, 1], [SOURCE], TEMPORAL, make),
    orNull(kind, make),
    // Each statement is one transaction.
    defineFunction(`${kind}.transaction`, [0, 1], [['string']], TEMPORAL, (run, a) =>
      nowAs(kind, run.clock.ms, a ?? 'Z'),
    ),
    defineFunction(`${kind}.statement`, [0, 1], [['string']], TEMPORAL, (run, a) =>
      nowAs(kind, run.clock.ms, a ?? 'Z'),
    ),
    // The statement clock is read at most once; real time must not be before it.
    defineFunction(
      `${kind}.realtime`,
      [0, 1],
      [['string']],
      TEMPORAL,
      (run, a) => nowAs(kind, Math.max(run.clock.ms, systemClock.now()), a ?? 'Z'),
      { pure: false },
    ),
    defineFunction(`${kind}.truncate`, [1, 3], [['string'], INSTANT, ['map']], TEMPORAL, (run, a, b, c) => {
      const unit = requireString(`${kind}.truncate`, a)
      if (c !== null && !isMap(c)) throw wrongKindArgument(`${kind}.truncate`, c, 'a map as its third argument')
      return truncate(kind, unit, b ?? nowAs('datetime', run.clock.ms, 'Z'), c ?? new Map())
    }),
  ]
}

/** The form of a constructor that gives null where the constructor fails, as `toIntegerOrNull` does. */
function orNull(kind: TemporalKind, make: CypherFunction['call']): CypherFunction {
  return defineFunction(`${kind}OrNull`, 1, [], TEMPORAL, (run, a, b, c) => {
    try {
      return make(run, a, b, c)
    } catch (error) {
      if (error instanceof ExecutionError && CONVERSION_ERRORS.has(error.code)) return null
      throw error
    }
  })
}

const CONVERSION_ERRORS: ReadonlySet<string> = new Set<ExecutionErrorCode>(['argument', 'arithmetic', 'type'])

function nowAs(kind: InstantKind, ms: number, zone: Value): Value {
  return zone === null ? null : construct(kind, withZone(fromEpochNanos(BigInt(ms) * 1_000_000n), requireZone(zone)!))
}
