import { afterEach, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { AuditKills } from '../../stress/audit-kills.ts'
import { killRounds } from '../../stress/kill-harness.ts'
import { killAll } from '../../support/cli-process.ts'

afterEach(killAll)

it('each acknowledged change has one audit record when service, background process and lanes are killed, and no log forks', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const outcome = await killRounds(new AuditKills(120), { rounds: 3, seed })
  expect(outcome.faults).toEqual([])
  expect(outcome.acknowledged).toBeGreaterThan(100)
  expect(outcome.published).toBeGreaterThan(1)
  expect(Object.values(outcome.kills)).toEqual([1, 1, 1])
})
