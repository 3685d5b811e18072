// A signal during requests on 32 keep-alive connections: each request gets its complete response, and no connection is
// reset.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { killAll, startServer } from '../../support/cli-process.ts'
import { askUntilClosed } from '../../support/keep-alive-client.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-drain-'))
})
afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

describe.each([1, 2])('SIGTERM to a service of %i', (workers) => {
  it('responds on 32 keep-alive connections, each time with `connection: close` at last', async () => {
    const server = await startServer(['--data', join(folder, 'data'), '--workers', String(workers)])
    const { hostname, port } = new URL(server.url)
    const ask = () => ({ target: '/openapi.json', answer })
    const answer = await (await fetch(`${server.url}/openapi.json`)).text()
    expect(answer.length).toBeGreaterThan(10_000)
    const kept = Array.from({ length: 32 }, () => askUntilClosed(hostname, Number(port), ask))
    await Promise.all(kept.map(({ begun }) => begun))
    expect(await server.kill('SIGTERM')).toBe(0)
    const ends = await Promise.all(kept.map(({ ended }) => ended))
    expect(ends).toEqual(ends.map(() => ({ unanswered: 0, wrong: 0, fault: null, lastSaysClose: true })))
  })
})
