// `verdigraph lint` makes no false claim about a policy that never grants or that another one covers, on random graphs.
// VERDIGRAPH_SEED sets the seed.
import { expect, test } from 'vitest'
import { Random, testSeed } from '../../generate/random.ts'
import { testUselessClaims } from '../../oracle/useless-policies.ts'

const seed = testSeed()

test(`a policy reported as never granting grants nothing, and grants of a covered one are a subset (seed ${seed})`, () => {
  const counts = testUselessClaims(new Random(seed), 300)
  console.log(JSON.stringify(counts))
  // Claims must occur, else the test proves nothing.
  expect(counts.neverGranting).toBeGreaterThan(40)
  expect(counts.coveredByOther).toBeGreaterThan(10)
  expect(counts.fruitful).toBeGreaterThan(5)
})
