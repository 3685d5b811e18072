// The command line of the official inspector, as a separate process, in both revisions.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type McpService, startMcpService } from '../support/mcp-service.ts'

const cli = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
)

let setup: McpService
let token: string
beforeAll(async () => {
  setup = await startMcpService()
  token = await setup.tokenOf('ann')
})
afterAll(() => setup.stop())

async function inspect(bearer: string, method: string, ...more: string[]) {
  const fixed = ['--cli', setup.url, '--transport', 'http', '--format', 'json', '-q', '--stored-auth-only']
  const header = ['--header', `Authorization: Bearer ${bearer}`]
  const child = Bun.spawn([process.execPath, cli, ...fixed, ...header, '--method', method, ...more], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [text, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, errors, text }
}

describe('the inspector', () => {
  it('finds no error in the schemas of the tools, calls one in each revision, and reports a missing argument', async () => {
    const given = {
      subject_type: 'Person',
      subject_id: 'ann',
      action_name: 'drive',
      resource_type: 'Car',
      resource_id: 'c1',
    }
    const call = ['--tool-name', 'authzen_evaluate', '--tool-args-json', JSON.stringify(given)]
    const [listed, modern, legacy, unknown, stranger] = await Promise.all([
      inspect(token, 'tools/list', '--strict'),
      inspect(token, 'tools/call', ...call, '--protocol-era', 'modern'),
      inspect(token, 'tools/call', ...call, '--protocol-era', 'legacy'),
      inspect(token, 'tools/call', '--tool-name', 'none'),
      inspect('nonsense', 'tools/list'),
    ])
    expect(listed).toMatchObject({ code: 0, errors: expect.not.stringMatching(/error|warning/i) })
    for (const called of [modern, legacy]) {
      expect(called).toMatchObject({ code: 0 })
      expect(JSON.parse(called.text)).toMatchObject({ result: { structuredContent: { decision: true } } })
    }
    expect(unknown.code).toBe(5)
    expect(stranger.code).toBe(3)
  })
})
