// The decision log: one line per response, with its request identifier.
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditedEvents } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-log-'))
const path = join(folder, 'decisions.ndjson')
let service: TestService
let policyId = ''

const ann = { type: 'Person', id: 'ann' }
const c1 = { type: 'Car', id: 'c1' }

async function prepare(settings: Parameters<typeof startService>[0]): Promise<TestService> {
  const started = await startService(settings, { sync: false, log: () => {} })
  await started.ask('/capture/v1/nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann' },
      { type: 'Car', external_id: 'c1' },
    ],
  })
  const id = await started.addPolicy({
    name: 'all',
    actions: ['drive'],
    cypher: 'MATCH (subject), (resource) WHERE $min < 5',
  })
  if (policyId === '') policyId = id
  return started
}

beforeAll(async () => {
  service = await prepare({ decisionLog: path, parameterMask: 'pin', auditDecisions: 'all' })
})

afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface LoggedAnswer {
  readonly decision?: boolean
  readonly context?: { readonly id?: string; readonly reason?: string }
  readonly evaluations?: readonly LoggedAnswer[]
}

type LogLine = Record<string, unknown>

/** The complete lines: a write that is under way may have ended within the last one. */
function linesOf(file: string): LogLine[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LogLine)
}

/** Lines are written to the file in the background. */
async function linesFor(requestId: string, count: number, file = path): Promise<LogLine[]> {
  for (;;) {
    const lines = linesOf(file).filter(({ request_id }) => request_id === requestId)
    if (lines.length >= count) return lines
    await Bun.sleep(5)
  }
}

function ask(requestId: string, endpoint: string, body: unknown, on = service) {
  return on.send(`/access/v1/${endpoint}`, {
    headers: { 'x-svc-clientkey': on.key, 'x-request-id': requestId },
    body,
  })
}

describe('the decision log', () => {
  it('contains the request and the response, with masked parameters', async () => {
    const context = { input_params: { min: 1.0, pin: '1234' }, policy_tags: ['x'] }
    const answer = await ask('a-1', 'evaluation', { subject: ann, action: { name: 'drive' }, resource: c1, context })
    const [line, ...others] = await linesFor('a-1', 1)
    expect(others).toEqual([])
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      id: (answer.body as LoggedAnswer).context?.id,
      request_id: 'a-1',
      kind: 'evaluation',
      project_id: service.projectId,
      application_id: service.applicationId,
      agent_id: service.agentId,
      subject: ann,
      action: 'drive',
      resource: c1,
      parameters: { min: 1, pin: '***' },
      policy_tags: ['x'],
      decision: false,
      policies: [{ id: policyId, name: 'all', revision: 1 }],
      duration_ms: expect.any(Number),
    })
  })

  it('contains searches with the number of results, refusals with their kind, batches with a line for each item', async () => {
    await ask('b-1', 'search/resource', {
      subject: ann,
      action: { name: 'drive' },
      resource: { type: 'Car' },
      context: { input_params: { min: 1 } },
    })
    expect(await linesFor('b-1', 1)).toMatchObject([{ kind: 'resource search', found: 1, resource: { type: 'Car' } }])
    await ask('b-2', 'evaluation', { subject: ann, action: { name: 'drive' }, resource: c1 })
    expect(await linesFor('b-2', 1)).toMatchObject([{ error: { kind: 'invalid' } }])
    await ask('b-3', 'evaluations', {
      subject: ann,
      action: { name: 'drive' },
      evaluations: [{ resource: c1, context: { input_params: { min: 1 } } }, { resource: c1 }, {}],
    })
    expect(await linesFor('b-3', 3)).toMatchObject([
      { item: 0, decision: true },
      { item: 1, error: { kind: 'invalid' } },
      { item: 2, error: { kind: 'malformed' } },
    ])
    const search = { subject: ann, resource: c1, context: { input_params: { min: 1 } } }
    await ask('b-4', 'search/action', search)
    expect(await linesFor('b-4', 1)).toMatchObject([{ kind: 'action search', found: 1 }])
  })

  it('has the id of each answer, and which policy granted', async () => {
    const allowed = { input_params: { min: 1 } }
    const item = { subject: ann, action: { name: 'drive' }, resource: c1, context: allowed }
    const single = (await ask('i-1', 'evaluation', item)).body as LoggedAnswer
    expect(single).toEqual({ decision: true, context: { id: expect.stringMatching(/^gid:/) } })
    expect(await linesFor('i-1', 1)).toMatchObject([{ id: single.context?.id, decision: true, granted_by: policyId }])
    const recorded = (await auditedEvents(service)).filter(({ data }) => data.requestId === 'i-1')
    expect(recorded.map(({ data }) => data.decisionId)).toEqual([single.context?.id])

    const batch = (await ask('i-2', 'evaluations', { evaluations: [item, { ...item, context: {} }, {}] }))
      .body as LoggedAnswer
    const ids = batch.evaluations?.map(({ context }) => context?.id)
    expect(new Set(ids).size).toBe(3)
    expect(batch.evaluations?.map(({ context }) => context?.reason)).toEqual([
      undefined,
      expect.stringContaining('min'),
      expect.stringContaining('subject'),
    ])
    expect((await linesFor('i-2', 3)).map(({ id }) => id)).toEqual(ids)

    const searches = [
      ['i-3', 'search/resource', { subject: ann, action: { name: 'drive' }, resource: { type: 'Car' } }],
      ['i-4', 'search/subject', { subject: { type: 'Person' }, action: { name: 'drive' }, resource: c1 }],
      ['i-5', 'search/action', { subject: ann, resource: c1 }],
      [
        'i-6',
        'what-authorized',
        { subject: ann, evaluations: [{ action: { name: 'drive' }, resource: { type: 'Car' } }] },
      ],
      ['i-7', 'who-authorized', { evaluations: [{ action: { name: 'drive' }, resource: c1 }] }],
    ] as const
    for (const [requestId, endpoint, body] of searches) {
      const answer = (await ask(requestId, endpoint, { ...body, context: allowed })).body as LoggedAnswer
      expect(await linesFor(requestId, 1), endpoint).toMatchObject([{ id: answer.context?.id }])
    }
  })

  it('continues in a new file after a rotation, without losing a line', async () => {
    const evaluation = { subject: ann, action: { name: 'drive' }, resource: c1, context: { input_params: { min: 1 } } }
    await ask('c-1', 'evaluation', evaluation)
    const old = join(folder, 'decisions.1')
    renameSync(path, old)
    await ask('c-2', 'evaluation', evaluation)
    service.app.reopenLogs()
    await ask('c-3', 'evaluation', evaluation)
    expect(await linesFor('c-3', 1)).toHaveLength(1)
    const kept = [...linesOf(old), ...linesOf(path)].map(({ request_id }) => request_id)
    expect(kept.filter((id) => String(id).startsWith('c-')).sort()).toEqual(['c-1', 'c-2', 'c-3'])
  })

  it('names the model of the project, and so does the audit record', async () => {
    const file = join(folder, 'model.ndjson')
    const other = await prepare({ decisionLog: file, auditDecisions: 'all' })
    try {
      const model = 'DEFINE (p:Person)-[:may_use]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) }'
      const body = { project_id: other.projectId, name: 'model', model }
      const stored = await other.configure('POST', 'models', body)
      const item = { subject: ann, action: { name: 'drive' }, resource: c1, context: { input_params: { min: 1 } } }
      await ask('m-1', 'evaluation', item, other)
      await ask('m-2', 'search/resource', { ...item, resource: { type: 'Car' } }, other)
      const lines = [...(await linesFor('m-1', 1, file)), ...(await linesFor('m-2', 1, file))]
      const used = { id: stored.body.id, name: 'model', revision: 1 }
      expect(lines.map((line) => line.model)).toEqual([used, used])
      const recorded = (await auditedEvents(other)).filter(({ data }) => String(data.requestId).startsWith('m-'))
      expect(recorded.map(({ data }) => data.modelRevision)).toEqual([1, 1])
    } finally {
      await other.stop()
    }
  })

  it('is off by default: no answer has an id', async () => {
    const other = await prepare({})
    try {
      const item = { subject: ann, action: { name: 'drive' }, resource: c1, context: { input_params: { min: 1 } } }
      expect((await ask('o-1', 'evaluation', item, other)).text).toBe('{"decision":true}')
      expect((await ask('o-2', 'evaluations', { evaluations: [item] }, other)).body).toEqual({
        evaluations: [{ decision: true }],
      })
      const search = { subject: ann, resource: c1, context: item.context }
      expect((await ask('o-3', 'search/action', search, other)).body).toEqual({ results: [{ name: 'drive' }] })
    } finally {
      await other.stop()
    }
  })

  it('reports the number of lost lines as a metric', async () => {
    const other = await prepare({
      decisionLog: join(folder, 'tight.ndjson'),
      logBufferBytes: 1,
      metricsAccess: 'public',
    })
    try {
      const evaluation = {
        subject: ann,
        action: { name: 'drive' },
        resource: c1,
        context: { input_params: { min: 1 } },
      }
      for (const id of ['l-1', 'l-2']) expect((await ask(id, 'evaluation', evaluation, other)).status).toBe(200)
      expect((await other.send('/metrics')).text).toContain('\nverdigraph_decision_log_lost_total 2\n')
    } finally {
      await other.stop()
    }
  })

  it('is written out when the service stops; masks everything by default; samples whole calls', async () => {
    const sampled = join(folder, 'sampled.ndjson')
    const other = await prepare({ decisionLog: sampled, decisionLogPercent: 50 })
    try {
      const item = { resource: c1, context: { input_params: { min: 1 } } }
      for (let i = 0; i < 100; i++) {
        await ask(
          `s-${i % 2}`,
          'evaluations',
          { subject: ann, action: { name: 'drive' }, evaluations: [item, item] },
          other,
        )
      }
    } finally {
      await other.stop()
    }
    // Each call is sampled independently of its request identifier: of 100 calls with two identifiers, some of each.
    const runs: { id: unknown; items: unknown[] }[] = []
    for (const { request_id, item, parameters } of linesOf(sampled)) {
      expect(parameters).toEqual({ min: '***' })
      if (item === 0) runs.push({ id: request_id, items: [item] })
      else runs.at(-1)?.items.push(item)
    }
    expect(runs.map(({ items }) => items)).toEqual(runs.map(() => [0, 1]))
    for (const id of ['s-0', 's-1']) {
      // Less than one in a billion runs exceeds these bounds.
      const of = runs.filter((run) => run.id === id).length
      expect(of).toBeGreaterThan(3)
      expect(of).toBeLessThan(47)
    }
  })
})
