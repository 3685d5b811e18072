// The key cache of a load returns the same nodes as a complete map, or reports that it does not know.
import { expect, test } from 'vitest'
import { BulkKeyCache } from '../../../../src/store/graph/bulk-key-cache.ts'
import { testSeed } from '../../../generate/random.ts'

const stamp = (commit: number) => ({ writer: 1, commit })
const alphabet = ['a', 'b', 'é', '\u{1f600}', '\ud800', '0']

test('returns what a map returns, or nothing, with any cache size', () => {
  const seed = testSeed()
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const textOf = () => Array.from({ length: random(9) }, () => alphabet[random(alphabet.length)]).join('')
  for (const wordsMax of [8, 200, 5_000, 1 << 20]) {
    const known = new BulkKeyCache(wordsMax)
    known.beginBatch(stamp(0), stamp(1), true)
    const all = new Map<string, number>()
    let unknown = 0
    for (let i = 1; i <= 20_000; i++) {
      if (i % 10 === 0) known.beginBatch(stamp(i / 10), stamp(i / 10 + 1), false)
      const [type, text] = [1 + random(3), textOf()]
      const expected = all.get(`${type} ${text}`)
      const found = known.find(type, text)
      if (found === null) unknown += 1
      else expect(found, `seed ${seed}: ${type} ${JSON.stringify(text)}`).toBe(expected ?? 0)
      if (expected !== undefined) continue
      all.set(`${type} ${text}`, i)
      known.add(type, text, i)
    }
    expect(unknown > 0, `seed ${seed}: with ${wordsMax} words`).toBe(wordsMax < 1 << 20)
  }
})

test('reports a node as missing only for a graph that it has seen from the beginning', () => {
  const known = new BulkKeyCache()
  known.beginBatch(stamp(0), stamp(1), true)
  known.add(1, 'a', 7)
  known.beginBatch(stamp(1), stamp(2), false)
  expect([known.find(1, 'a'), known.find(1, 'b')]).toEqual([7, 0])
  // Another writer has committed in between.
  known.beginBatch(stamp(5), stamp(6), false)
  expect([known.find(1, 'a'), known.find(1, 'b')]).toEqual([null, null])
})
