import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredProperty } from '../../../../src/engine/store.ts'
import { mintGid } from '../../../../src/kernel/ids.ts'
import { ByteWriter, copyToView, type ValueView } from '../../../../src/store/format/bytes.ts'
import {
  checkVersion,
  externalIdOf,
  gidOf,
  type NodeRecord,
  propertyOf,
  type RelationshipRecord,
  readNode,
  readRelationship,
  storedPropertyOf,
  writeNode,
  writeRelationship,
} from '../../../../src/store/format/records.ts'
import { readText, textBytes } from '../../../../src/store/format/text.ts'
import { anyText, property, propertyValue } from '../../../generate/store-inputs.ts'

const symbol = fc.integer({ min: 1, max: 0xffffffff })
const id = fc.integer({ min: 1, max: 0xfffffffe })
const ms = fc.integer({ min: 0, max: 4e12 })

const stored: fc.Arbitrary<StoredProperty> = fc.tuple(property(fc.constant('p')), ms).map(([input, updatedMs]) => ({
  value: input.value ?? null,
  externalValue: input.externalValue ?? null,
  updatedMs,
  metadata: input.metadata ?? null,
}))

const properties = fc
  .array(fc.tuple(symbol, stored), { maxLength: 20 })
  .map((entries) => new Map(entries.sort((a, b) => a[0] - b[0])))

const node: fc.Arbitrary<NodeRecord> = fc.record({
  type: fc.oneof(symbol, fc.constant(0)),
  externalId: anyText,
  labels: fc.uniqueArray(symbol, { maxLength: 5 }).map((labels) => labels.sort((a, b) => a - b)),
  isIdentity: fc.boolean(),
  location: fc.option(anyText),
  gid: ms.map((now) => mintGid(now)),
  createdMs: ms,
  updatedMs: ms,
  properties,
})

const relationship: fc.Arbitrary<RelationshipRecord> = fc.record({
  type: symbol,
  source: id,
  target: id,
  gid: ms.map((now) => mintGid(now)),
  createdMs: ms,
  updatedMs: ms,
  properties,
})

/** After other bytes in the writer, as in a batch. */
function encode(write: (writer: ByteWriter) => void): ValueView {
  const writer = new ByteWriter(16)
  writer.u8(7)
  write(writer)
  return copyToView(writer.bytes.subarray(1, writer.length))
}

describe('records', () => {
  test('any text decodes unit by unit', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = Buffer.from(textBytes(text))
        expect(readText(bytes, 0, bytes.length)).toBe(text)
      }),
      { numRuns: 1000 },
    )
  })

  test('a node decodes as it was encoded', () => {
    fc.assert(
      fc.property(node, (record) => {
        expect(readNode(encode((writer) => writeNode(writer, record)))).toEqual(record)
      }),
      { numRuns: 300 },
    )
  })

  test('a relationship decodes as it was encoded', () => {
    fc.assert(
      fc.property(relationship, (record) => {
        expect(readRelationship(encode((writer) => writeRelationship(writer, record)))).toEqual(record)
      }),
      { numRuns: 300 },
    )
  })

  test('every property is found alone, and a missing one is not', () => {
    fc.assert(
      fc.property(node, symbol, (record, absent) => {
        const valueView = encode((writer) => writeNode(writer, record))
        for (const [name, property] of record.properties) {
          expect(propertyOf(valueView, name)).toEqual(property.value)
          expect(storedPropertyOf(valueView, name)).toEqual(property)
        }
        if (!record.properties.has(absent)) expect(storedPropertyOf(valueView, absent)).toBeNull()
        expect([gidOf(valueView), externalIdOf(valueView)]).toEqual([record.gid, record.externalId])
      }),
      { numRuns: 300 },
    )
  })

  test('integers and floats stay distinct', () => {
    fc.assert(
      fc.property(propertyValue, node, (value, record) => {
        const properties = new Map([[1, { value, externalValue: null, updatedMs: 0, metadata: null }]])
        const read = propertyOf(
          encode((writer) => writeNode(writer, { ...record, properties })),
          1,
        )
        expect(read).toStrictEqual(value)
      }),
      { numRuns: 1000 },
    )
  })

  test('a record of another version is refused', () => {
    fc.assert(
      fc.property(node, (record) => {
        const valueView = encode((writer) => writeNode(writer, record))
        valueView.view.setUint8(0, 2)
        expect(() => checkVersion(valueView)).toThrow('a record has the unknown version 2')
        expect(() => readNode(valueView)).toThrow('a record has the unknown version 2')
      }),
      { numRuns: 5 },
    )
  })
})
