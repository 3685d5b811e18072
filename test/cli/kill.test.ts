import { afterEach, expect, it } from 'vitest'
import { seedOfRun } from '../generate/chance.ts'
import { killRounds } from '../long/kill.ts'
import { killAll } from './process.ts'

afterEach(killAll)

it('a server killed in the middle of a capture load loses no acknowledged batch and shows no half batch', async () => {
  const seed = seedOfRun()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(2, seed)
  expect(outcome.faults).toEqual([])
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(8)
})
