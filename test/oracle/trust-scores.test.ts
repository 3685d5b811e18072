// The scores of passes over generated nodes. More of them: test/process/trust/trust-oracle.test.ts.
import { expect, it } from 'vitest'
import { testSeed } from '../generate/random.ts'
import { compareScores } from './trust-score-comparison.ts'

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

const NODES = 1600

it('the scores of generated nodes are those of the naive model, at each time and for each profile', async () => {
  const { differences, nodes, repeated } = await compareScores(seed, NODES)
  expect([nodes, differences.length]).toEqual([NODES, 8])
  for (const difference of differences) expect(difference).toBeLessThanOrEqual(1e-12)
  // The same day again: nothing changes, so nothing is written.
  expect(repeated).toEqual({ nodesScored: NODES, scoresWritten: 0 })
})
