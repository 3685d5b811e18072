// The rate limit of the agent that an MCP server acts as.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'

const BURST = 6
const clock = new ManualClock(Date.now())
let setup: McpService

beforeAll(async () => {
  setup = await startMcpService({ settings: { agentRequestsPerS: 1, agentBurst: BURST }, overrides: { clock } })
})
afterAll(() => setup?.stop())

it('a call of a tool counts once, whatever it reads', async () => {
  const ann = await setup.tokenOf('ann')
  const ask = async () =>
    (await setup.ask(ann, 'tools/call', { name: 'ciq_execute', arguments: { id: 'my-cars' } })).status
  for (let i = 0; i < BURST; i++) expect(await ask()).toBe(200)
  expect(await ask()).toBe(429)
  clock.advance(1_000)
  expect([await ask(), await ask()]).toEqual([200, 429])
})
