// The official MCP conformance suite against a real service, for both revisions. Known failures are recorded: an
// unknown failure fails, and so does a known one that passes. The suite sends no token, so a proxy adds one.
// `bun test/stress/mcp-conformance.ts [--revision 2025-11-25]`
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMcpService } from '../support/mcp-service.ts'

const suite = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
const at = process.argv.indexOf('--revision')
const revisions = at < 0 ? ['2025-11-25', '2026-07-28'] : [process.argv[at + 1] as string]

const setup = await startMcpService()
const token = await setup.tokenOf('ann', { expires: '1 hour' })
const { hostname, port } = new URL(setup.url)

/** Forwards everything unchanged, including host and origin: only the token is added. */
const proxy = createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${token}` }
  const passed = send({ hostname, port, path: asked.url, method: asked.method, headers }, (given) => {
    answer.writeHead(given.statusCode ?? 502, given.headers)
    given.pipe(answer)
  })
  passed.on('error', () => answer.destroy())
  asked.pipe(passed)
})
await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', () => resolve()))
const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${setup.path}`

let failed = false
for (const revision of revisions) {
  const out = mkdtempSync(join(tmpdir(), 'verdigraph-conformance-'))
  const baseline = join(import.meta.dirname, `mcp-conformance-${revision}.yml`)
  const child = Bun.spawn(
    [
      process.execPath,
      suite,
      'server',
      ...['--url', url, '--requirements', revision, '--expected-failures', baseline, '-o', out],
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  )
  const [text, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  const checks = checksIn(out)
  const counts = new Map<string, number>()
  for (const { status } of checks) counts.set(status, (counts.get(status) ?? 0) + 1)
  const told = [...counts].sort().map(([status, count]) => `${status.toLowerCase()} ${count}`)
  // Every message of ours was checked against the schema of its revision.
  const wire = checks.filter(({ id, status }) => id === 'wire-schema-valid' && status === 'FAILURE').length
  console.log(`${revision}: ${checks.length} checks: ${told.join(', ')}; off the wire schema: ${wire}; exit ${code}`)
  if (code !== 0 || checks.length === 0 || wire > 0) {
    failed = true
    console.log(text)
    console.log(errors)
  }
  rmSync(out, { recursive: true, force: true })
}
proxy.close()
proxy.closeAllConnections()
await setup.stop()
process.exit(failed ? 1 : 0)

function checksIn(folder: string): { readonly id: string; readonly status: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('checks.json'))
    .flatMap((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')))
}
