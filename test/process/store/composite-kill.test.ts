// A process that is killed between the two environments of a composite project: the next start repairs the state, and
// so does the next write of the same node in a running process.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({}, { log: () => {} })
  const db_connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=eu-db' }
  expect((await service.configure('PUT', `projects/${service.projectId}`, { db_connection })).status).toBe(200)
  const nodes = { nodes: [{ type: 'Car', external_id: 'c' }] }
  expect((await service.ask('/capture/v1/nodes', nodes)).status).toBe(200)
})

afterAll(async () => {
  await service?.app.close()
  if (service !== undefined) rmSync(service.dataDir, { recursive: true, force: true })
})

async function writeAndDie(action: 'upsert' | 'delete'): Promise<void> {
  const project = join(service.dataDir, 'projects', service.projectId.slice('gid:'.length))
  const [database = ''] = readdirSync(join(project, 'constituents'))
  const script = fileURLToPath(new URL('./killed-between.ts', import.meta.url))
  const child = Bun.spawn(
    [process.execPath, script, join(project, 'constituents', database), join(project, 'global'), action, 'eu'],
    { stdout: 'inherit', stderr: 'inherit' },
  )
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
}

const body = {
  relationships: [
    { source: { type: 'Person', external_id: 'zoe' }, target: { type: 'Car', external_id: 'c' }, type: 'SEES' },
  ],
  use_global_db: true,
}
const zoe = { nodes: [{ type: 'Person', external_id: 'zoe', location: 'eu' }] }

/** Whether a relationship to the proxy can be created. */
async function joins(handle = service.app.handle): Promise<number> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-svc-clientkey': service.key }
  const answered = await handle({
    method: 'POST',
    path: '/capture/v1/relationships',
    query: '',
    headers: () => Object.entries(headers),
    header: (name) => headers[name.toLowerCase()] ?? null,
    body: () => new TextEncoder().encode(JSON.stringify(body)),
  })
  return answered.status
}

it('a node captured by a running process has its proxy, although another process was killed before it could create it', async () => {
  await writeAndDie('upsert')
  expect(await joins()).toBe(422)
  expect((await service.ask('/capture/v1/nodes', zoe)).status).toBe(200)
  expect(await joins()).toBe(200)
  await writeAndDie('delete')
  expect(await joins()).toBe(200)
  expect((await service.ask('/capture/v1/nodes/delete', zoe)).status).toBe(200)
  expect(await joins()).toBe(422)
})

it('a start creates the proxy of a captured node, and removes that of a deleted one, before the first request', async () => {
  await service.app.close()
  for (const [action, status] of [
    ['upsert', 200],
    ['delete', 422],
  ] as const) {
    await writeAndDie(action)
    const app = await createApp(service.app.settings, { log: () => {} })
    expect([action, await joins(app.handle)]).toEqual([action, status])
    await app.close()
  }
})
