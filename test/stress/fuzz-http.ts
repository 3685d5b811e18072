// `bun test/stress/fuzz-http.ts --requests 20000 [--seed n]`: the long run of test/process/oracle/fuzz-http.test.ts.
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { fuzzHttp } from '../support/http-fuzz.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string' } } })
const seed = values.seed === undefined ? stressSeed() : Number(values.seed)
console.log(`seed ${seed}`)
const start = performance.now()
const report = await fuzzHttp(seed, Number(values.requests), (asked) => {
  if (asked % 2000 === 0) console.log(`${asked} asked`)
})
for (const [operation, statuses] of [...report.statuses].sort()) {
  console.log(
    `${operation.padEnd(40)} ${[...statuses]
      .sort()
      .map(([status, count]) => `${status}: ${count}`)
      .join('  ')}`,
  )
}
const never = report.operationIds.filter((id) => !report.statuses.has(id))
const total = new Map<number, number>()
for (const statuses of report.statuses.values()) {
  for (const [status, count] of statuses) total.set(status, (total.get(status) ?? 0) + count)
}
console.log(`${report.asked} requests in ${((performance.now() - start) / 1000).toFixed(1)} s`)
console.log(
  [...total]
    .sort()
    .map(([status, count]) => `${status}: ${count}`)
    .join('  '),
)
console.log(`${report.operationIds.length} operations, never asked: ${never.join(', ') || 'none'}`)
console.log(`${report.secrets} secrets, ${report.logLines} lines of log`)
for (const finding of report.findings) console.log(`FOUND ${finding}\n`)
console.log(`${report.findings.length} findings`)
process.exit(report.findings.length === 0 && never.length === 0 ? 0 : 1)
