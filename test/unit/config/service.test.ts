import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { isGid } from '../../../src/kernel/ids.ts'
import {
  bytesBelow,
  errorIn,
  openConfiguration,
  openProject,
  type ProjectFixture,
  projectBody,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

let house: ProjectFixture
beforeEach(async () => {
  house = await openProject()
})
afterEach(() => house.close())
afterAll(removeTemporaryFolders)

const create = async (path: string, body: unknown) => house.service.create(house.admin, house.kind(path), body)
const issuesOf = async (path: string, body: unknown) => {
  const error = errorIn(await create(path, body))
  return error.kind === 'invalid' ? error.issues : error
}
const update = (path: string, id: string, body: unknown, ifMatch: string | null = null) =>
  house.service.update(house.admin, house.kind(path), id, body, ifMatch)
const list = (path: string, query: string) =>
  house.service.list(house.admin, house.kind(path), new URLSearchParams(query))
const namesOf = (path: string, query: string) => valueIn(list(path, query)).data.map(({ name }) => name)

describe('the lifecycle of a document', () => {
  test('a create returns the five authorship fields and an ETag, and nothing else', async () => {
    const { body, etag } = valueIn(await create('applications', { project_id: house.project, name: 'depot' }))
    expect(Object.keys(body)).toEqual(['id', 'create_time', 'created_by', 'update_time', 'updated_by'])
    expect(isGid(body.id as string)).toBe(true)
    expect(body.create_time).toBe('2026-01-15T12:00:00.000Z')
    expect(body.created_by).toBe(house.admin.serviceAccountId)
    expect(etag).toMatch(/^"[A-Za-z0-9_-]+"$/)
    expect(etag).toBe(valueIn(house.service.read(house.admin, house.kind('applications'), body.id as string)).etag)
  })

  test('an application reads back completely, with its name as display name', () => {
    expect(house.read('applications', house.application)).toEqual({
      id: house.application,
      name: 'shop',
      display_name: 'shop',
      description: '',
      organization_id: house.admin.organizationId,
      project_id: house.project,
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: house.admin.serviceAccountId,
      update_time: '2026-01-15T12:00:00.000Z',
      updated_by: house.admin.serviceAccountId,
    })
  })

  test('an agent reads back its application and permissions, without the retired one and without duplicates', async () => {
    const { id } = await house.create('application-agents', {
      application_id: house.application,
      name: 'second',
      display_name: null,
      api_permissions: ['IKGRead', 'CIQ', 'CIQ', 'Audit'],
    })
    expect(house.read('application-agents', id)).toMatchObject({
      application_id: house.application,
      project_id: house.project,
      api_permissions: ['CIQ', 'Audit'],
      display_name: 'second',
    })
  })

  test('a document is found by name with project_id or location, and not in another project', async () => {
    const other = await house.create('projects', projectBody(house, { name: 'other' }))
    const byName = (query: string) =>
      house.service.read(house.admin, house.kind('application-agents'), 'shop-agent', new URLSearchParams(query))
    expect(valueIn(byName(`project_id=${house.project}`)).body.id).toBe(house.agent)
    expect(valueIn(byName(`location=${house.project}`)).body.id).toBe(house.agent)
    expect(errorIn(byName(`project_id=${other.id}`))).toEqual({
      kind: 'not-found',
      message: `no application agent named \`shop-agent\` in \`${other.id}\``,
    })
    expect(errorIn(byName(''))).toEqual({
      kind: 'invalid',
      issues: ['project_id: required to read an application agent by name'],
    })
  })

  test('every revision can be read by its number, under its own ETag, until the document is deleted', async () => {
    const kind = house.kind('applications')
    const read = (version: string) =>
      house.service.read(house.admin, kind, house.application, new URLSearchParams({ version }))
    const first = valueIn(read('1'))
    valueIn(await update('applications', house.application, { description: 'second' }))
    house.clock.advance(1000)
    const third = valueIn(await update('applications', house.application, { description: 'third' }))
    expect(valueIn(read('1'))).toEqual(first)
    expect(valueIn(read('2')).body).toMatchObject({ description: 'second', update_time: '2026-01-15T12:00:00.000Z' })
    expect(valueIn(read('3'))).toEqual(valueIn(read('')))
    expect(valueIn(read('3')).etag).toBe(third.etag)
    expect(errorIn(read('4'))).toEqual({
      kind: 'not-found',
      message: `the application \`${house.application}\` has no revision 4`,
    })
    expect(errorIn(read('0'))).toEqual({
      kind: 'invalid',
      issues: ['version: expected the number of a revision, from 1, found `0`'],
    })
    valueIn(await house.service.remove(house.admin, kind, house.application, null))
    for (const revision of [1, 2, 3]) {
      expect(house.documents.pastRevision('applications', house.application, revision)).toBeNull()
    }
  })

  test('an update that changes nothing creates no revision', async () => {
    const kind = house.kind('application-agents')
    const before = valueIn(house.service.read(house.admin, kind, house.agent))
    house.clock.advance(1000)
    for (const body of [{}, { description: '' }, { api_permissions: ['Authorization', 'Capture'] }]) {
      const { etag } = valueIn(await update('application-agents', house.agent, body))
      expect(etag).toBe(before.etag)
    }
    expect(valueIn(house.service.read(house.admin, kind, house.agent))).toEqual(before)
  })

  test('an update keeps null and absent fields and removes empty ones', async () => {
    house.clock.advance(1000)
    const kept = { display_name: 'The shop', description: 'Sells things' }
    valueIn(await update('applications', house.application, kept))
    valueIn(await update('applications', house.application, { display_name: null }))
    expect(house.read('applications', house.application)).toMatchObject(kept)
    const { body } = valueIn(await update('applications', house.application, { display_name: '', description: '' }))
    expect(body).toEqual({
      id: house.application,
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: house.admin.serviceAccountId,
      update_time: '2026-01-15T12:00:01.000Z',
      updated_by: house.admin.serviceAccountId,
    })
    expect(house.read('applications', house.application)).toMatchObject({ display_name: 'shop', description: '' })
  })

  test('read-only fields and unknown fields have different errors', async () => {
    expect(errorIn(await update('applications', house.application, { name: 'new', project_id: 'x' }))).toEqual({
      kind: 'invalid',
      issues: ['name: cannot be changed after creation', 'project_id: cannot be changed after creation'],
    })
    expect(errorIn(await update('applications', house.application, { colour: 'red' }))).toEqual({
      kind: 'invalid',
      issues: ['body: unknown member `colour`'],
    })
  })

  test('credentials cannot be updated, and the error says what can be done', async () => {
    expect(errorIn(await update('application-agent-credentials', house.credential, {}))).toEqual({
      kind: 'method-not-allowed',
      allow: ['GET', 'DELETE'],
    })
  })

  test('a deleted document is gone for every call', async () => {
    const kind = house.kind('applications')
    expect(valueIn(await house.service.remove(house.admin, kind, house.application, null))).toEqual({
      id: house.application,
    })
    const gone = { kind: 'not-found', message: `no application \`${house.application}\`` }
    expect(errorIn(house.service.read(house.admin, kind, house.application))).toEqual(gone)
    expect(errorIn(await update('applications', house.application, {}))).toEqual(gone)
    expect(errorIn(await house.service.remove(house.admin, kind, house.application, null))).toEqual(gone)
    valueIn(await create('applications', { project_id: house.project, name: 'shop' }))
  })
})

describe('ETags', () => {
  test('an update with the current ETag changes it, with a stale one changes nothing', async () => {
    const kind = house.kind('applications')
    const first = valueIn(house.service.read(house.admin, kind, house.application)).etag
    const second = valueIn(await update('applications', house.application, { description: 'one' }, first)).etag
    expect(second).not.toBe(first)
    expect(errorIn(await update('applications', house.application, { description: 'two' }, first))).toEqual({
      kind: 'stale-etag',
    })
    expect(errorIn(await house.service.remove(house.admin, kind, house.application, first))).toEqual({
      kind: 'stale-etag',
    })
    expect(house.read('applications', house.application).description).toBe('one')
    valueIn(await update('applications', house.application, { description: 'two' }, `"other", ${second}`))
    valueIn(await update('applications', house.application, { description: 'three' }, '*'))
    const last = valueIn(house.service.read(house.admin, kind, house.application)).etag ?? ''
    expect(errorIn(await house.service.remove(house.admin, kind, house.application, `W/${last}`)).kind).toBe(
      'stale-etag',
    )
    valueIn(await house.service.remove(house.admin, kind, house.application, last.replaceAll('"', '')))
  })

  test('of many updates with one ETag exactly one succeeds', async () => {
    const { etag } = valueIn(house.service.read(house.admin, house.kind('applications'), house.application))
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => update('applications', house.application, { description: `no ${i}` }, etag)),
    )
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1)
  })
})

describe('a create refuses', () => {
  test.each([
    ['no object', [], ['body: expected object, found array']],
    ['nothing at all', undefined, ['body: expected object, found nothing']],
    ['missing members', {}, ['name: expected string, found nothing', 'project_id: expected string, found nothing']],
    [
      'wrong types',
      { name: 7, project_id: true },
      ['name: expected string, found number', 'project_id: expected string, found boolean'],
    ],
  ])('%s', async (_, body, issues) => {
    expect(await issuesOf('applications', body)).toEqual(issues)
  })

  test.each([
    ['A-b', 'name: expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end'],
    ['a-', 'name: expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end'],
    ['a_b', 'name: expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end'],
    ['x'.repeat(64), 'name: expected at most 63 characters'],
  ])('the name %s', async (name, issue) => {
    expect(await issuesOf('applications', { project_id: house.project, name })).toEqual([issue])
  })

  test('an envelope out of bounds, with an error for each field', async () => {
    const body = { project_id: house.project, name: 'ok', display_name: 'x', description: 'y'.repeat(65_001), extra: 1 }
    expect(await issuesOf('applications', body)).toEqual([
      'display_name: expected at least 2 characters',
      'description: expected at most 65000 characters',
      'body: unknown member `extra`',
    ])
  })

  test('an unknown parent, and a parent of another kind', async () => {
    expect(await issuesOf('applications', { project_id: 'gid:nowhere', name: 'ok' })).toEqual([
      'project_id: no project `gid:nowhere`',
    ])
    expect(await issuesOf('applications', { project_id: house.agent, name: 'ok' })).toEqual([
      `project_id: no project \`${house.agent}\``,
    ])
    expect(await issuesOf('projects', projectBody(house, { organization_id: 'gid:else', name: 'ok' }))).toEqual([
      'organization_id: no organization `gid:else`',
    ])
  })

  test('an unknown permission, or none', async () => {
    const body = { application_id: house.application, name: 'ok' }
    expect(await issuesOf('application-agents', { ...body, api_permissions: [] })).toEqual([
      'api_permissions: expected at least 1 item',
    ])
    expect(await issuesOf('application-agents', { ...body, api_permissions: ['Capture', 'Fly'] })).toEqual([
      'api_permissions[1]: expected `Authorization` or `Capture` or `CIQ` or `EntityMatching` or `ReadAuthZConfigs` or `ReadDataSchema` or `Audit` or `IKGRead`, found `Fly`',
    ])
  })

  test('a name that is used in the project, whatever the parent; another project may use it', async () => {
    const second = await house.create('applications', { project_id: house.project, name: 'second' })
    const agent = { name: 'shop-agent', api_permissions: ['CIQ'] }
    expect(await issuesOf('application-agents', { ...agent, application_id: second.id })).toEqual({
      kind: 'conflict',
      message: 'the project has another application agent named `shop-agent`',
    })
    expect(await issuesOf('projects', projectBody(house))).toEqual({
      kind: 'conflict',
      message: 'the organization has another project named `fleet`',
    })
    const other = await house.create('projects', projectBody(house, { name: 'other' }))
    await house.create('applications', { project_id: other.id, name: 'shop' })
  })

  test('one of two concurrent creates of the same name', async () => {
    const body = { project_id: house.project, name: 'twin' }
    const outcomes = await Promise.all([create('applications', body), create('applications', body)])
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false])
  })
})

describe('roles', () => {
  test('a viewer can read and list, but change nothing', async () => {
    const kind = house.kind('applications')
    expect(valueIn(house.service.read(house.viewer, kind, house.application)).body.name).toBe('shop')
    expect(
      valueIn(house.service.list(house.viewer, kind, new URLSearchParams({ project_id: house.project }))).data,
    ).toHaveLength(1)
    const forbidden = { kind: 'forbidden', message: 'the role `all_viewer` may not change applications' }
    expect(errorIn(await house.service.create(house.viewer, kind, {}))).toEqual(forbidden)
    expect(errorIn(await house.service.update(house.viewer, kind, house.application, {}, null))).toEqual(forbidden)
    expect(errorIn(await house.service.remove(house.viewer, kind, house.application, null))).toEqual(forbidden)
  })

  test('another organization sees none of it', async () => {
    const stranger = { ...house.admin, organizationId: 'gid:another' }
    for (const [path, id] of [
      ['projects', house.project],
      ['applications', house.application],
      ['application-agent-credentials', house.credential],
    ] as const) {
      const kind = house.kind(path)
      expect(errorIn(house.service.read(stranger, kind, id)).kind).toBe('not-found')
      expect(errorIn(await house.service.remove(stranger, kind, id, null)).kind).toBe('not-found')
      expect(errorIn(await house.service.update(stranger, house.kind('projects'), house.project, {}, null)).kind).toBe(
        'not-found',
      )
    }
    const body = { project_id: house.project, name: 'intruder' }
    expect(errorIn(await house.service.create(stranger, house.kind('applications'), body))).toEqual({
      kind: 'invalid',
      issues: [`project_id: no project \`${house.project}\``],
    })
    const query = new URLSearchParams({ project_id: house.project })
    expect(errorIn(house.service.list(stranger, house.kind('applications'), query)).kind).toBe('invalid')
  })
})

describe('lists', () => {
  test('contain the documents of one project in creation order, filtered by parent and by words', async () => {
    const second = await house.create('applications', {
      project_id: house.project,
      name: 'zebra',
      description: 'Striped HORSES',
    })
    await house.create('applications', { project_id: house.project, name: 'apple', display_name: 'Fruit' })
    await house.create('application-agents', { application_id: second.id, name: 'rider', api_permissions: ['CIQ'] })
    expect(namesOf('applications', `project_id=${house.project}`)).toEqual(['shop', 'zebra', 'apple'])
    expect(namesOf('applications', `project_id=${house.project}&search=horse`)).toEqual(['zebra'])
    expect(namesOf('applications', `project_id=${house.project}&search=fruit`)).toEqual(['apple'])
    expect(namesOf('applications', `project_id=${house.project}&search=no+such`)).toEqual([])
    expect(namesOf('application-agents', `project_id=${house.project}`)).toEqual(['shop-agent', 'rider'])
    expect(namesOf('application-agents', `project_id=${house.project}&application_id=${second.id}`)).toEqual(['rider'])
    expect(namesOf('application-agents', `application_id=${second.id}`)).toEqual(['rider'])
    expect(namesOf('projects', '')).toEqual(['fleet'])
  })

  test('refuse unknown query parameters', () => {
    expect(errorIn(list('applications', ''))).toEqual({
      kind: 'invalid',
      issues: ['project_id: required to list applications'],
    })
    expect(errorIn(list('applications', `project_id=gid:x&full_fetch=yes&page=2&search=a&search=b`))).toEqual({
      kind: 'invalid',
      issues: [
        'query: unknown parameter `page`',
        'search: given more than once',
        'project_id: no project `gid:x`',
        'full_fetch: expected `true` or `false`, found `yes`',
      ],
    })
  })
})

describe('deleting a parent', () => {
  test('an application deletes its agents and their credentials, and nothing else', async () => {
    const other = await house.create('applications', { project_id: house.project, name: 'other' })
    await house.service.remove(house.admin, house.kind('applications'), house.application, null)
    expect(house.documents.all('applications').map(({ id }) => id)).toEqual([other.id])
    expect(house.documents.all('application-agents')).toEqual([])
    expect(house.documents.all('application-agent-credentials')).toEqual([])
    expect(house.board.nodes.get(house.project)).toEqual(new Set([other.id]))
    expect(house.keys.authenticateAgent(house.key)).toBeNull()
  })

  test('a project deletes everything below it, and its graph', async () => {
    await house.service.remove(house.admin, house.kind('projects'), house.project, null)
    for (const path of [
      'projects',
      'applications',
      'application-agents',
      'application-agent-credentials',
      'pending-effects',
    ]) {
      expect(house.documents.all(path)).toEqual([])
    }
    expect(house.board.nodes.size).toBe(0)
  })
})

describe('db_connection', () => {
  const connection = {
    url: 'lmdb:',
    username: 'ann',
    password: 'correct horse battery staple',
    composite_db_name: 'whole',
    alias_mapping: 'eu=db-eu&us%2Deast=db+us',
  }

  test('reads back without its password, which is stored nowhere in clear text', async () => {
    const { id } = await house.create('projects', projectBody(house, { name: 'composite', db_connection: connection }))
    const { password, ...open } = connection
    expect(house.read('projects', id)).toMatchObject({ ikg_size: '2GB', region: 'eu-west', db_connection: open })
    expect(JSON.stringify(house.read('projects', id))).not.toContain('password')
    const bytes = bytesBelow(house.dir)
    expect(bytes).toContain('db-eu')
    expect(bytes).not.toContain(password)
    const stored = house.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(house.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(password)
  })

  test('accepts a new password if the stored one cannot be decrypted any more', async () => {
    const { id } = await house.create('projects', projectBody(house, { name: 'composite', db_connection: connection }))
    await house.documents.write((draft) => {
      const stored = draft.get('projects', id) as StoredDocument
      const db_connection = { ...(stored.fields.db_connection as object), password: 'sb1.lost.a.b' }
      draft.put({ ...stored, fields: { ...stored.fields, db_connection } })
    })
    valueIn(await update('projects', id, { db_connection: connection }))
    const stored = house.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(house.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(connection.password)
  })

  test('keeps its password if an update changes other fields', async () => {
    const { id } = await house.create('projects', projectBody(house, { name: 'composite', db_connection: connection }))
    valueIn(await update('projects', id, { db_connection: { url: 'lmdb:', username: 'bob' } }))
    const stored = house.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(Object.keys(stored).sort()).toEqual(['password', 'url', 'username'])
    expect(house.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(connection.password)
    expect(house.read('projects', id).db_connection).toEqual({ url: 'lmdb:', username: 'bob' })
  })

  test.each([
    [{}, ['db_connection.url: expected string, found nothing']],
    [{ url: 'neo4j+s://host' }, ['db_connection.url: the scheme `neo4j+s:` has no adapter, expected `lmdb:`']],
    [{ url: '/var/data' }, ['db_connection.url: expected a URL with the scheme `lmdb:`']],
    [{ url: 'lmdb:///var/data' }, ['db_connection.url: the scheme `lmdb:` takes no path']],
    [{ url: 'lmdb:', port: 1 }, ['db_connection: unknown member `port`']],
    [
      { url: 'lmdb:', alias_mapping: 'eu=a' },
      ['db_connection.composite_db_name: required together with `alias_mapping`'],
    ],
    [
      { url: 'lmdb:', composite_db_name: 'w' },
      ['db_connection.alias_mapping: required together with `composite_db_name`'],
    ],
    [
      { url: 'lmdb:', composite_db_name: 'w', alias_mapping: 'eu=a&eu=b' },
      ['db_connection.alias_mapping: the location `eu` is mapped twice'],
    ],
    [
      { url: 'lmdb:', composite_db_name: 'w', alias_mapping: 'eu=a&us' },
      ['db_connection.alias_mapping: expected `location=database`, found `us`'],
    ],
    [
      { url: 'lmdb:', composite_db_name: 'w', alias_mapping: 'e=a' },
      ['db_connection.alias_mapping: expected a location of 2 to 32 characters, found `e`'],
    ],
  ])('refuses %j', async (db_connection, issues) => {
    expect(await issuesOf('projects', projectBody(house, { name: 'bad', db_connection }))).toEqual(issues)
  })

  test('a project has a region and no replica in the same one', async () => {
    expect(await issuesOf('projects', { organization_id: house.admin.organizationId, name: 'bad' })).toEqual([
      'region: expected string, found nothing',
    ])
    expect(await issuesOf('projects', projectBody(house, { name: 'bad', replica_region: 'eu-west' }))).toEqual([
      'replica_region: expected another region than `region`',
    ])
    expect(await issuesOf('projects', projectBody(house, { name: 'bad', ikg_size: '3GB' }))).toEqual([
      'ikg_size: expected `2GB` or `4GB` or `8GB` or `16GB` or `32GB` or `64GB` or `128GB` or `192GB` or `256GB` or `384GB` or `512GB`, found `3GB`',
    ])
  })
})

test('a restart keeps everything: documents, tags, keys and accounts', async () => {
  const { etag } = valueIn(house.service.read(house.admin, house.kind('projects'), house.project))
  const token = await house.accounts.issueToken(house.admin.serviceAccountId, 3600)
  const before = ['projects', 'applications', 'application-agents', 'application-agent-credentials'].map((path) =>
    house.documents.all(path),
  )
  await house.close()
  const again = await openConfiguration({ dir: house.dir, clock: house.clock, board: house.board })
  const after = ['projects', 'applications', 'application-agents', 'application-agent-credentials'].map((path) =>
    again.documents.all(path),
  )
  expect(after).toEqual(before)
  expect(again.admin).toEqual(house.admin)
  expect(valueIn(again.service.read(again.admin, again.kind('projects'), house.project)).etag).toBe(etag)
  expect(again.keys.authenticateAgent(house.key)?.agentId).toBe(house.agent)
  expect(await again.accounts.authenticateServiceAccount(token)).toEqual(house.admin)
  house = { ...house, close: () => again.close() }
})
