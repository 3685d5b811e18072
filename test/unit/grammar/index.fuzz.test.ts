// Random texts: bytes, tokens in any order, mutated queries, deep and long ones. VERDIGRAPH_SEED sets the seed;
// test/stress/fuzz.ts runs more of them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomGraph } from '../../generate/graph.ts'
import { Noise } from '../../generate/query-noise.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'
import { corpus } from './corpus.ts'
import { Fuzz } from './fuzz.ts'

const INPUTS = 2_500
/** Detects a hang, even on a busy machine; the stress run allows 100 ms. */
const STAGE_MS_MAX = 5_000
const seed = testSeed()
let stored: StoredGraph

beforeAll(async () => {
  stored = await storeGraph(randomGraph(new Random(1)))
})
afterAll(() => stored.close())

test(`${INPUTS} texts are parsed and bound, or refused, without an exception (VERDIGRAPH_SEED=${seed})`, () => {
  const random = new Random(seed)
  const noise = new Noise(random, corpus())
  const fuzz = new Fuzz(stored.environment, STAGE_MS_MAX)
  for (let round = 0; round < INPUTS; round++) {
    const complaint = fuzz.complaint(noise.text())
    if (complaint !== null) expect.fail(`seed ${seed}, text ${round}: ${complaint}`)
  }
  console.log(JSON.stringify(fuzz.counts))
  // Each outcome must occur, else the texts prove nothing.
  for (const count of Object.values(fuzz.counts)) expect(count).toBeGreaterThan(INPUTS / 100)
}, 600_000)
