import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { issueAdminToken } from '../../../src/app/configuration.ts'
import { createApp } from '../../../src/app.ts'
import { rotate } from '../../../src/cli/folder/rotate-master-key.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { killAll, ownEnvironment, runCommand } from '../../support/cli-process.ts'
import { startService } from '../../support/service.ts'

let folder: string
let data: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-rotate-'))
  data = join(folder, 'data')
})
afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const keyFile = () => join(data, 'master.key')
const nextFile = () => join(data, 'master.key.next')
const settings = () => ({ ...defaultSettings, dataDir: data })
const token = async (): Promise<string> => (await issueAdminToken(settings(), 600)).token

/** A folder with secrets of current and past revisions; returns the id of the sink that has some. */
async function furnish(): Promise<string> {
  const service = await startService({ dataDir: data })
  const providers = (secret: string) => ({
    bus: { queue_service: { queueOrTopicName: 'events', connectionString: secret } },
  })
  const routes = [{ provider_id: 'bus', event_type_key_values_filter: { event_type: '*' } }]
  const sink = await service.configure('POST', 'event-sinks', {
    project_id: service.projectId,
    name: 'sink',
    providers: providers('first'),
    routes,
    description: 'sb1.a.b.c',
  })
  const changed = await service.configure('PUT', `event-sinks/${sink.body.id}`, { providers: providers('second') })
  await service.stop()
  expect(changed.status).toBe(200)
  return sink.body.id as string
}

describe('verdigraph rotate-master-key', () => {
  it('encrypts every secret again, including older revisions, and keeps values that only look encrypted', async () => {
    const sink = await furnish()
    const before = readFileSync(keyFile(), 'utf8')
    // The administrator's key, and the connection string of two revisions; the description is free text.
    expect(await rotate(settings())).toEqual({
      resealed: 3,
      unopened: [`event-sinks/${sink}/description`, `event-sinks/${sink}/description`],
      nextPlace: null,
    })
    expect(readFileSync(keyFile(), 'utf8')).not.toBe(before)
    expect(existsSync(nextFile())).toBe(false)

    const app = await createApp({ ...settings(), port: 0 })
    const { url } = await app.listen()
    const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' }
    const read = await fetch(`${url}/configs/v1/event-sinks/${sink}`, { headers })
    expect(((await read.json()) as { description: string }).description).toBe('sb1.a.b.c')
    // The same secret compares equal: it was decrypted.
    const providers = { bus: { queue_service: { queueOrTopicName: 'events', connectionString: 'second' } } }
    const body = JSON.stringify({ providers })
    const again = await fetch(`${url}/configs/v1/event-sinks/${sink}`, { method: 'PUT', headers, body })
    expect([again.status, again.headers.get('etag')]).toEqual([200, read.headers.get('etag')])

    await expect(rotate(settings())).rejects.toThrow('is served by process')
    expect(existsSync(nextFile())).toBe(false)
    await app.close()
    writeFileSync(keyFile(), before)
    await expect(token()).rejects.toThrow('was encrypted with another master key')
  })

  it('changes nothing in a folder without secrets, or with another key', async () => {
    await makeFolder()
    const before = readFileSync(keyFile(), 'utf8')
    writeFileSync(keyFile(), `${'03'.repeat(32)}\n`)
    await expect(rotate(settings())).rejects.toThrow(`the secrets in ${data} were encrypted with another master key`)
    writeFileSync(keyFile(), before)
    await token()
    const none = join(folder, 'none')
    await expect(rotate({ dataDir: none })).rejects.toThrow(`${none} has no organization and no secrets`)
    expect(existsSync(none)).toBe(false)
  })

  it('from the environment reads the next key from there, and leaves no file', async () => {
    const [one, two] = ['01'.repeat(32), '02'.repeat(32)]
    const run = (command: string[], environment: Record<string, string>) =>
      runCommand([...command, '--data', data, '--json'], environment)
    await run(['init'], { VERDIGRAPH_MASTER_KEY: one })
    expect(await run(['rotate-master-key'], { VERDIGRAPH_MASTER_KEY: one })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('put the new key into VERDIGRAPH_MASTER_KEY_NEXT'),
    })
    const both = { VERDIGRAPH_MASTER_KEY: one, VERDIGRAPH_MASTER_KEY_NEXT: two }
    expect((await run(['rotate-master-key'], both)).stdout).toBe('{"resealed":1,"unopened":[]}\n')
    // With the old environment both keys work; a second run finds nothing to do.
    expect((await run(['token'], both)).exitCode).toBe(0)
    expect((await run(['rotate-master-key'], both)).stdout).toBe('{"resealed":0,"unopened":[]}\n')
    expect((await run(['token'], { VERDIGRAPH_MASTER_KEY: two })).exitCode).toBe(0)
    expect((await run(['token'], { VERDIGRAPH_MASTER_KEY: one })).stderr).toContain('encrypted with another master key')
    expect(existsSync(keyFile()) || existsSync(nextFile())).toBe(false)
  })

  it('that was interrupted before anything was encrypted starts again with the same key', async () => {
    await makeFolder()
    writeFileSync(nextFile(), `${'05'.repeat(32)}\n`)
    await token()
    expect((await rotate(settings())).resealed).toBe(1)
    expect(readFileSync(keyFile(), 'utf8')).toBe(`${'05'.repeat(32)}\n`)
    await token()
  })

  it('that was interrupted before the new key was in place leaves a usable folder, and can be completed', async () => {
    await makeFolder()
    const old = join(folder, 'old')
    copyFileSync(keyFile(), old)
    await rotate(settings())
    renameSync(keyFile(), nextFile())
    copyFileSync(old, keyFile())
    await token()
    await (await createApp(settings())).close()
    expect((await rotate(settings())).resealed).toBe(0)
    expect(existsSync(nextFile())).toBe(false)
    expect(readFileSync(keyFile(), 'utf8')).not.toBe(readFileSync(old, 'utf8'))
    await token()
  })

  const seed = testSeed()
  it(`that is killed at any point leaves secrets that can be decrypted (seed ${seed})`, async () => {
    const random = new Random(seed)
    await makeFolder()
    for (let round = 0; round < 4; round++) {
      const child = Bun.spawn([process.execPath, 'src/main.ts', 'rotate-master-key', '--data', data], {
        cwd: join(import.meta.dirname, '..', '..', '..'),
        env: ownEnvironment,
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
      })
      await Bun.sleep(random.between(150, 700))
      child.kill('SIGKILL')
      await child.exited
      await token()
    }
    expect([0, 1]).toContain((await rotate(settings())).resealed)
    await token()
  })
})

async function makeFolder(): Promise<void> {
  await (await createApp(settings())).close()
}
