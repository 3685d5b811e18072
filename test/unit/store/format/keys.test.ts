import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Float } from '../../../../src/kernel/float.ts'
import {
  adjacencyKeys,
  chunkKeys,
  documentKeys,
  EXTERNAL_ID_UNITS_MAX,
  edgeListId,
  INDEXED_STRING_BYTES,
  indexKeys,
  type KeyCodec,
  labelKeys,
  scalarKey,
  upsertKeys,
  upsertKeyText,
} from '../../../../src/store/format/keys.ts'
import { anyText, float, integer } from '../../../generate/store-inputs.ts'

const word = fc.integer({ min: 0, max: 0xffffffff })

function bytesOf<K>(codec: KeyCodec<K>, key: K): Buffer {
  const target = Buffer.alloc(4096)
  return target.subarray(8, codec.writeKey(key, target, 8))
}

function sign(order: number): number {
  return Math.sign(order)
}

/** By code point, as the bytes of UTF-8 sort; `<` would sort by UTF-16 units. */
function compareTexts(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0)!)
  const right = Array.from(b, (character) => character.codePointAt(0)!)
  for (let i = 0; i < Math.min(left.length, right.length); i++) if (left[i] !== right[i]) return left[i]! - right[i]!
  return left.length - right.length
}

function compareFields(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i])
  return at < 0 ? 0 : a[at]! - b[at]!
}

describe('keys sort as their fields do, and decode to them', () => {
  test('adjacency: by node, then outgoing before incoming, then by type', () => {
    const type = fc.integer({ min: 0, max: 0x7fffffff })
    const key = fc.tuple(word, fc.constantFrom('out' as const, 'in' as const), type)
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [left, right] = [a, b].map(([node, direction, type]) => ({ node, edgeList: edgeListId(direction, type) }))
        const [leftBytes, rightBytes] = [bytesOf(adjacencyKeys, left!), bytesOf(adjacencyKeys, right!)]
        const fields = ([node, direction, type]: typeof a): number[] => [node, direction === 'out' ? 0 : 1, type]
        expect(sign(Buffer.compare(leftBytes, rightBytes))).toBe(sign(compareFields(fields(a), fields(b))))
        expect(adjacencyKeys.readKey(leftBytes, 0, leftBytes.length)).toEqual(left)
      }),
    )
  })

  test('chunks: by list, then by entry', () => {
    const key = fc.record({ node: word, edgeList: word, neighbour: word, relationship: word })
    fc.assert(
      fc.property(key, key, (a, b) => {
        const order = compareFields(Object.values(a), Object.values(b))
        expect(sign(Buffer.compare(bytesOf(chunkKeys, a), bytesOf(chunkKeys, b)))).toBe(sign(order))
        const bytes = bytesOf(chunkKeys, a)
        expect(chunkKeys.readKey(bytes, 0, bytes.length)).toEqual(a)
      }),
    )
  })

  test('labels: by label, then by block', () => {
    const key = fc.record({ label: word, block: word })
    fc.assert(
      fc.property(key, key, (a, b) => {
        const order = compareFields(Object.values(a), Object.values(b))
        expect(sign(Buffer.compare(bytesOf(labelKeys, a), bytesOf(labelKeys, b)))).toBe(sign(order))
      }),
    )
  })

  test('upsert keys: by type, then by the code points of the external id', () => {
    const key = fc.record({ type: word, externalId: anyText })
    fc.assert(
      fc.property(key, key, (a, b) => {
        const order = a.type - b.type || compareTexts(a.externalId, b.externalId)
        expect(sign(Buffer.compare(bytesOf(upsertKeys, a), bytesOf(upsertKeys, b)))).toBe(sign(order))
        const bytes = bytesOf(upsertKeys, a)
        expect(upsertKeys.readKey(bytes, 0, bytes.length)).toEqual(a)
      }),
    )
  })

  test('the longest external id stays below the key limit of the database', () => {
    for (const unit of ['a', 'é', '日', '\ud800']) {
      const externalId = upsertKeyText(unit.repeat(EXTERNAL_ID_UNITS_MAX / 4))
      expect(bytesOf(upsertKeys, { type: 1, externalId }).length).toBeLessThanOrEqual(1978)
    }
    expect(bytesOf(upsertKeys, { type: 1, externalId: '𝒳'.repeat(256) }).length).toBe(4 + 4 * 256)
    const longest = upsertKeyText('𝒳'.repeat(1024))
    const bytes = bytesOf(upsertKeys, { type: 1, externalId: longest })
    expect(bytes.length).toBe(4 + 3 + 64)
    expect(upsertKeys.readKey(bytes, 0, bytes.length)).toEqual({ type: 1, externalId: longest })
  })

  test('external ids of up to 512 units have their text in the key, as before, and longer ones a hash that is no external id', () => {
    for (const text of ['', 'a', '\udfff', `\udfff${'0'.repeat(63)}`, 'x'.repeat(512), '𝒳'.repeat(256)])
      expect(upsertKeyText(text)).toBe(text)
    const texts = ['x'.repeat(513), `${'x'.repeat(512)}y`, '𝒳'.repeat(257), 'x'.repeat(1024)]
    const hashes = texts.map(upsertKeyText)
    expect(new Set(hashes).size).toBe(texts.length)
    for (const hash of hashes) {
      expect(hash).toMatch(/^\udfff[\da-f]{64}$/)
      // Who asks for the text of a hash does not find the node that has it.
      expect(upsertKeyText(hash)).not.toBe(hash)
    }
  })

  test('documents: by collection, then by key, and no collection overlaps another', () => {
    const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.includes('\0'))
    const key = fc.record({ collection: name, key: anyText })
    fc.assert(
      fc.property(key, key, (a, b) => {
        const order = compareTexts(a.collection, b.collection) || compareTexts(a.key, b.key)
        expect(sign(Buffer.compare(bytesOf(documentKeys, a), bytesOf(documentKeys, b)))).toBe(sign(order))
        const bytes = bytesOf(documentKeys, a)
        expect(documentKeys.readKey(bytes, 0, bytes.length)).toEqual(a)
      }),
    )
  })
})

describe('scalars in the index', () => {
  const order = (a: unknown, b: unknown): number => sign(Buffer.compare(scalarKey(a)!, scalarKey(b)!))

  test('numbers sort by value, integers and floats together', () => {
    const plain = (value: number | bigint | Float): number => (value instanceof Float ? value.value : Number(value))
    const number = fc.oneof(integer, float)
    fc.assert(
      fc.property(number, number, (a, b) => {
        const [left, right] = [plain(a), plain(b)]
        expect(order(a, b)).toBe(left < right ? -1 : left > right ? 1 : 0)
      }),
      { numRuns: 1000 },
    )
  })

  test('1 and 1.0 are equal, and so are 0 and -0.0', () => {
    expect(order(1, new Float(1))).toBe(0)
    expect(order(0, new Float(-0))).toBe(0)
    expect(order(new Float(Number.NEGATIVE_INFINITY), Number.MIN_SAFE_INTEGER)).toBe(-1)
  })

  test('strings sort by code points, as far as they are indexed', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const short = [a, b].every((text) => Buffer.byteLength(text) <= INDEXED_STRING_BYTES)
        const expected = sign(compareTexts(a, b))
        if (short) expect(order(a, b)).toBe(expected)
        else expect([expected, 0]).toContain(order(a, b))
      }),
      { numRuns: 1000 },
    )
  })

  test('booleans come before numbers and numbers before strings; false before true', () => {
    expect(order(false, true)).toBe(-1)
    expect(order(true, Number.MIN_SAFE_INTEGER)).toBe(-1)
    expect(order(new Float(Number.POSITIVE_INFINITY), '')).toBe(-1)
  })

  test('no value is a prefix of another, so a range over one value contains no other', () => {
    const scalar = fc.oneof(anyText, integer, float, fc.boolean())
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        const [left, right] = [scalarKey(a)!, scalarKey(b)!]
        if (Buffer.compare(left, right) === 0) return
        expect(Buffer.from(right).subarray(0, left.length).equals(left)).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  test('index keys decode to their values', () => {
    const scalar = scalarKey('a\0b\u0001')!
    const bytes = bytesOf(indexKeys, { label: 1, property: 2, scalar, node: 0xfffffffe })
    expect(indexKeys.readKey(bytes, 0, bytes.length)).toEqual({
      label: 1,
      property: 2,
      scalar: Buffer.from(scalar),
      node: 0xfffffffe,
    })
  })

  test('lists and NaN are not indexed', () => {
    expect(scalarKey([1])).toBeNull()
    expect(scalarKey(new Float(Number.NaN))).toBeNull()
  })
})
