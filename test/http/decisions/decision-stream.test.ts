// The decision log over HTTP: a stream of its lines, and single lines.
import { appendFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EventStreamReader, type ServerEvent } from '../../support/server-events.ts'
import { startService, type TestService } from '../../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-decisions-'))
const path = join(folder, 'decisions.ndjson')
let service: TestService
let auditKey: string

beforeAll(async () => {
  service = await startService({ decisionLog: path, parameterMask: 'pin' }, { sync: false })
  auditKey = (await service.addAgent('auditor', ['Audit'])).key
  await service.ask('/capture/v1/nodes', {
    nodes: ['ann', 'bob'].map((external_id) => ({ type: 'Person', external_id })),
  })
  await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'c1' }] })
  await service.addPolicy({
    name: 'drive',
    cypher: "MATCH (subject:Person), (resource:Car) WHERE subject.external_id = 'ann' AND $pin <> ''",
  })
})
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function decide(subject: string, on = service): Promise<string> {
  const answer = await on.ask('/access/v1/evaluation', {
    subject: { type: 'Person', id: subject },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'c1' },
    context: { input_params: { pin: '1234' } },
  })
  return (answer.body.context as { id: string }).id
}

const open = (query = '', headers: Record<string, string> = { 'x-svc-clientkey': auditKey }) =>
  EventStreamReader.open(`${service.url}/access/v1/decisions${query}`, headers)

const isDecision = ({ name }: ServerEvent): boolean => name === 'decision'
const has = (id: string) => (event: ServerEvent) => event.data.id === id
const read = (id: string, key = auditKey, on = service) =>
  on.send(`/access/v1/decisions/${encodeURIComponent(id)}`, { headers: { 'x-svc-clientkey': key } })
/** A read waits only some milliseconds for a line that is not written yet. */
const written = (id: string) => expect.poll(async () => (await read(id)).status).toBe(200)

describe('the stream of decisions', () => {
  it('sends each line of the log of its project, masked, to agents and accounts', async () => {
    await using byAgent = await open()
    await using byAccount = await open('', {
      authorization: `Bearer ${service.token}`,
      'x-project-id': service.projectId,
    })
    const id = await decide('ann')
    for (const stream of [byAgent, byAccount]) {
      expect((await stream.until(has(id))).data).toMatchObject({
        subject: { type: 'Person', id: 'ann' },
        decision: true,
        parameters: { pin: '***' },
      })
      expect(stream.events[0]).toMatchObject({ name: 'hello', data: { sample_percent: 100 } })
    }
  })

  it('sends no line to a client whose key or permission is gone', async () => {
    for (const takeAway of ['credential', 'permission'] as const) {
      const { agentId, credentialId, key } = await service.addAgent(`leaver-${takeAway}`, ['Audit'])
      await using stream = await open('', { 'x-svc-clientkey': key })
      const before = await decide('ann')
      await stream.until(has(before))
      const gone =
        takeAway === 'credential'
          ? await service.configure('DELETE', `application-agent-credentials/${credentialId}`)
          : await service.configure('PUT', `application-agents/${agentId}`, { api_permissions: ['Capture'] })
      expect(gone.status).toBe(200)
      const after = await decide('ann')
      await written(after)
      await stream.ended
      expect(stream.events.some(has(after))).toBe(false)
    }
  })

  it('sends what its filters accept', async () => {
    await using denied = await open('?decision=denied')
    await using granted = await open('?decision=granted&action=drive&resource=Car:c1')
    await using bob = await open('?subject=Person:bob')
    await using other = await open('?resource=Truck')
    const [no, yes] = [await decide('bob'), await decide('ann')]
    await denied.until(has(no))
    await granted.until(has(yes))
    await bob.until(has(no))
    const ids = [denied, granted, bob, other].map(({ events }) => events.filter(isDecision).map(({ data }) => data.id))
    expect(ids).toEqual([[no], [yes], [no], []])
    const wrong = await service.send('/access/v1/decisions?decision=maybe', {
      headers: { 'x-svc-clientkey': auditKey },
    })
    expect(wrong.status).toBe(422)
  })

  it('continues after a rotation, and ignores lines that are incomplete', async () => {
    await using stream = await open()
    await stream.until(has(await decide('ann')), 0)
    renameSync(path, join(folder, 'decisions.1'))
    const old = await decide('bob')
    await stream.until(has(old))
    service.app.reopenLogs()
    appendFileSync(path, `{"project_id":"${service.projectId}"\n`)
    await stream.until(has(await decide('bob')))
    expect(stream.events.every(({ data }) => data.id !== undefined || data.sample_percent === 100)).toBe(true)
  })

  it('has a limit for each project, which leaves streams to the others', async () => {
    const { body } = await service.configure('POST', 'projects', {
      organization_id: service.app.organizationId,
      name: 'neighbour',
      region: 'local',
    })
    // No stream of this project was opened before: the service may not have noticed yet that those of the other tests have ended.
    const neighbour = { authorization: `Bearer ${service.token}`, 'x-project-id': body.id as string }
    const url = `${service.url}/access/v1/decisions`
    const opened: Response[] = []
    try {
      while (opened.at(-1)?.status !== 503 && opened.length < 40) opened.push(await fetch(url, { headers: neighbour }))
      expect(opened.map(({ status }) => status)).toEqual([...Array(16).fill(200), 503])
      const other = await fetch(url, { headers: { 'x-svc-clientkey': auditKey } })
      opened.push(other)
      expect(other.status).toBe(200)
    } finally {
      for (const response of opened) await response.body?.cancel()
    }
    // The service notices the end of a connection some time after it.
    while ((await service.send('/access/v1/decisions', { method: 'HEAD', headers: neighbour })).status !== 200)
      await Bun.sleep(5)
  })

  it('needs the permission Audit, and a log that is a file', async () => {
    for (const target of ['decisions', 'decisions/gid:x']) {
      expect((await service.send(`/access/v1/${target}`, { headers: { 'x-svc-clientkey': service.key } })).status).toBe(
        401,
      )
    }
    for (const decisionLog of ['off', '/dev/null']) {
      const other = await startService({ decisionLog }, { sync: false })
      try {
        const { key } = await other.addAgent('auditor', ['Audit'])
        for (const target of ['decisions', 'decisions/gid:x']) {
          const answer = await other.send(`/access/v1/${target}`, { headers: { 'x-svc-clientkey': key } })
          expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('decision_log')])
        }
      } finally {
        await other.stop()
      }
    }
  })
})

describe('a line of the decision log', () => {
  it('is found by the id of its answer, in the project of the caller', async () => {
    const id = await decide('ann')
    await written(id)
    expect((await read(id)).body).toMatchObject({ id, decision: true, granted_by: expect.any(String) })
    const { body } = await service.configure('POST', 'projects', {
      organization_id: service.app.organizationId,
      name: 'other',
      region: 'local',
    })
    const foreign = await service.send(`/access/v1/decisions/${id}`, {
      headers: { authorization: `Bearer ${service.token}`, 'x-project-id': body.id as string },
    })
    expect(foreign.status).toBe(404)
    const unknown = await read('gid:none')
    expect([unknown.status, unknown.body.message]).toEqual([404, expect.stringContaining('gid:none')])
  })
})
