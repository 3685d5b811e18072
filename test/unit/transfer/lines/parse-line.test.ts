// An import line accepts exactly what a capture accepts: the two are compared on items at every limit.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { protectedNameIssues, reservedNameIssues } from '../../../../src/capture/reserved-names.ts'
import { nodesRequest, relationshipsRequest } from '../../../../src/capture/schema.ts'
import { isTimestamp } from '../../../../src/kernel/element-rules.ts'
import { parseJson } from '../../../../src/kernel/json/json.ts'
import { LineError } from '../../../../src/transfer/lines/line-fields.ts'
import { parseLine } from '../../../../src/transfer/lines/parse-line.ts'
import { testSeed } from '../../../generate/random.ts'

const ofLength = (...lengths: number[]) =>
  fc.constantFrom('x', '\ud83e\udd93').chain((one) => fc.constantFrom(...lengths.map((length) => one.repeat(length))))
const usually = <T>(good: T, odd: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: odd })
/** Missing, or some value. */
const perhaps = (arbitrary: fc.Arbitrary<unknown>) => fc.option(arbitrary, { nil: undefined })

const strange = fc.constantFrom(null, 7, true, [], {}, '')
const names = fc.oneof(
  ofLength(1, 2, 63, 64, 65, 128, 129),
  fc.constantFrom('_Application', '_', '9a', 'a b', 'Ärger', 'a-b', 'Z9'),
  strange,
)
const type = usually('Person', names)
const externalId = usually('a', fc.oneof(ofLength(0, 255, 256, 257), strange))
const moments = fc.constantFrom(
  '2026-11-21T04:00:00Z',
  '2024-02-29T23:59:59.123456789012+05:30',
  '2023-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T04:00Z',
  '2026-11-21T04:00:00+0100',
  '2026-11-21t04:00:00z',
)
const metadata = fc.record(
  {
    source: usually('hr', fc.oneof(fc.constant(''), strange)),
    assurance_level: usually(2, fc.constantFrom(0, 1, 3, 4, 1.5, '2', null)),
    verified_time: usually('2026-11-21T04:00:00Z', fc.oneof(moments, strange)),
    custom_metadata: usually({ a: [1, { b: null }] }, fc.oneof(strange, fc.constant({ n: 12345678901234567890n }))),
    other: fc.constant(undefined),
  },
  { requiredKeys: [] },
)
const value = usually(
  1,
  fc.oneof(
    strange,
    fc.constantFrom([1, 'a'], [1, 2.5], [[1]], [null], ['a', 'b'], { float: 'NaN' }, { float: 'x' }, { a: 1 }),
    fc.constantFrom(2n ** 63n - 1n, 2n ** 63n, -(2n ** 63n), 10n ** 100n),
  ),
)
const property = fc.record(
  {
    type: usually('p', fc.oneof(ofLength(0, 127, 128, 129), fc.constantFrom('id', '_service', 'a b', '_x'), strange)),
    value: perhaps(value),
    external_value: usually(undefined, fc.oneof(ofLength(0, 256, 257), strange)),
    metadata: perhaps(metadata),
  },
  { requiredKeys: ['type', 'value'] },
)
const properties = fc.oneof(
  { weight: 20, arbitrary: fc.array(property, { maxLength: 2 }) },
  { weight: 1, arbitrary: strange },
)
const node = fc.record(
  {
    type,
    external_id: externalId,
    labels: fc.oneof(
      { weight: 9, arbitrary: fc.array(type, { maxLength: 2 }) },
      fc.constantFrom(64, 65, 66).map((length) => Array.from({ length }, (_, i) => `L${i}`)),
      strange,
    ),
    is_identity: usually(true, strange),
    location: usually('eu', fc.oneof(ofLength(0, 1, 2, 32, 33, 256), strange)),
    properties,
  },
  { requiredKeys: ['type', 'external_id'] },
)
const end = fc.record({ type, external_id: externalId })
const relationship = fc.record(
  { source: end, target: end, type, properties },
  { requiredKeys: ['source', 'target', 'type'] },
)

/** As lines are written: long integers without quotes. */
function written(item: unknown): string {
  return JSON.stringify(item, (_, value: unknown) => (typeof value === 'bigint' ? `<${value}>` : value)).replaceAll(
    /"<(-?\d+)>"/g,
    '$1',
  )
}

function itemOf(item: unknown): object {
  const parsed = parseJson(written(item))
  if (!parsed.ok) throw new Error(parsed.error.message)
  return parsed.value as object
}

interface CaptureAcceptance {
  type: string
  labels?: string[]
  properties?: { type: string }[]
}

/** The errors of the capture, in short. */
function faultsOf(schema: z.ZodType, body: unknown, item: object): string[] {
  const parsed = schema.safeParse(body)
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const { type, labels = [], properties = [] } = item as CaptureAcceptance
  return [
    ...[type, ...labels].flatMap((name) => reservedNameIssues('', name)),
    ...properties.flatMap((one) => protectedNameIssues('', one.type)),
  ]
}

function faultOfLine(text: string): LineError | null {
  try {
    parseLine(text, false)
    return null
  } catch (fault) {
    if (fault instanceof LineError) return fault
    throw fault
  }
}

test('an import line is accepted exactly if a capture accepts the item', () => {
  const outcomes = { taken: 0, refused: 0 }
  const compare = (text: string, faults: readonly string[]): void => {
    const fault = faultOfLine(text)
    if (faults.length === 0) outcomes.taken += 1
    else outcomes.refused += 1
    expect({ text, refused: fault !== null, told: fault === null ? faults : fault.message }).toMatchObject({
      refused: faults.length > 0,
    })
  }
  const item = fc.oneof(
    node.map((node) => ({ node })),
    relationship.map((relationship) => ({ relationship })),
  )
  fc.assert(
    fc.property(item, (given) => {
      const text = written(given)
      if ('node' in given) {
        const one = itemOf(given.node)
        compare(text, faultsOf(nodesRequest(1), { nodes: [one] }, one))
      } else {
        const one = itemOf(given.relationship)
        compare(text, faultsOf(relationshipsRequest(1), { relationships: [one] }, one))
      }
    }),
    { seed: testSeed(), numRuns: 2500 },
  )
  expect(outcomes.taken).toBeGreaterThan(400)
  expect(outcomes.refused).toBeGreaterThan(400)
})

test('a value that is refused in an import is reported with its field, but accepted from an export', () => {
  const many = Array.from({ length: 101 }, (_, i) => `L${i}`)
  const ends = { source: { type: '_Application', external_id: 'a' }, target: { type: 'Person', external_id: 'b' } }
  const sourced = [{ type: 'p', value: 1, metadata: { source: 'hr' } }]
  const cases: [object, string, string][] = [
    [
      { node: { type: 'Person', external_id: 'a', labels: many } },
      'node.labels',
      'expected at most 64 labels, found 101',
    ],
    [{ node: { type: '_Application', external_id: 'a' } }, 'node.type', '`_Application` is reserved for the service'],
    [{ node: { type: 'Person', external_id: 'a', labels: ['_A'] } }, 'node.labels[0]', '`_A` is reserved'],
    [{ relationship: { ...ends, type: '_HAS' } }, 'relationship.type', '`_HAS` is reserved for the service'],
    [
      { relationship: { ...ends, type: 'KNOWS', properties: sourced } },
      'relationship.properties[0].metadata',
      'a property of a relationship has no metadata',
    ],
  ]
  for (const [line, field, message] of cases) {
    const text = JSON.stringify(line)
    expect(faultOfLine(text)).toMatchObject({ field, message: expect.stringContaining(message) })
    expect(parseLine(text, true)).toMatchObject({ kind: Object.keys(line)[0] })
  }
  // Counts characters, not UTF-16 units.
  const zebra = { node: { type: 'Person', external_id: 'a', location: '\ud83e\udd93'.repeat(33) } }
  expect(faultOfLine(JSON.stringify(zebra))?.message).toBe('expected 1 to 32 characters, found 33')
  // An end of a reserved type connects an application to business data.
  expect(faultOfLine(JSON.stringify({ relationship: { ...ends, type: 'KNOWS' } }))).toBeNull()
})

test('a timestamp is accepted if the schema of a capture accepts it', () => {
  const schema = z.iso.datetime({ offset: true })
  const digits = (length: number) => fc.nat(10 ** length - 1).map((n) => String(n).padStart(length, '0'))
  const two = fc.oneof(digits(2), fc.constantFrom('01', '02', '04', '12', '23', '28', '29', '30', '31', '59', '60'))
  const text = fc
    .tuple(fc.constantFrom('2023', '2024', '1900', '2000'), two, two, two, two, two, fc.constantFrom('', '.5', '.'))
    .chain(([year, month, day, hour, minute, second, fraction]) =>
      fc
        .constantFrom('Z', '+01:00', '-23:59', '+24:00', '+0100', '')
        .map((zone) => `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`),
    )
  fc.assert(
    fc.property(fc.oneof(text, moments), (moment) => {
      expect(`${moment} ${isTimestamp(moment)}`).toBe(`${moment} ${schema.safeParse(moment).success}`)
    }),
    { seed: testSeed(), numRuns: 1500 },
  )
})
