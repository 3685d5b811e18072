// Lanes of a served folder as processes: they end with their parent process, however it ends.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let server: Server | null = null

afterEach(async () => {
  await server?.kill('SIGKILL')
  server = null
})

interface Started {
  readonly data: string
  readonly admin: { readonly authorization: string }
}

async function start(environment: Record<string, string> = {}): Promise<Started> {
  const data = join(temporaryFolder(), 'data')
  const { token } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data], environment)
  return { data, admin: { authorization: `Bearer ${token}` } }
}

async function organization(admin: Started['admin']): Promise<number> {
  const { status } = await fetch(`${server?.url}/configs/v1/organizations/current`, { headers: admin })
  return status
}

function laneOf(pid: number): number | undefined {
  return childrenOf(pid).find((child) => child.words.includes('lane'))?.pid
}

function isAlive(pid: number): boolean {
  // A process that has ended but was not waited for is in state Z.
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

async function ended(pid: number): Promise<void> {
  while (isAlive(pid)) await Bun.sleep(10)
}

describe('the lanes of a served folder', () => {
  it('none runs before it is needed; one runs at a lower priority afterwards, and ends with SIGTERM to the server', async () => {
    const { admin } = await start()
    const pid = server?.pid ?? 0
    expect((await fetch(`${server?.url}/health`)).status).toBe(200)
    expect(laneOf(pid)).toBeUndefined()
    expect(await organization(admin)).toBe(200)
    const lane = laneOf(pid) ?? 0
    expect(lane).toBeGreaterThan(0)
    // Field 19 of proc(5) stat: nice.
    expect(
      readFileSync(`/proc/${lane}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[16],
    ).toBe('10')
    expect(await server?.kill('SIGTERM')).toBe(0)
    await ended(lane)
  })

  it('a request for which no lane starts in time gets an error that says so', async () => {
    // No process starts within a millisecond.
    const { admin } = await start({ VERDIGRAPH_LANE_WAIT_MS: '1' })
    const response = await fetch(`${server?.url}/configs/v1/organizations/current`, { headers: admin })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ message: expect.stringContaining('has not started in time') })
  })

  it('a lane that computes ends with a killed server, and the folder can be served again', async () => {
    const { data, admin } = await start()
    expect(await organization(admin)).toBe(200)
    const lane = laneOf(server?.pid ?? 0) ?? 0
    // It reads no more messages, like a lane that computes.
    process.kill(lane, 'SIGSTOP')
    await server?.kill('SIGKILL')
    await ended(lane)
    server = await startServer(['--data', data])
    expect(await organization(admin)).toBe(200)
  })

  it('requests in flight are completed before a stopped server ends', async () => {
    const { admin } = await start()
    expect(await organization(admin)).toBe(200)
    const answers = Array.from({ length: 20 }, () => organization(admin))
    await Bun.sleep(0)
    const code = server?.kill('SIGTERM')
    const statuses = await Promise.allSettled(answers)
    for (const status of statuses) {
      if (status.status === 'fulfilled') expect([200, 503]).toContain(status.value)
    }
    expect(await code).toBe(0)
  })
})
