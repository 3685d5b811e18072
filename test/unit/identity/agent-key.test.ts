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

let setup: ProjectFixture
beforeEach(async () => {
  setup = await openProject()
})
afterEach(() => setup.close())
afterAll(removeTemporaryFolders)

const credentials = () => setup.kind('application-agent-credentials')
const ask = (more: Record<string, unknown>) =>
  setup.service.create(setup.admin, credentials(), { application_agent_id: setup.agent, ...more })

describe('an agent key', () => {
  test('identifies the caller, its project and its permissions', () => {
    expect(setup.keys.authenticateAgent(setup.key)).toEqual({
      kind: 'agent',
      agentId: setup.agent,
      applicationId: setup.application,
      projectId: setup.project,
      keyId: setup.documents.children('application-agent-credentials', setup.agent)[0]?.id,
      permissions: new Set(['Authorization', 'Capture']),
      user: null,
    })
  })

  test('is refused if one character differs, before and after it was used', () => {
    const wrong = [...setup.key].map((one, at) => {
      const other = one === 'A' ? 'B' : 'A'
      return `${setup.key.slice(0, at)}${other}${setup.key.slice(at + 1)}`
    })
    for (let round = 0; round < 2; round++) {
      expect(wrong.filter((key) => setup.keys.authenticateAgent(key) !== null)).toEqual([])
      expect(setup.keys.authenticateAgent(`${setup.key}A`)).toBeNull()
      expect(setup.keys.authenticateAgent(setup.key)).toMatchObject({ agentId: setup.agent })
    }
  })

  test('is recognisable, valid in a header and a URL, and has 256 random bits', () => {
    expect(setup.key).toMatch(/^vgk_[A-Za-z0-9_-]{59}$/)
  })

  test('is returned only by the create', async () => {
    const { body, etag } = valueIn(await ask({ display_name: 'for tests', expire_time: '2026-02-01T00:00:00+02:00' }))
    expect(body).toEqual({
      id: body.id,
      kid: (body.api_key as string).slice(4, 20),
      application_agent_id: setup.agent,
      display_name: 'for tests',
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: setup.admin.serviceAccountId,
      expire_time: '2026-02-01T00:00:00+02:00',
      api_key: body.api_key,
      application_agent_config: {
        appAgentId: setup.agent,
        applicationId: setup.application,
        projectId: setup.project,
        token: body.api_key,
      },
    })
    expect(etag).toMatch(/^"[\w-]+"$/)
    const read = setup.read('application-agent-credentials', body.id as string)
    expect(read).toEqual({
      id: body.id,
      kid: body.kid,
      display_name: 'for tests',
      organization_id: setup.admin.organizationId,
      project_id: setup.project,
      application_id: setup.application,
      application_agent_id: setup.agent,
      expire_time: '2026-02-01T00:00:00+02:00',
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: setup.admin.serviceAccountId,
    })
    const query = new URLSearchParams({ project_id: setup.project, full_fetch: 'true' })
    expect(valueIn(setup.service.list(setup.admin, credentials(), query)).data).toContainEqual(read)
  })

  test('is not in the files, neither as a whole nor its secret part', () => {
    const bytes = bytesBelow(setup.dir)
    expect(bytes).toContain(setup.key.slice(4, 20))
    expect(bytes).not.toContain(setup.key)
    expect(bytes).not.toContain(setup.key.slice(20))
  })

  test('is refused if it is truncated, changed, empty or invented', () => {
    const { key } = setup
    const last = key.at(-1) === 'A' ? 'B' : 'A'
    const lies = ['', 'vgk_', key.slice(0, -1), `${key}A`, `${key.slice(0, -1)}${last}`, key.toUpperCase(), ` ${key}`]
    lies.push(`${key.slice(0, 20)}${'A'.repeat(43)}`, `vgk_${'A'.repeat(16)}${key.slice(20)}`, '\u0000'.repeat(63))
    for (const lie of lies) expect(setup.keys.authenticateAgent(lie)).toBeNull()
  })

  test('ends at its expire_time, to the millisecond', async () => {
    const { body } = valueIn(await ask({ expire_time: '2026-01-15t13:30:00.5+01:00' }))
    const key = body.api_key as string
    setup.clock.advance(30 * 60_000 + 499)
    expect(setup.keys.authenticateAgent(key)).toMatchObject({ agentId: setup.agent })
    setup.clock.advance(1)
    expect(setup.keys.authenticateAgent(key)).toBeNull()
    expect(setup.keys.authenticateAgent(setup.key)).not.toBeNull()
  })

  test('expires after a year without an expire_time', () => {
    expect(setup.read('application-agent-credentials', setup.credential).expire_time).toBe('2027-01-15T12:00:00.000Z')
    setup.clock.advance(365 * 86_400_000)
    expect(setup.keys.authenticateAgent(setup.key)).toBeNull()
  })

  test('ends with its credential and its agent, and follows the permissions of the agent at once', async () => {
    const second = valueIn(await ask({})).body.api_key as string
    const agents = setup.kind('application-agents')
    valueIn(await setup.service.update(setup.admin, agents, setup.agent, { api_permissions: ['CIQ'] }, null))
    expect(setup.keys.authenticateAgent(second)).toMatchObject({ permissions: new Set(['CIQ']) })
    valueIn(await setup.service.remove(setup.admin, credentials(), setup.credential, null))
    expect(setup.keys.authenticateAgent(setup.key)).toBeNull()
    expect(setup.keys.authenticateAgent(second)).not.toBeNull()
    valueIn(await setup.service.remove(setup.admin, agents, setup.agent, null))
    expect(setup.keys.authenticateAgent(second)).toBeNull()
  })
})

describe('the key of a deleted project', () => {
  const remains = (of: ProjectFixture | ConfigurationFixture) => of.documents.all('gone-application-agent-credentials')

  test('still identifies its project, also after a restart, and finds no other project', async () => {
    const caller = setup.keys.authenticateAgent(setup.key)
    await setup.service.remove(setup.admin, setup.kind('projects'), setup.project, null)
    expect(setup.keys.authenticateAgent(setup.key)).toEqual(caller)
    expect(setup.keys.authenticateAgent(`${setup.key.slice(0, -1)}${setup.key.endsWith('A') ? 'E' : 'A'}`)).toBeNull()
    await setup.close()
    const again = await openConfiguration(setup)
    expect(again.keys.authenticateAgent(setup.key)).toEqual(caller)
    await again.close()
  })

  test('expires at its time, and is removed at the next start', async () => {
    await setup.service.remove(setup.admin, setup.kind('projects'), setup.project, null)
    await setup.service.deleteExpiredTombstones()
    expect(remains(setup)).toHaveLength(1)
    setup.clock.advance(365 * 86_400_000)
    expect(setup.keys.authenticateAgent(setup.key)).toBeNull()
    await setup.service.deleteExpiredTombstones()
    expect(remains(setup)).toEqual([])
  })

  test('is removed if it was deleted itself, or with its application', async () => {
    valueIn(await setup.service.remove(setup.admin, credentials(), setup.credential, null))
    await ask({})
    await setup.service.remove(setup.admin, setup.kind('applications'), setup.application, null)
    await setup.service.remove(setup.admin, setup.kind('projects'), setup.project, null)
    expect(remains(setup)).toEqual([])
    expect(setup.keys.authenticateAgent(setup.key)).toBeNull()
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
    expect(errorIn(await ask({ api_key: 'x', expire_time: 5 }))).toEqual({
      kind: 'invalid',
      issues: ['expire_time: expected string, found number', 'body: unknown member `api_key`'],
    })
    expect(errorIn(await ask({ application_agent_id: setup.application }))).toEqual({
      kind: 'invalid',
      issues: [`application_agent_id: no application agent \`${setup.application}\``],
    })
  })

  test('without storing a key that was never returned', () => {
    expect(agentCredentials(setup.clock).secrets).toEqual(['key_hash'])
    expect(setup.documents.all('application-agent-credentials')).toHaveLength(1)
  })
})
