// The stress programs. `test/ci/parts.ts` says for which changes `.ci/run` runs their short forms.

/** A file of this folder. */
export interface StressProgram {
  readonly about: string
  /** Flags of the short form; null if the program is run only by hand. */
  readonly short: { readonly flags: string } | null
}

// Short forms on CI use a fixed seed, so that a failure is reproducible from the commit.
export const programs: Readonly<Record<string, StressProgram>> = {
  differential: {
    about: 'engine with rules, engine without rules and reference interpreter agree on random queries',
    short: { flags: '--comparisons 10000' },
  },
  definitions: {
    about: 'definitions of random models, recursive ones and exclusions among them, agree with a naive fixpoint',
    short: { flags: '--answers 20000' },
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
  forbids: {
    about:
      'policies that grant and policies that forbid have the answers of the reference interpreter, in searches too',
    short: { flags: '--worlds 100' },
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
  'damaged-pages': {
    about:
      'pages filled with each byte, and random damage, end no process: the right answer or a refusal that names the page',
    short: { flags: '--fills 12 --random 100' },
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
    about:
      'entity matching of public data sets is not worse than recorded, nor than recordlinkage and splink; skips without pip',
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
