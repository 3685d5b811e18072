// `npm run bench -- NAME [--json] [--small] [--seed N]`: runs one bench, or lists them.
import { authorizer } from './authorizer/authorizer.bench.ts'
import { cerbos } from './cerbos/cerbos.bench.ts'
import { context } from './context-query/context.bench.ts'
import { decision } from './engine/decision.bench.ts'
import { engine } from './engine/engine.bench.ts'
import { search } from './engine/search.bench.ts'
import { audit } from './events/audit.bench.ts'
import { events } from './events/events.bench.ts'
import { type Bench, type BenchRecord, type BenchReport, machine } from './harness.ts'
import { evaluation } from './http/evaluation.bench.ts'
import { mcp } from './http/mcp.bench.ts'
import { matching } from './matching/matching.bench.ts'
import { micro } from './micro/micro.bench.ts'
import { ingest } from './store/ingest.bench.ts'

const benches: readonly Bench[] = [
  decision,
  engine,
  search,
  evaluation,
  context,
  mcp,
  ingest,
  events,
  audit,
  matching,
  micro,
  cerbos,
  authorizer,
]

const args = process.argv.slice(2)
const seedAt = args.indexOf('--seed')
const seed = seedAt < 0 ? 1 : Number(args[seedAt + 1])
const json = args.includes('--json')
const names = args.filter((arg, at) => !arg.startsWith('--') && !(seedAt >= 0 && at === seedAt + 1))
const unknown = args.filter((arg) => arg.startsWith('--') && !['--json', '--small', '--seed'].includes(arg))
const bench = benches.find(({ name }) => name === names[0])

if (bench === undefined || names.length !== 1 || unknown.length > 0 || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run bench -- NAME [--json] [--small] [--seed N]\n')
  for (const { name, question } of benches) console.error(`  ${name.padEnd(10)} ${question}`)
  process.exit(2)
}

const show = (record: BenchRecord): string =>
  Object.entries(record)
    .map(([key, value]) => `${key} ${value}`)
    .join('  ')

const report: BenchReport = {
  line: (record) => console.log(json ? JSON.stringify({ bench: bench.name, ...record }) : show(record)),
  note: (text) => console.error(text),
}

report.line({ record: 'run', seed, small: args.includes('--small'), machine: machine() })
await bench.run({ small: args.includes('--small'), seed, report })
