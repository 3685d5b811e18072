// Every way of asking says the same, and says it of the graph as it is now. test/stress/decision-consistency.ts goes on for longer.
import { describe, expect, it } from 'vitest'
import { runSeed } from '../generate/random.ts'
import { agreement } from './decision-consistency.ts'
import { revokeAndAsk } from './revocations.ts'

const seed = runSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

describe('evaluations, batches, searches, pages and explanations', () => {
  it('agree for every pair of a generated world', async () => {
    const { differences, pairs, permits, policies } = await agreement(8, seed)
    expect(differences.join('\n')).toBe('')
    expect(policies).toBeGreaterThan(16)
    // A test in which nothing is granted, or all of it, would prove nothing.
    expect(permits).toBeGreaterThan(0)
    expect(permits).toBeLessThan(pairs)
  }, 120_000)
})

describe('a revoke', () => {
  it('is seen by the very next decision, and so is a grant', async () => {
    expect(await revokeAndAsk(400, seed)).toEqual({ revokes: 400, stalePermits: 0, staleDenials: 0 })
  }, 60_000)
})
