// `npm run bench -- NAME [--json] [--small] [--seed N]`: runs one bench, or lists them.
import { parseArgs } from 'node:util'
import { authorizer } from './authorizer/authorizer.bench.ts'
import { plan } from './authorizer/plan.bench.ts'
import { cerbos } from './cerbos/cerbos.bench.ts'
import { browser } from './console/console.bench.ts'
import { context } from './context-query/context.bench.ts'
import { decision } from './engine/decision.bench.ts'
import { definitions } from './engine/definitions.bench.ts'
import { engine } from './engine/engine.bench.ts'
import { paths } from './engine/paths.bench.ts'
import { search } from './engine/search.bench.ts'
import { audit } from './events/audit.bench.ts'
import { events } from './events/events.bench.ts'
import { type Bench, type BenchRecord, type BenchReport, machine } from './harness.ts'
import { databaseServer } from './http/database-server.bench.ts'
import { evaluation } from './http/evaluation.bench.ts'
import { instances } from './http/instances.bench.ts'
import { mcp } from './http/mcp.bench.ts'
import { matching } from './matching/matching.bench.ts'
import { micro } from './micro/micro.bench.ts'
import { idle } from './processes/idle.bench.ts'
import { scenarios } from './scenarios/scenarios.bench.ts'
import { ingest } from './store/ingest.bench.ts'
import { scale } from './store/scale.bench.ts'

const benches: readonly Bench[] = [
  decision,
  engine,
  search,
  paths,
  definitions,
  evaluation,
  context,
  mcp,
  ingest,
  scale,
  events,
  audit,
  matching,
  micro,
  cerbos,
  databaseServer,
  instances,
  authorizer,
  scenarios,
  plan,
  browser,
  idle,
]

const { values, positionals, isValid } = readArguments()
const seed = Number(values.seed ?? '1')
const json = values.json === true
const small = values.small === true
const relationships = values.relationships?.split(',').map(Number) ?? null
const bench = benches.find(({ name }) => name === positionals[0])
const areNumbers =
  Number.isSafeInteger(seed) && (relationships ?? []).every((size) => Number.isSafeInteger(size) && size > 0)

if (bench === undefined || positionals.length !== 1 || !isValid || !areNumbers) {
  console.error('usage: npm run bench -- NAME [--json] [--small] [--seed N]')
  console.error('       npm run bench -- scale [--relationships N,N] [--steps NAME,NAME] [--plot FILE]\n')
  for (const { name, question } of benches) console.error(`  ${name.padEnd(10)} ${question}`)
  process.exit(2)
}

function readArguments() {
  const options = {
    json: { type: 'boolean' },
    small: { type: 'boolean' },
    seed: { type: 'string' },
    relationships: { type: 'string' },
    steps: { type: 'string' },
    plot: { type: 'string' },
  } as const
  try {
    return { ...parseArgs({ options, allowPositionals: true }), isValid: true }
  } catch {
    return { ...parseArgs({ args: [], options, allowPositionals: true }), isValid: false }
  }
}

const show = (record: BenchRecord): string =>
  Object.entries(record)
    .map(([key, value]) => `${key} ${value}`)
    .join('  ')

const report: BenchReport = {
  line: (record) => console.log(json ? JSON.stringify({ bench: bench.name, ...record }) : show(record)),
  note: (text) => console.error(text),
}

report.line({ record: 'run', seed, small, machine: machine() })
await bench.run({
  small,
  seed,
  report,
  relationships,
  steps: values.steps?.split(',') ?? null,
  plot: values.plot ?? null,
})
