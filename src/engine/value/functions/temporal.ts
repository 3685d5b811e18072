// Functions that make temporals, and the moment of the run for those that are asked for no value.
import { systemClock } from '../../../kernel/clock.ts'
import { isMap } from '../compare.ts'
import { typeOf } from '../static-type.ts'
import { durationMeasures } from '../temporal/between.ts'
import { construct } from '../temporal/construct.ts'
import { fromEpoch, fromEpochMillis, fromEpochSeconds } from '../temporal/epoch.ts'
import { zoneFrom } from '../temporal/select.ts'
import { type InstantKind, truncate } from '../temporal/truncate.ts'
import { inZone } from '../temporal/zones.ts'
import type { Value } from '../value.ts'
import { type CypherFunction, define, stringOf, wrongKind } from './function.ts'

const TEMPORAL = typeOf('temporal')
const SOURCE = ['string', 'map', 'temporal'] as const
const POINT = ['temporal'] as const

const instantKinds: readonly InstantKind[] = ['date', 'localtime', 'time', 'localdatetime', 'datetime']

/** Reading a text, a map or the rules of a zone takes some microseconds. */
const TEMPORAL_STEPS = 4

const functions: readonly CypherFunction[] = [
  ...instantKinds.flatMap(instantFunctions),
  define('datetime.fromEpoch', 2, [['integer'], ['integer']], TEMPORAL, (_, a, b) => fromEpochSeconds(a, b)),
  define('datetime.fromEpochMillis', 1, [['integer']], TEMPORAL, (_, a) => fromEpochMillis(a)),
  define('duration', 1, [SOURCE], TEMPORAL, (_, a) => construct('duration', a)),
  ...durationMeasures.map(([name, measure]) => define(name, 2, [POINT, POINT], TEMPORAL, (_, a, b) => measure(a, b))),
]

export const temporalFunctions: readonly CypherFunction[] = functions.map((entry) => ({
  ...entry,
  steps: TEMPORAL_STEPS,
}))

function instantFunctions(kind: InstantKind): readonly CypherFunction[] {
  return [
    define(kind, [0, 1], [SOURCE], TEMPORAL, (run, a) => {
      if (a === null) return now(kind, run.moment.ms, 'Z')
      // {timezone: 'Europe/Stockholm'} alone asks what the time is there.
      const isPlace = isMap(a) && a.size === 1 && a.has('timezone')
      return isPlace ? now(kind, run.moment.ms, a.get('timezone')!) : construct(kind, a)
    }),
    // A statement is a transaction of its own.
    define(`${kind}.transaction`, [0, 1], [['string']], TEMPORAL, (run, a) => now(kind, run.moment.ms, a ?? 'Z')),
    define(`${kind}.statement`, [0, 1], [['string']], TEMPORAL, (run, a) => now(kind, run.moment.ms, a ?? 'Z')),
    // The moment of the run is fixed when it is first asked for: never after this one.
    define(
      `${kind}.realtime`,
      [0, 1],
      [['string']],
      TEMPORAL,
      (run, a) => now(kind, Math.max(run.moment.ms, systemClock.now()), a ?? 'Z'),
      { pure: false },
    ),
    define(`${kind}.truncate`, [1, 3], [['string'], POINT, ['map']], TEMPORAL, (run, a, b, c) => {
      const unit = stringOf(`${kind}.truncate`, a)
      if (c !== null && !isMap(c)) throw wrongKind(`${kind}.truncate`, c, 'a map as its third argument')
      return truncate(kind, unit, b ?? now('datetime', run.moment.ms, 'Z'), c ?? new Map())
    }),
  ]
}

function now(kind: InstantKind, ms: number, zone: Value): Value {
  return zone === null ? null : construct(kind, inZone(fromEpoch(BigInt(ms) * 1_000_000n), zoneFrom(zone)!))
}
