// Turns are granted in order, and no more than a number of them between two pauses.
import { expect, test } from 'vitest'
import { Turns } from '../../../src/streams/turns.ts'

test('work is done in its order, and other work of the event loop between', async () => {
  const turns = new Turns(2, 10)
  const done: (number | 'other')[] = []
  // Timers run in the order in which they are due: this one after the work of the first turn, and before the pause ends.
  setTimeout(() => done.push('other'), 1)
  const all = [0, 1, 2, 3, 4].map((at) => turns.next().then(() => done.push(at)))
  await Promise.all(all)
  expect(done).toEqual([0, 1, 'other', 2, 3, 4])
})

test('a turn is granted at once when none was granted since the last pause', async () => {
  const turns = new Turns(1, 1)
  await turns.next()
  await turns.next()
  let isGranted = false
  void turns.next().then(() => {
    isGranted = true
  })
  await Promise.resolve()
  expect(isGranted).toBe(false)
  while (!isGranted) await Bun.sleep(1)
})
