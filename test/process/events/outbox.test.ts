// Events over kills of the service, several workers and lanes, and over backup and restore.
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createChunk } from '../../../src/engine/store.ts'
import { type EventEnvelope, envelopesOf } from '../../../src/events/envelope.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { GRAPH_STREAM } from '../../../src/store/graph/write-batch.ts'
import { EventsFolder } from '../../../src/store/outbox/events-folder.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { changeProvider, sinkBody } from '../../support/events.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(killAll)

interface Setup {
  readonly data: string
  readonly organization: string
  readonly project: string
  readonly key: string
  call(server: Server, method: string, path: string, body?: object): Promise<Record<string, unknown>>
  capture(server: Server, externalIds: readonly string[]): Promise<boolean>
}

/** On a busy machine a lane may not start in time; then the answer asks for a repetition. */
async function patiently(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await send()
    if (response.status !== 503) return response
    await Bun.sleep(50)
  }
}

/** The lines that a restore prints about audit logs. */
const onlyNewOrigins = /^(the audit log of gid:\w+ continues under a new origin, .*\n)*$/

async function setUp(first: (data: string) => Promise<Server>): Promise<{ setup: Setup; server: Server }> {
  const data = join(temporaryFolder(), 'data')
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await first(data)
  const call: Setup['call'] = async (at, method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await patiently(() => fetch(`${at.url}/configs/v1/${path}`, { method, headers, ...sent }))
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const create = async (kind: string, body: object): Promise<Record<string, unknown>> =>
    call(server, 'POST', kind, body)
  const project = (await create('projects', { organization_id, name: 'fleet', region: 'local' })).id as string
  const isActive = async (): Promise<boolean> =>
    (await call(server, 'GET', `projects/${project}`)).ikg_status === 'ACTIVE'
  await untilCommitted(data, 'the project is provisioned', isActive)
  const application_id = (await create('applications', { project_id: project, name: 'shop' })).id
  const agent = { application_id, name: 'shop-agent', api_permissions: ['Capture', 'Authorization'] }
  const application_agent_id = (await create('application-agents', agent)).id
  const key = (await create('application-agent-credentials', { application_agent_id })).api_key as string
  const routes = [{ type: 'svc.audit.*' }]
  await create('event-sinks', sinkBody(project, routes, { main: changeProvider }))
  return {
    server,
    setup: {
      data,
      organization: organization_id,
      project,
      key,
      call,
      async capture(at, externalIds) {
        const body = JSON.stringify({ nodes: externalIds.map((external_id) => ({ type: 'Car', external_id })) })
        const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
        const sent = patiently(() => fetch(`${at.url}/capture/v1/nodes`, { method: 'POST', headers, body }))
        return sent.then(
          (response) => response.ok,
          () => false,
        )
      },
    },
  }
}

interface Stored {
  readonly graph: readonly EventEnvelope[]
  readonly configuration: readonly EventEnvelope[]
  readonly activity: readonly EventEnvelope[]
  readonly nodes: ReadonlySet<string>
}

const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

/** Reads a folder that no process serves, or one that is being served. */
async function read({ data, project }: Pick<Setup, 'data' | 'project'>): Promise<Stored> {
  const collections = openCollections(join(data, 'config'), { readOnly: true })
  const catalog = openCatalog(data, { clock: systemClock, readOnly: true })
  const events = existsSync(join(data, 'events')) ? new EventsFolder(join(data, 'events'), { readOnly: true }) : null
  try {
    const graph = await catalog.withOutboxes(project, async (outboxes) =>
      outboxes.flatMap(({ outbox }) =>
        outbox
          .read(GRAPH_STREAM, 0, all)
          .flatMap((record) => envelopesOf(record, { projectId: project, source: 'graph' })),
      ),
    )
    const documents = collections.outbox
      .read(project, 0, all)
      .flatMap((record) => envelopesOf(record, { projectId: project, source: 'configuration' }))
    const activity = (events?.outbox.read(project, 0, all) ?? []).flatMap((record) =>
      envelopesOf(record, { projectId: project, source: 'activity' }),
    )
    const snapshot = catalog.graph(project, 'default')!.snapshot()
    const nodes = new Set<string>()
    const chunk = createChunk()
    for (let from = 0; ; from = chunk.next) {
      snapshot.allNodes(from, chunk)
      for (const id of chunk.ids.subarray(0, chunk.length))
        nodes.add(`${snapshot.nodeField(id, 'type')}/${snapshot.nodeField(id, 'external_id')}`)
      if (!chunk.more) break
    }
    snapshot.close()
    return { graph, configuration: documents, activity, nodes }
  } finally {
    await catalog.close()
    await collections.close()
    await events?.close()
  }
}

function checkSequences(events: readonly EventEnvelope[]): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
}

const subjects = (events: readonly EventEnvelope[], type: string): string[] =>
  events.filter((event) => event.type === type).map(({ attributes }) => attributes.subject!.replace('nodes/', ''))

describe('kills of the service', () => {
  test('every node has exactly one event, and every event its node', async () => {
    const seed = testSeed()
    console.log(`seed ${seed}`)
    const random = new Random(seed)
    const start = (data: string): Promise<Server> => startServer(['--data', data])
    const { setup, server: first } = await setUp(start)
    let server = first
    const acknowledged = new Set<string>()
    for (let round = 0; round < 3; round++) {
      let isKilled = false
      const writers = Array.from({ length: 3 }, async (_, writer) => {
        for (let number = 0; !isKilled; number++) {
          const ids = Array.from({ length: 5 }, (__, at) => `r${round}-w${writer}-${number}-${at}`)
          if (await setup.capture(server, ids)) for (const id of ids) acknowledged.add(`Car/${id}`)
          else if (!isKilled) await Bun.sleep(2)
        }
      })
      while (acknowledged.size < 10 * (round + 1)) await Bun.sleep(5)
      await Bun.sleep(random.between(0, 500))
      const killed = server.kill('SIGKILL')
      isKilled = true
      await Promise.all([killed, ...writers])
      server = await start(setup.data)
    }
    await server.kill('SIGTERM')
    const { graph, nodes } = await read(setup)
    checkSequences(graph)
    const cars = [...nodes].filter((name) => name.startsWith('Car/')).sort()
    expect(cars.length).toBeGreaterThan(20)
    for (const name of acknowledged) expect(nodes.has(name), name).toBe(true)
    expect(subjects(graph, 'svc.audit.capture.upsert.node').sort()).toEqual(cars)
    expect(
      subjects(graph, 'svc.audit.cdc.node.create')
        .filter((name) => name.startsWith('Car/'))
        .sort(),
    ).toEqual(cars)
    const verified = await runCommand(['verify', '--data', setup.data])
    expect(verified.stdout).not.toContain('damaged')
    expect(verified.exitCode).toBe(0)
  })
})

describe('several workers and lanes', () => {
  test('write to the same streams, and a stop writes what is in memory', async () => {
    const { setup, server } = await setUp((data) => startServer(['--data', data, '--workers', '2']))
    const ids = Array.from({ length: 40 }, (_, at) => `c${at}`)
    for (let at = 0; at < ids.length; at += 4) {
      const captured = await Promise.all(ids.slice(at, at + 4).map((id) => setup.capture(server, [id])))
      expect(captured).toEqual([true, true, true, true])
    }
    const headers = { 'x-svc-clientkey': setup.key, 'content-type': 'application/json' }
    const body = JSON.stringify({
      subject: { type: 'Car', id: 'c0' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    })
    const decisions = 30
    for (let count = 0; count < decisions; count++) {
      const decided = await fetch(`${server.url}/access/v1/evaluation`, {
        method: 'POST',
        // A connection of its own may be answered by another worker.
        headers: { ...headers, connection: 'close' },
        body,
      })
      expect(decided.status).toBe(200)
    }
    await setup.call(server, 'PUT', `projects/${setup.project}`, { description: 'changed' })
    expect(await server.kill('SIGTERM')).toBe(0)
    const { graph, configuration, activity } = await read(setup)
    for (const events of [graph, configuration, activity]) checkSequences(events)
    expect(subjects(graph, 'svc.audit.capture.upsert.node').sort()).toEqual(ids.map((id) => `Car/${id}`).sort())
    expect(activity.filter(({ type }) => type === 'svc.audit.authorization.evaluation')).toHaveLength(decisions)
    expect(configuration.some(({ type }) => type === 'svc.audit.config.update')).toBe(true)
  })
})

describe('backup and restore', () => {
  test('events and cursors come along; new events of the restored folder have other ids', async () => {
    const { setup, server } = await setUp((data) => startServer(['--data', data]))
    expect(await setup.capture(server, ['a', 'b', 'c'])).toBe(true)
    await setup.call(server, 'GET', `projects/${setup.project}`)
    expect(await server.kill('SIGTERM')).toBe(0)
    const catalog = openCatalog(setup.data, { clock: systemClock })
    await catalog.withOutboxes(setup.project, async ([graph]) => {
      const { origin } = graph!.outbox.status(GRAPH_STREAM)!
      const providers = ['main', 'other']
      await graph!.outbox.commit(GRAPH_STREAM, { origin, provider: 'main', providers, next: 3, gap: null })
    })
    await catalog.close()
    const before = await read(setup)

    const out = join(setup.data, '..', 'events.backup')
    const args = ['--data', setup.data, '--out', out]
    expect((await runCommand(['backup', ...args])).stderr).toBe('')
    const restored = join(setup.data, '..', 'restored')
    expect((await runCommand(['restore', '--data', restored, '--in', out])).stderr).toMatch(onlyNewOrigins)
    copyFileSync(join(setup.data, 'master.key'), join(restored, 'master.key'))
    expect(await read({ ...setup, data: restored })).toEqual(before)

    const again = await startServer(['--data', restored])
    expect(await setup.capture(again, ['d'])).toBe(true)
    expect(await again.kill('SIGTERM')).toBe(0)
    const after = await read({ ...setup, data: restored })
    const idOf = ({ attributes }: EventEnvelope): string => attributes.id!
    expect(after.graph.map(idOf).slice(0, before.graph.length)).toEqual(before.graph.map(idOf))
    const originBefore = idOf(before.graph[0]!).split('-')[0]
    const added = after.graph.slice(before.graph.length)
    expect(added.length).toBeGreaterThan(0)
    for (const event of added) expect(idOf(event).split('-')[0]).not.toBe(originBefore)
    const reopened = openCatalog(restored, { clock: systemClock, readOnly: true })
    const cursors = await reopened.withOutboxes(setup.project, async ([graph]) => [
      ...graph!.outbox.cursors(GRAPH_STREAM),
    ])
    expect(cursors).toMatchObject([['main', { next: 3, gap: null }]])
    await reopened.close()
  })

  test('a backup of one project contains no events of another, and an export none at all', async () => {
    const { setup, server } = await setUp((data) => startServer(['--data', data]))
    expect(await setup.capture(server, ['a'])).toBe(true)
    await setup.call(server, 'GET', `projects/${setup.project}`)
    expect(await server.kill('SIGTERM')).toBe(0)
    const foreign = [{ stream: 'gid:00000000000000000000000000', bytes: new Uint8Array([1]), count: 1, timeMs: 0 }]
    const collections = openCollections(join(setup.data, 'config'), {})
    await collections.outbox.append(foreign)
    await collections.close()
    const events = new EventsFolder(join(setup.data, 'events'), {})
    await events.outbox.append(foreign)
    await events.close()
    const before = await read(setup)
    const out = join(setup.data, '..', 'one.backup')
    const made = await runCommand(['backup', '--data', setup.data, '--project', setup.project, '--out', out])
    expect(made.stderr).toBe('')
    const restored = join(setup.data, '..', 'restored')
    expect((await runCommand(['restore', '--data', restored, '--in', out])).stderr).toMatch(onlyNewOrigins)
    expect(await read({ ...setup, data: restored })).toEqual(before)
    const documents = openCollections(join(restored, 'config'), { readOnly: true })
    expect(documents.outbox.streams()).toEqual([`audit/${setup.project}`, setup.project])
    await documents.close()
    const kept = new EventsFolder(join(restored, 'events'), { readOnly: true })
    // The command itself is recorded for the organization.
    const owners = [setup.organization, setup.project].sort().map((owner) => `audit/${owner}`)
    expect(kept.outbox.streams()).toEqual([...owners, setup.project])
    await kept.close()

    const lines = join(setup.data, '..', 'lines.jsonl')
    expect((await runCommand(['export', '--data', setup.data, '--out', lines])).exitCode).toBe(0)
    expect(await Bun.file(lines).text()).not.toContain('svc.audit.capture.upsert.node","version"')
  })
})
