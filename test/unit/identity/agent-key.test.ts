import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agentCredentials } from '../../../src/identity/agent-credential.ts'
import {
  bytesBelow,
  type ConfigurationFixture,
  errorIn,
  openConfiguration,
  openProject,
  type ProjectFixture,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

let house: ProjectFixture
beforeEach(async () => {
  house = await openProject()
})
afterEach(() => house.close())
afterAll(removeTemporaryFolders)

const credentials = () => house.kind('application-agent-credentials')
const ask = (more: Record<string, unknown>) =>
  house.service.create(house.admin, credentials(), { application_agent_id: house.agent, ...more })

describe('an agent key', () => {
  test('identifies the caller, its project and its permissions', () => {
    expect(house.keys.authenticateAgent(house.key)).toEqual({
      kind: 'agent',
      agentId: house.agent,
      applicationId: house.application,
      projectId: house.project,
      permissions: new Set(['Authorization', 'Capture']),
      user: null,
    })
  })

  test('is refused if one character differs, before and after it was used', () => {
    const wrong = [...house.key].map((one, at) => {
      const other = one === 'A' ? 'B' : 'A'
      return `${house.key.slice(0, at)}${other}${house.key.slice(at + 1)}`
    })
    for (let round = 0; round < 2; round++) {
      expect(wrong.filter((key) => house.keys.authenticateAgent(key) !== null)).toEqual([])
      expect(house.keys.authenticateAgent(`${house.key}A`)).toBeNull()
      expect(house.keys.authenticateAgent(house.key)?.agentId).toBe(house.agent)
    }
  })

  test('is recognisable, valid in a header and a URL, and has 256 random bits', () => {
    expect(house.key).toMatch(/^vgk_[A-Za-z0-9_-]{59}$/)
  })

  test('is returned only by the create', async () => {
    const { body, etag } = valueIn(await ask({ display_name: 'for tests', expire_time: '2026-02-01T00:00:00+02:00' }))
    expect(body).toEqual({
      id: body.id,
      kid: (body.api_key as string).slice(4, 20),
      application_agent_id: house.agent,
      display_name: 'for tests',
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: house.admin.serviceAccountId,
      expire_time: '2026-02-01T00:00:00+02:00',
      api_key: body.api_key,
      application_agent_config: {
        appAgentId: house.agent,
        applicationId: house.application,
        projectId: house.project,
        token: body.api_key,
      },
    })
    expect(etag).toBeNull()
    const read = house.read('application-agent-credentials', body.id as string)
    expect(read).toEqual({
      id: body.id,
      kid: body.kid,
      display_name: 'for tests',
      organization_id: house.admin.organizationId,
      project_id: house.project,
      application_id: house.application,
      application_agent_id: house.agent,
      expire_time: '2026-02-01T00:00:00+02:00',
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: house.admin.serviceAccountId,
    })
    const query = new URLSearchParams({ project_id: house.project, full_fetch: 'true' })
    expect(valueIn(house.service.list(house.admin, credentials(), query)).data).toContainEqual(read)
  })

  test('is not in the files, neither as a whole nor its secret part', () => {
    const bytes = bytesBelow(house.dir)
    expect(bytes).toContain(house.key.slice(4, 20))
    expect(bytes).not.toContain(house.key)
    expect(bytes).not.toContain(house.key.slice(20))
  })

  test('is refused if it is truncated, changed, empty or invented', () => {
    const { key } = house
    const last = key.at(-1) === 'A' ? 'B' : 'A'
    const lies = ['', 'vgk_', key.slice(0, -1), `${key}A`, `${key.slice(0, -1)}${last}`, key.toUpperCase(), ` ${key}`]
    lies.push(`${key.slice(0, 20)}${'A'.repeat(43)}`, `vgk_${'A'.repeat(16)}${key.slice(20)}`, '\u0000'.repeat(63))
    for (const lie of lies) expect(house.keys.authenticateAgent(lie)).toBeNull()
  })

  test('ends at its expire_time, to the millisecond', async () => {
    const { body } = valueIn(await ask({ expire_time: '2026-01-15t13:30:00.5+01:00' }))
    const key = body.api_key as string
    house.clock.advance(30 * 60_000 + 499)
    expect(house.keys.authenticateAgent(key)?.agentId).toBe(house.agent)
    house.clock.advance(1)
    expect(house.keys.authenticateAgent(key)).toBeNull()
    expect(house.keys.authenticateAgent(house.key)).not.toBeNull()
  })

  test('expires after a year without an expire_time', () => {
    expect(house.read('application-agent-credentials', house.credential).expire_time).toBe('2027-01-15T12:00:00.000Z')
    house.clock.advance(365 * 86_400_000)
    expect(house.keys.authenticateAgent(house.key)).toBeNull()
  })

  test('ends with its credential and its agent, and follows the permissions of the agent at once', async () => {
    const second = valueIn(await ask({})).body.api_key as string
    const agents = house.kind('application-agents')
    valueIn(await house.service.update(house.admin, agents, house.agent, { api_permissions: ['CIQ'] }, null))
    expect(house.keys.authenticateAgent(second)?.permissions).toEqual(new Set(['CIQ']))
    valueIn(await house.service.remove(house.admin, credentials(), house.credential, null))
    expect(house.keys.authenticateAgent(house.key)).toBeNull()
    expect(house.keys.authenticateAgent(second)).not.toBeNull()
    valueIn(await house.service.remove(house.admin, agents, house.agent, null))
    expect(house.keys.authenticateAgent(second)).toBeNull()
  })
})

describe('the key of a deleted project', () => {
  const remains = (of: ProjectFixture | ConfigurationFixture) => of.documents.all('gone-application-agent-credentials')

  test('still identifies its project, also after a restart, and finds no other project', async () => {
    const caller = house.keys.authenticateAgent(house.key)
    await house.service.remove(house.admin, house.kind('projects'), house.project, null)
    expect(house.keys.authenticateAgent(house.key)).toEqual(caller)
    expect(house.keys.authenticateAgent(`${house.key.slice(0, -1)}${house.key.endsWith('A') ? 'E' : 'A'}`)).toBeNull()
    await house.close()
    const again = await openConfiguration(house)
    expect(again.keys.authenticateAgent(house.key)).toEqual(caller)
    await again.close()
  })

  test('expires at its time, and is removed at the next start', async () => {
    await house.service.remove(house.admin, house.kind('projects'), house.project, null)
    await house.service.deleteExpiredTombstones()
    expect(remains(house)).toHaveLength(1)
    house.clock.advance(365 * 86_400_000)
    expect(house.keys.authenticateAgent(house.key)).toBeNull()
    await house.service.deleteExpiredTombstones()
    expect(remains(house)).toEqual([])
  })

  test('is removed if it was deleted itself, or with its application', async () => {
    valueIn(await house.service.remove(house.admin, credentials(), house.credential, null))
    await ask({})
    await house.service.remove(house.admin, house.kind('applications'), house.application, null)
    await house.service.remove(house.admin, house.kind('projects'), house.project, null)
    expect(remains(house)).toEqual([])
    expect(house.keys.authenticateAgent(house.key)).toBeNull()
  })
})

describe('credentials are refused', () => {
  test.each([
    ['2026-01-15T12:00:00', 'expected an RFC 3339 timestamp with offset'],
    ['2026-02-30T12:00:00Z', 'expected an RFC 3339 timestamp with offset'],
    ['2026-13-01T12:00:00Z', 'expected an RFC 3339 timestamp with offset'],
    ['2026-02-01T25:00:00Z', 'expected an RFC 3339 timestamp with offset'],
    ['tomorrow', 'expected an RFC 3339 timestamp with offset'],
    ['2026-01-15T12:00:00Z', 'expected a time in the future, found `2026-01-15T12:00:00Z`'],
    ['2026-01-15T12:30:00+01:00', 'expected a time in the future, found `2026-01-15T12:30:00+01:00`'],
  ])('that end at %s', async (expire_time, message) => {
    expect(errorIn(await ask({ expire_time }))).toEqual({ kind: 'invalid', issues: [`expire_time: ${message}`] })
  })

  test('with a key that the client sends, or for a missing agent', async () => {
    expect(errorIn(await ask({ public_key_pem: 'x', expire_time: 5 }))).toEqual({
      kind: 'invalid',
      issues: ['expire_time: expected string, found number', 'body: unknown member `public_key_pem`'],
    })
    expect(errorIn(await ask({ application_agent_id: house.application }))).toEqual({
      kind: 'invalid',
      issues: [`application_agent_id: no application agent \`${house.application}\``],
    })
  })

  test('without storing a key that was never returned', () => {
    expect(agentCredentials(house.clock).secrets).toEqual(['key_hash'])
    expect(house.documents.all('application-agent-credentials')).toHaveLength(1)
  })
})
