// The parts of the cache alone: never a wrong value, never beyond the bound, and used entries stay.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ValueCache } from '../../../../src/store/cache/value-cache.ts'
import { WordCache } from '../../../../src/store/cache/word-cache.ts'

function contents(blocks: WordCache, high: number, low: number): number[] | null {
  return blocks.find(high, low) ? [...blocks.words.subarray(blocks.at, blocks.at + blocks.size)] : null
}

const run = (length: number, first: number): Uint32Array => Uint32Array.from({ length }, (_, i) => first + i)

describe('cached runs of words', () => {
  const word = fc.constantFrom(0, 1, 2, 3, 4, 5, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff)
  const deed = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), high: word, low: word, size: fc.nat(40) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('find' as const), high: word, low: word }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), high: word, low: word }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget all' as const) }) },
  )

  test.each([1, 4000, 100_000])('are the last stored ones, or missing, within %i bytes', (bytes) => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 400, size: 'max' }), (deeds) => {
        const blocks = new WordCache(bytes)
        const model = new Map<string, number[]>()
        deeds.forEach((deed, number) => {
          if (deed.do === 'forget all') {
            blocks.clear()
            model.clear()
            return
          }
          const { high, low } = deed
          const name = `${high} ${low}`
          if (deed.do === 'put') {
            const words = run(deed.size, number)
            // A value above the maximum size is not stored: its key must not keep an older value either.
            blocks.delete(high, low)
            blocks.put(high, low, words, deed.size)
            model.set(name, [...words])
          } else if (deed.do === 'forget') {
            blocks.delete(high, low)
            model.delete(name)
            expect(blocks.find(high, low)).toBe(false)
          } else {
            const found = contents(blocks, high, low)
            if (found !== null) expect(found).toEqual(model.get(name))
          }
        })
      }),
      { numRuns: 200 },
    )
  })

  test('are replaced under the same key', () => {
    const blocks = new WordCache(1)
    for (let number = 0; number < 500; number++) {
      blocks.put(7, 0x80000001, run(3, number), 3)
      expect(contents(blocks, 7, 0x80000001)).toEqual([number, number + 1, number + 2])
    }
  })

  test('stay as long as they are used, whatever else is stored; unused ones are evicted', () => {
    const blocks = new WordCache(64 * 1024)
    blocks.put(1, 1, run(6, 100), 6)
    let asked = 0
    for (let number = 0; number < 100_000; number++) {
      blocks.put(number, 2, run(10, number), 10)
      // Sometimes all neighbouring slots are in use: then it is stored again.
      if (blocks.find(1, 1)) asked += 1
      else blocks.put(1, 1, run(6, 100), 6)
    }

    expect(asked).toBeGreaterThan(99_990)
    expect(contents(blocks, 1, 1)).toEqual([100, 101, 102, 103, 104, 105])
    let kept = 0
    for (let number = 0; number < 100_000; number++) if (blocks.find(number, 2)) kept += 1
    expect(kept).toBeGreaterThan(200)
    // A run of ten words, its size and its slot.
    expect(kept * (11 * 4 + 16)).toBeLessThan(64 * 1024)
  })

  test('that would evict a large part of the others are not stored', () => {
    const blocks = new WordCache(1)
    blocks.put(1, 1, run(5, 1), 5)
    blocks.put(2, 1, run(90, 1), 90)
    expect([contents(blocks, 1, 1), contents(blocks, 2, 1)]).toEqual([[1, 2, 3, 4, 5], null])
  })
})

const sizeOf = (key: string): number => 100 + key.length

describe('values by column and key', () => {
  const type = fc.integer({ min: 1, max: 3 })
  const externalId = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz', '', '\ud800', '\ud801', 'x'.repeat(500))
  const deed = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), type, externalId }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('find' as const), type, externalId }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), type, externalId }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget key' as const), externalId }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget all' as const) }) },
  )

  test.each([1, 2000, 100_000])('are the last stored ones, or missing, within %i bytes', (bytes) => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 400, size: 'max' }), (deeds) => {
        const keys = new ValueCache<string, number>(bytes, sizeOf)
        const model = new Map<string, number>()
        deeds.forEach((deed, number) => {
          if (deed.do === 'forget all') {
            keys.clear()
            model.clear()
            return
          }
          if (deed.do === 'forget key') {
            keys.deleteFromAllColumns(deed.externalId)
            for (const type of [1, 2, 3]) {
              model.delete(`${type} ${deed.externalId}`)
              expect(keys.find(type, deed.externalId)).toBeUndefined()
            }
            return
          }
          const { type, externalId } = deed
          const name = `${type} ${externalId}`
          if (deed.do === 'put') {
            keys.put(type, externalId, number + 1)
            model.set(name, number + 1)
            // Space for one is space for eight, except for values that are too large.
            if (bytes > 2000 && externalId.length < 500) expect(keys.find(type, externalId)).toBe(number + 1)
          } else if (deed.do === 'forget') {
            keys.delete(type, externalId)
            model.delete(name)
            expect(keys.find(type, externalId)).toBeUndefined()
          } else {
            const found = keys.find(type, externalId)
            if (found !== undefined) expect(found).toBe(model.get(name))
          }
        })
      }),
      { numRuns: 200 },
    )
  })

  test('stay as long as they are used, whatever else is stored; unused ones are evicted', () => {
    const keys = new ValueCache<string, number>(200_000, sizeOf)
    keys.put(1, 'asked', 77)
    for (let number = 1; number <= 50_000; number++) {
      keys.put(2, `id ${number}`, number)
      expect(keys.find(1, 'asked')).toBe(77)
    }
    let kept = 0
    for (let number = 1; number <= 50_000; number++) if (keys.find(2, `id ${number}`) !== undefined) kept += 1
    expect(kept).toBeGreaterThan(500)
    expect(kept).toBeLessThan(200_000 / 104)
  })
})
