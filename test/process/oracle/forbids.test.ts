// Policies that forbid, on generated graphs: evaluations and searches have the answers of the reference interpreter.
// test/stress/forbids.ts runs more cases.
import { describe, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { compareForbids } from '../../oracle/forbids.ts'

describe('policies that grant and policies that forbid', () => {
  it('have the answers of the reference interpreter, and searches those of evaluations', async () => {
    const seed = testSeed()
    const { differences, forbidden, unknown, permits, conditions } = await compareForbids(60, seed)
    expect(differences, `seed ${seed}`).toEqual([])
    expect(Math.min(forbidden, unknown, permits, conditions), `seed ${seed}`).toBeGreaterThan(0)
  })
})
