// The endpoints of an operator: figures, settings with their origin, and backups.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobLockPath } from '../../../src/backup/backup-files.ts'
import { restore } from '../../../src/backup/restore.ts'
import { openShippingFigures } from '../../../src/backup/shipping/shipping-figures.ts'
import { processCommands } from '../../../src/cli/settings/self-command.ts'
import { lockFile } from '../../../src/store/process/file-lock.ts'
import { auditedEvents } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let viewerToken: string
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-operator-'))
const backupFolder = join(folder, 'backups')

interface SeenBackup {
  readonly name: string
  readonly state: string
  readonly bytes: number
  readonly error: string | null
  readonly verification: { readonly state: string; readonly error: string | null } | null
}

interface CountedFigures {
  readonly denied: number
  readonly evaluation_times: readonly number[]
}

const authorized = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

function send(method: string, path: string, body?: unknown, token = service.token): Promise<TestResponse> {
  return service.send(`/operations/v1/${path}`, {
    method,
    headers: authorized(token),
    ...(body !== undefined && { body }),
  })
}

async function listed(name: string): Promise<SeenBackup> {
  const { body } = await send('GET', 'backups')
  const found = (body.backups as readonly SeenBackup[]).find((one) => one.name === name)
  if (found === undefined) throw new Error(`the backup ${name} is not listed`)
  return found
}

async function until(name: string, isDone: (one: SeenBackup) => boolean): Promise<SeenBackup> {
  for (;;) {
    const found = await listed(name)
    if (isDone(found)) return found
    await Bun.sleep(10)
  }
}

/** Starts a job. The job before may hold the lock for a moment after it has stored its last state. */
async function start(path: string, body?: unknown): Promise<TestResponse> {
  for (;;) {
    const started = await send('POST', path, body)
    if (started.status !== 409) return started
    await Bun.sleep(10)
  }
}

async function made(): Promise<string> {
  const started = await start('backups', {})
  expect([started.status, started.body.state]).toEqual([202, 'running'])
  const name = String(started.body.name)
  expect(await until(name, ({ state }) => state !== 'running')).toMatchObject({ state: 'complete', error: null })
  return name
}

beforeAll(async () => {
  service = await startService(
    {
      backupFolder,
      metricsToken: 'a-token-of-a-scraper-0123456789',
      otlpHeaders: 'authorization=Bearer%20key-of-a-collector',
    },
    {
      backupCommand: processCommands().backupCommand,
      settingSources: {
        backupFolder: 'VERDIGRAPH_BACKUP_FOLDER',
        port: '--port',
        metricsToken: '/etc/s.json: metrics_token',
        otlpHeaders: 'OTEL_EXPORTER_OTLP_HEADERS',
      },
    },
  )
  const account = await service.configure('POST', 'service-accounts', {
    organization_id: service.app.organizationId,
    name: 'viewer',
    role: 'all_viewer',
  })
  const credential = await service.configure('POST', 'service-account-credentials', {
    service_account_id: account.body.id,
  })
  viewerToken = (credential.body.service_account_config as { readonly token: string }).token
})

afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('figures', () => {
  test('count decisions and their times, and name the databases of the projects', async () => {
    await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    const before = await send('GET', 'status')
    const question = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    for (let i = 0; i < 3; i++) await service.ask('/access/v1/evaluation', question)
    const after = await send('GET', 'status')
    const figuresOf = ({ body }: TestResponse): CountedFigures => {
      const [worker] = body.workers as readonly { readonly figures: CountedFigures }[]
      if (worker === undefined) throw new Error('the status has no worker')
      return worker.figures
    }
    const sum = (times: readonly number[]): number => times.reduce((total, one) => total + one, 0)
    expect(figuresOf(after).denied - figuresOf(before).denied).toBe(3)
    expect(sum(figuresOf(after).evaluation_times) - sum(figuresOf(before).evaluation_times)).toBe(3)
    expect(figuresOf(after).evaluation_times).toHaveLength((after.body.duration_bounds_s as []).length + 1)
    const { environments, bytes } = after.body.storage as {
      readonly environments: readonly { readonly kind: string; readonly project_id: string; readonly bytes: number }[]
      readonly bytes: number
    }
    expect(environments).toContainEqual(expect.objectContaining({ kind: 'graph', project_id: service.projectId }))
    expect(environments.map(({ kind }) => kind)).toContain('configuration')
    expect(bytes).toBeGreaterThanOrEqual(sum(environments.map((one) => one.bytes)))
  })

  test('may be read by a viewer, and not without a token of an account', async () => {
    expect((await send('GET', 'status', undefined, viewerToken)).status).toBe(200)
    expect((await service.send('/operations/v1/status')).status).toBe(401)
    const agent = await service.send('/operations/v1/status', { headers: authorized(service.key) })
    expect(agent.status).toBe(401)
    // The token of a scraper is for the metrics only.
    const scraper = await service.send('/operations/v1/status', {
      headers: authorized('a-token-of-a-scraper-0123456789'),
    })
    expect(scraper.status).toBe(401)
  })
})

describe('settings', () => {
  test('have their origin, and no value of a secret', async () => {
    const { body, text } = await send('GET', 'settings')
    const byName = new Map(
      (body.settings as readonly { readonly name: string }[]).map((setting) => [setting.name, setting]),
    )
    expect(byName.get('backup_folder')).toMatchObject({
      value: backupFolder,
      origin: 'environment',
      source: 'VERDIGRAPH_BACKUP_FOLDER',
    })
    expect(byName.get('port')).toMatchObject({ origin: 'flag', source: '--port' })
    expect(byName.get('metrics_token')).toMatchObject({ value: null, is_secret: true, is_set: true, origin: 'file' })
    expect(byName.get('otlp_headers')).toMatchObject({
      value: null,
      is_secret: true,
      is_set: true,
      origin: 'environment',
    })
    expect(byName.get('drain_ms')).toMatchObject({ origin: 'default', source: null, is_set: false })
    for (const secret of ['a-token-of-a-scraper', 'key-of-a-collector']) expect(text).not.toContain(secret)
  })
})

describe('backups', () => {
  test('are made, downloaded, restored, verified and deleted', async () => {
    const name = await made()
    const answer = await fetch(`${service.url}/operations/v1/backups/${name}`, { headers: authorized(service.token) })
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${name}.tar"`)
    const bytes = await answer.bytes()
    expect((await listed(name)).bytes).toBe(bytes.length)
    const path = `${service.url}/operations/v1/backups/${name}`
    const head = await fetch(path, { method: 'HEAD', headers: authorized(service.token) })
    expect(head.headers.get('content-length')).toBe(String(bytes.length))
    const file = join(folder, 'downloaded.tar')
    writeFileSync(file, bytes)
    const { projects } = await restore({ from: file, dataDir: join(folder, 'restored'), progress: () => undefined })
    expect(projects).toEqual([service.projectId])

    expect((await start(`backups/${name}/verify`)).status).toBe(202)
    const verified = await until(name, ({ verification }) => verification?.state !== 'running')
    expect(verified.verification).toMatchObject({ state: 'sound', error: null })
    // No copy is left.
    expect(readdirSync(backupFolder).filter((one) => one.includes('verifying'))).toEqual([])

    expect((await send('DELETE', `backups/${name}`)).status).toBe(204)
    expect((await send('GET', `backups/${name}`)).status).toBe(404)
    expect(readdirSync(backupFolder).filter((one) => one.startsWith(name))).toEqual([])
    const owner = { organizationId: service.app.organizationId }
    const recorded = (await auditedEvents(service, owner)).filter(({ type }) => type === 'svc.audit.operations.backup')
    expect(recorded.map(({ data }) => data)).toContainEqual(
      expect.objectContaining({ outcome: 'ok', file: `${name}.tar`, requestedBy: service.app.serviceAccountId }),
    )
  })

  test('are no longer sent when the credential of a download is revoked', async () => {
    const credential = await service.configure('POST', 'service-account-credentials', {
      service_account_id: service.app.serviceAccountId,
    })
    const token = (credential.body.service_account_config as { readonly token: string }).token
    const name = await made()
    // Longer than the buffers of a connection. The content after the archive does not matter here.
    const bytes = 512 * 1024 * 1024
    truncateSync(join(backupFolder, `${name}.tar`), bytes)
    const download = () => fetch(`${service.url}/operations/v1/backups/${name}`, { headers: authorized(token) })
    const answer = await download()
    expect(answer.status).toBe(200)
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    let received = (await reader.read()).value?.length ?? 0
    const revoked = await service.configure('DELETE', `service-account-credentials/${String(credential.body.id)}`)
    expect(revoked.status).toBe(200)
    const readOn = async (): Promise<void> => {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return
        received += value.length
        await Bun.sleep(50)
      }
    }
    // Not a normal end: the client must not take the part for the whole.
    await expect(readOn()).rejects.toThrow()
    expect(received).toBeLessThan(bytes)
    expect((await download()).status).toBe(401)
    expect((await send('DELETE', `backups/${name}`)).status).toBe(204)
  })

  test('of one project name an existing one', async () => {
    const refused = await send('POST', 'backups', { project_id: 'gid:00000000000000000000000000' })
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('project_id')])
    expect((await send('POST', 'backups', { project: 1 })).status).toBe(400)
  })

  test('that are damaged are reported by a verification', async () => {
    const name = await made()
    truncateSync(join(backupFolder, `${name}.tar`), 4096)
    expect((await start(`backups/${name}/verify`)).status).toBe(202)
    const { verification } = await until(name, (one) => one.verification?.state !== 'running')
    expect(verification?.state).toBe('damaged')
    // The path of the machine is not in the answer.
    expect(verification?.error).not.toContain(backupFolder)
  })

  test('are listed only if they are backups: other files of the folder are neither read nor deleted', async () => {
    const name = await made()
    copyFileSync(join(backupFolder, `${name}.tar`), join(backupFolder, 'copied.tar'))
    expect(await listed('copied')).toMatchObject({ state: 'complete' })
    truncateSync(join(backupFolder, 'copied.tar'), 4096)
    writeFileSync(join(backupFolder, 'notes.tar'), 'notes')
    writeFileSync(join(backupFolder, 'photos.tar'), Buffer.alloc(20_480))
    mkdirSync(join(backupFolder, 'folder.tar'))
    for (const other of ['copied', 'notes', 'photos', 'folder']) {
      await expect(listed(other)).rejects.toThrow('is not listed')
      expect((await send('GET', `backups/${other}`)).status).toBe(404)
      expect((await send('DELETE', `backups/${other}`)).status).toBe(404)
      expect(existsSync(join(backupFolder, `${other}.tar`))).toBe(true)
    }
  })

  test('are made one at a time; one whose service was killed is reported as failed', async () => {
    let lock = lockFile(jobLockPath(backupFolder), 'exclusive')
    // The job of the test before may still hold it.
    while (lock === null) {
      await Bun.sleep(10)
      lock = lockFile(jobLockPath(backupFolder), 'exclusive')
    }
    const refused = await send('POST', 'backups', {})
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('another backup')])
    writeFileSync(
      join(backupFolder, 'left.json'),
      JSON.stringify({
        state: 'running',
        start_time: '2026-01-01T00:00:00.000Z',
        end_time: null,
        requested_by: '',
        projects: null,
        progress: 0.4,
        error: null,
        verification: null,
      }),
    )
    expect(await listed('left')).toMatchObject({ state: 'running' })
    lock.release()
    expect(await listed('left')).toMatchObject({ state: 'failed', error: expect.stringContaining('stopped') })
    expect((await send('GET', 'backups/left')).status).toBe(409)
    expect((await send('DELETE', 'backups/left')).status).toBe(204)
  })

  test.each(['..%2Fescape', '%2e%2e', 'a%00b', 'a%2Fb', '.job'])('%s is no name of a backup', async (name) => {
    writeFileSync(join(folder, 'escape.tar'), 'secret')
    expect((await send('GET', `backups/${name}`)).status).toBeGreaterThanOrEqual(400)
    expect((await send('DELETE', `backups/${name}`)).status).toBeGreaterThanOrEqual(400)
    expect(existsSync(join(folder, 'escape.tar'))).toBe(true)
  })

  test('and settings are refused to a viewer', async () => {
    for (const [method, path] of [
      ['GET', 'settings'],
      ['GET', 'backups'],
      ['POST', 'backups'],
      ['GET', 'backups/any'],
      ['POST', 'backups/any/verify'],
      ['DELETE', 'backups/any'],
    ] as const) {
      const { status, text } = await send(
        method,
        path,
        path === 'backups' && method === 'POST' ? {} : undefined,
        viewerToken,
      )
      expect([method, path, status, text]).toEqual([method, path, 403, expect.stringContaining('all_viewer')])
    }
  })
})

test('the shipping of changes is in the list: nothing yet, on time, late', async () => {
  const place = join(folder, 'shipped')
  const shipping = await startService({ shipTo: place, shipIntervalMs: 5000 })
  try {
    const read = async () =>
      (await shipping.send('/operations/v1/backups', { headers: authorized(shipping.token) })).body.shipping
    const nothing = { place: pathToFileURL(place).href, interval_ms: 5000, objects: 0, bytes: 0, failures: 0 }
    const unknown = { newest_moment: null, generation_time: null, lag_seconds: null, is_late: false }
    expect(await read()).toEqual({ ...nothing, ...unknown })
    const figures = openShippingFigures(shipping.app.settings.dataDir)
    const nowS = Math.floor(Date.now() / 1000)
    Object.assign(figures, { momentS: nowS - 10, baseS: nowS - 3600, objects: 3, kibibytes: 5, failures: 1 })
    const time = (seconds: number): string => new Date(seconds * 1000).toISOString()
    expect(await read()).toMatchObject({
      newest_moment: time(nowS - 10),
      generation_time: time(nowS - 3600),
      is_late: false,
      objects: 3,
      bytes: 5120,
      failures: 1,
    })
    figures.momentS = nowS - 600
    const late = (await read()) as { readonly is_late: boolean; readonly lag_seconds: number }
    expect(late.is_late).toBe(true)
    expect(late.lag_seconds).toBeGreaterThanOrEqual(599)
  } finally {
    await shipping.stop()
  }
})

describe('without the settings', () => {
  test('there are no backups on request, and no figures', async () => {
    const plain = await startService({ metricsAccess: 'off' })
    try {
      const headers = authorized(plain.token)
      const list = await plain.send('/operations/v1/backups', { headers })
      expect(list.body).toEqual({ is_enabled: false, backups: [], schedule: null, shipping: null })
      const refused = await plain.send('/operations/v1/backups', { headers, body: {} })
      expect([refused.status, refused.text]).toEqual([404, expect.stringContaining('backup_folder')])
      expect((await fetch(`${plain.url}/operations/v1/status`, { headers })).status).toBe(404)
    } finally {
      await plain.stop()
    }
  })

  test('a folder of backups in the data folder is refused at the start', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'verdigraph-operator-data-'))
    await expect(startService({ dataDir, backupFolder: join(dataDir, 'backups') })).rejects.toThrow(
      'the setting backup_folder names a folder in the data folder',
    )
    rmSync(dataDir, { recursive: true, force: true })
  })
})
