// Service accounts at the MCP endpoint, as the console uses it: they call tools with the rights of their role, and no other.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signIn } from '../../support/console-session.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import type { TestResponse } from '../../support/service.ts'

let mcp: McpService
let cookies: Readonly<Record<string, string>>
let viewerToken: string

beforeAll(async () => {
  mcp = await startMcpService()
  const { service } = mcp
  cookies = (await signIn(service)).headers
  const account = await service.configure('POST', 'service-accounts', {
    organization_id: service.app.organizationId,
    name: 'viewer',
    role: 'all_viewer',
  })
  const created = await service.configure('POST', 'service-account-credentials', {
    service_account_id: account.body.id,
  })
  viewerToken = (created.body.service_account_config as { readonly token: string }).token
})

afterAll(() => mcp.stop())

const version = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function post(headers: Readonly<Record<string, string>>, method: string, params: object = {}): Promise<TestResponse> {
  const name = (params as { readonly name?: string }).name
  return mcp.service.send(mcp.path, {
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': method,
      accept: 'application/json',
      ...(name !== undefined && { 'mcp-name': name }),
      ...headers,
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
  })
}

const inProject = (): Record<string, string> => ({ 'x-project-id': mcp.service.projectId })
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}`, ...inProject() })
const evaluation = {
  name: 'authzen_evaluate',
  arguments: {
    subject: { type: 'Person', id: 'ann' },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'c1' },
  },
}
const resultOf = ({ body }: TestResponse) =>
  body.result as {
    readonly isError?: boolean
    readonly structuredContent?: object
    readonly content: { text: string }[]
  }

test('an editor lists the tools and calls them, with a session of the console or a token', async () => {
  for (const headers of [{ ...cookies, ...inProject() }, bearer(mcp.service.token)]) {
    const listed = await post(headers, 'tools/list')
    expect(listed.status).toBe(200)
    const names = (listed.body.result as { readonly tools: readonly { readonly name: string }[] }).tools.map(
      ({ name }) => name,
    )
    expect(names).toContain('authzen_evaluate')
    const called = await post(headers, 'tools/call', evaluation)
    expect(resultOf(called).structuredContent).toHaveProperty('decision')
  }
})

test('knowledge queries are not among the rights of an account', async () => {
  const called = await post(bearer(mcp.service.token), 'tools/call', {
    name: 'ciq_execute',
    arguments: { id: 'any', input_params: {} },
  })
  expect(resultOf(called)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('the role of the service account does not include CIQ') }],
  })
})

test('a viewer calls no tool that decides', async () => {
  const called = await post(bearer(viewerToken), 'tools/call', evaluation)
  expect(resultOf(called)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('does not include Authorization') }],
  })
})

test('without X-Project-Id, with another project, without the CSRF token, or with a wrong token, the call is refused', async () => {
  const { 'x-csrf-token': _, ...withoutCsrf } = cookies
  const other = await mcp.addProject('other')
  const cases = [
    [{ authorization: `Bearer ${mcp.service.token}` }, 401],
    [cookies, 401],
    [{ ...withoutCsrf, ...inProject() }, 403],
    [{ ...bearer(mcp.service.token), 'x-project-id': other.projectId }, 403],
    [{ ...bearer(mcp.service.token), 'x-project-id': 'gid:00000000000000000000000000' }, 403],
    [bearer('nonsense'), 401],
  ] as const
  for (const [headers, status] of cases)
    expect([headers, (await post(headers, 'tools/list')).status]).toEqual([headers, status])
})

test('the header does not change the calls of users', async () => {
  const called = await post(bearer(await mcp.tokenOf('ann')), 'tools/call', evaluation)
  expect(resultOf(called).structuredContent).toHaveProperty('decision')
})
