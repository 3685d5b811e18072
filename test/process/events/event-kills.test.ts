import { afterEach, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { EventKills } from '../../stress/event-kills.ts'
import { killRounds } from '../../stress/kill-harness.ts'
import { killAll } from '../../support/cli-process.ts'

afterEach(killAll)

it('no event is lost when delivery, receiver and service are killed, and a copy built from the events equals the graph', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(new EventKills({ rounds: 3, events: 2000, kafka: false }), { rounds: 3, seed })
  expect(outcome.faults).toEqual([])
  expect(outcome.missing).toBe(0)
  expect(outcome.copyHash).toBe(outcome.graphHash)
  expect(outcome.elements).toBeGreaterThan(100)
  expect(Object.values(outcome.kills)).toEqual([1, 1, 1])
})
