// Values of every kind for property tests, dense where kinds meet: around 2^53, signed zero, nested nulls.
import fc from 'fast-check'
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../src/engine/value/temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'

const integers = fc.constantFrom<Value>(
  0,
  1,
  2,
  -1,
  9007199254740991,
  9007199254740992n,
  9007199254740993n,
  2n ** 63n - 1n,
)
const floats = fc
  .constantFrom(
    0,
    -0,
    1,
    2,
    0.5,
    -1,
    9007199254740991,
    9007199254740992,
    9007199254740994,
    2 ** 63,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  )
  .map((value): Value => new Float(value))
const strings = fc.constantFrom<Value>('', 'a', 'b', 'ab', '1', '\u0000', '\u0000[]', '\u{1F600}', '\uFF5E')
const nodes = fc.tuple(fc.nat(1), fc.integer({ min: 1, max: 3 })).map(([graph, id]) => new NodeValue(graph, id))
const relationships = fc.integer({ min: 1, max: 3 }).map((id) => new RelationshipValue(0, id))
const paths = fc
  .integer({ min: 0, max: 2 })
  .chain((hops) =>
    fc
      .tuple(
        fc.array(nodes, { minLength: hops + 1, maxLength: hops + 1 }),
        fc.array(relationships, { minLength: hops, maxLength: hops }),
      )
      .map(([ns, rs]) => new PathValue(ns, rs)),
  )

// Few days, times and offsets, so that one instant occurs under several names.
const days = fc.constantFrom(-1, 0, 1, 16_000)
const hours = fc.integer({ min: 0, max: 3 }).map((hour) => hour * 3_600_000_000_000)
const offsets = fc.constantFrom(-3600, 0, 3600)
const temporals = fc.oneof(
  days.map((day): Value => new DateValue(day)),
  hours.map((nanos) => new LocalTimeValue(nanos)),
  fc.tuple(hours, offsets).map(([nanos, offset]) => new TimeValue(nanos, offset)),
  fc.tuple(days, hours).map(([day, nanos]) => new LocalDateTimeValue(day, nanos)),
  fc
    .tuple(days, hours, offsets, fc.constantFrom(null, 'Europe/London', 'Africa/Lagos'))
    .map(([day, nanos, offset, zone]) => new DateTimeValue(day, nanos, offset, zone)),
  fc
    .tuple(fc.constantFrom(0, 1, -1), fc.constantFrom(0, 30, -30), fc.constantFrom(0n, 37_746n * 1_000_000_000n, 1n))
    .map(([months, day, nanos]) => new DurationValue(months, day, nanos)),
)

export const anyValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.oneof(fc.constant<Value>(null), fc.boolean(), integers, integers, floats, floats, strings),
    fc.oneof(nodes, relationships, paths),
    temporals,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 2 })
      .map((o) => new Map(Object.entries(o))),
  ),
})).value

/** A value as part of a test title. */
export function show(value: Value): string {
  return Bun.inspect(value).replace(/\s+/g, ' ')
}
