// Who acts for a user: the audit log names the agent, the user of the token, and the subject of the delegation token.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditedEvents } from '../../support/events.ts'
import { startMcpService } from '../../support/mcp-service.ts'
import { startService, type TestService } from '../../support/service.ts'
import { makePeople, type People } from '../../support/user-tokens.ts'

let service: TestService
let people: People

beforeAll(async () => {
  service = await startService({ auditDecisions: 'all' }, { sync: false })
  people = await makePeople('Person')
  const introspect = { project_id: service.projectId, ...people.introspect }
  expect((await service.configure('POST', 'token-introspects', introspect)).status).toBe(201)
})
afterAll(() => service?.stop())

async function evaluate(requestId: string, delegation: string | null): Promise<number> {
  const { status } = await service.send('/access/v1/evaluation', {
    headers: {
      'x-svc-clientkey': service.key,
      'x-request-id': requestId,
      authorization: `Bearer ${await people.tokenOf('ann')}`,
      ...(delegation !== null && { 'x-svc-token': delegation }),
    },
    body: { subject: { type: 'Person', id: 'ann' }, action: { name: 'see' }, resource: { type: 'Car', id: 'c' } },
  })
  return status
}

async function actors(requestId: string) {
  const events = (await auditedEvents(service)).filter(({ data }) => data.requestId === requestId)
  const about = events.filter(({ type }) => !type.startsWith('svc.audit.credentials.token.'))
  return about.map(({ type, data }) => {
    const { user, actedBy } = (data.actor ?? {}) as { readonly user?: object; readonly actedBy?: string }
    return [type, user, actedBy]
  })
}

test('a decision with a delegation token names the user and who acts for it', async () => {
  const act = { sub: 'assistant', act: { sub: 'planner' } }
  expect(await evaluate('delegated', await people.tokenOf('ann', { act }))).toBe(200)
  expect(await evaluate('own', null)).toBe(200)
  const user = { type: 'Person', externalId: 'ann' }
  expect(await actors('delegated')).toEqual([['svc.audit.authorization.evaluation', user, 'assistant']])
  expect(await actors('own')).toEqual([['svc.audit.authorization.evaluation', user, undefined]])
  await service.app.sealAudit()
  const admin = { headers: { authorization: `Bearer ${service.token}` } }
  const found = await service.send(`/audit/v1/records?project_id=${service.projectId}&actor=assistant`, admin)
  const items = found.body.items as { readonly record: { readonly data: { readonly requestId: string } } }[]
  expect(found.text).toContain('"requestId":"delegated"')
  expect(items).toHaveLength(1)
})

test.each([
  ['of another user', 'bob', { act: { sub: 'assistant' } }],
  ['with another form of the claim', 'ann', { act: ['assistant'] }],
  ['with a long name', 'ann', { act: { sub: 'x'.repeat(4000) } }],
])('a delegation token %s has a record, too', async (label, subject, claims) => {
  const status = await evaluate(label, await people.tokenOf(subject, claims))
  const [record, ...others] = await actors(label)
  expect(others).toEqual([])
  const user = { type: 'Person', externalId: 'ann' }
  if (subject === 'bob') {
    expect(status).toBe(401)
    expect(record?.[0]).toBe('svc.audit.credentials.authentication.failed')
    return
  }
  expect(status).toBe(200)
  const actedBy = Array.isArray(claims.act) ? undefined : 'x'.repeat(256)
  expect(record).toEqual(['svc.audit.authorization.evaluation', user, actedBy])
})

test('a tool of MCP that is called with a delegation token names who acts for the user', async () => {
  const mcp = await startMcpService({ settings: { auditDecisions: 'all' }, overrides: { sync: false } })
  try {
    const act = await mcp.tokenOf('ann', { claims: { act: { sub: 'assistant' } } })
    const headers = { 'x-svc-token': act, 'x-request-id': 'delegated' }
    const args = {
      subject_type: 'Person',
      subject_id: 'ann',
      action_name: 'drive',
      resource_type: 'Car',
      resource_id: 'c',
    }
    const tools = ['tools/call', 'tools/list'].map((method) =>
      method === 'tools/call'
        ? { method, params: { name: 'authzen_evaluate', arguments: args } }
        : { method, params: {} },
    )
    for (const { method, params } of tools)
      expect((await mcp.ask(await mcp.tokenOf('ann'), method, params, { headers })).status).toBe(200)
    const events = (await auditedEvents(mcp.service)).filter(({ data }) => data.requestId === 'delegated')
    const about = events.filter(({ type }) => !type.startsWith('svc.audit.credentials.'))
    const user = { type: 'Person', externalId: 'ann' }
    expect(about.map(({ type, data }) => [type, data.actor])).toEqual([
      ['svc.audit.authorization.evaluation', expect.objectContaining({ id: mcp.agentId, user, actedBy: 'assistant' })],
      ['svc.audit.request.answered', expect.objectContaining({ id: mcp.agentId, user, actedBy: 'assistant' })],
    ])
  } finally {
    await mcp.stop()
  }
})
