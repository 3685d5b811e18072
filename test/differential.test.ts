// Random graphs and conditions: the engine with rules on, the engine with rules off and the reference mean the same relation.
// VERDIGRAPH_SEED repeats a run, VERDIGRAPH_DIFFERENTIAL=N lengthens it; a failure prints the smallest world found.
import { expect, test } from 'vitest'
import { Chance, seedOfRun } from './generate/chance.ts'
import { textOf } from './generate/condition.ts'
import { randomGraph } from './generate/graph.ts'
import { asWorld, randomCase, SHORT_CHUNKS, settled, settledAlone } from './generate/outcome.ts'
import { shrink } from './generate/shrink.ts'
import { storeGraph } from './support/store-engine.ts'

const PAIRS = Number(process.env.VERDIGRAPH_DIFFERENTIAL ?? 300)
if (!Number.isSafeInteger(PAIRS) || PAIRS < 1) throw new Error('VERDIGRAPH_DIFFERENTIAL is a count of pairs')
const CONDITIONS_PER_GRAPH = 5
const REFUSED_SHARE_MAX = 0.1

test(`reference and engine agree on ${PAIRS} random graphs and conditions`, async () => {
  const seed = seedOfRun()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const counts = { agree: 0, granting: 0, refused: 0, tooLarge: 0 }
  const refusals = new Set<string>()
  let pair = 0
  for (let round = 0; pair < PAIRS; round++) {
    const chance = new Chance(seed + round)
    const graph = randomGraph(chance)
    const stored = await storeGraph(graph, SHORT_CHUNKS)
    try {
      for (let turn = 0; turn < CONDITIONS_PER_GRAPH && pair < PAIRS; turn++, pair++) {
        const case_ = randomCase(chance, graph)
        const outcome = settled(case_, stored)
        if (outcome.kind === 'agree') {
          counts.agree++
          if (outcome.pairs > 0) counts.granting++
        } else if (outcome.kind === 'refused') {
          counts.refused++
          refusals.add(`${outcome.why}\n    ${textOf(case_.condition.clauses)}`)
        } else if (outcome.kind === 'too-large') {
          counts.tooLarge++
        } else {
          const smallest = await shrink(case_, async (smaller) => (await settledAlone(smaller)).kind === 'differ')
          const last = await settledAlone(smallest)
          const why = 'why' in last ? last.why : outcome.why
          expect.fail(`VERDIGRAPH_SEED=${seed}, pair ${pair}; smallest world:\n${asWorld(smallest, why)}`)
        }
      }
    } finally {
      await stored.close()
    }
  }
  console.log(JSON.stringify(counts))
  for (const why of [...refusals].slice(0, 10)) console.log(`refused: ${why}`)
  // A test in which hardly anything is granted or asked would prove nothing.
  expect(counts.granting / PAIRS).toBeGreaterThan(0.25)
  expect(counts.refused / PAIRS).toBeLessThan(REFUSED_SHARE_MAX)
  expect(counts.tooLarge / PAIRS).toBeLessThan(0.05)
}, 600_000)
