import { afterAll, expect, test } from 'vitest'
import {
  type ConfigurationFixture,
  openConfiguration,
  projectBody,
  RecordingProvisioner,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

afterAll(removeTemporaryFolders)

function gateOf(): { opened: Promise<void>; open(): void; fail(reason: string): void } {
  let open = (): void => undefined
  let fail = (_reason: string): void => undefined
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve
    fail = (reason) => reject(new Error(reason))
  })
  // A provisioning that has not come to the gate yet waits for it after `fail`.
  opened.catch(() => undefined)
  return { opened, open, fail }
}

async function houseWithGate() {
  const gate = gateOf()
  const board = new RecordingProvisioner()
  board.gate = gate.opened
  const setup = await openConfiguration({ board })
  const project = (await setup.create('projects', projectBody(setup))).id
  return { setup, board, gate, project }
}

const status = (setup: ConfigurationFixture, project: string) => setup.read('projects', project).ikg_status

test('a project is PENDING until its graph exists, then ACTIVE, under the same ETag', async () => {
  const { setup, gate, project } = await houseWithGate()
  const tag = () => valueIn(setup.service.read(setup.admin, setup.kind('projects'), project)).etag
  const before = tag()
  expect(status(setup, project)).toBe('PENDING')
  gate.open()
  await setup.provisioning.whenIdle()
  expect(status(setup, project)).toBe('ACTIVE')
  expect(tag()).toBe(before)
  await setup.close()
})

test('documents created and deleted while the project is PENDING are in its graph when it is ACTIVE', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  const shop = (await setup.create('applications', { project_id: project, name: 'shop' })).id
  const gone = (await setup.create('applications', { project_id: project, name: 'gone' })).id
  const agent = { application_id: shop, name: 'agent', api_permissions: ['CIQ'] }
  const made = (await setup.create('application-agents', agent)).id
  await setup.service.remove(setup.admin, setup.kind('applications'), gone, null)
  expect(board.nodes.size).toBe(0)
  gate.open()
  await setup.provisioning.whenIdle()
  expect(board.nodes.get(project)).toEqual(new Set([shop, made]))
  await setup.close()
})

test('documents created during provisioning are not lost', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  gate.open()
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, i) => setup.create('applications', { project_id: project, name: `app-${i}` })),
  )
  await setup.provisioning.whenIdle()
  expect(status(setup, project)).toBe('ACTIVE')
  expect(board.nodes.get(project)).toEqual(new Set(made.map(({ id }) => id)))
  await setup.close()
})

test('in an ACTIVE project the nodes exist when the create returns, and are gone when the delete returns', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  gate.open()
  await setup.provisioning.whenIdle()
  const shop = (await setup.create('applications', { project_id: project, name: 'shop' })).id
  const agent = { application_id: shop, name: 'agent', api_permissions: ['CIQ'] }
  const made = (await setup.create('application-agents', agent)).id
  expect(board.nodes.get(project)).toEqual(new Set([shop, made]))
  await setup.service.remove(setup.admin, setup.kind('application-agents'), made, null)
  expect(board.nodes.get(project)).toEqual(new Set([shop]))
  await setup.close()
})

test('a project whose graph cannot be created is FAILED, the log gives the reason, and an update tries again', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  const shop = (await setup.create('applications', { project_id: project, name: 'shop' })).id
  gate.fail('no space left')
  await setup.provisioning.whenIdle()
  expect(status(setup, project)).toBe('FAILED')
  expect(setup.log).toEqual([`provisioning of project ${project} failed: Error: no space left`])
  board.gate = Promise.resolve()
  valueIn(await setup.service.update(setup.admin, setup.kind('projects'), project, { description: 'again' }, null))
  await setup.provisioning.whenIdle()
  expect(status(setup, project)).toBe('ACTIVE')
  expect(board.nodes.get(project)).toEqual(new Set([shop]))
  await setup.close()
})

test('a project that a crash left PENDING is provisioned at the next start', async () => {
  const { setup, gate, project } = await houseWithGate()
  const board = new RecordingProvisioner()
  // The first process cannot create its graph: the folder is gone.
  const again = await openConfiguration({ dir: setup.dir, board })
  expect(status(again, project)).toBe('PENDING')
  await again.provisioning.whenIdle()
  expect(status(again, project)).toBe('ACTIVE')
  expect([...board.nodes.keys()]).toEqual([project])
  await again.close()
  gate.fail('the process is gone')
  await setup.provisioning.whenIdle()
})

test('a project that is deleted while it is PENDING leaves no graph behind', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  const removed = setup.service.remove(setup.admin, setup.kind('projects'), project, null)
  gate.open()
  expect(valueIn(await removed)).toEqual({ id: project })
  await setup.provisioning.whenIdle()
  expect(board.nodes.size).toBe(0)
  await setup.close()
})

test('effects that a crash prevented are applied at the next start', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  gate.open()
  await setup.provisioning.whenIdle()
  board.nodes.delete(project)
  const lost = setup.create('applications', { project_id: project, name: 'shop' })
  await expect(lost).rejects.toThrow('no such graph')
  expect(setup.log[0]).toContain(
    'was created, but a side effect failed and is retried at the next start: Error: no such graph',
  )
  await setup.close()

  const mended = new RecordingProvisioner()
  mended.nodes.set(project, new Set())
  const again = await openConfiguration({ dir: setup.dir, board: mended })
  await again.service.resume()
  expect(mended.nodes.get(project)).toEqual(new Set(again.documents.all('applications').map(({ id }) => id)))
  expect(mended.nodes.get(project)?.size).toBe(1)
  expect(again.documents.all('pending-effects')).toEqual([])
  await again.close()
})

test('a composite project is created with its locations, and with those that an update adds', async () => {
  const board = new RecordingProvisioner()
  const setup = await openConfiguration({ board })
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1&us%20east=db2' }
  const project = (await setup.create('projects', projectBody(setup, { db_connection: connection }))).id
  await setup.provisioning.whenIdle()
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu', 'us east'])
  const wider = { ...connection, alias_mapping: 'eu=db1&asia=db3' }
  valueIn(await setup.service.update(setup.admin, setup.kind('projects'), project, { db_connection: wider }, null))
  expect(status(setup, project)).toBe('ACTIVE')
  await setup.provisioning.whenIdle()
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu', 'asia'])
  await setup.close()
})

test('a mapping that changes while the project is PENDING is used when it is ACTIVE', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1' }
  valueIn(await setup.service.update(setup.admin, setup.kind('projects'), project, { db_connection: connection }, null))
  expect([status(setup, project), board.layouts.get(project)]).toEqual(['PENDING', undefined])
  gate.open()
  await setup.provisioning.whenIdle()
  expect(status(setup, project)).toBe('ACTIVE')
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu'])
  await setup.close()
})

test('a location with data keeps its database', async () => {
  const board = new RecordingProvisioner()
  const setup = await openConfiguration({ board })
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1&us=db2' }
  const project = (await setup.create('projects', projectBody(setup, { db_connection: connection }))).id
  await setup.provisioning.whenIdle()
  board.withData.add('db1')
  const update = (alias_mapping: string) =>
    setup.service.update(
      setup.admin,
      setup.kind('projects'),
      project,
      { db_connection: { ...connection, alias_mapping } },
      null,
    )
  for (const taken of ['us=db2', 'eu=db2&us=db2', 'europe=db1&us=db2']) {
    const issues = ['db_connection.alias_mapping: the location `eu` holds data and cannot change its database']
    expect(await update(taken)).toEqual({ ok: false, error: { kind: 'invalid', issues } })
  }
  valueIn(await update('eu=db1&europe=db1'))
  await setup.close()
})

test('a FAILED project in a database server is tried again by itself, one of the embedded store is not', async () => {
  const board = new RecordingProvisioner()
  board.gate = Promise.reject(new Error('the server is away'))
  board.gate.catch(() => undefined)
  const setup = await openConfiguration({ board })
  const remote = { ...projectBody(setup), name: 'remote', db_connection: { url: 'bolt://127.0.0.1' } }
  const [embedded, served] = [
    (await setup.create('projects', projectBody(setup))).id,
    (await setup.create('projects', remote)).id,
  ]
  await setup.provisioning.whenIdle()
  expect([status(setup, embedded), status(setup, served)]).toEqual(['FAILED', 'FAILED'])
  board.gate = Promise.resolve()
  await expect.poll(() => status(setup, served)).toBe('ACTIVE')
  expect(status(setup, embedded)).toBe('FAILED')
  await setup.close()
})

test('the next leader tries a FAILED project in a database server again', async () => {
  const board = new RecordingProvisioner()
  board.gate = Promise.reject(new Error('the server is away'))
  board.gate.catch(() => undefined)
  const setup = await openConfiguration({ board })
  const remote = { ...projectBody(setup), name: 'remote', db_connection: { url: 'bolt://127.0.0.1' } }
  const [embedded, served] = [
    (await setup.create('projects', projectBody(setup))).id,
    (await setup.create('projects', remote)).id,
  ]
  await setup.provisioning.whenIdle()
  const { dir } = setup
  await setup.close()
  board.gate = Promise.resolve()
  const again = await openConfiguration({ dir, board })
  await expect.poll(() => status(again, served)).toBe('ACTIVE')
  expect(status(again, embedded)).toBe('FAILED')
  await again.close()
})

test('an instance removes what it has of projects that others have deleted, also while it did not run', async () => {
  const setup = await openConfiguration()
  const [kept, deleted] = [
    (await setup.create('projects', projectBody(setup))).id,
    (await setup.create('projects', { ...projectBody(setup), name: 'deleted' })).id,
  ]
  await setup.provisioning.whenIdle()
  const { documents, provisioning, board } = setup
  provisioning.removeLocal([kept, 'gid:DELETED'])
  await provisioning.whenIdle()
  expect([board.nodes.has(kept), board.deleted]).toEqual([true, ['gid:DELETED']])
  // As the copy of a shared configuration: no effect of this service deletes it.
  await documents.write((draft) => draft.remove('projects', deleted))
  await provisioning.whenIdle()
  expect(board.deleted).toEqual(['gid:DELETED', deleted])
  await setup.close()
})

test('a restored configuration applies the effects that the instances which shared it have left', async () => {
  const { setup, board, gate, project } = await houseWithGate()
  gate.open()
  await setup.provisioning.whenIdle()
  board.nodes.delete(project)
  await expect(setup.create('applications', { project_id: project, name: 'shop' })).rejects.toThrow('no such graph')
  await setup.documents.write((draft) => {
    for (const intent of draft.all('pending-effects'))
      draft.put({ ...intent, fields: { ...intent.fields, instance: 'an-instance' } })
  })
  await setup.close()
  const mended = new RecordingProvisioner()
  mended.nodes.set(project, new Set())
  const again = await openConfiguration({ dir: setup.dir, board: mended })
  await again.service.resume('instance')
  expect([mended.nodes.get(project)?.size, again.documents.all('pending-effects')]).toEqual([1, []])
  await again.close()
})
