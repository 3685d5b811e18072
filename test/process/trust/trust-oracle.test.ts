// The scores of passes over 10,000 generated nodes, which take longer than an in-process test may.
import { expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { compareScores } from '../../oracle/trust-score-comparison.ts'

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

const NODES = 10_000

it('the scores of generated nodes are those of the naive model, at each time and for each profile', async () => {
  const { differences, nodes, repeated } = await compareScores(seed, NODES)
  expect([nodes, differences.length]).toEqual([NODES, 8])
  for (const difference of differences) expect(difference).toBeLessThanOrEqual(1e-12)
  // The same day again: nothing changes, so nothing is written.
  expect(repeated).toEqual({ nodesScored: NODES, scoresWritten: 0 })
})
