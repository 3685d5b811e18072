// Random graphs, conditions and queries: the engine with rules on, the engine with rules off and the reference mean the same.
// VERDIGRAPH_SEED repeats a run; a failure prints the smallest world found. test/stress/differential.ts goes on for longer.
import { expect, test } from 'vitest'
import { runSeed } from '../generate/random.ts'
import { campaign, compared } from './differential.ts'

const PLAN = { rounds: 50, conditionsPerRound: 11, rowsPerRound: 11, failuresMax: 1 }
const ALL = PLAN.rounds * (PLAN.conditionsPerRound + PLAN.rowsPerRound)
const COMPARED_MIN = 1_000

test(`reference and engine agree on ${ALL} random conditions and queries`, async () => {
  const seed = runSeed()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const findings = await campaign({ ...PLAN, seed })
  const { conditions, rows, failures, refusals } = findings
  console.log(JSON.stringify({ conditions, rows }))
  for (const [why, text] of [...refusals].slice(0, 5)) console.log(`refused: ${why}\n    ${text}`)
  expect(failures.join('\n\n')).toBe('')
  expect(compared(findings)).toBeGreaterThanOrEqual(COMPARED_MIN)
  // A test in which hardly anything is granted, or has rows, would prove nothing.
  expect(conditions.fruitful / conditions.agree).toBeGreaterThan(0.2)
  expect(rows.fruitful / rows.agree).toBeGreaterThan(0.4)
}, 600_000)
