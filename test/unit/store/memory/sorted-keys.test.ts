import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedKeys } from '../../../../src/store/memory/sorted-keys.ts'

test('sorted keys agree with a sorted array, over any additions and removals', () => {
  const change = fc.record({ key: fc.integer({ min: 0, max: 3000 }), isRemoval: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 2500, size: 'max' }), (changes) => {
      const keys = new SortedKeys<number>()
      const model = new Set<number>()
      for (const { key, isRemoval } of changes) {
        if (isRemoval) {
          keys.remove(key)
          model.delete(key)
        } else {
          keys.add(key)
          model.add(key)
        }
      }
      const sorted = [...model].sort((a, b) => a - b)
      for (let key = -1; key <= 3001; key += 7) {
        for (const beyond of [false, true]) {
          const after = sorted.find((each) => (beyond ? each > key : each >= key)) ?? null
          const before = sorted.findLast((each) => (beyond ? each < key : each <= key)) ?? null
          expect([keys.atOrAfter(key, beyond), keys.atOrBefore(key, beyond)], `${key} ${beyond}`).toEqual([
            after,
            before,
          ])
        }
      }
    }),
    { numRuns: 20 },
  )
})

test('blocks are split, and removed when they are empty', () => {
  const keys = new SortedKeys<string>()
  const texts = Array.from({ length: 5000 }, (_, i) => String(i).padStart(5, '0'))
  for (const text of texts) keys.add(text)
  const found: string[] = []
  for (let at = keys.atOrAfter('', false); at !== null; at = keys.atOrAfter(at, true)) found.push(at)
  expect(found).toEqual(texts)
  for (const text of texts) keys.remove(text)
  expect([keys.atOrAfter('', false), keys.atOrBefore('99999', false)]).toEqual([null, null])
})
