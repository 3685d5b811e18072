// The service under a service manager: readiness, watchdog and stop by sd_notify(3), as a unit with Type=notify needs them.
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, type Server, startCommand, startServer } from '../../support/cli-process.ts'
import { type NotifySocket, openNotifySocket } from '../../support/notify-socket.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A ping is due every 2 s, workers have 2 s to answer, and lanes 1 s. */
const WATCHDOG_USEC = '6000000'

let socket: NotifySocket
afterEach(async () => {
  await killAll()
  socket.close()
})

function openIn(folder: string): Record<string, string> {
  socket = openNotifySocket(join(folder, 'notify'))
  return { NOTIFY_SOCKET: socket.address, WATCHDOG_USEC }
}

/** The process of a hidden command that the server started. */
const processOf = (server: Server, command: string): number | undefined =>
  childrenOf(server.pid).find(({ words }) => words.includes(command))?.pid

/** Time for two pings. */
const twoIntervals = () => Bun.sleep(4500)

describe.each([1, 2])('a service of %i', (workers) => {
  test('reports that it is ready when it accepts connections, pings the watchdog, and reports its stop', async () => {
    const folder = temporaryFolder()
    const environment = openIn(folder)
    const args = ['--data', join(folder, 'data'), '--workers', String(workers)]
    const starting = startServer(args, environment)
    const [first] = await socket.until('READY=1')
    const server = await starting
    expect(first).toMatch(/^READY=1\nSTATUS=.*listen.* on http:\/\/127\.0\.0\.1:\d+\n$/)
    expect(first).toContain(server.url)
    const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(`${server.url}/ready`)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    await socket.until('WATCHDOG=1')
    await socket.until('WATCHDOG=1')
    const exit = server.kill('SIGTERM')
    const last = await socket.until('STOPPING=1')
    expect(await exit).toBe(0)
    expect([...last, ...socket.taken()].at(-1)).toBe('STOPPING=1\nSTATUS=stopping\n')
  })

  test('sends no ping while the process that serves does not answer', async () => {
    const folder = temporaryFolder()
    const environment = openIn(folder)
    const server = await startServer(['--data', join(folder, 'data'), '--workers', String(workers)], environment)
    await socket.until('WATCHDOG=1')
    const serving = workers === 1 ? server.pid : (processOf(server, 'worker') as number)
    // Those that were decided before the stop may come late.
    const pings = async (): Promise<readonly string[]> => {
      process.kill(serving, 'SIGSTOP')
      socket.taken()
      await twoIntervals()
      return socket.taken()
    }
    await twoIntervals()
    await expect.poll(pings, { timeout: 60_000 }).toEqual([])
    process.kill(serving, 'SIGCONT')
    await socket.until('WATCHDOG=1')
  })
})

test('a lane that does not answer is replaced, and the pings go on', async () => {
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  const { token } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  // One lane, which is ready when it has answered: another one might still start.
  // It has 5 s to answer a check: a busy machine may need more than the second that it has otherwise.
  const environment = { ...openIn(folder), WATCHDOG_USEC: '30000000', VERDIGRAPH_LANES: '1' }
  const server = await startServer(['--data', data], environment)
  // Configuration requests run in a lane.
  const ask = async () => {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${server.url}/configs/v1/organizations/current`, { headers })
    expect(status).toBe(200)
  }
  await ask()
  const lane = processOf(server, 'lane') as number
  process.kill(lane, 'SIGSTOP')
  while (processOf(server, 'lane') === lane) await Bun.sleep(20)
  while (!server.notices().includes('"message":"a lane exited"')) await Bun.sleep(20)
  expect(server.notices()).toContain('"reason":"it did not answer a check within 5000 ms"')
  socket.taken()
  await socket.until('WATCHDOG=1')
  await ask()
})

test('an abstract socket is notified too', async () => {
  const folder = temporaryFolder()
  socket = openNotifySocket(`@verdigraph-test-${process.pid}`)
  const server = await startServer(['--data', join(folder, 'data')], { NOTIFY_SOCKET: socket.address })
  await socket.until('READY=1')
  expect(await server.kill('SIGTERM')).toBe(0)
  await socket.until('STOPPING=1')
  // Without WATCHDOG_USEC there are no pings.
  expect(socket.taken()).toEqual([])
})

test('a service that cannot listen does not report that it is ready', async () => {
  const folder = temporaryFolder()
  const environment = openIn(folder)
  const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const args = ['serve', '--data', join(folder, 'data'), '--port', String(taken.port)]
  const command = startCommand(args, environment)
  expect(await command.ended).toBe(1)
  await taken.stop(true)
  expect(socket.taken()).toEqual([])
})

test('an unusable socket is logged, and the service serves', async () => {
  const folder = temporaryFolder()
  socket = openNotifySocket(join(folder, 'other'))
  const missing = join(folder, 'missing')
  for (const [address, message] of [
    [missing, 'the service manager was not notified'],
    ['relative', 'NOTIFY_SOCKET is not a path or an abstract name of a Unix socket'],
    [`/${'x'.repeat(120)}`, 'NOTIFY_SOCKET is not a path or an abstract name of a Unix socket'],
  ] as const) {
    const server = await startServer(['--data', join(folder, 'data')], { NOTIFY_SOCKET: address })
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(await server.errors()).toContain(message)
  }
})

test('the master key can be a credential, which commands and a rotation use too', async () => {
  const folder = temporaryFolder()
  socket = openNotifySocket(join(folder, 'notify'))
  const [data, credentials] = [join(folder, 'data'), join(folder, 'credentials')]
  mkdirSync(credentials)
  const current = join(credentials, 'verdigraph.master-key')
  const next = `${current}-next`
  writeFileSync(current, `${Buffer.alloc(32, 7).toString('base64')}\n`)
  const environment = { CREDENTIALS_DIRECTORY: credentials }
  const server = await startServer(['--data', data], environment)
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(existsSync(join(data, 'master.key'))).toBe(false)
  const shown = await runCommand(['settings'], environment)
  expect(shown.stdout).toMatch(new RegExp(`^master_key +\\*{8} +${RegExp.escape(current)}$`, 'm'))

  const token = () => runCommand(['token', '--data', data, '--json'], environment)
  expect((await token()).exitCode).toBe(0)
  const without = await runCommand(['token', '--data', data])
  expect([without.exitCode, without.stderr]).toEqual([1, expect.stringContaining('has no master.key')])

  const refused = await runCommand(['rotate-master-key', '--data', data], environment)
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(`put the new key into ${next}`)])
  writeFileSync(next, Buffer.alloc(32, 8).toString('hex'))
  const rotated = await runCommand(['rotate-master-key', '--data', data], environment)
  expect(rotated.stdout).toContain(`now set ${current} to the value of ${next}\n`)
  renameSync(next, current)
  expect((await token()).exitCode).toBe(0)
})
