// Runs the stress programs.
//   npm run test:stress                            the short form of every program that has one
//   npm run test:stress -- kill isolation          the short form of these
//   npm run test:stress -- kill --rounds 500       one program with flags of its own
//   npm run test:stress -- --list                  what there is
import { join } from 'node:path'

interface StressProgram {
  readonly about: string
  /** Flags of the short form; null if the program is run only by hand. */
  readonly short: { readonly flags: string } | null
}

/** For each short form. Only a hang reaches it: they take at most two minutes, and some download programs first. */
const SHORT_SECONDS_MAX = 1200

// Short forms on CI use a fixed seed, so that a failure is reproducible from the commit.
const programs: Readonly<Record<string, StressProgram>> = {
  differential: {
    about: 'engine with rules, engine without rules and reference interpreter agree on random queries',
    short: { flags: '--comparisons 10000' },
  },
  metamorphic: {
    about: 'rewrites of random queries that must not change their answers do not',
    short: { flags: '--queries 2000' },
  },
  'printed-queries': {
    about: 'queries that are printed for Neo4j answer there as the engine does; skips without Java and Maven',
    short: null,
  },
  'database-faults': {
    about:
      'kills, pauses and lost connections of Neo4j and the service lose no acknowledged capture, permit nothing wrong, and record each event once; skips without Java and Maven',
    short: { flags: '--seconds 15' },
  },
  instances: {
    about:
      'kills, pauses and cuts of instances that share a configuration lose no acknowledged change, and no revoked key is used after a second; skips without Java and Maven',
    short: null,
  },
  fuzz: {
    about: 'no text makes the parser or the binder throw, overflow or run for long',
    short: { flags: '--inputs 20000' },
  },
  'fuzz-http': {
    about: 'no described request gets a 5xx, a response that is not described, or a secret',
    short: { flags: '--requests 3000' },
  },
  'decision-consistency': {
    about: 'evaluations, batches, searches, pages and explanations agree; no decision after a revocation is stale',
    short: { flags: '--worlds 200 --revokes 2000' },
  },
  'compared-policies': {
    about: 'a comparison of random policies reports exactly the decisions that change',
    short: { flags: '--worlds 400' },
  },
  'decisions-http': {
    about: 'decisions, searches, pages, batches and explanations over HTTP agree with the service oracle',
    short: { flags: '--worlds 40' },
  },
  'context-queries': {
    about: 'random context policies and queries over HTTP agree with the service oracle: records, pages, writes',
    short: { flags: '--cases 400' },
  },
  'mcp-conformance': {
    about: 'the official MCP conformance suite, both revisions',
    short: { flags: '' },
  },
  backup: {
    about: 'a backup under write load restores a consistent snapshot of all environments',
    short: { flags: '--rounds 10' },
  },
  'shipping-cost': {
    about: 'the lag and the processor time of shipping, and its effect on decisions; needs a quiet machine',
    short: null,
  },
  'backup-memory': {
    about: 'the memory of backups, restores and drills does not grow with the data',
    short: null,
  },
  shipping: {
    about: 'each shipped moment restores the pages and the state of that moment, also after kills of the shipper',
    short: { flags: '--seed 1 --rounds 40 --moments 10' },
  },
  damage: {
    about: 'no changed byte of a data file changes a decision without an error',
    short: { flags: '--flips 25' },
  },
  'damage-structure': {
    about: 'the same for changed bytes of the B-tree structure',
    short: { flags: '--flips 25' },
  },
  'many-projects': {
    about: 'one process serves more projects than it may have open',
    short: { flags: '--projects 600 --open 100' },
  },
  kill: {
    about: 'kill -9 during captures loses no acknowledged batch and leaves none in part',
    short: { flags: '--rounds 25' },
  },
  'event-kills': {
    about: 'kill -9 of delivery, receiver and service loses no event; a copy built from the events equals the graph',
    short: { flags: '--rounds 6 --events 6000' },
  },
  'audit-kills': {
    about: 'kill -9 of service, background process and lanes: each change has one audit record, no checkpoint forks',
    short: { flags: '--rounds 9 --requests 150' },
  },
  'apply-kills': {
    about:
      'kill -9 of apply, service and lanes leaves a whole project folder, and no decision that neither folder grants',
    short: { flags: '--rounds 8' },
  },
  'trust-kills': {
    about:
      'kill -9 of service and background process during trust scoring: all scores are complete, no reader sees half of one',
    short: { flags: '--rounds 6 --nodes 5000' },
  },
  'trust-passes': {
    about: 'time and memory of trust scoring passes over many nodes; a second pass writes nothing',
    short: { flags: '--nodes 20000' },
  },
  'matching-quality': {
    about: 'entity matching finds at least what recordlinkage and splink find in public data sets; skips without pip',
    short: { flags: '' },
  },
  'matching-service': {
    about: 'time and memory of entity matching through a served data folder, and other requests of the same graph',
    short: { flags: '--nodes 5000 --seconds 900 --growth 256' },
  },
  'matching-kills': {
    about:
      'kill -9 of service, background and entity matching process during runs: the matches are complete, no reader sees half of one',
    short: { flags: '--rounds 6 --nodes 1000' },
  },
  composite: {
    about: 'kill -9 between the databases of a composite project leaves no node without its proxy',
    short: { flags: '--rounds 25' },
  },
  'composite-served': {
    about: 'the same for a served project: kills of single workers and of their parent',
    short: { flags: '--rounds 5' },
  },
  openings: {
    about: 'opening a folder that three workers write to takes no commit back',
    short: { flags: '--seconds 15' },
  },
  workers: {
    about: 'the next request at any worker sees a write or a revocation at another',
    short: { flags: '--pairs 2000 --revokes 2000 --policies 200' },
  },
  'rolling-restart': {
    about: 'workers are replaced while clients ask, write and follow streams: no request fails, and no write is lost',
    short: { flags: '--rounds 1' },
  },
  isolation: {
    about: 'decisions of one tenant continue while another tenant sends expensive requests; --list prints the loads',
    short: { flags: '--short' },
  },
  'lane-kill': {
    about: 'mixed requests agree with the service oracle while lanes are killed',
    short: { flags: '--requests 1000' },
  },
  'kafka-consumer': {
    about: 'the example of a consumer reads every event of a served folder from Kafka, and each is valid by its schema',
    short: { flags: '--nodes 200' },
  },
  'audit-search': {
    about: 'pages of records of an audit log of 10 million records, by filter, and other requests in the same time',
    short: { flags: '--records 200000 --pages 50 --page-ms 60000' },
  },
  'audit-tampering': {
    about: 'random tamperings of an audit log: verification finds each, and names the entry where that is possible',
    short: { flags: '--rounds 105' },
  },
  'audit-keys': {
    about:
      "keys of moto and of fakes that the vendors' SDKs check sign the audit log, also through outages and kill -9",
    short: { flags: '--rounds 1' },
  },
  'event-providers': {
    about: 'events reach Kafka, AMQP brokers, an event topic and Pub/Sub in order, also through kill -9 of the brokers',
    short: null,
  },
  'event-throughput': { about: 'rate, latency and idle cost of the delivery of events; --kafka', short: null },
  'audit-throughput': {
    about: 'rate and processor time of the sealing of audit records, and its idle cost',
    short: null,
  },
  watch: {
    about: 'every changed decision is in a change stream; watchers miss nothing while workers are killed',
    short: { flags: '--rounds 100 --watchers 200 --kills 2' },
  },
  soak: {
    about: 'mixed traffic of all features with faults; answers agree with a model, and memory and files stay flat',
    short: { flags: '--minutes 1' },
  },
  memory: { about: 'memory of the processes before, during and after memory-intensive requests', short: null },
  'super-nodes': { about: 'the cost of a node does not grow with its degree', short: null },
  'second-provider': { about: 'user tokens of glewlwyd; skips if it is not installed', short: null },
  'new-seeds': { about: 'the tests of `npm test` and `npm run test:process` with a new seed', short: null },
}

const args = process.argv.slice(2)
const unknown = args
  .filter((arg) => !arg.startsWith('-'))
  .find((name, at) => at === 0 && !Object.hasOwn(programs, name))
if (args[0] === '--list' || unknown !== undefined) {
  if (unknown !== undefined) console.error(`there is no stress program ${unknown}\n`)
  console.log('npm run test:stress [-- <program> [flags]]')
  for (const [name, { about }] of Object.entries(programs)) console.log(`  ${name.padEnd(20)} ${about}`)
  process.exit(unknown === undefined ? 0 : 2)
}

if (args.length === 0) {
  const short = Object.entries(programs).filter(([, program]) => program.short !== null)
  process.exit(await runShortForms(short.map(([name]) => name)))
}
if (args.every((arg) => Object.hasOwn(programs, arg) && programs[arg]?.short)) process.exit(await runShortForms(args))
const [name, ...flags] = args as [string, ...string[]]
process.exit(await run(name, flags, null))

/** Runs one program after another, also after a failure; the last line is the sum. Resolves to the exit code. */
async function runShortForms(names: readonly string[]): Promise<number> {
  const failed: string[] = []
  for (const name of names) {
    const { flags } = (programs[name] as StressProgram).short as NonNullable<StressProgram['short']>
    console.log(`\n== ${name} ${flags}`)
    const start = performance.now()
    const code = await run(name, flags.split(' ').filter(Boolean), SHORT_SECONDS_MAX)
    if (code !== 0) failed.push(name)
    const seconds = Math.round((performance.now() - start) / 1000)
    console.log(`${code === 0 ? 'ok     ' : 'FAILED '} ${name} (${seconds}s)`)
  }
  console.log(
    `\n${names.length - failed.length} passed, ${failed.length} failed${failed.map((one) => ` ${one}`).join()}`,
  )
  return failed.length === 0 ? 0 : 1
}

/** Resolves to the exit code of the program; it is killed after the limit. */
async function run(name: string, flags: readonly string[], limitSeconds: number | null): Promise<number> {
  const child = Bun.spawn(commandOf(name, flags), {
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    env: name === 'new-seeds' ? { ...process.env, BUN_JSC_useFTLJIT: '0', VERDIGRAPH_SEED: newSeed() } : process.env,
    ...(limitSeconds === null ? {} : { timeout: limitSeconds * 1000, killSignal: 'SIGKILL' as const }),
  })
  const forward = (signal: NodeJS.Signals): void => child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward)
  const code = await child.exited
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward)
  return code
}

function commandOf(name: string, flags: readonly string[]): string[] {
  if (name === 'new-seeds') {
    const projects = ['--project', 'in-process', '--project', 'process', '--maxWorkers', '2']
    return [process.execPath, '--bun', 'vitest', 'run', ...projects, ...flags]
  }
  if (name === 'damage-structure') return commandOf('damage', ['--structure', ...flags])
  return [process.execPath, join(import.meta.dirname, `${name}.ts`), ...flags]
}

function newSeed(): string {
  const seed = String(Math.floor(Math.random() * 2 ** 31))
  console.log(`VERDIGRAPH_SEED=${seed}`)
  return seed
}
