// A data folder that is removed while the service runs: no write is acknowledged that would be lost.
import { renameSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service.stop())

const capture = (external_id: string) => service.ask('/capture/v1/nodes', { nodes: [{ type: 'Page', external_id }] })
const project = () => `projects/${service.projectId}`

it('acknowledges no write to a folder that was moved away, is not ready, and works again when it is back', async () => {
  const { dataDir } = service
  const answered = async (path: string) => {
    const { status, text } = await service.send(path)
    return [status, JSON.parse(text)]
  }
  expect((await capture('before')).status).toBe(200)
  expect(await answered('/ready')).toEqual([200, { status: 'ready' }])

  renameSync(dataDir, `${dataDir}-away`)
  try {
    const refused = await capture('lost')
    expect([refused.status, refused.body]).toEqual([503, { message: 'the change cannot be stored now' }])
    expect((await service.configure('PUT', project(), { display_name: 'lost' })).status).toBe(503)
    expect((await answered('/ready'))[0]).toBe(503)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
    renameSync(`${dataDir}-away`, dataDir)
  }
  expect((await capture('after')).status).toBe(200)
  expect(await answered('/ready')).toEqual([200, { status: 'ready' }])
})
