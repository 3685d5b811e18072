// Who and from where: the credential and the address in the events of every interface.
import { afterEach, describe, expect, test } from 'vitest'
import { addSink, eventsOf, type SeenEvent } from '../../support/events.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import type { TestRequest, TestService } from '../../support/service.ts'

let mcp: McpService
let service: TestService

afterEach(() => mcp.stop())

async function start(clientAddressHeader = ''): Promise<void> {
  mcp = await startMcpService({ settings: { clientAddressHeader } })
  service = mcp.service
  await addSink(service, [{ type: 'svc.audit.*' }])
}

const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

/** One request to each interface, with these headers. Returns the events by type, without those of the set-up. */
async function askAll(headers: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, SeenEvent>> {
  const asAgent = { 'x-svc-clientkey': service.key, ...headers }
  const requests: readonly [string, TestRequest][] = [
    ['/capture/v1/nodes', { headers: asAgent, body: { nodes: [{ type: 'Car', external_id: 'a' }] } }],
    ['/access/v1/evaluation', { headers: asAgent, body: question }],
    [
      `/configs/v1/applications/${service.applicationId}`,
      { method: 'PUT', headers: { authorization: `Bearer ${service.token}`, ...headers }, body: { description: 'x' } },
    ],
    [
      `/configs/v1/applications/${service.applicationId}`,
      { headers: { authorization: `Bearer ${service.token}`, ...headers } },
    ],
  ]
  const before = (await eventsOf(service)).length
  for (const [path, request] of requests) {
    const { status, text } = await service.send(path, request)
    expect(status, text).toBe(200)
  }
  const call = {
    name: 'authzen_search_action',
    arguments: { subject_type: 'Person', subject_id: 'ann', resource_type: 'Car', resource_id: 'c1' },
  }
  const called = await mcp.ask(await mcp.tokenOf('ann'), 'tools/call', call, { headers })
  expect(called.status, called.text).toBe(200)
  const seen = await eventsOf(service)
  expect(seen.length).toBeGreaterThan(before)
  return new Map(seen.map((event) => [event.type.replace('svc.audit.', ''), event]))
}

const recordedTypes = [
  'capture.upsert.node',
  'authorization.evaluation',
  'config.update',
  'config.read',
  'authorization.searchaction',
  'credentials.token.introspected',
]

describe('events', () => {
  test('name the credential of the caller and the address of the connection', async () => {
    await start()
    const seen = await askAll({ 'x-forwarded-for': '203.0.113.9' })
    expect(recordedTypes.map((type) => seen.get(type)?.data.address)).toEqual(recordedTypes.map(() => '127.0.0.1'))
    const keyOf = (type: string) => (seen.get(type)?.data.actor as { keyId?: string } | undefined)?.keyId
    const [agentKey] = await credentialsOf('application-agent-credentials', service.agentId)
    const [accountKey] = await credentialsOf('service-account-credentials', service.app.serviceAccountId)
    expect([agentKey, accountKey]).toEqual([expect.stringMatching(/^gid:/), expect.stringMatching(/^gid:/)])
    expect(recordedTypes.map(keyOf)).toEqual([agentKey, agentKey, accountKey, accountKey, undefined, undefined])
    expect(seen.get('authorization.searchaction')?.data.actor).toMatchObject({ user: { externalId: 'ann' } })
  })

  test('name the last address of the header that the proxy sets', async () => {
    await start('x-forwarded-for')
    const seen = await askAll({ 'x-forwarded-for': '203.0.113.9, 192.0.2.44' })
    expect(recordedTypes.map((type) => seen.get(type)?.data.address)).toEqual(recordedTypes.map(() => '192.0.2.44'))
  })
})

/** Ids of the credentials below a document. */
async function credentialsOf(kind: string, parent: string): Promise<string[]> {
  const scope = kind.startsWith('service')
    ? `organization_id=${service.app.organizationId}`
    : `project_id=${service.projectId}`
  const { body, text } = await service.configure('GET', `${kind}?${scope}`)
  const found =
    (body.data as { id: string; application_agent_id?: string; service_account_id?: string }[] | undefined) ?? []
  if (found.length === 0) throw new Error(text)
  return found.filter((one) => (one.application_agent_id ?? one.service_account_id) === parent).map(({ id }) => id)
}
