import { expect, test } from 'vitest'
import { SharedSymbols } from '../../../src/bolt/shared-symbols.ts'

test('a table that has grown large is replaced by an empty one with another epoch; small ones stay', () => {
  const small = new SharedSymbols()
  const id = small.intern('property', 'age')
  expect([small.intern('property', 'age'), small.name('property', id), small.current()]).toEqual([id, 'age', small])
  for (let i = 0; i < 200_000; i++) small.intern('property', `p${i}`)
  const next = small.current()
  expect([next.epoch, next.intern('property', 'other')]).toEqual([small.epoch + 1, 1])
  // A request that began before keeps its table.
  expect(small.name('property', id)).toBe('age')
})
