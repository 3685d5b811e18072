import { afterEach, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { CaptureKills } from '../../stress/kill.ts'
import { killRounds } from '../../stress/kill-harness.ts'
import { killAll } from '../../support/cli-process.ts'

afterEach(killAll)

it('a server killed during a capture load loses no acknowledged batch and shows no partial batch', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(new CaptureKills(), { rounds: 2, seed })
  expect(outcome.faults).toEqual([])
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(8)
})
