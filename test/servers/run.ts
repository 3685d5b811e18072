// `npm run test:servers`: the tests of decisions, searches, captures, knowledge queries, graph queries, trust scores, entity
// matching, MCP and all scenarios once more, on graphs in Neo4j. They run in two groups at a time, each with servers of its own: a server
// of the Community edition has one database, and a composite project of a test has up to seven. Without Java or Maven it prints a line
// that begins with `skipped`. The last line is `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { startNeo4j } from '../support/counterparts/neo4j.ts'

interface TestGroup {
  readonly servers: number
  readonly files: readonly string[]
}

const groups: readonly TestGroup[] = [
  {
    servers: 7,
    files: [
      'test/http/authzen',
      'test/http/capture',
      'test/http/context-query',
      'test/http/decisions',
      'test/http/trust',
      'test/process/matching/matching.test.ts',
    ],
  },
  { servers: 2, files: ['test/http/graph-query', 'test/http/mcp', 'test/http/tokens', 'test/scenarios'] },
]

interface GroupResult {
  readonly passed: number
  readonly failed: number
}

const scratch = mkdtempSync(join(tmpdir(), 'verdigraph-test-servers-'))
const servers: Awaited<ReturnType<typeof startNeo4j>>[] = []

async function runGroup(group: TestGroup, name: string): Promise<GroupResult> {
  const own = name === '0' ? [...servers] : []
  while (own.length < group.servers) {
    const server = await startNeo4j()
    own.push(server)
    servers.push(server)
  }
  const report = join(scratch, `report-${name}.json`)
  const child = Bun.spawn(
    [
      ...['bun', '--bun', 'vitest', 'run', '--project', 'in-process', '--project', 'process', '--no-file-parallelism'],
      ...['--reporter=default', '--reporter=json', `--outputFile=${report}`],
      ...group.files,
    ],
    {
      env: {
        ...process.env,
        BUN_JSC_useFTLJIT: '0',
        TEST_GRAPH_SERVERS: own.map(({ url }) => url).join(','),
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
  return { passed: numPassedTests, failed: failed + (isUnexplained ? 1 : 0) }
}

const only = process.argv.slice(2)
try {
  // The first one downloads Neo4j, if it is not in the cache.
  servers.push(await startNeo4j())
  const chosen = only.length > 0 ? [{ servers: 7, files: only }] : groups
  const results = await Promise.all(chosen.map((group, number) => runGroup(group, String(number))))
  const sum = (of: (result: GroupResult) => number): number => results.reduce((all, result) => all + of(result), 0)
  const failed = sum((result) => result.failed)
  console.log(`${sum(({ passed }) => passed)} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof CounterpartMissing)) throw error
  console.log(`skipped: the tests on graphs in database servers: ${error.message}`)
  console.log('0 passed, 0 failed')
} finally {
  for (const server of servers) await server.stop()
  rmSync(scratch, { recursive: true, force: true })
}
