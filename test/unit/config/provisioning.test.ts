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
  return { opened, open, fail }
}

async function houseWithGate() {
  const gate = gateOf()
  const board = new RecordingProvisioner()
  board.gate = gate.opened
  const house = await openConfiguration({ board })
  const project = (await house.create('projects', projectBody(house))).id
  return { house, board, gate, project }
}

const status = (house: ConfigurationFixture, project: string) => house.read('projects', project).ikg_status

test('a project is PENDING until its graph exists, then ACTIVE, under the same ETag', async () => {
  const { house, gate, project } = await houseWithGate()
  const tag = () => valueIn(house.service.read(house.admin, house.kind('projects'), project)).etag
  const before = tag()
  expect(status(house, project)).toBe('PENDING')
  gate.open()
  await house.provisioning.whenIdle()
  expect(status(house, project)).toBe('ACTIVE')
  expect(tag()).toBe(before)
  await house.close()
})

test('documents created and deleted while the project is PENDING are in its graph when it is ACTIVE', async () => {
  const { house, board, gate, project } = await houseWithGate()
  const shop = (await house.create('applications', { project_id: project, name: 'shop' })).id
  const gone = (await house.create('applications', { project_id: project, name: 'gone' })).id
  const agent = { application_id: shop, name: 'agent', api_permissions: ['CIQ'] }
  const made = (await house.create('application-agents', agent)).id
  await house.service.remove(house.admin, house.kind('applications'), gone, null)
  expect(board.nodes.size).toBe(0)
  gate.open()
  await house.provisioning.whenIdle()
  expect(board.nodes.get(project)).toEqual(new Set([shop, made]))
  await house.close()
})

test('documents created during provisioning are not lost', async () => {
  const { house, board, gate, project } = await houseWithGate()
  gate.open()
  const made = await Promise.all(
    Array.from({ length: 10 }, (_, i) => house.create('applications', { project_id: project, name: `app-${i}` })),
  )
  await house.provisioning.whenIdle()
  expect(status(house, project)).toBe('ACTIVE')
  expect(board.nodes.get(project)).toEqual(new Set(made.map(({ id }) => id)))
  await house.close()
})

test('in an ACTIVE project the nodes exist when the create returns, and are gone when the delete returns', async () => {
  const { house, board, gate, project } = await houseWithGate()
  gate.open()
  await house.provisioning.whenIdle()
  const shop = (await house.create('applications', { project_id: project, name: 'shop' })).id
  const agent = { application_id: shop, name: 'agent', api_permissions: ['CIQ'] }
  const made = (await house.create('application-agents', agent)).id
  expect(board.nodes.get(project)).toEqual(new Set([shop, made]))
  await house.service.remove(house.admin, house.kind('application-agents'), made, null)
  expect(board.nodes.get(project)).toEqual(new Set([shop]))
  await house.close()
})

test('a project whose graph cannot be created is FAILED, the log gives the reason, and an update tries again', async () => {
  const { house, board, gate, project } = await houseWithGate()
  const shop = (await house.create('applications', { project_id: project, name: 'shop' })).id
  gate.fail('no space left')
  await house.provisioning.whenIdle()
  expect(status(house, project)).toBe('FAILED')
  expect(house.log).toEqual([`provisioning of project ${project} failed: Error: no space left`])
  board.gate = Promise.resolve()
  valueIn(await house.service.update(house.admin, house.kind('projects'), project, { description: 'again' }, null))
  await house.provisioning.whenIdle()
  expect(status(house, project)).toBe('ACTIVE')
  expect(board.nodes.get(project)).toEqual(new Set([shop]))
  await house.close()
})

test('a project that a crash left PENDING is provisioned at the next start', async () => {
  const { house, gate, project } = await houseWithGate()
  const board = new RecordingProvisioner()
  // The first process cannot create its graph: the folder is gone.
  const again = await openConfiguration({ dir: house.dir, board })
  expect(status(again, project)).toBe('PENDING')
  await again.provisioning.whenIdle()
  expect(status(again, project)).toBe('ACTIVE')
  expect([...board.nodes.keys()]).toEqual([project])
  await again.close()
  gate.fail('the process is gone')
  await house.provisioning.whenIdle()
})

test('a project that is deleted while it is PENDING leaves no graph behind', async () => {
  const { house, board, gate, project } = await houseWithGate()
  const removed = house.service.remove(house.admin, house.kind('projects'), project, null)
  gate.open()
  expect(valueIn(await removed)).toEqual({ id: project })
  await house.provisioning.whenIdle()
  expect(board.nodes.size).toBe(0)
  await house.close()
})

test('effects that a crash prevented are applied at the next start', async () => {
  const { house, board, gate, project } = await houseWithGate()
  gate.open()
  await house.provisioning.whenIdle()
  board.nodes.delete(project)
  const lost = house.create('applications', { project_id: project, name: 'shop' })
  await expect(lost).rejects.toThrow('no such graph')
  expect(house.log[0]).toContain(
    'was created, but a side effect failed and is retried at the next start: Error: no such graph',
  )
  await house.close()

  const mended = new RecordingProvisioner()
  mended.nodes.set(project, new Set())
  const again = await openConfiguration({ dir: house.dir, board: mended })
  await again.service.resume()
  expect(mended.nodes.get(project)).toEqual(new Set(again.documents.all('applications').map(({ id }) => id)))
  expect(mended.nodes.get(project)?.size).toBe(1)
  expect(again.documents.all('pending-effects')).toEqual([])
  await again.close()
})

test('a composite project is created with its locations, and with those that an update adds', async () => {
  const board = new RecordingProvisioner()
  const house = await openConfiguration({ board })
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1&us%20east=db2' }
  const project = (await house.create('projects', projectBody(house, { db_connection: connection }))).id
  await house.provisioning.whenIdle()
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu', 'us east'])
  const wider = { ...connection, alias_mapping: 'eu=db1&asia=db3' }
  valueIn(await house.service.update(house.admin, house.kind('projects'), project, { db_connection: wider }, null))
  expect(status(house, project)).toBe('ACTIVE')
  await house.provisioning.whenIdle()
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu', 'asia'])
  await house.close()
})

test('a mapping that changes while the project is PENDING is used when it is ACTIVE', async () => {
  const { house, board, gate, project } = await houseWithGate()
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1' }
  valueIn(await house.service.update(house.admin, house.kind('projects'), project, { db_connection: connection }, null))
  expect([status(house, project), board.layouts.get(project)]).toEqual(['PENDING', undefined])
  gate.open()
  await house.provisioning.whenIdle()
  expect(status(house, project)).toBe('ACTIVE')
  expect([...(board.layouts.get(project)?.locations.keys() ?? [])]).toEqual(['eu'])
  await house.close()
})

test('a location with data keeps its database', async () => {
  const board = new RecordingProvisioner()
  const house = await openConfiguration({ board })
  const connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=db1&us=db2' }
  const project = (await house.create('projects', projectBody(house, { db_connection: connection }))).id
  await house.provisioning.whenIdle()
  board.withData.add('db1')
  const update = (alias_mapping: string) =>
    house.service.update(
      house.admin,
      house.kind('projects'),
      project,
      { db_connection: { ...connection, alias_mapping } },
      null,
    )
  for (const taken of ['us=db2', 'eu=db2&us=db2', 'europe=db1&us=db2']) {
    const issues = ['db_connection.alias_mapping: the location `eu` holds data and cannot change its database']
    expect(await update(taken)).toEqual({ ok: false, error: { kind: 'invalid', issues } })
  }
  valueIn(await update('eu=db1&europe=db1'))
  await house.close()
})
