// The long run of the differential test: engine with rules = engine without rules = reference, on random graphs.
// bun test/stress/differential.ts [--comparisons 200000] [--seed N] [--failures 5]
// bun test/stress/differential.ts --searched --answers 10000000 [--seconds 3600]
//   only conditions with selectors and quantified path patterns where there may be no match, each over a larger graph
// The seed numbers the rounds: a run can be split into slices, each starting with the seed where another ended; slices
// can run concurrently.
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { type Campaign, campaign, compared, type Findings } from '../oracle/differential.ts'

const PER_ROUND = { conditionsPerRound: 6, rowsPerRound: 6 }
const SEARCHED_PER_ROUND = { conditionsPerRound: 8, rowsPerRound: 0, graphsPerRound: 14, isSearched: true }
const REPORT_EVERY_MS = 20_000

const { values } = parseArgs({
  options: {
    comparisons: { type: 'string', default: '200000' },
    seed: { type: 'string' },
    failures: { type: 'string', default: '5' },
    searched: { type: 'boolean', default: false },
    answers: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const seed = values.seed === undefined ? stressSeed() : wholeNumber('seed', values.seed)
const comparisons = wholeNumber('comparisons', values.comparisons)
const perRound = values.searched ? SEARCHED_PER_ROUND : PER_ROUND
const plan: Campaign = {
  seed,
  rounds:
    values.answers === undefined
      ? Math.ceil(comparisons / (perRound.conditionsPerRound + perRound.rowsPerRound))
      : Number.POSITIVE_INFINITY,
  ...perRound,
  ...(values.answers === undefined ? {} : { answersMax: wholeNumber('answers', values.answers) }),
  ...(values.seconds === undefined ? {} : { secondsMax: wholeNumber('seconds', values.seconds) }),
  failuresMax: wholeNumber('failures', values.failures),
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a whole number, not ${text}`)
  return Number(text)
}

const began = performance.now()
const told = (findings: Findings): string => {
  const seconds = Math.round((performance.now() - began) / 1000)
  return `${compared(findings)} compared in ${seconds} s; continue with --seed ${findings.nextSeed}; ${JSON.stringify({
    conditions: findings.conditions,
    rows: findings.rows,
    ...(values.searched ? { places: Object.fromEntries([...findings.places].sort()) } : {}),
  })}`
}

console.log(`seed ${seed}, ${plan.rounds} rounds${values.searched ? ', only searched conditions' : ''}`)
let lastReport = began
let failuresTold = 0
const findings = await campaign(plan, (soFar) => {
  for (; failuresTold < soFar.failures.length; failuresTold++) console.log(`\n${soFar.failures[failuresTold]}\n`)
  if (performance.now() - lastReport < REPORT_EVERY_MS) return
  lastReport = performance.now()
  console.log(told(soFar))
})
for (const [why, text] of [...findings.refusals].slice(0, 10))
  console.log(`refused: ${why}\n    ${text.replaceAll('\n', '\n    ')}`)
console.log(told(findings))
console.log(`${compared(findings)} passed, ${findings.failures.length} failed`)
process.exitCode = findings.failures.length > 0 ? 1 : 0
