// Rewrites of random queries do not change their answers.
// bun test/stress/metamorphic.ts [--queries 20000] [--seed N] [--differences 5]
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { type MetamorphicCounts, runMetamorphic } from '../judge/metamorphic.ts'

const REPORT_EVERY_MS = 20_000

const { values } = parseArgs({
  options: {
    queries: { type: 'string', default: '20000' },
    seed: { type: 'string' },
    differences: { type: 'string', default: '5' },
  },
})
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
console.log(`seed ${seed}`)
const equalOf = ({ equal }: MetamorphicCounts): number => [...equal.values()].reduce((sum, count) => sum + count, 0)
let reported = performance.now()
let shown = 0
const counts = await runMetamorphic(
  { seed, queries: Number(values.queries), differencesMax: Number(values.differences) },
  (soFar) => {
    for (; shown < soFar.differences.length; shown++) console.log(`\n${soFar.differences[shown]}\n`)
    if (performance.now() - reported < REPORT_EVERY_MS) return
    reported = performance.now()
    console.log(`${soFar.queries} queries, ${equalOf(soFar)} rewrites; continue with --seed ${soFar.nextSeed}`)
  },
)
const rules = [...counts.equal].map(([rule, count]) => `${rule} ${count}`).join(', ')
console.log(
  `${counts.queries} queries; ${rules}; ${counts.refused} rewrites refused; continue with --seed ${counts.nextSeed}`,
)
console.log(`${equalOf(counts)} passed, ${counts.differences.length} failed`)
process.exitCode = counts.differences.length > 0 ? 1 : 0
