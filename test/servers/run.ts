// `npm run test:servers`: the tests of decisions, searches, captures, knowledge queries, graph queries, trust scores, entity
// matching, MCP and all scenarios once more, on graphs in Neo4j. Seven servers, because a composite project of a test has up to seven databases, and a server of
// the Community edition has one. Without Java or Maven it prints a line that begins with `skipped`. The last line is `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { startNeo4j } from '../support/counterparts/neo4j.ts'

const SERVERS = 7
const files = [
  'test/http/authzen',
  'test/http/capture',
  'test/http/context-query',
  'test/http/decisions',
  'test/http/graph-query',
  'test/http/mcp',
  'test/http/tokens',
  'test/http/trust',
  'test/process/matching/matching.test.ts',
  'test/scenarios',
]

const only = process.argv.slice(2)
const servers: Awaited<ReturnType<typeof startNeo4j>>[] = []
const scratch = mkdtempSync(join(tmpdir(), 'verdigraph-test-servers-'))
try {
  for (let i = 0; i < SERVERS; i++) servers.push(await startNeo4j())
  const report = join(scratch, 'report.json')
  const child = Bun.spawn(
    [
      ...['bun', '--bun', 'vitest', 'run', '--project', 'in-process', '--project', 'process', '--no-file-parallelism'],
      ...['--testTimeout', '60000', '--hookTimeout', '60000'],
      ...['--reporter=default', '--reporter=json', `--outputFile=${report}`],
      ...(only.length > 0 ? only : files),
    ],
    {
      env: {
        ...process.env,
        BUN_JSC_useFTLJIT: '0',
        TEST_GRAPH_SERVERS: servers.map(({ url }) => url).join(','),
      },
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
    },
  )
  const status = await child.exited
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    readonly numPassedTests: number
    readonly numFailedTests: number
    readonly testResults: readonly {
      readonly status: string
      readonly assertionResults: readonly { status: string }[]
    }[]
  }
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((one) => one.status === 'failed'),
  )
  const failed = numFailedTests + broken.length
  const isUnexplained = status !== 0 && failed === 0
  console.log(`${numPassedTests} passed, ${failed + (isUnexplained ? 1 : 0)} failed`)
  process.exitCode = failed === 0 && !isUnexplained ? 0 : 1
} catch (error) {
  if (!(error instanceof CounterpartMissing)) throw error
  console.log(`skipped: the tests on graphs in database servers: ${error.message}`)
  console.log('0 passed, 0 failed')
} finally {
  for (const server of servers) await server.stop()
  rmSync(scratch, { recursive: true, force: true })
}
