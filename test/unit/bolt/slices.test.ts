// A long loop lets the event loop serve other work in between, and is a plain loop otherwise.
import { expect, test } from 'vitest'
import { eachInSlices, mapInSlices } from '../../../src/bolt/slices.ts'

/** Items of a millisecond each. */
function busy(): void {
  const endMs = performance.now() + 1
  while (performance.now() < endMs);
}

test('other work is served between the slices', async () => {
  let isOver = false
  let turns = 0
  const count = (): void => {
    if (isOver) return
    turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  await eachInSlices(Array.from({ length: 64 }), busy)
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(6)
})

test('items keep their order, and an error ends the loop', async () => {
  const items = Array.from({ length: 1_000 }, (_, at) => at)
  expect(await mapInSlices(items, (item) => item * 2)).toEqual(items.map((item) => item * 2))
  const seen: number[] = []
  const failing = mapInSlices(items, (item) => {
    seen.push(item)
    if (item === 20) throw new Error('broken')
  })
  await expect(failing).rejects.toThrow('broken')
  expect(seen.length).toBe(21)
})
