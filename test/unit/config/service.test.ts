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

let setup: ProjectFixture
beforeEach(async () => {
  setup = await openProject()
})
afterEach(() => setup.close())
afterAll(removeTemporaryFolders)

const create = async (path: string, body: unknown) => setup.service.create(setup.admin, setup.kind(path), body)
const issuesOf = async (path: string, body: unknown) => {
  const error = errorIn(await create(path, body))
  return error.kind === 'invalid' ? error.issues : error
}
const update = (path: string, id: string, body: unknown, ifMatch: string | null = null) =>
  setup.service.update(setup.admin, setup.kind(path), id, body, ifMatch)
const list = (path: string, query: string) =>
  setup.service.list(setup.admin, setup.kind(path), new URLSearchParams(query))
const namesOf = (path: string, query: string) => valueIn(list(path, query)).data.map(({ name }) => name)

describe('the lifecycle of a document', () => {
  test('a create returns the five authorship fields and an ETag, and nothing else', async () => {
    const { body, etag } = valueIn(await create('applications', { project_id: setup.project, name: 'depot' }))
    expect(Object.keys(body)).toEqual(['id', 'create_time', 'created_by', 'update_time', 'updated_by'])
    expect(isGid(body.id as string)).toBe(true)
    expect(body.create_time).toBe('2026-01-15T12:00:00.000Z')
    expect(body.created_by).toBe(setup.admin.serviceAccountId)
    expect(etag).toMatch(/^"[A-Za-z0-9_-]+"$/)
    expect(etag).toBe(valueIn(setup.service.read(setup.admin, setup.kind('applications'), body.id as string)).etag)
  })

  test('an application reads back completely, with its name as display name', () => {
    expect(setup.read('applications', setup.application)).toEqual({
      id: setup.application,
      name: 'shop',
      display_name: 'shop',
      description: '',
      organization_id: setup.admin.organizationId,
      project_id: setup.project,
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: setup.admin.serviceAccountId,
      update_time: '2026-01-15T12:00:00.000Z',
      updated_by: setup.admin.serviceAccountId,
    })
  })

  test('an agent reads back its application and permissions, without the retired one and without duplicates', async () => {
    const { id } = await setup.create('application-agents', {
      application_id: setup.application,
      name: 'second',
      display_name: null,
      api_permissions: ['IKGRead', 'CIQ', 'CIQ', 'Audit'],
    })
    expect(setup.read('application-agents', id)).toMatchObject({
      application_id: setup.application,
      project_id: setup.project,
      api_permissions: ['CIQ', 'Audit'],
      display_name: 'second',
    })
  })

  test('a document is found by name with project_id or location, and not in another project', async () => {
    const other = await setup.create('projects', projectBody(setup, { name: 'other' }))
    const byName = (query: string) =>
      setup.service.read(setup.admin, setup.kind('application-agents'), 'shop-agent', new URLSearchParams(query))
    expect(valueIn(byName(`project_id=${setup.project}`)).body.id).toBe(setup.agent)
    expect(valueIn(byName(`location=${setup.project}`)).body.id).toBe(setup.agent)
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
    const kind = setup.kind('applications')
    const read = (version: string) =>
      setup.service.read(setup.admin, kind, setup.application, new URLSearchParams({ version }))
    const first = valueIn(read('1'))
    valueIn(await update('applications', setup.application, { description: 'second' }))
    setup.clock.advance(1000)
    const third = valueIn(await update('applications', setup.application, { description: 'third' }))
    expect(valueIn(read('1'))).toEqual(first)
    expect(valueIn(read('2')).body).toMatchObject({ description: 'second', update_time: '2026-01-15T12:00:00.000Z' })
    expect(valueIn(read('3'))).toEqual(valueIn(read('')))
    expect(valueIn(read('3')).etag).toBe(third.etag)
    expect(errorIn(read('4'))).toEqual({
      kind: 'not-found',
      message: `the application \`${setup.application}\` has no revision 4`,
    })
    expect(errorIn(read('0'))).toEqual({
      kind: 'invalid',
      issues: ['version: expected the number of a revision, from 1, found `0`'],
    })
    valueIn(await setup.service.remove(setup.admin, kind, setup.application, null))
    for (const revision of [1, 2, 3]) {
      expect(setup.documents.pastRevision('applications', setup.application, revision)).toBeNull()
    }
  })

  test('an update that changes nothing creates no revision', async () => {
    const kind = setup.kind('application-agents')
    const before = valueIn(setup.service.read(setup.admin, kind, setup.agent))
    setup.clock.advance(1000)
    for (const body of [{}, { description: '' }, { api_permissions: ['Authorization', 'Capture'] }]) {
      const { etag } = valueIn(await update('application-agents', setup.agent, body))
      expect(etag).toBe(before.etag)
    }
    expect(valueIn(setup.service.read(setup.admin, kind, setup.agent))).toEqual(before)
  })

  test('an update keeps null and absent fields and removes empty ones', async () => {
    setup.clock.advance(1000)
    const kept = { display_name: 'The shop', description: 'Sells things' }
    valueIn(await update('applications', setup.application, kept))
    valueIn(await update('applications', setup.application, { display_name: null }))
    expect(setup.read('applications', setup.application)).toMatchObject(kept)
    const { body } = valueIn(await update('applications', setup.application, { display_name: '', description: '' }))
    expect(body).toEqual({
      id: setup.application,
      create_time: '2026-01-15T12:00:00.000Z',
      created_by: setup.admin.serviceAccountId,
      update_time: '2026-01-15T12:00:01.000Z',
      updated_by: setup.admin.serviceAccountId,
    })
    expect(setup.read('applications', setup.application)).toMatchObject({ display_name: 'shop', description: '' })
  })

  test('read-only fields and unknown fields have different errors', async () => {
    expect(errorIn(await update('applications', setup.application, { name: 'new', project_id: 'x' }))).toEqual({
      kind: 'invalid',
      issues: ['name: cannot be changed after creation', 'project_id: cannot be changed after creation'],
    })
    expect(errorIn(await update('applications', setup.application, { colour: 'red' }))).toEqual({
      kind: 'invalid',
      issues: ['body: unknown member `colour`'],
    })
  })

  test('credentials cannot be updated, and the error says what can be done', async () => {
    expect(errorIn(await update('application-agent-credentials', setup.credential, {}))).toEqual({
      kind: 'method-not-allowed',
      allow: ['GET', 'DELETE'],
    })
  })

  test('a deleted document is gone for every call', async () => {
    const kind = setup.kind('applications')
    expect(valueIn(await setup.service.remove(setup.admin, kind, setup.application, null))).toEqual({
      id: setup.application,
    })
    const gone = { kind: 'not-found', message: `no application \`${setup.application}\`` }
    expect(errorIn(setup.service.read(setup.admin, kind, setup.application))).toEqual(gone)
    expect(errorIn(await update('applications', setup.application, {}))).toEqual(gone)
    expect(errorIn(await setup.service.remove(setup.admin, kind, setup.application, null))).toEqual(gone)
    valueIn(await create('applications', { project_id: setup.project, name: 'shop' }))
  })
})

describe('ETags', () => {
  test('an update with the current ETag changes it, with a stale one changes nothing', async () => {
    const kind = setup.kind('applications')
    const first = valueIn(setup.service.read(setup.admin, kind, setup.application)).etag
    const second = valueIn(await update('applications', setup.application, { description: 'one' }, first)).etag
    expect(second).not.toBe(first)
    expect(errorIn(await update('applications', setup.application, { description: 'two' }, first))).toEqual({
      kind: 'stale-etag',
    })
    expect(errorIn(await setup.service.remove(setup.admin, kind, setup.application, first))).toEqual({
      kind: 'stale-etag',
    })
    expect(setup.read('applications', setup.application).description).toBe('one')
    valueIn(await update('applications', setup.application, { description: 'two' }, `"other", ${second}`))
    valueIn(await update('applications', setup.application, { description: 'three' }, '*'))
    const last = valueIn(setup.service.read(setup.admin, kind, setup.application)).etag ?? ''
    expect(errorIn(await setup.service.remove(setup.admin, kind, setup.application, `W/${last}`)).kind).toBe(
      'stale-etag',
    )
    valueIn(await setup.service.remove(setup.admin, kind, setup.application, last.replaceAll('"', '')))
  })

  test('of many updates with one ETag exactly one succeeds', async () => {
    const { etag } = valueIn(setup.service.read(setup.admin, setup.kind('applications'), setup.application))
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => update('applications', setup.application, { description: `no ${i}` }, etag)),
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
    expect(await issuesOf('applications', { project_id: setup.project, name })).toEqual([issue])
  })

  test('an envelope out of bounds, with an error for each field', async () => {
    const body = { project_id: setup.project, name: 'ok', display_name: 'x', description: 'y'.repeat(65_001), extra: 1 }
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
    expect(await issuesOf('applications', { project_id: setup.agent, name: 'ok' })).toEqual([
      `project_id: no project \`${setup.agent}\``,
    ])
    expect(await issuesOf('projects', projectBody(setup, { organization_id: 'gid:else', name: 'ok' }))).toEqual([
      'organization_id: no organization `gid:else`',
    ])
  })

  test('an unknown permission, or none', async () => {
    const body = { application_id: setup.application, name: 'ok' }
    expect(await issuesOf('application-agents', { ...body, api_permissions: [] })).toEqual([
      'api_permissions: expected at least 1 item',
    ])
    expect(await issuesOf('application-agents', { ...body, api_permissions: ['Capture', 'Fly'] })).toEqual([
      'api_permissions[1]: expected `Authorization` or `Capture` or `CIQ` or `EntityMatching` or `ReadAuthZConfigs` or `ReadDataSchema` or `Audit` or `IKGRead`, found `Fly`',
    ])
  })

  test('a name that is used in the project, whatever the parent; another project may use it', async () => {
    const second = await setup.create('applications', { project_id: setup.project, name: 'second' })
    const agent = { name: 'shop-agent', api_permissions: ['CIQ'] }
    expect(await issuesOf('application-agents', { ...agent, application_id: second.id })).toEqual({
      kind: 'conflict',
      message: 'the project has another application agent named `shop-agent`',
    })
    expect(await issuesOf('projects', projectBody(setup))).toEqual({
      kind: 'conflict',
      message: 'the organization has another project named `fleet`',
    })
    const other = await setup.create('projects', projectBody(setup, { name: 'other' }))
    await setup.create('applications', { project_id: other.id, name: 'shop' })
  })

  test('one of two concurrent creates of the same name', async () => {
    const body = { project_id: setup.project, name: 'twin' }
    const outcomes = await Promise.all([create('applications', body), create('applications', body)])
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false])
  })
})

describe('roles', () => {
  test('a viewer can read and list, but change nothing', async () => {
    const kind = setup.kind('applications')
    expect(valueIn(setup.service.read(setup.viewer, kind, setup.application)).body.name).toBe('shop')
    expect(
      valueIn(setup.service.list(setup.viewer, kind, new URLSearchParams({ project_id: setup.project }))).data,
    ).toHaveLength(1)
    const forbidden = { kind: 'forbidden', message: 'the role `all_viewer` may not change applications' }
    expect(errorIn(await setup.service.create(setup.viewer, kind, {}))).toEqual(forbidden)
    expect(errorIn(await setup.service.update(setup.viewer, kind, setup.application, {}, null))).toEqual(forbidden)
    expect(errorIn(await setup.service.remove(setup.viewer, kind, setup.application, null))).toEqual(forbidden)
  })

  test('another organization sees none of it', async () => {
    const stranger = { ...setup.admin, organizationId: 'gid:another' }
    for (const [path, id] of [
      ['projects', setup.project],
      ['applications', setup.application],
      ['application-agent-credentials', setup.credential],
    ] as const) {
      const kind = setup.kind(path)
      expect(errorIn(setup.service.read(stranger, kind, id)).kind).toBe('not-found')
      expect(errorIn(await setup.service.remove(stranger, kind, id, null)).kind).toBe('not-found')
      expect(errorIn(await setup.service.update(stranger, setup.kind('projects'), setup.project, {}, null)).kind).toBe(
        'not-found',
      )
    }
    const body = { project_id: setup.project, name: 'intruder' }
    expect(errorIn(await setup.service.create(stranger, setup.kind('applications'), body))).toEqual({
      kind: 'invalid',
      issues: [`project_id: no project \`${setup.project}\``],
    })
    const query = new URLSearchParams({ project_id: setup.project })
    expect(errorIn(setup.service.list(stranger, setup.kind('applications'), query)).kind).toBe('invalid')
  })
})

describe('lists', () => {
  test('contain the documents of one project in creation order, filtered by parent and by words', async () => {
    const second = await setup.create('applications', {
      project_id: setup.project,
      name: 'zebra',
      description: 'Striped HORSES',
    })
    await setup.create('applications', { project_id: setup.project, name: 'apple', display_name: 'Fruit' })
    await setup.create('application-agents', { application_id: second.id, name: 'rider', api_permissions: ['CIQ'] })
    expect(namesOf('applications', `project_id=${setup.project}`)).toEqual(['shop', 'zebra', 'apple'])
    expect(namesOf('applications', `project_id=${setup.project}&search=horse`)).toEqual(['zebra'])
    expect(namesOf('applications', `project_id=${setup.project}&search=fruit`)).toEqual(['apple'])
    expect(namesOf('applications', `project_id=${setup.project}&search=no+such`)).toEqual([])
    expect(namesOf('application-agents', `project_id=${setup.project}`)).toEqual(['shop-agent', 'rider'])
    expect(namesOf('application-agents', `project_id=${setup.project}&application_id=${second.id}`)).toEqual(['rider'])
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
    const other = await setup.create('applications', { project_id: setup.project, name: 'other' })
    await setup.service.remove(setup.admin, setup.kind('applications'), setup.application, null)
    expect(setup.documents.all('applications').map(({ id }) => id)).toEqual([other.id])
    expect(setup.documents.all('application-agents')).toEqual([])
    expect(setup.documents.all('application-agent-credentials')).toEqual([])
    expect(setup.board.nodes.get(setup.project)).toEqual(new Set([other.id]))
    expect(setup.keys.authenticateAgent(setup.key)).toBeNull()
  })

  test('a project deletes everything below it, and its graph', async () => {
    await setup.service.remove(setup.admin, setup.kind('projects'), setup.project, null)
    for (const path of [
      'projects',
      'applications',
      'application-agents',
      'application-agent-credentials',
      'pending-effects',
    ]) {
      expect(setup.documents.all(path)).toEqual([])
    }
    expect(setup.board.nodes.size).toBe(0)
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
    const { id } = await setup.create('projects', projectBody(setup, { name: 'composite', db_connection: connection }))
    const { password, ...open } = connection
    expect(setup.read('projects', id)).toMatchObject({ ikg_size: '2GB', region: 'eu-west', db_connection: open })
    expect(JSON.stringify(setup.read('projects', id))).not.toContain('password')
    const bytes = bytesBelow(setup.dir)
    expect(bytes).toContain('db-eu')
    expect(bytes).not.toContain(password)
    const stored = setup.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(setup.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(password)
  })

  test('accepts a new password if the stored one cannot be decrypted any more', async () => {
    const { id } = await setup.create('projects', projectBody(setup, { name: 'composite', db_connection: connection }))
    await setup.documents.write((draft) => {
      const stored = draft.get('projects', id) as StoredDocument
      const db_connection = { ...(stored.fields.db_connection as object), password: 'sb1.lost.a.b' }
      draft.put({ ...stored, fields: { ...stored.fields, db_connection } })
    })
    valueIn(await update('projects', id, { db_connection: connection }))
    const stored = setup.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(setup.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(connection.password)
  })

  test('keeps its password if an update changes other fields', async () => {
    const { id } = await setup.create('projects', projectBody(setup, { name: 'composite', db_connection: connection }))
    valueIn(await update('projects', id, { db_connection: { url: 'lmdb:', username: 'bob' } }))
    const stored = setup.documents.get('projects', id)?.fields.db_connection as Record<string, string>
    expect(Object.keys(stored).sort()).toEqual(['password', 'url', 'username'])
    expect(setup.box.open(stored.password as string, `projects/${id}/db_connection.password`)).toBe(connection.password)
    expect(setup.read('projects', id).db_connection).toEqual({ url: 'lmdb:', username: 'bob' })
  })

  test.each([
    [{}, ['db_connection.url: expected string, found nothing']],
    [
      { url: 'https://host' },
      ['db_connection.url: the scheme `https:` has no adapter, expected `lmdb:`, `bolt:` or `neo4j:`'],
    ],
    [{ url: '/var/data' }, ['db_connection.url: expected a URL with the scheme `lmdb:` or `bolt:`']],
    [{ url: 'bolt://' }, ['db_connection.url: expected a URL such as `bolt://host:7687`']],
    [{ url: 'bolt://ann:secret@host' }, ['db_connection.url: the credentials belong into `username` and `password`']],
    [
      { url: 'bolt://host/movies' },
      ['db_connection.url: expected a URL without path: the database belongs into `name`'],
    ],
    [{ url: 'bolt+s://host', username: 'neo4j' }, ['db_connection.password: required together with `username`']],
    [
      { url: 'lmdb:', name: 'bolt://host' },
      ['db_connection.name: expected the name of a database: `url` is not that of a server'],
    ],
    [
      { url: 'bolt+s://host', composite_db_name: 'w', alias_mapping: 'eu=https://host' },
      ['db_connection.alias_mapping: expected a URL such as `bolt://host:7687`'],
    ],
    [{ url: 'bolt://db.internal' }, ['db_connection.url: the host `db.internal` is not public']],
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
      { url: 'lmdb:', composite_db_name: 'w', alias_mapping: 'eu=bolt://neo4j:pass=word@db' },
      ['db_connection.alias_mapping: expected `location=database`, found `eu=…`'],
    ],
    [
      { url: 'lmdb:', composite_db_name: 'w', alias_mapping: '=a' },
      ['db_connection.alias_mapping: expected a location of 1 to 32 characters, found ``'],
    ],
  ])('refuses %j', async (db_connection, issues) => {
    expect(await issuesOf('projects', projectBody(setup, { name: 'bad', db_connection }))).toEqual(issues)
  })

  test('a project has a region and no replica in the same one', async () => {
    expect(await issuesOf('projects', { organization_id: setup.admin.organizationId, name: 'bad' })).toEqual([
      'region: expected string, found nothing',
    ])
    expect(await issuesOf('projects', projectBody(setup, { name: 'bad', replica_region: 'eu-west' }))).toEqual([
      'replica_region: expected another region than `region`',
    ])
    expect(await issuesOf('projects', projectBody(setup, { name: 'bad', ikg_size: '3GB' }))).toEqual([
      'ikg_size: expected `2GB` or `4GB` or `8GB` or `16GB` or `32GB` or `64GB` or `128GB` or `192GB` or `256GB` or `384GB` or `512GB`, found `3GB`',
    ])
  })
})

test('a restart keeps everything: documents, tags, keys and accounts', async () => {
  const { etag } = valueIn(setup.service.read(setup.admin, setup.kind('projects'), setup.project))
  const token = await setup.accounts.issueToken(setup.admin.serviceAccountId, 3600)
  const before = ['projects', 'applications', 'application-agents', 'application-agent-credentials'].map((path) =>
    setup.documents.all(path),
  )
  await setup.close()
  const again = await openConfiguration({ dir: setup.dir, clock: setup.clock, board: setup.board })
  const after = ['projects', 'applications', 'application-agents', 'application-agent-credentials'].map((path) =>
    again.documents.all(path),
  )
  expect(after).toEqual(before)
  expect(again.admin).toEqual(setup.admin)
  expect(valueIn(again.service.read(again.admin, again.kind('projects'), setup.project)).etag).toBe(etag)
  expect(again.keys.authenticateAgent(setup.key)).toMatchObject({ agentId: setup.agent })
  expect(await again.accounts.authenticateServiceAccount(token)).toEqual({ ...setup.admin, keyId: expect.any(String) })
  setup = { ...setup, close: () => again.close() }
})
