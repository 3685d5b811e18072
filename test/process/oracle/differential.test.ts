// Compares engine with rules, engine without rules and reference interpreter on random graphs, conditions and queries.
// VERDIGRAPH_SEED sets the seed; a failure prints the smallest case found. test/stress/differential.ts runs more of them.
import { expect, test } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { campaign, compared } from '../../oracle/differential.ts'

const PLAN = { rounds: 10, conditionsPerRound: 11, rowsPerRound: 11, failuresMax: 1 }
const ALL = PLAN.rounds * (PLAN.conditionsPerRound + PLAN.rowsPerRound)
const COMPARED_MIN = 200

test(`reference and engine agree on ${ALL} random conditions and queries`, async () => {
  const seed = testSeed()
  console.log(`VERDIGRAPH_SEED=${seed}`)
  const findings = await campaign({ ...PLAN, seed })
  const { conditions, rows, failures, refusals } = findings
  console.log(JSON.stringify({ conditions, rows }))
  for (const [why, text] of [...refusals].slice(0, 5)) console.log(`refused: ${why}\n    ${text}`)
  expect(failures.join('\n\n')).toBe('')
  expect(compared(findings)).toBeGreaterThanOrEqual(COMPARED_MIN)
  // Without enough grants and rows the comparison would prove nothing.
  expect(conditions.fruitful / conditions.agree).toBeGreaterThan(0.2)
  expect(rows.fruitful / rows.agree).toBeGreaterThan(0.4)
}, 600_000)
