// A comparison of policies reports exactly the decisions that change. test/stress/compared-policies.ts runs more cases.
import { describe, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { comparisons } from '../../oracle/compared-policies.ts'

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

describe('a comparison of random policies', () => {
  it('reports the pairs whose decision changes, and within a small budget no others', async () => {
    const { differences, worlds, complete, gained, lost, cut, paths, composite, placed } = await comparisons(60, seed)
    expect(differences.join('\n')).toBe('')
    // Otherwise the comparison would prove nothing.
    expect(complete).toBeGreaterThan(worlds / 2)
    expect(gained).toBeGreaterThan(worlds / 2)
    expect(lost).toBeGreaterThan(worlds / 8)
    expect(cut).toBeGreaterThan(worlds / 8)
    expect(paths).toBeGreaterThan(worlds / 2)
    expect(composite).toBeGreaterThan(worlds / 4)
    expect(placed).toBeGreaterThan(composite / 4)
  })
})
