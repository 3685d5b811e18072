// Exports work one after the other, each in a turn of the event loop of its own.
import { expect, test } from 'vitest'
import { ExportTurns } from '../../../../src/audit/read/export-records.ts'

test('lets one export work in a turn of the event loop, and the others in the next ones, in their order', async () => {
  const turns = new ExportTurns()
  const slices: string[] = []
  const exporting = async (name: string): Promise<void> => {
    for (let slice = 1; slice <= 3; slice += 1) {
      await turns.next()
      slices.push(`${name}${slice}`)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(exporting))
  const most: number[] = []
  for (let turn = 0, before = 0; slices.length < 9 && turn < 100; turn += 1, before = slices.length) {
    await new Promise((resolve) => setImmediate(resolve))
    most.push(slices.length - before)
  }
  await all
  expect(slices).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3'])
  expect(Math.max(...most)).toBe(1)
})
