// Store inputs as fast-check arbitraries: awkward texts, all types of values, steps of a batch.
import fc from 'fast-check'
import type { MetadataFields, NodeInput, NodeKey, PropertyInput, WriteBatch } from '../../src/engine/store.ts'
import type { PropertyValue } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'

/** Any sequence of UTF-16 units, including lone surrogates and texts that encoders often handle wrongly. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    '\0',
    '\u0001',
    'a\0b',
    '\ufeffmark',
    '\ud800',
    '\udfff',
    '\ud800\ud800',
    '𝒳',
    'é',
    'ÿ',
    '\uffff',
    '日本',
  ),
  fc.string({ minLength: 190, maxLength: 256 }),
)

export const integer: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger().map((value) => value + 0),
  fc.constantFrom(0, 1, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((value) => (value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n ? Number(value) : value)),
)

export const float: fc.Arbitrary<Float> = fc.double({ noNaN: true }).map((value) => new Float(value))

/** A lone surrogate is refused in a value. */
const wellFormedText = anyText.map((text) => text.toWellFormed())

export const propertyValue: fc.Arbitrary<PropertyValue> = fc.oneof(
  wellFormedText,
  integer,
  float,
  fc.boolean(),
  fc.array(wellFormedText, { maxLength: 4 }),
  fc.array(integer, { maxLength: 4 }),
  fc.array(float, { maxLength: 4 }),
  fc.array(fc.boolean(), { maxLength: 4 }),
)

const metadata = fc.record(
  {
    source: anyText,
    assuranceLevel: fc.integer({ min: 1, max: 3 }),
    verifiedTime: fc.constant('2026-01-02T03:04:05.000Z'),
    custom: fc.constant({ a: [1, 'b'], c: null }),
  },
  { requiredKeys: [] },
)

export function property(name: fc.Arbitrary<string>, value = propertyValue): fc.Arbitrary<PropertyInput> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.record({ name, value, metadata }, { requiredKeys: ['name', 'value'] }) },
    {
      weight: 1,
      arbitrary: fc.record({ name, externalValue: anyText, metadata }, { requiredKeys: ['name', 'externalValue'] }),
    },
  )
}

// -- steps of a batch, over few names so that they collide

export const TYPES = ['A', 'B', 'C']
export const EXTERNAL_IDS = ['0', 'x', 'y', 'ñ', '𝒳']
export const RELATIONSHIP_TYPES = ['R', 'S']
export const PROPERTY_NAMES = ['p', 'q', '']
export const VALUES: readonly PropertyValue[] = [1, new Float(1), 2, 'one', '', true, [1, 2], 'one\0', 2n ** 60n]

const key: fc.Arbitrary<NodeKey> = fc.record({
  type: fc.constantFrom(...TYPES),
  externalId: fc.constantFrom(...EXTERNAL_IDS),
})
const properties = fc.array(property(fc.constantFrom(...PROPERTY_NAMES), fc.constantFrom(...VALUES)), { maxLength: 3 })
const labels = fc.array(fc.constantFrom('A', 'L', 'M'), { maxLength: 2 })
const relationshipType = fc.constantFrom(...RELATIONSHIP_TYPES)
const names = fc.array(fc.constantFrom(...PROPERTY_NAMES, 'never given'), { maxLength: 3 })
const metadataFields = fc.record({
  own: fc.subarray(['source', 'assuranceLevel', 'verifiedTime'] as const),
  custom: fc.subarray(['a', 'c', 'never given']),
})

export type BatchStep =
  | { readonly do: 'upsert node'; readonly node: NodeInput }
  | { readonly do: 'delete node'; readonly key: NodeKey }
  | {
      readonly do: 'upsert relationship'
      readonly source: NodeKey
      readonly target: NodeKey
      readonly type: string
      readonly properties: PropertyInput[]
    }
  | { readonly do: 'delete node properties'; readonly key: NodeKey; readonly names: string[] }
  | {
      readonly do: 'delete metadata'
      readonly key: NodeKey
      readonly name: string
      readonly fields: MetadataFields
    }
  | { readonly do: 'delete relationship'; readonly source: NodeKey; readonly target: NodeKey; readonly type: string }
  | {
      readonly do: 'delete relationship properties'
      readonly source: NodeKey
      readonly target: NodeKey
      readonly type: string
      readonly names: string[]
    }
  | { readonly do: 'create node'; readonly labels: string[]; readonly properties: PropertyInput[] }
  /** So many parallel relationships between the nodes of two keys, if both exist. */
  | {
      readonly do: 'create relationships'
      readonly source: NodeKey
      readonly target: NodeKey
      readonly type: string
      readonly count: number
    }

const upsertNode = fc
  .record({ key, labels, isIdentity: fc.boolean(), location: anyText, properties }, { requiredKeys: ['key'] })
  .map(
    ({ key: { type, externalId }, ...rest }): BatchStep => ({ do: 'upsert node', node: { type, externalId, ...rest } }),
  )

export const step: fc.Arbitrary<BatchStep> = fc.oneof(
  { weight: 6, arbitrary: upsertNode },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete node' as const), key }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('upsert relationship' as const),
      source: key,
      target: key,
      type: relationshipType,
      properties,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete relationship' as const),
      source: key,
      target: key,
      type: relationshipType,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete node properties' as const), key, names }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete metadata' as const),
      key,
      name: fc.constantFrom(...PROPERTY_NAMES),
      fields: metadataFields,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete relationship properties' as const),
      source: key,
      target: key,
      type: relationshipType,
      names,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('create node' as const), labels, properties }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('create relationships' as const),
      source: key,
      target: key,
      type: relationshipType,
      count: fc.integer({ min: 1, max: 7 }),
    }),
  },
)

/** Applies the step and returns the result of the batch without global ids. */
export function take(step: BatchStep, batch: WriteBatch): unknown {
  switch (step.do) {
    case 'upsert node': {
      const { id, created } = batch.upsertNode(step.node)
      return [id, created]
    }
    case 'delete node':
      return batch.deleteNode(step.key) !== null
    case 'delete node properties':
      return batch.deleteNodeProperties(step.key, step.names) !== null
    case 'delete metadata':
      return batch.deleteNodePropertyMetadata(step.key, step.name, step.fields) !== null
    case 'upsert relationship': {
      const written = batch.upsertRelationship(step)
      return written === null ? null : [written.id, written.created]
    }
    case 'delete relationship':
      return batch.deleteRelationship(step) !== null
    case 'delete relationship properties':
      return batch.deleteRelationshipProperties(step, step.names) !== null
    case 'create node':
      return batch.createNode(step.labels, step.properties)
    case 'create relationships': {
      const source = batch.findNode(step.source)
      const target = batch.findNode(step.target)
      if (source === 0 || target === 0) return null
      return Array.from({ length: step.count }, () => batch.createRelationship(source, step.type, target, []))
    }
  }
}
