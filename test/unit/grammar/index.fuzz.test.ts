// Texts at random: bytes, tokens in any order, mutated queries, deep and long ones. VERDIGRAPH_SEED repeats a run;
// test/stress/fuzz.ts goes on for longer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomGraph } from '../../generate/graph.ts'
import { Noise } from '../../generate/query-noise.ts'
import { Random, runSeed } from '../../generate/random.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'
import { corpus } from './corpus.ts'
import { Fuzz } from './fuzz.ts'

const INPUTS = 6_000
/** A hang, on however busy a machine; the long run asks for 100 ms. */
const STAGE_MS_MAX = 5_000
const seed = runSeed()
let stored: StoredGraph

beforeAll(async () => {
  stored = await storeGraph(randomGraph(new Random(1)))
})
afterAll(() => stored.close())

test(`${INPUTS} texts are read or refused, bound or refused, and never thrown at (VERDIGRAPH_SEED=${seed})`, () => {
  const chance = new Random(seed)
  const noise = new Noise(chance, corpus())
  const fuzz = new Fuzz(stored.environment, STAGE_MS_MAX)
  for (let round = 0; round < INPUTS; round++) {
    const complaint = fuzz.complaint(noise.text())
    if (complaint !== null) expect.fail(`seed ${seed}, text ${round}: ${complaint}`)
  }
  console.log(JSON.stringify(fuzz.counts))
  // All roads are walked, or the texts are of no use.
  for (const count of Object.values(fuzz.counts)) expect(count).toBeGreaterThan(INPUTS / 100)
}, 600_000)
