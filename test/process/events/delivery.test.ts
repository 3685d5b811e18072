// The process that delivers events: when it runs, and what happens when it or its service is killed.
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { checkOrder, type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { sinkBody } from '../../support/events.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const receivers: EventReceiver[] = []

afterEach(async () => {
  await killAll()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})

function receive(): EventReceiver {
  const receiver = startReceiver()
  receivers.push(receiver)
  return receiver
}

interface Client {
  readonly projectId: string
  readonly data: string
  start(flags?: readonly string[]): Promise<Server>
  call(server: Server, method: string, path: string, body?: object): Promise<Record<string, unknown>>
  capture(server: Server, externalId: string): Promise<void>
}

const environment = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' }

async function createClient(more: Readonly<Record<string, string>> = {}): Promise<{ client: Client; server: Server }> {
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const start: Client['start'] = (flags = []) => startServer(['--data', data, ...flags], { ...environment, ...more })
  const server = await start()
  const call: Client['call'] = async (at, method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${at.url}/configs/v1/${path}`, { method, headers, ...sent })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  const project = await call(server, 'POST', 'projects', { organization_id, name: 'fleet', region: 'local' })
  const projectId = project.id as string
  const isActive = async (): Promise<boolean> =>
    (await call(server, 'GET', `projects/${projectId}`)).ikg_status === 'ACTIVE'
  await untilCommitted(data, 'the project is provisioned', isActive)
  const application = await call(server, 'POST', 'applications', { project_id: projectId, name: 'shop' })
  const agent = { application_id: application.id, name: 'shop-agent', api_permissions: ['Capture'] }
  const application_agent_id = (await call(server, 'POST', 'application-agents', agent)).id
  const credential = await call(server, 'POST', 'application-agent-credentials', { application_agent_id })
  const client: Client = {
    projectId,
    data,
    start,
    call,
    async capture(at, external_id) {
      const response = await fetch(`${at.url}/capture/v1/nodes`, {
        method: 'POST',
        headers: { 'x-svc-clientkey': credential.api_key as string, 'content-type': 'application/json' },
        body: JSON.stringify({ nodes: [{ type: 'Car', external_id }] }),
      })
      if (!response.ok) throw new Error(`a capture answered ${response.status}: ${await response.text()}`)
    },
  }
  return { client, server }
}

/** Process ids of the processes that deliver events, below the process `parent`. */
function dispatchersOf(parent: number): number[] {
  return childrenOf(parent).flatMap(({ pid, words }) => (words.includes('background') ? [pid] : dispatchersOf(pid)))
}

async function untilDispatchers(server: Server, condition: (pids: readonly number[]) => boolean): Promise<number[]> {
  const end = performance.now() + 60_000
  for (;;) {
    const pids = dispatchersOf(server.pid)
    if (condition(pids)) return pids
    if (performance.now() > end) throw new Error(`the processes that deliver events are ${JSON.stringify(pids)}`)
    await Bun.sleep(20)
  }
}

const captures = [{ type: 'svc.audit.capture.*' }]
const has =
  (...names: readonly string[]) =>
  (accepted: readonly { subject: string }[]): boolean =>
    names.every((name) => accepted.some(({ subject }) => subject === `nodes/Car/${name}`))

describe('the process that delivers events', () => {
  test('runs at a lower priority while a project has a sink, and without an audit log ends with the last one', async () => {
    const { client, server } = await createClient({ VERDIGRAPH_AUDIT: 'off' })
    expect(dispatchersOf(server.pid)).toEqual([])
    const receiver = receive()
    const body = sinkBody(client.projectId, captures, { main: receiverProvider(receiver) })
    const { id } = await client.call(server, 'POST', 'event-sinks', body)
    const [pid] = await untilDispatchers(server, ({ length }) => length === 1)
    await client.capture(server, 'a')
    await receiver.until(has('a'))
    expect(getPriority(pid)).toBe(10)
    await client.call(server, 'DELETE', `event-sinks/${id}`)
    await untilDispatchers(server, ({ length }) => length === 0)
    // A clean end is no error.
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(await server.errors()).not.toContain('"level":"error"')
  })

  test('is started again when it is killed, and continues where it was', async () => {
    const { client, server } = await createClient()
    const receiver = receive()
    const body = sinkBody(client.projectId, captures, { main: receiverProvider(receiver) })
    await client.call(server, 'POST', 'event-sinks', body)
    await client.capture(server, 'a')
    await receiver.until(has('a'))
    const [killed] = dispatchersOf(server.pid)
    process.kill(killed!, 'SIGKILL')
    await client.capture(server, 'b')
    await receiver.until(has('b'))
    expect(await untilDispatchers(server, ({ length }) => length === 1)).not.toEqual([killed])
    checkOrder(receiver.accepted)
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(await server.errors()).toContain('"how":"signal SIGKILL","message":"the background process exited"')
  })

  test('ends with a service that is killed, and the next service delivers what is left', async () => {
    const { client, server } = await createClient()
    const receiver = receive()
    const body = sinkBody(client.projectId, captures, { main: receiverProvider(receiver) })
    await client.call(server, 'POST', 'event-sinks', body)
    await client.capture(server, 'a')
    await receiver.until(has('a'))
    await receiver.stop()
    await client.capture(server, 'b')
    const [pid] = dispatchersOf(server.pid)
    await server.kill('SIGKILL')
    const end = performance.now() + 60_000
    while (isRunning(pid!) && performance.now() < end) await Bun.sleep(10)
    expect(isRunning(pid!)).toBe(false)
    receiver.start()
    const next = await client.start()
    await receiver.until(has('b'))
    checkOrder(receiver.accepted)
    expect(await next.kill('SIGTERM')).toBe(0)
  })

  test('runs once for several workers, also after the worker that started it is killed', async () => {
    const { client, server } = await createClient()
    expect(await server.kill('SIGTERM')).toBe(0)
    const workers = await client.start(['--workers', '2'])
    const receiver = receive()
    const body = sinkBody(client.projectId, captures, { main: receiverProvider(receiver) })
    await client.call(workers, 'POST', 'event-sinks', body)
    await untilDispatchers(workers, ({ length }) => length === 1)
    for (const name of ['a', 'b', 'c', 'd']) await client.capture(workers, name)
    await receiver.until(has('a', 'b', 'c', 'd'))
    const [killed] = dispatchersOf(workers.pid)
    const starter = childrenOf(workers.pid).find(({ pid }) => dispatchersOf(pid).length > 0)
    process.kill(starter!.pid, 'SIGKILL')
    await untilDispatchers(workers, (pids) => pids.length === 1 && pids[0] !== killed)
    const end = performance.now() + 60_000
    for (;;) {
      const isCaptured = await client.capture(workers, 'e').then(
        () => true,
        () => false,
      )
      if (isCaptured) break
      if (performance.now() > end) throw new Error('no worker answers')
    }
    await receiver.until(has('e'))
    checkOrder(receiver.accepted)
    expect(await workers.kill('SIGTERM')).toBe(0)
  })

  test('cannot be started by hand', async () => {
    const { exitCode, stderr } = await runCommand(['background', '1'])
    expect([exitCode, stderr.includes('background is started by `verdigraph serve` only')]).toEqual([2, true])
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
