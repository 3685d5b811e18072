// The long run of the fuzz test.
// bun test/stress/fuzz.ts [--inputs 1000000] [--seed N] [--failures 5]
import { parseArgs } from 'node:util'
import { randomGraph } from '../generate/graph.ts'
import { Noise } from '../generate/query-noise.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { storeGraph } from '../support/store-engine.ts'
import { corpus } from '../unit/grammar/corpus.ts'
import { Fuzz } from '../unit/grammar/fuzz.ts'

const REPORT_EVERY = 50_000
/** Only a hang or exponential work takes this long: the longest stage takes 20 ms on a quiet machine, 300 on a very busy one. */
const STAGE_MS_MAX = 1_000

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    failures: { type: 'string', default: '5' },
  },
})
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
const [inputs, failuresMax] = [Number(values.inputs), Number(values.failures)]
if (![seed, inputs, failuresMax].every(Number.isSafeInteger))
  throw new Error('--inputs, --seed and --failures take whole numbers')

const stored = await storeGraph(randomGraph(new Random(1)))
const noise = new Noise(new Random(seed), corpus())
const fuzz = new Fuzz(stored.environment, STAGE_MS_MAX)
const began = performance.now()
let failures = 0
let done = 0
console.log(`seed ${seed}`)
for (; done < inputs && failures < failuresMax; done++) {
  const complaint = fuzz.complaint(noise.text())
  if (complaint !== null) {
    failures += 1
    console.log(`\ntext ${done}: ${complaint}\n`)
  }
  if ((done + 1) % REPORT_EVERY === 0) console.log(told())
}
await stored.close()
console.log(told())
console.log(`${done - failures} passed, ${failures} failed`)
process.exitCode = failures > 0 ? 1 : 0

function told(): string {
  const seconds = Math.round((performance.now() - began) / 1000)
  const counts = JSON.stringify(fuzz.counts)
  return `${Math.min(done + 1, inputs)} texts in ${seconds} s, ${counts}, longest ${longestTold()}`
}

function longestTold(): string {
  const { ms, stage, text } = fuzz.longest
  return `${stage} with ${Math.round(ms)} ms of ${JSON.stringify(text.slice(0, 120))}`
}
