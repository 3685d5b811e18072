// The command `health`, which containers and scripts run: its exit code depends on the service and on nothing else.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(killAll)

/** A busy machine may answer late. */
const health = ['health', '--timeout', '60']

const portOf = (url: string): string => new URL(url).port

describe('health', () => {
  test.each([1, 2])('finds a service of %i alive and ready, by flags, environment, file and URL', async (workers) => {
    const folder = temporaryFolder()
    const { url } = await startServer(['--data', join(folder, 'data'), '--workers', String(workers)])
    const file = join(folder, 'settings.json')
    writeFileSync(file, JSON.stringify({ port: Number(portOf(url)) }))
    const results = await Promise.all([
      runCommand([...health, '--port', portOf(url)]),
      runCommand(health, { VERDIGRAPH_PORT: portOf(url) }),
      runCommand([...health, '--settings', file]),
      runCommand([...health, '--url', `${url}/`]),
      // The service is on this machine, so a proxy is not asked.
      runCommand([...health, '--port', portOf(url)], {
        HTTP_PROXY: 'http://127.0.0.1:1',
        http_proxy: 'http://127.0.0.1:1',
      }),
    ])
    const expected = { exitCode: 0, stdout: `${url} is alive and ready\n`, stderr: '' }
    expect(results).toEqual(results.map(() => expected))
    const { stdout } = await runCommand([...health, '--port', portOf(url), '--json'])
    expect(JSON.parse(stdout)).toEqual({
      healthy: true,
      url,
      checks: [
        { name: 'alive', url: `${url}/health`, ok: true, status: 200, reason: null },
        { name: 'ready', url: `${url}/ready`, ok: true, status: 200, reason: null },
      ],
    })
  })

  test('uses HTTPS if the settings have a certificate, which need not be for the name of this machine', async () => {
    const folder = temporaryFolder()
    const [certificate, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
    const subject = ['-subj', '/CN=authz.example.com', '-days', '2']
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...subject]
    expect(Bun.spawnSync(['openssl', ...made, '-keyout', key, '-out', certificate]).exitCode).toBe(0)
    const environment = { VERDIGRAPH_TLS_CERTIFICATE: certificate, VERDIGRAPH_TLS_KEY: key }
    const { url } = await startServer(['--data', join(folder, 'data')], environment)
    const port = portOf(url)
    expect(await runCommand([...health, '--port', port], environment)).toEqual({
      exitCode: 0,
      stdout: `https://127.0.0.1:${port} is alive and ready\n`,
      stderr: '',
    })
    // The certificate of a service that is named must be valid.
    const named = await runCommand([...health, '--url', `https://127.0.0.1:${port}`, '--json'], environment)
    expect(named.exitCode).toBe(1)
    expect(JSON.parse(named.stdout).checks[0]).toMatchObject({ ok: false, status: null })
  })

  test('has exit code 1 if no service answers, one answers late, or one is not ready', async () => {
    const refused = await runCommand([...health, '--port', '1'])
    expect([refused.exitCode, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/^error: http:\/\/127\.0\.0\.1:1\/health: .+\nerror: .+\/ready: .+\n$/)

    const answers = (request: Request) =>
      request.url.endsWith('/ready')
        ? Response.json({ message: 'stopping' }, { status: 503 })
        : Response.json({ status: 'ok' })
    const stopping = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answers })
    const notReady = await runCommand([...health, '--url', stopping.url.href, '--json'])
    expect(notReady.exitCode).toBe(1)
    expect(JSON.parse(notReady.stdout)).toMatchObject({
      healthy: false,
      checks: [
        { name: 'alive', ok: true },
        { name: 'ready', ok: false, status: 503, reason: 'status 503: stopping' },
      ],
    })
    const text = await runCommand([...health, '--url', stopping.url.href])
    expect(text.stderr).toBe(`error: ${stopping.url.href}ready: status 503: stopping\n`)

    const silent = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Promise<Response>(() => {}) })
    const late = await runCommand(['health', '--url', silent.url.href, '--timeout', '1'])
    expect([late.exitCode, late.stderr]).toEqual([1, expect.stringContaining('/health: no answer within 1000 ms\n')])
    await Promise.all([stopping.stop(true), silent.stop(true)])
  })

  test.each([
    [['--timeout', '0'], '--timeout: expected a number of seconds from 1 to 60, found `0`'],
    [['--timeout', 'soon'], '--timeout: expected a number of seconds from 1 to 60, found `soon`'],
    [['--url', 'localhost:8080'], 'expected the URL of a service'],
    [['--port', '0'], 'the settings have port 0, which is any port: pass --port or --url'],
  ])('has exit code 2 for %j', async (args, message) => {
    const { exitCode, stderr } = await runCommand(['health', ...args])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
