import { defineConfig } from 'vitest/config'

const shared = {
  pool: 'threads',
  // The files of a worker share their imports: loading and warming these up for each file took a third of the time. No test
  // changes what it imports, and the files run in any order (`npm test -- --sequence.shuffle.files`).
  isolate: false,
  setupFiles: ['test/support/each-file.ts'],
  // Only for a test that hangs: no test takes a tenth of this, and a slow machine is not a failure.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 30_000 } },
} as const

/** Public suites, which only developers have, and generated cases: each takes seconds of processor time. They start no other process. */
const long = [
  'test/tck/tck.test.ts',
  'test/http/authzen/public-suites.test.ts',
  'test/oracle/trust-scores.test.ts',
  'test/http/decisions/limits-at-each-step.test.ts',
  'test/scenarios/every-pair.test.ts',
  'test/scenarios/misspelt-names.test.ts',
  'test/unit/grammar/index.fuzz.test.ts',
  'test/unit/language/open-exclusions.test.ts',
  'test/unit/matching/linkage/linkage.oracle.test.ts',
  'test/unit/matching/linkage/related-entities.test.ts',
  'test/unit/pdp/read-request.test.ts',
  'test/unit/pdp/search.changing-graph.test.ts',
  'test/unit/store/tenancy/composite.test.ts',
]

/** Tests with database servers (Neo4j): a part of `.ci/run`, see test/ci/parts.ts. */
const databases = ['test/process/bolt/**/*.test.ts', 'test/process/cli/{bench-neo4j,copy,copy-composite}.test.ts']

/** The executable, which starts in a third of the time of the sources. */
const globalSetup = 'test/support/compile-program.ts'

export default defineConfig({
  test: {
    // One more than two cores: many tests wait for a disk, a timeout or a connection.
    maxWorkers: 3,
    projects: [
      // `npm test`: everything within this process, with fixed seeds.
      {
        test: {
          ...shared,
          name: 'in-process',
          include: ['test/**/*.test.ts'],
          exclude: ['test/process/**', 'test/timing/**', 'test/clients/**', 'test/release/**', ...long],
        },
      },
      // `npm run test:process`: tests that start servers, commands and helper processes, and those that take seconds of processor time.
      {
        test: {
          ...shared,
          name: 'process',
          include: ['test/process/**/*.test.ts', ...long],
          exclude: databases,
          globalSetup,
        },
      },
      // `npm run test:databases`: the same with database servers. They need Java and Maven.
      { test: { ...shared, name: 'databases', include: databases, globalSetup } },
      // `npm run test:release`: tests of the artefacts of `npm run release`, which must have run before.
      { test: { ...shared, name: 'release', include: ['test/release/*.test.ts'] } },
      // `npm run test:timing`: tests that read a clock, for a quiet machine.
      { test: { ...shared, name: 'timing', include: ['test/timing/**/*.test.ts'] } },
      // `npm run test:clients`: tests that install generators of clients from the package registries.
      {
        test: {
          ...shared,
          name: 'clients',
          include: ['test/clients/*.test.ts'],
          globalSetup: 'test/clients/install-generators.ts',
        },
      },
    ],
  },
})
