// Definitions of random models, with rules and without, agree with a naive fixpoint of the reference interpreter: each check, and each
// search from both ends. Run alone: bun test/stress/definitions.ts [--answers 2000000] [--seed N]
import { stressSeed } from '../generate/random.ts'
import { compareDefinitions, type DefinitionFindings } from '../oracle/compare-definitions.ts'
import { numberAfter } from './flags.ts'

const REPORT_EVERY_MS = 20_000

const seed = numberAfter('--seed', stressSeed())
console.log(`seed ${seed}`)
let lastReport = performance.now()
let printed = 0
const textOf = ({ failures, ...counts }: DefinitionFindings): string =>
  `${JSON.stringify(counts)}, ${failures.length} differences`
const findings = await compareDefinitions(seed, {
  answersMax: numberAfter('--answers', 2_000_000),
  progress: (soFar) => {
    for (; printed < soFar.failures.length; printed++) console.log(`\n${soFar.failures[printed]}\n`)
    if (performance.now() - lastReport < REPORT_EVERY_MS) return
    lastReport = performance.now()
    console.log(textOf(soFar))
  },
})
console.log(textOf(findings))
process.exit(findings.failures.length > 0 ? 1 : 0)
