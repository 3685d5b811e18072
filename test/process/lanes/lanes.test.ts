// A service with lanes: requests that are too large for the event loop have the same response, and a killed lane
// affects no other request.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppOverrides } from '../../../src/app/overrides.ts'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import type { Settings } from '../../../src/settings.ts'
import { type Child, childrenOf } from '../../support/child-processes.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

/** A service with lanes. Those of test files in other threads of this process are not among its `laneProcesses`. */
interface LaneService extends TestService {
  readonly log: readonly LogEntry[]
  /** The process ids of its lanes. */
  laneProcesses(): number[]
  metric(name: string): Promise<number>
}

let started = 0

async function startLanes(settings: Partial<Settings>, overrides: AppOverrides = {}): Promise<LaneService> {
  started += 1
  const mark = `LANES_OF=${process.pid}-${started}-${Date.now()}`
  const log: LogEntry[] = []
  const service = await startService(settings, {
    ...overrides,
    laneCommand: ['env', mark, ...childCommand('lane')],
    log: (entry) => void log.push(entry),
  })
  const isOwn = ({ pid, words }: Child): boolean => {
    try {
      return words.includes(mark) || readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)
    } catch {
      // It has ended.
      return false
    }
  }
  return {
    ...service,
    log,
    laneProcesses: () =>
      childrenOf(process.pid)
        .filter((child) => child.words.includes('lane') && isOwn(child))
        .map(({ pid }) => pid),
    async metric(name) {
      const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1])
    },
  }
}

/** With cars, one of which `ann` owns, and the policies of `question`. */
async function startWithCars(settings: Partial<Settings>, overrides: AppOverrides = {}): Promise<LaneService> {
  const limits = { laneQueueMax: 8, laneWaitMs: 60_000, batchReadTimeMs: 60_000 }
  const service = await startLanes({ ...limits, ...settings }, overrides)
  const nodes = Array.from({ length: 50 }, (_, i) => ({ type: 'Car', external_id: `c${i}` }))
  await service.ask('/capture/v1/nodes', { nodes: [...nodes, { type: 'Person', external_id: 'ann' }] })
  await service.ask('/capture/v1/relationships', {
    relationships: [
      { source: { type: 'Person', external_id: 'ann' }, target: { type: 'Car', external_id: 'c0' }, type: 'OWNS' },
    ],
  })
  await service.addPolicy({ name: 'owner', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  await service.addPolicy({
    name: 'long',
    actions: ['count'],
    cypher:
      'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE reduce(sum = 0, x IN range(1, 400000) | sum + x % 7) > $least',
  })
  return service
}

const question = (action: string, car: string, more: object = {}) => ({
  subject: { type: 'Person', id: 'ann' },
  action: { name: action },
  resource: { type: 'Car', id: car },
  ...more,
})

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5)
}

describe('requests in lanes', () => {
  let service: LaneService
  const metric = (name: string): Promise<number> => service.metric(name)
  beforeAll(async () => {
    service = await startWithCars({ lanes: 2 })
  })
  afterAll(() => service?.stop())

  it('a decision after a capture sees it, at once', async () => {
    for (let i = 1; i <= 20; i++) {
      const relationships = [
        { source: { type: 'Person', external_id: 'ann' }, target: { type: 'Car', external_id: `c${i}` }, type: 'OWNS' },
      ]
      const target = question('drive', `c${i}`)
      expect((await service.ask('/access/v1/evaluation', target)).body).toMatchObject({ decision: false })
      expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
      expect((await service.ask('/access/v1/evaluation', target)).body).toEqual({ decision: true })
      expect((await service.ask('/capture/v1/relationships/delete', { relationships })).status).toBe(200)
      expect((await service.ask('/access/v1/evaluation', target)).body).toMatchObject({ decision: false })
    }
  })

  it('a stored policy is used by the next decision', async () => {
    const target = question('wash', 'c0')
    expect((await service.ask('/access/v1/evaluation', target)).body).toMatchObject({ decision: false })
    await service.addPolicy({
      name: 'washer',
      actions: ['wash'],
      cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)',
    })
    expect((await service.ask('/access/v1/evaluation', target)).body).toEqual({ decision: true })
  })

  // The sum of x % 7 over 1 to 400,000 is 1,200,003.
  it('a long decision runs in a lane', async () => {
    const before = await metric('verdigraph_lane_requests_total')
    for (const [least, decision] of [
      [1_199_990, true],
      [1_200_100, false],
    ] as const) {
      const target = question('count', 'c0', { context: { input_params: { least } } })
      const answered = await service.ask('/access/v1/evaluation', target)
      expect(answered.body).toEqual({ decision })
    }
    expect(await metric('verdigraph_lane_requests_total')).toBe(before + 2)
  })

  it('a long body has the response of a short one, and a refused one has the same error', async () => {
    const spaces = ' '.repeat(100_000)
    const headers = { 'x-svc-clientkey': service.key }
    const good = await service.send('/access/v1/evaluation', {
      headers,
      raw: spaces + JSON.stringify(question('drive', 'c0')),
    })
    expect(good.body).toEqual({ decision: true })
    const raw = `${spaces}{"subject":`
    const bad = await service.send('/access/v1/evaluation', { headers, raw })
    expect(bad.status).toBe(400)
    expect(bad.body.message).toBe('Bad Request')
  })

  it('decisions, captures and errors in lanes are part of the metrics of the process', async () => {
    const permits = await metric('verdigraph_decisions_total\\{decision="permit"\\}')
    await service.ask('/access/v1/evaluation', question('count', 'c0', { context: { input_params: { least: 0 } } }))
    expect(await metric('verdigraph_decisions_total\\{decision="permit"\\}')).toBe(permits + 1)
  })

  it('requests of an agent that uses much of the event loop run in lanes; those of others do not', async () => {
    const { key } = await service.addAgent('greedy', ['Authorization'])
    const names = Array.from({ length: 2500 }, (_, i) => `"k${i}":${i}`).join()
    const body = { ...question('drive', 'c0'), context: { input_params: {} } }
    const raw = JSON.stringify(body).replace('"input_params":{}', `"input_params":{${names}}`)
    expect(raw.length).toBeLessThan(32_000)
    const before = await metric('verdigraph_lane_requests_total')
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        service.send('/access/v1/evaluation', { headers: { 'x-svc-clientkey': key }, raw }),
      ),
    )
    // Some wait too long for the short queue of this service; all others have the same response.
    for (const { status, body: decided } of answers) {
      if (status !== 503) expect(decided).toEqual({ decision: true })
    }
    const after = await metric('verdigraph_lane_requests_total')
    expect(after).toBeGreaterThan(before)
    const { key: modest } = await service.addAgent('modest', ['Authorization'])
    const during = await metric('verdigraph_lane_requests_total')
    const light = { headers: { 'x-svc-clientkey': modest }, body: question('drive', 'c0') }
    expect((await service.send('/access/v1/evaluation', light)).body).toEqual({ decision: true })
    expect(await metric('verdigraph_lane_requests_total')).toBe(during)
  })

  it('the response keeps the request identifier and the headers of the service', async () => {
    const answered = await service.send('/capture/v1/nodes', {
      headers: { 'x-svc-clientkey': service.key, 'x-request-id': 'given-by-the-client' },
      body: { nodes: [{ type: 'Car', external_id: 'c0' }] },
    })
    expect(answered.status).toBe(200)
    expect(answered.headers.get('x-request-id')).toBe('given-by-the-client')
    expect(answered.headers.get('cache-control')).toBe('no-store')
  })

  it('an external id in a path is that of the request, whatever its characters', async () => {
    for (const external_id of ['a/b', 'a%2Fb', 'a%252Fb', '100%', 'ü?#']) {
      const put = await service.send(`/capture/v1/nodes/${encodeURIComponent(`Car:${external_id}`)}`, {
        method: 'PUT',
        headers: { 'x-svc-clientkey': service.key },
        body: {},
      })
      const batch = await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id }] })
      expect([external_id, put.status, put.body]).toEqual([external_id, 200, batch.body])
    }
  })

  it('the deprecated lists of searches run in lanes, and keep their headers', async () => {
    const before = await metric('verdigraph_lane_requests_total')
    const { subject, action, resource } = question('drive', 'c0')
    const what = await service.ask('/access/v1/what-authorized', {
      subject,
      evaluations: [{ action, resource: { type: 'Car' } }],
    })
    expect(what.body).toEqual({ evaluations: [{ action, resource }] })
    expect(what.headers.get('deprecation')).toMatch(/^@\d+$/)
    const who = await service.ask('/access/v1/who-authorized', { evaluations: [{ action, resource }] })
    expect(who.body).toEqual({ evaluations: [{ action, resource, subjects: [subject] }] })
    expect(await metric('verdigraph_lane_requests_total')).toBe(before + 2)
  })

  it('a response above a megabyte is complete', async () => {
    const text = 'x'.repeat(20_000)
    const nodes = Array.from({ length: 100 }, (_, i) => ({
      type: 'Text',
      external_id: `t${i}`,
      properties: [{ type: 'text', value: text }],
    }))
    expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
    const { key } = await service.addAgent('reader', ['CIQ', 'ReadDataSchema'])
    const policy = JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application), (t:Text)' },
      allowed_reads: { nodes: ['t.*'] },
    })
    const created = await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      name: 'texts',
      policy,
      status: 'ACTIVE',
    })
    expect(created.text).toContain('id')
    const stored = await service.configure('POST', 'knowledge-queries', {
      project_id: service.projectId,
      name: 'all-texts',
      policy_id: created.body.id,
      query: JSON.stringify({ nodes: ['t.external_id', 't.property.text'] }),
      status: 'ACTIVE',
    })
    expect(stored.status, stored.text).toBe(201)
    const answered = await service.send('/contx-iq/v1/execute', {
      headers: { 'x-svc-clientkey': key },
      raw: `${' '.repeat(70_000)}{"id":"all-texts","page_size":100}`,
    })
    expect(answered.status, answered.text.slice(0, 500)).toBe(200)
    expect((answered.body.data as unknown[]).length).toBe(100)
    expect(answered.text.length).toBeGreaterThan(2_000_000)
  })
})

describe('a lane that exceeds the limit of its request', () => {
  it('is killed; the next request succeeds', async () => {
    const service = await startWithCars({ lanes: 1, decisionTimeMs: 4000 })
    try {
      const { key } = await service.addAgent('schema', ['ReadDataSchema'])
      expect((await service.send('/data-schema/v1', { headers: { 'x-svc-clientkey': key } })).status).toBe(200)
      const killed = await service.metric('verdigraph_lanes_killed_total')
      const stopped = service.laneProcesses()
      expect(stopped).toHaveLength(1)
      for (const pid of stopped) process.kill(pid, 'SIGSTOP')
      const long = question('count', 'c0', { context: { input_params: { least: 0 } } })
      const answered = await service.ask('/access/v1/evaluation', long)
      expect(answered.status).toBe(408)
      expect(answered.body.errors).toEqual(['the time limit of 4000 ms is reached'])
      expect(await service.metric('verdigraph_lanes_killed_total')).toBeGreaterThan(killed)
      await until(() =>
        service.log.some(({ message, reason }) => message === 'a lane exited' && /exceeded/.test(String(reason))),
      )
      // Small requests are not affected. A busy machine may need more than the limit.
      for (const next of [question('drive', 'c0'), long]) {
        let { status, body } = await service.ask('/access/v1/evaluation', next)
        while (status === 408) ({ status, body } = await service.ask('/access/v1/evaluation', next))
        expect(body).toEqual({ decision: true })
      }
    } finally {
      await service.stop()
    }
  })
})

describe('a lane that ends', () => {
  let service: LaneService
  const metric = (name: string): Promise<number> => service.metric(name)
  const laneProcesses = (): number[] => service.laneProcesses()
  // With one lane, no other one starts while it is stopped.
  beforeAll(async () => {
    service = await startWithCars({ lanes: 1 })
  })
  afterAll(() => service?.stop())

  it('during a read: the request is repeated in another one and succeeds', async () => {
    const long = question('count', 'c0', { context: { input_params: { least: 0 } } })
    for (let round = 0; round < 3; round++) {
      await until(async () => (await metric('verdigraph_lanes_ready')) > 0)
      for (const pid of laneProcesses()) process.kill(pid, 'SIGSTOP')
      const answer = service.ask('/access/v1/evaluation', long)
      await until(async () => (await metric('verdigraph_lane_requests_running')) > 0)
      for (const pid of laneProcesses()) process.kill(pid, 'SIGKILL')
      expect((await answer).body).toEqual({ decision: true })
    }
  })

  it('during a read that hangs: it is replaced before the time limit, and the request succeeds', async () => {
    const hanging = await startWithCars({ lanes: 1, decisionTimeMs: 3_600_000 }, { supervision: { pingMs: 500 } })
    try {
      const long = question('count', 'c0', { context: { input_params: { least: 0 } } })
      await hanging.ask('/access/v1/evaluation', long)
      for (const pid of hanging.laneProcesses()) process.kill(pid, 'SIGSTOP')
      expect((await hanging.ask('/access/v1/evaluation', long)).body).toEqual({ decision: true })
      expect(hanging.log).toContainEqual(
        expect.objectContaining({ message: 'a lane exited', reason: 'it did not answer within 6000 ms' }),
      )
    } finally {
      await hanging.stop()
    }
  })

  it('during a deletion: the response says that the outcome is unknown', async () => {
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'gone' }] })
    await until(async () => (await metric('verdigraph_lanes_ready')) > 0)
    for (const pid of laneProcesses()) process.kill(pid, 'SIGSTOP')
    const answer = service.ask('/capture/v1/nodes/delete', { nodes: [{ type: 'Car', external_id: 'gone' }] })
    await until(async () => (await metric('verdigraph_lane_requests_running')) > 0)
    for (const pid of laneProcesses()) process.kill(pid, 'SIGKILL')
    const { status, body, headers } = await answer
    expect(status).toBe(503)
    expect(body.message).toBe('the process running this request exited; it is unknown whether the change was stored')
    expect(headers.get('retry-after')).toBe('1')
  })

  it('requests of a project above its queue are refused with Retry-After; another project is served', async () => {
    const long = question('count', 'c0', { context: { input_params: { least: 0 } } })
    await service.ask('/access/v1/evaluation', long)
    const stopped = laneProcesses()
    for (const pid of stopped) process.kill(pid, 'SIGSTOP')
    const running = service.ask('/access/v1/evaluation', long)
    await until(async () => (await metric('verdigraph_lane_requests_running')) > 0)
    const answers = Array.from({ length: 12 }, () => service.ask('/access/v1/evaluation', long))
    const refused: TestResponse[] = []
    for (const answer of answers)
      void answer.then((answered) => {
        if (answered.status === 503) refused.push(answered)
      })
    // All have arrived: a lane that continues makes space in the queue.
    await until(() => refused.length === 4)
    for (const { headers, body } of refused) {
      expect(headers.get('retry-after')).toBe('1')
      expect(body.message).toBe('too many large requests of this project are waiting')
    }
    for (const pid of stopped) process.kill(pid, 'SIGCONT')
    expect((await running).body).toEqual({ decision: true })
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(8)
    expect(statuses.filter((status) => status === 503)).toHaveLength(4)
  })
})

describe('a client that does not read its long response', () => {
  it('does not keep a lane that is to be replaced', async () => {
    const own = await startLanes({ lanes: 1, laneMemoryMax: 1 })
    const nodes = Array.from({ length: 100 }, (_, i) => ({ type: 'Text', external_id: `t${i}` }))
    expect((await own.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
    const { key } = await own.addAgent('reader', ['CIQ'])
    const policy = await own.configure('POST', 'authorization-policies', {
      project_id: own.projectId,
      name: 'texts',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application), (t:Text) WITH subject, $text + t.external_id AS long' },
        allowed_reads: { aggregate_values: ['long'] },
      }),
      status: 'ACTIVE',
    })
    const stored = await own.configure('POST', 'knowledge-queries', {
      project_id: own.projectId,
      name: 'long-texts',
      policy_id: policy.body.id,
      query: JSON.stringify({ aggregate_values: ['long'] }),
      status: 'ACTIVE',
    })
    expect(stored.status, stored.text).toBe(201)
    const body = JSON.stringify({ id: 'long-texts', page_size: 100, input_params: { text: 'é'.repeat(60_000) } })
    const { hostname, port } = new URL(own.url)
    const sockets = Array.from({ length: 6 }, () => {
      const socket = connect(Number(port), hostname)
      socket.once('data', () => socket.pause())
      socket.write(
        `POST /contx-iq/v1/execute HTTP/1.1\r\nhost: test\r\nx-svc-clientkey: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
      return socket
    })
    let first: number | undefined
    await until(() => {
      first = own.laneProcesses()[0]
      return first !== undefined
    })
    await until(() => !own.laneProcesses().includes(first as number))
    expect((await own.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    await own.stop()
  })
})
