// A corrupted or busy graph of one project affects neither the process nor other projects.
import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, createApp } from '../../../src/app.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let app: App
let damaged: { readonly id: string; readonly key: string; readonly file: string }
const log: LogEntry[] = []

beforeAll(async () => {
  service = await startService({}, { log: () => {} })
  const create = async (kind: string, body: object) =>
    (await service.configure('POST', kind, body)).body as { id: string; api_key: string }
  const { organizationId } = service.app
  const { id } = await create('projects', { organization_id: organizationId, name: 'other', region: 'local' })
  await service.provisioned(id)
  const application = await create('applications', { project_id: id, name: 'other' })
  const permissions = ['Authorization', 'Capture']
  const agent = await create('application-agents', {
    application_id: application.id,
    name: 'other',
    api_permissions: permissions,
  })
  const { api_key } = await create('application-agent-credentials', { application_agent_id: agent.id })
  await service.app.close()
  damaged = {
    id,
    key: api_key,
    file: join(service.dataDir, 'projects', id.slice('gid:'.length), 'default', 'data.mdb'),
  }
  copyFileSync(damaged.file, `${damaged.file}.copy`)
  truncateSync(damaged.file, 3 * 4096)
  app = await createApp(service.app.settings, { log: (entry) => log.push(entry) })
})

afterAll(async () => {
  await app?.close()
  rmSync(service.dataDir, { recursive: true, force: true })
})

async function ask(method: string, path: string, headers: Record<string, string>, body: unknown) {
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const all: Record<string, string> = { 'content-type': 'application/json', ...headers }
  const asked = {
    method,
    path,
    query: '',
    headers: () => Object.entries(all),
    header: (name: string) => all[name.toLowerCase()] ?? null,
    body: () => bytes,
  }
  const answered = await app.handle(asked)
  return [answered.status, answered.body]
}

const evaluation = {
  subject: { type: 'Person', id: 'x' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c' },
}
const gone = [503, '{"message":"the knowledge graph of this project is unavailable"}']
const denied = [200, expect.stringMatching(/^\{"decision":false,"context":\{"reason":"no_policy: /)]
const withKey = (key: string) => ({ 'x-svc-clientkey': key })

describe('a project with a corrupted graph', () => {
  it('returns 503, which is logged once', async () => {
    const key = withKey(damaged.key)
    expect(await ask('POST', '/access/v1/evaluation', key, evaluation)).toEqual(gone)
    expect(await ask('POST', '/access/v1/search/resource', key, evaluation)).toEqual(gone)
    const nodes = { nodes: [{ type: 'Person', external_id: 'x' }] }
    expect(await ask('POST', '/capture/v1/nodes', key, nodes)).toEqual(gone)
    expect(log).toEqual([
      {
        level: 'error',
        message: expect.stringMatching(
          `^the graph of project ${damaged.id} is unavailable: ${damaged.file} is damaged: it has 3 of \\d+ pages; ` +
            'check the data folder with `verdigraph verify`, and restore it from a backup with `verdigraph restore`$',
        ),
      },
    ])
  })

  it('does not affect other projects', async () => {
    expect(await ask('POST', '/access/v1/evaluation', withKey(service.key), evaluation)).toEqual(denied)
  })

  it('works again as soon as its file is restored', async () => {
    copyFileSync(`${damaged.file}.copy`, damaged.file)
    expect(await ask('POST', '/access/v1/evaluation', withKey(damaged.key), evaluation)).toEqual(denied)
  })
})

describe('a project whose graph another process is writing to', () => {
  it('is opened as soon as that is done, and other projects are served in the meantime', async () => {
    await app.close()
    app = await createApp(service.app.settings, { log: (entry) => log.push(entry) })
    const script = join(import.meta.dirname, 'opening-process.ts')
    const child = Bun.spawn([process.execPath, script, dirname(damaged.file), 'write until told'], {
      stdin: 'pipe',
      stdout: 'pipe',
    })
    try {
      await child.stdout.getReader().read()
      let answered = false
      const asked = ask('POST', '/access/v1/evaluation', withKey(damaged.key), evaluation).finally(() => {
        answered = true
      })
      expect(await ask('POST', '/access/v1/evaluation', withKey(service.key), evaluation)).toEqual(denied)
      expect(answered).toBe(false)
      child.stdin.write('done\n')
      expect(await asked).toEqual(denied)
    } finally {
      child.kill('SIGKILL')
      await child.exited
    }
  })
})
