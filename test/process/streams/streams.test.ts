// Streams of a service with two workers and lanes: writes of any process reach the watchers of all, a killed worker loses no change,
// and the commands `tail` and `replay`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, type VerdigraphClient, type WatchEvent } from '../../../src/client/index.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { killAll, runCommand, startCommand } from '../../support/cli-process.ts'
import { EventStreamReader } from '../../support/server-events.ts'
import {
  HttpConnection,
  makeProject,
  policyBody,
  startWorkers,
  type WorkerFixture,
  type WorkerProject,
} from '../../support/worker-fixture.ts'

const WATCHERS = 12

let folder: string
let log: string
let fixture: WorkerFixture
let project: WorkerProject
let client: VerdigraphClient

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-streams-'))
  log = join(folder, 'decisions.ndjson')
  fixture = await startWorkers(join(folder, 'data'), 2, {
    VERDIGRAPH_DECISION_LOG: log,
    VERDIGRAPH_PARAMETER_MASK: 'pin',
    VERDIGRAPH_AUDIT_DECISIONS: 'all',
  })
  const line = await HttpConnection.to(fixture.server.url)
  project = await makeProject(fixture, line, 'streams')
  line.close()
  client = createClient({ url: fixture.server.url, key: project.key, timeoutMs: 60_000 })
  await client.write({ nodes: [person('ann'), person('bob'), { type: 'Page', external_id: 'p1' }] })
  await addPolicy('read', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)')
})

afterAll(async () => {
  await fixture?.close()
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const person = (id: string) => ({ type: 'Person', external_id: id })
const wrote = (id: string) => ({ source: person(id), type: 'WROTE', target: { type: 'Page', external_id: 'p1' } })

/** On a connection of its own, because a worker is killed. */
async function configure(method: string, path: string, body: object): Promise<string> {
  const response = await fetch(`${fixture.server.url}/configs/v1/authorization-policies${path}`, {
    method,
    headers: { ...fixture.admin, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { readonly id: string }
  expect(response.ok, JSON.stringify(answer)).toBe(true)
  return answer.id
}

const addPolicy = (name: string, cypher: string) => configure('POST', '', policyBody(project, name, cypher))

const next = async (events: AsyncGenerator<WatchEvent, void>): Promise<WatchEvent> =>
  (await events.next()).value as WatchEvent

describe('change streams of several workers', () => {
  it('report each write to all watchers, before and after a worker was killed', async () => {
    const all = Array.from({ length: WATCHERS }, () => client.watch({ action: 'read' }))
    for (const events of all) expect((await next(events)).type).toBe('hello')
    await client.write({ relationships: [wrote('ann')] })
    for (const events of all)
      expect(await next(events)).toMatchObject({ type: 'change', changes: [{ action: 'read' }] })

    const workers = childrenOf(fixture.server.pid).filter(({ words }) => words.some((word) => word.includes('worker')))
    expect(workers.length).toBeGreaterThan(0)
    process.kill(workers[0]!.pid, 'SIGKILL')
    await client.write({ relationships: [wrote('bob')] })
    // The change was sent before the kill, or was missed while there was no connection.
    for (const events of all) expect(['change', 'reset']).toContain((await next(events)).type)
    expect(await client.may({ Person: 'bob' }, 'read', { Page: 'p1' })).toBe(true)
    for (const events of all) await events.return()
  })

  it('continue at another worker with the id of the last event', async () => {
    const headers = { 'x-svc-clientkey': project.key }
    const url = `${fixture.server.url}/access/v1/watch`
    await using first = await EventStreamReader.open(url, headers)
    await first.until(({ name }) => name === 'hello')
    for (let i = 0; i < WATCHERS; i++) {
      const id = first.lastId
      // Counted before the write: the event may arrive before the answer.
      let seen = first.events.length
      await client.write({ delete_relationships: [wrote('bob')] })
      await first.until(({ name }) => name === 'change', seen)
      await using second = await EventStreamReader.open(url, { ...headers, 'last-event-id': id })
      const { data } = await second.until(({ name }) => name === 'change')
      expect([second.events[0]?.data.resumed, data.changes]).toEqual([
        true,
        [{ subject_type: 'Person', action: 'read', resource_type: 'Page' }],
      ])
      seen = first.events.length
      await client.write({ relationships: [wrote('bob')] })
      await first.until(({ name }) => name === 'change', seen)
    }
  })
})

describe('tail and replay', () => {
  const service = () => ['--url', fixture.server.url, '--project', 'streams', '--data', join(folder, 'data')]
  const at = () => ({ VERDIGRAPH_PORT: new URL(fixture.server.url).port })

  it('print decisions, and ask again: 0 if the decision is the same, 1 if it changed, 2 for an error', async () => {
    await client.write({ relationships: [wrote('ann')] })
    const tail = startCommand(['tail', ...service(), '--denied', '--count', '1'], at())
    const json = startCommand(['tail', ...service(), '--action', 'sign', '--json', '--count', '2'], at())
    const policy = await addPolicy(
      'sign',
      "MATCH (subject:Person)-[:WROTE]->(resource:Page) WHERE $pin = '1' AND $min < 3",
    )
    const question = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'sign' },
      resource: { type: 'Page', id: 'p1' },
      context: { input_params: { pin: '1', min: 2 } },
    }
    const ids: string[] = []
    // The commands need some time to start.
    while (!tail.output().includes('denied') || json.output().split('\n').length < 3) {
      const denied = await client.evaluate({ ...question, subject: { type: 'Person', id: 'cid' } })
      const granted = await client.evaluate(question)
      ids.push(denied.context?.id as string, granted.context?.id as string)
      await Bun.sleep(100)
    }
    expect([await tail.ended, await json.ended]).toEqual([0, 0])
    expect(tail.output()).toMatch(/^\S+Z denied {2}Person:cid sign Page:p1 \S+ ms · gid:\S+\n$/)
    for (const text of json.output().trim().split('\n')) {
      expect(JSON.parse(text)).toMatchObject({ action: 'sign', parameters: { pin: '***', min: 2 } })
    }

    const [, granted] = ids as [string, string]
    // The log is written in the background.
    const unlogged = (): readonly string[] => {
      const written = readFileSync(log, 'utf8')
      return written.endsWith('\n') ? ids.filter((id) => !written.includes(id)) : ids
    }
    await expect.poll(unlogged).toEqual([])
    const hidden = await runCommand(['replay', granted, ...service()], at())
    expect([hidden.exitCode, hidden.stdout]).toEqual([2, ''])
    expect(hidden.stderr).toContain('--param pin=…')
    const same = await runCommand(['replay', granted, ...service(), '--param', 'pin="1"'], at())
    expect([same.stderr, same.exitCode]).toEqual(['', 0])
    expect(same.stdout).toMatch(/then {2}.* granted Person:ann sign Page:p1 by sign/)
    expect(same.stdout).toContain('\nthe same\n')

    const changed = policyBody(
      project,
      'sign',
      "MATCH (subject:Person)-[:WROTE]->(resource:Page) WHERE $pin = '1' AND $min < 1",
    )
    const { policy: text } = changed
    await configure('PUT', `/${policy}`, { policy: text, status: 'ACTIVE' })
    const other = await runCommand(['replay', granted, ...service(), '--param', 'pin="1"', '--json'], at())
    expect([other.stderr, other.exitCode]).toEqual(['', 1])
    expect(JSON.parse(other.stdout)).toMatchObject({
      id: granted,
      changed: true,
      decision_then: true,
      decision_now: false,
      granted_by_then: policy,
      granted_by_now: [],
      policies: [{ id: policy, name: 'sign', revision_then: 1, revision_now: 2 }],
    })

    const file = join(folder, 'copy.ndjson')
    const lines = readFileSync(log, 'utf8')
    await Bun.write(file, lines)
    const fromFile = await runCommand(['replay', granted, ...service(), '--log', file, '--param', 'pin=1'], at())
    expect([fromFile.stderr, fromFile.exitCode]).toEqual(['', 1])
    expect(fromFile.stdout).toContain('policy sign: revision 1 then, 2 now')

    // Without its line in the log, the audit record is used.
    await Bun.write(
      log,
      lines
        .split('\n')
        .filter((text) => !text.includes(granted))
        .join('\n'),
    )
    for (;;) {
      const audited = await runCommand(
        ['replay', granted, ...service(), '--param', 'pin="1"', '--param', 'min=2'],
        at(),
      )
      if (audited.exitCode === 2 && audited.stderr.includes('no record')) continue
      expect([audited.stderr, audited.exitCode]).toEqual(['', 1])
      expect(audited.stdout).toMatch(/then {2}.* granted Person:ann sign Page:p1/)
      break
    }

    const unknown = await runCommand(['replay', 'gid:none', ...service()], at())
    expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining('gid:none')])
    const malformed = await runCommand(['replay', granted, ...service(), '--log', file, '--param', 'pin'], at())
    expect([malformed.exitCode, malformed.stderr]).toEqual([2, expect.stringContaining('name=value')])
    const both = await runCommand(['tail', ...service(), '--denied', '--granted'], at())
    expect(both.exitCode).toBe(2)
  })
})
