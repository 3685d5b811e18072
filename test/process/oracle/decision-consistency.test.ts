// Evaluations, batches, searches, pages and explanations agree, and reflect the current graph.
// test/stress/decision-consistency.ts runs more cases.
import { describe, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { agreement } from '../../oracle/decision-consistency.ts'
import { revokeAndAsk } from '../../oracle/revocations.ts'

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

describe('evaluations, batches, searches, pages and explanations', () => {
  it('agree for every pair of a generated graph', async () => {
    const { differences, pairs, permits, policies } = await agreement(8, seed)
    expect(differences.join('\n')).toBe('')
    expect(policies).toBeGreaterThan(16)
    // If nothing or everything were permitted, the comparison would prove nothing.
    expect(permits).toBeGreaterThan(0)
    expect(permits).toBeLessThan(pairs)
  })
})

describe('a revocation', () => {
  it('is visible to the next decision, and so is a grant', async () => {
    expect(await revokeAndAsk(400, seed)).toEqual({ revokes: 400, stalePermits: 0, staleDenials: 0 })
  })
})
