// What `.ci/run` does not run for every change, because it is slow, or because it downloads and starts other programs. A part runs when a
// changed file matches one of its paths. `npm run ci:full` runs all parts.

/** A part of `.ci/run`. */
export interface Part {
  readonly name: string
  /** How long it takes on two quiet cores. Decides how many parts one run has time for. */
  readonly seconds: number
  /** Commands of bash, which may use the functions of `.ci/run`. */
  readonly run: readonly string[]
  /** Globs of the files whose change makes it run. */
  readonly paths: readonly string[]
}

/** The time that one run has for parts. With what always runs it takes at most 30 minutes on two quiet cores. */
export const SECONDS_MAX = 720

const language = ['grammar/**', 'src/engine/**']
const decisions = ['src/pdp/**', 'src/policy/**', 'src/pip/**']
const queries = ['src/context-query/**', 'src/graph-query/**']
const store = ['src/store/**']
const writes = ['src/capture/**', ...store]
const processes = [
  'src/lanes/**',
  'src/processes/**',
  'src/background/**',
  'src/http/listener/**',
  'src/app.ts',
  'src/app/**',
  'src/main.ts',
  'src/cli/**',
]
const http = ['src/http/**', 'src/identity/**', 'src/upstream/**']
const transfer = ['src/transfer/**', 'src/backup/**']
const neo4j = ['src/bolt/**', 'test/support/counterparts/neo4j*.ts', 'test/support/remote-projects.ts']
const packages = ['package.json', 'package-lock.json']

/** The short form of a stress program. */
function stress(program: string, seconds: number, paths: readonly string[]): Part {
  return {
    name: `stress: ${program}`,
    seconds,
    run: [`stress 1200 ${program}`],
    paths: [...paths, `test/stress/${program.replace('damage-structure', 'damage')}{*.ts,/**}`],
  }
}

/** As `stress`, for models of the harness of kills. */
function kills(program: string, seconds: number, paths: readonly string[]): Part {
  return stress(program, seconds, [...paths, 'test/stress/kill-harness.ts'])
}

/** As `stress`, for programs that start brokers or database servers. */
function stressWith(install: string, program: string, seconds: number, paths: readonly string[]): Part {
  const part = stress(program, seconds, paths)
  return { ...part, run: [install, ...part.run] }
}

export const parts: readonly Part[] = [
  {
    name: 'processes with database servers',
    seconds: 300,
    run: ['install_database_tools', 'tests test:databases 3600 test/process/bolt'],
    paths: [...neo4j, 'src/config/**', 'test/process/bolt/**', 'test/support/*proxy.ts'],
  },
  {
    name: 'copies to and from database servers',
    seconds: 130,
    run: ['install_database_tools', 'tests test:databases 1800 test/process/cli'],
    paths: [
      ...neo4j,
      'src/transfer/servers/**',
      'src/cli/folder/copy.ts',
      'src/cli/bench/**',
      'test/process/cli/*{copy,neo4j}*',
    ],
  },
  // The tests of the service once more, on graphs in Neo4j.
  {
    name: 'decisions on database servers',
    seconds: 320,
    run: ['install_database_tools', 'servers test/http/decisions'],
    paths: [...neo4j, ...language, ...decisions, 'test/http/decisions/**', 'test/servers/**'],
  },
  {
    name: 'captures, searches and knowledge queries on database servers',
    seconds: 360,
    run: ['install_database_tools', 'servers test/http/authzen test/http/capture test/http/context-query'],
    paths: [...neo4j, ...language, ...queries, 'src/capture/**', 'test/http/{authzen,capture,context-query}/**'],
  },
  {
    name: 'scenarios on database servers',
    seconds: 300,
    run: ['install_database_tools', 'servers test/scenarios'],
    paths: [...neo4j, ...language, 'test/scenarios/**'],
  },
  {
    name: 'graph queries, MCP, trust and matching on database servers',
    seconds: 220,
    run: [
      'install_database_tools',
      'servers test/http/graph-query test/http/mcp test/http/tokens test/http/trust test/process/matching/matching.test.ts',
    ],
    paths: [...neo4j, 'src/graph-query/**', 'src/mcp/**', 'src/trust/**', 'src/matching/**'],
  },
  {
    name: 'judge',
    seconds: 240,
    run: [
      'install_database_tools',
      // A fixed seed: a random one finds a new difference about once in a thousand queries, which is work for a long run.
      "summed 'npm run judge' 3000 npm run --silent judge -- --queries 1000 --seed 20261120",
    ],
    paths: [...language, ...neo4j, 'test/judge/**', 'test/generate/**'],
  },
  // The Go toolchain downloads the suites; the first run takes longer.
  {
    name: 'suites of OpenFGA and SpiceDB',
    seconds: 40,
    run: ["summed 'npm run test:peers' 1200 npm run --silent test:peers"],
    paths: [...language, 'src/migration/**', 'src/model/**', 'test/peers/**'],
  },
  {
    name: 'clients',
    seconds: 110,
    run: ['tests test:clients 3000'],
    paths: [
      ...['src/client/**', 'src/authorizer/**', 'src/index.ts', 'clients/**', 'data/openapi.json', 'test/clients/**'],
      ...['src/release/build-package.ts', ...packages],
    ],
  },
  {
    name: 'release',
    seconds: 150,
    run: [
      'install_release_tools',
      "step 'npm run release' 2700 npm run --silent release",
      'tests test:release 1800',
      "step 'the release is reproducible' 1800 bash -c release_is_reproducible",
    ],
    paths: ['src/release/**', 'deploy/**', 'data/schemas/**', 'test/release/**', ...packages],
  },
  {
    name: 'charging',
    seconds: 70,
    run: [
      "step 'charging: 20 ms for each function, operator and clause' 1200 env CHARGING_MS=20 npm run --silent test:timing",
    ],
    paths: [...language, 'test/timing/**'],
  },
  {
    name: 'small benches',
    seconds: 90,
    run: ['decision', 'definitions', 'ingest', 'context', 'http', 'mcp'].map(
      (name) => `step 'bench ${name} --small' 900 npm run --silent bench -- ${name} --small --json`,
    ),
    paths: ['bench/**', 'src/kernel/**', ...decisions, ...store, ...http, 'src/mcp/**'],
  },
  // Real brokers; the first run downloads them into ~/.cache/verdigraph-test.
  {
    name: 'stress: event-providers',
    seconds: 240,
    run: ['install_broker_tools', 'stress 3000 event-providers --events 4000 --rounds 1'],
    paths: [
      'src/events/{delivery,providers}/**',
      'test/stress/event-providers{.ts,/**}',
      'test/support/counterparts/**',
    ],
  },
  stressWith('install_broker_tools', 'kafka-consumer', 15, ['src/events/**', 'test/docs/asyncapi.ts']),
  stressWith('install_database_tools', 'database-faults', 35, [...neo4j, 'test/stress/database-fault*.ts']),
  stress('differential', 80, [...language, 'src/policy/**', 'test/generate/**', 'test/oracle/**']),
  stress('definitions', 30, [...language, 'test/generate/**', 'test/oracle/**']),
  stress('metamorphic', 10, [...language, 'test/generate/**', 'test/judge/metamorphic.ts']),
  stress('fuzz', 6, language),
  stress('fuzz-http', 7, [...http, 'data/openapi.json', 'test/support/http-fuzz.ts']),
  stress('forbids', 20, [...decisions, ...language, 'test/oracle/**']),
  stress('decision-consistency', 10, [...decisions, ...language, 'test/oracle/**']),
  stress('compared-policies', 17, [...decisions, 'test/oracle/**']),
  stress('decisions-http', 26, [...decisions, ...http, 'test/oracle/**']),
  stress('context-queries', 12, [...queries, ...http, 'test/oracle/**']),
  stress('mcp-conformance', 2, ['src/mcp/**', ...http]),
  stress('backup', 2, [...transfer, ...store]),
  stress('shipping', 2, [...transfer, ...store, 'src/cli/{backup/shipped,serve/shipper}*.ts']),
  stress('damage', 19, ['src/store/{integrity,lmdb,format,pages}/**']),
  stress('damage-structure', 16, ['src/store/{integrity,lmdb,format,pages}/**']),
  stress('damaged-pages', 14, ['src/store/{integrity,lmdb,format,pages}/**']),
  stress('many-projects', 2, [...store, 'src/background/**', 'src/config/graphs/graph-registry.ts']),
  kills('kill', 43, writes),
  kills('event-kills', 9, ['src/events/**', 'src/store/outbox/**']),
  kills('audit-kills', 15, ['src/audit/**', 'src/store/{audit,outbox}/**']),
  kills('apply-kills', 16, ['src/project/**', 'src/config/**']),
  kills('trust-kills', 17, ['src/trust/**']),
  stress('trust-passes', 2, ['src/trust/**']),
  stress('matching-quality', 40, ['src/matching/**', 'test/stress/matching-peers.py']),
  stress('matching-service', 21, ['src/matching/**']),
  kills('matching-kills', 41, ['src/matching/**']),
  stress('composite', 8, ['src/store/tenancy/**']),
  kills('composite-served', 17, ['src/store/tenancy/**', ...processes]),
  stress('openings', 24, ['src/store/{lmdb,process,graph}/**']),
  stress('workers', 11, [...processes, 'src/store/process/**']),
  stress('rolling-restart', 17, processes),
  stress('isolation', 97, ['src/lanes/**', 'src/http/**', ...language, ...decisions]),
  kills('lane-kill', 20, [...processes, ...decisions]),
  stress('audit-search', 12, ['src/audit/**', 'src/store/audit/**']),
  stress('audit-tampering', 3, ['src/audit/**']),
  stress('audit-keys', 25, ['src/audit/{customer-keys,seal}/**', 'test/support/counterparts/key-*.ts']),
  stress('watch', 9, ['src/streams/**', ...decisions]),
  // Mixed traffic of all features.
  stress('soak', 80, ['src/**', 'grammar/**']),
]
