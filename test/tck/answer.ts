// The process that runs cases for run.ts, one after the other, and prints its progress: a case that hangs or crashes
// the process costs only that case.
// bun test/tck/answer.ts DIR FIRST RULES
import { writeSync } from 'node:fs'
import { Fixtures } from './fixtures.ts'
import { type CaseVerdict, runCase } from './run-case.ts'
import { readSuite } from './suite.ts'

const [folder = '', first = '0', rules = 'on'] = process.argv.slice(2)
const { cases, named } = readSuite(folder)
const fixtures = new Fixtures(named)
// Synchronous, so that the output is written before a case can hang.
const say = (message: object): void => {
  writeSync(1, `${JSON.stringify(message)}\n`)
}
for (let index = Number(first); index < cases.length; index++) {
  const item = cases[index]!
  let verdict: CaseVerdict
  try {
    const store = await fixtures.store(item)
    say({ begun: index })
    verdict = runCase(item, store, { rules: rules === 'off' ? 'off' : 'on' })
  } catch (fault) {
    verdict = { passed: false, level: null, why: `crashed: ${(fault as Error).stack ?? fault}` }
  }
  say({ index, verdict })
}
await fixtures.close()
