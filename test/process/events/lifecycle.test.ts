// Events over backup and restore, export and import, and the deletion of sink and project, with a receiver that is stopped and
// started.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { checkOrder, type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { sinkBody } from '../../support/events.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const receivers: EventReceiver[] = []
const environment = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' }

afterEach(async () => {
  await killAll()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})

type FleetCall = (server: Server, method: string, path: string, body?: object) => Promise<Record<string, unknown>>

/** A project with a sink that sends captures to the receiver. */
interface EventFleet {
  readonly data: string
  readonly organization: string
  readonly project: string
  readonly sink: string
  readonly receiver: EventReceiver
  readonly call: FleetCall
  capture(server: Server, ...externalIds: readonly string[]): Promise<void>
}

function receive(): EventReceiver {
  const receiver = startReceiver()
  receivers.push(receiver)
  return receiver
}

const serve = (data: string): Promise<Server> => startServer(['--data', data], environment)

async function createFleet(): Promise<{ fleet: EventFleet; server: Server }> {
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await serve(data)
  const call: FleetCall = async (at, method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${at.url}/configs/v1/${path}`, { method, headers, ...sent })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  return { server, fleet: { data, ...(await addProject(server, call, organization_id, 'fleet')) } }
}

async function addProject(
  server: Server,
  call: FleetCall,
  organization: string,
  name: string,
): Promise<Omit<EventFleet, 'data'>> {
  const receiver = receive()
  const create = async (kind: string, body: object): Promise<Record<string, unknown>> =>
    call(server, 'POST', kind, body)
  const project = (await create('projects', { organization_id: organization, name, region: 'local' })).id as string
  while ((await call(server, 'GET', `projects/${project}`)).ikg_status !== 'ACTIVE') await Bun.sleep(10)
  const application_id = (await create('applications', { project_id: project, name: 'shop' })).id
  const agent = { application_id, name: 'shop-agent', api_permissions: ['Capture'] }
  const application_agent_id = (await create('application-agents', agent)).id
  const key = (await create('application-agent-credentials', { application_agent_id })).api_key as string
  const body = sinkBody(project, [{ type: 'svc.audit.capture.*' }], { main: receiverProvider(receiver) })
  const sink = (await create('event-sinks', body)).id as string
  const capture: EventFleet['capture'] = async (at, ...externalIds) => {
    const nodes = externalIds.map((external_id) => ({ type: 'Car', external_id }))
    const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: JSON.stringify({ nodes }) }
    const response = await fetch(`${at.url}/capture/v1/nodes`, sent)
    if (!response.ok) throw new Error(`a capture answered ${response.status}: ${await response.text()}`)
  }
  return { organization, project, sink, receiver, call, capture }
}

const carsIn = (accepted: EventReceiver['accepted']): string[] =>
  accepted.map(({ subject }) => subject.replace('nodes/Car/', ''))
const has =
  (...cars: readonly string[]) =>
  (accepted: readonly { subject: string }[]): boolean =>
    cars.every((car) => accepted.some(({ subject }) => subject === `nodes/Car/${car}`))

async function untilBacklog({ call, sink }: EventFleet, server: Server, events: number): Promise<void> {
  const end = performance.now() + 60_000
  for (;;) {
    const { providers } = (await call(server, 'GET', `event-sinks/${sink}`)) as {
      providers: { main: { delivery: { backlog: { events: number } } } }
    }
    if (providers.main.delivery.backlog.events === events) return
    if (performance.now() > end) throw new Error(`the state is ${JSON.stringify(providers)}`)
    await Bun.sleep(20)
  }
}

describe('a restored folder', () => {
  test('delivers the backlog of the backup, repeats only what was delivered after it, and continues with other ids', async () => {
    const { fleet, server } = await createFleet()
    const { receiver, capture, data } = fleet
    await capture(server, 'a', 'b')
    await receiver.until(has('a', 'b'))
    await untilBacklog(fleet, server, 0)
    await receiver.stop()
    await capture(server, 'c', 'd')
    const out = join(data, '..', 'events.backup')
    expect((await runCommand(['backup', '--data', data, '--out', out])).exitCode).toBe(0)
    receiver.start()
    await receiver.until(has('c', 'd'))
    await capture(server, 'lost')
    await receiver.until(has('lost'))
    expect(await server.kill('SIGTERM')).toBe(0)

    const restored = join(data, '..', 'restored')
    expect((await runCommand(['restore', '--data', restored, '--in', out])).exitCode).toBe(0)
    copyFileSync(join(data, 'master.key'), join(restored, 'master.key'))
    const before = receiver.accepted.length
    const again = await serve(restored)
    await receiver.until((accepted) => accepted.length >= before + 2)
    await capture(again, 'e')
    await receiver.until(has('e'))
    const repeated = receiver.accepted.slice(before)
    expect(carsIn(repeated)).toEqual(['c', 'd', 'e'])
    const idOf = (car: string): string[] =>
      receiver.accepted
        .filter(({ subject }) => subject === `nodes/Car/${car}`)
        .map(({ source, id }) => `${source} ${id}`)
    for (const car of ['c', 'd']) expect(new Set(idOf(car)).size).toBe(1)
    // The new event has the sequence of the lost one, and another source.
    expect(idOf('e')).not.toEqual(idOf('lost'))
    const sequences = ['e', 'lost'].map((car) => receiver.accepted.find(isCar(car))?.sequence)
    expect(sequences[0]).toBe(sequences[1])
    expect(checkOrder(receiver.accepted)).toBe(2)
    expect((await fleet.call(again, 'GET', `event-sinks/${fleet.sink}`)).id).toBe(fleet.sink)
    expect(await again.kill('SIGTERM')).toBe(0)
  })
})

const isCar =
  (car: string) =>
  ({ subject }: { readonly subject: string }): boolean =>
    subject === `nodes/Car/${car}`

describe('an imported folder', () => {
  test('has the sink and no events of the past', async () => {
    const { fleet, server } = await createFleet()
    const { receiver, capture, data } = fleet
    await receiver.stop()
    await capture(server, 'a', 'b')
    await untilBacklog(fleet, server, 2)
    expect(await server.kill('SIGTERM')).toBe(0)
    const lines = join(data, '..', 'lines.jsonl')
    expect((await runCommand(['export', '--data', data, '--out', lines])).exitCode).toBe(0)
    const imported = join(data, '..', 'imported')
    const done = await runCommand(['import', '--data', imported, '--in', lines])
    expect([done.exitCode, done.stderr]).toEqual([0, expect.stringContaining('nodes')])
    copyFileSync(join(data, 'master.key'), join(imported, 'master.key'))
    receiver.start()
    const again = await serve(imported)
    await untilBacklog(fleet, again, 0)
    await capture(again, 'c')
    await receiver.until(has('c'))
    expect([carsIn(receiver.accepted), receiver.keys.at(-1)]).toEqual([['c'], 'key-1'])
    expect(await again.kill('SIGTERM')).toBe(0)
  })
})

describe('events that were not delivered', () => {
  test('are dropped with their sink, which the log reports, and a new sink begins without them', async () => {
    const { fleet, server } = await createFleet()
    const { receiver, capture, call, project, sink } = fleet
    await receiver.stop()
    await capture(server, 'a', 'b')
    await untilBacklog(fleet, server, 2)
    await call(server, 'DELETE', `event-sinks/${sink}`)
    // Another one, because an attempt to deliver to the first one may be under way.
    const second = receive()
    const body = sinkBody(project, [{ type: 'svc.audit.capture.*' }], { main: receiverProvider(second) })
    const next = (await call(server, 'POST', 'event-sinks', body)).id as string
    await untilBacklog({ ...fleet, sink: next }, server, 0)
    await capture(server, 'c')
    await second.until(has('c'))
    // The delivery of the deleted sink has ended.
    receiver.start()
    await capture(server, 'd')
    await second.until(has('d'))
    expect(await server.kill('SIGTERM')).toBe(0)
    expect([carsIn(receiver.accepted), carsIn(second.accepted)]).toEqual([[], ['c', 'd']])
    const log = (await server.errors()).split('\n').find((line) => line.includes('an event sink was deleted'))
    expect(JSON.parse(log ?? 'null')).toMatchObject({ project, events: 2 })
  })

  test('are dropped with their project, which the log reports', async () => {
    const { fleet, server } = await createFleet()
    const { receiver, capture, call, organization, project, data } = fleet
    await receiver.stop()
    await capture(server, 'a', 'b', 'c')
    await untilBacklog(fleet, server, 3)
    await call(server, 'DELETE', `projects/${project}`)
    // Events of a later project show that the delivery of the deleted one has ended, also an attempt that was under way.
    const later = await addProject(server, call, organization, 'later')
    await later.capture(server, 'd')
    await later.receiver.until(has('d'))
    receiver.start()
    await later.capture(server, 'e')
    await later.receiver.until(has('e'))
    expect(await server.kill('SIGTERM')).toBe(0)
    const again = await serve(data)
    expect((await runCommand(['verify', '--data', data])).exitCode).toBe(0)
    expect(await again.kill('SIGTERM')).toBe(0)
    expect(carsIn(receiver.accepted)).toEqual([])
    const { stdout } = await runCommand(['verify', '--data', data, '--json'])
    expect(stdout).not.toContain(project)
    expect(await server.errors()).toContain('an event sink was deleted')
  })
})
