// Requests as traces of OpenTelemetry: the service sends OTLP to a collector, and continues the traces of its callers.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink, eventsOf } from '../../support/events.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { startService, type TestService } from '../../support/service.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const sampled = `00-${TRACE}-${PARENT}-01`

const person = (id: string) => ({ type: 'Person', id })
const question = (id: string, more: object = {}) => ({
  subject: person(id),
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'secret-car' },
  ...more,
})

describe('a traced service', () => {
  let service: TestService
  let collector: OtlpReceiver
  let policyId: string
  beforeAll(async () => {
    collector = startOtlpReceiver()
    service = await startService({
      otlpEndpoint: collector.url,
      otlpHeaders: 'x-tenant=blue%20team',
      spanDelayMs: 10,
      metricsAccess: 'public',
      otelServiceName: 'pdp',
      otelResource: 'deployment.environment.name=test',
      parameterMask: 'pin',
    })
    policyId = await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    const nodes = [
      { external_id: 'ann', type: 'Person', is_identity: true },
      { external_id: 'secret-car', type: 'Car' },
    ]
    await service.ask('/capture/v1/nodes', { nodes })
    const relationships = [
      {
        source: { external_id: 'ann', type: 'Person' },
        target: { external_id: 'secret-car', type: 'Car' },
        type: 'OWNS',
      },
    ]
    await service.ask('/capture/v1/relationships', { relationships })
  })
  afterAll(async () => {
    await service?.stop()
    await collector?.stop()
    expect(collector?.faults).toEqual([])
  })
  beforeEach(() => {
    collector.answer = 200
  })

  const ask = (
    headers: Readonly<Record<string, string>>,
    body: unknown = question('ann'),
    path = '/access/v1/evaluation',
  ) => service.send(path, { headers: { 'x-svc-clientkey': service.key, ...headers }, body })
  const ofRequest = (id: string) => (span: ReceivedSpan) => span.attributes['verdigraph.request_id'] === id
  const childrenOf = (parent: ReceivedSpan, { reads = false } = {}) =>
    collector.spans.filter((span) => span.parentSpanId === parent.spanId && (reads || span.name !== 'store read'))

  it('continues the trace of its caller, and the decision is a part of the request', async () => {
    expect((await ask({ traceparent: sampled, 'x-request-id': 'r-1' })).body.decision).toBe(true)
    const request = await collector.waitFor(ofRequest('r-1'))
    expect(request).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      name: 'POST /access/v1/evaluation',
      kind: 2,
      status: 0,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/access/v1/evaluation',
        'http.response.status_code': 200,
        'verdigraph.project_id': service.projectId,
      },
      resource: { 'service.name': 'pdp', 'deployment.environment.name': 'test' },
    })
    const [decision, ...others] = childrenOf(request)
    expect(others).toEqual([])
    expect(decision).toMatchObject({
      name: 'decision',
      kind: 1,
      attributes: {
        'verdigraph.decision.result': 'permit',
        'verdigraph.subject.type': 'Person',
        'verdigraph.action': 'drive',
        'verdigraph.resource.type': 'Car',
        'verdigraph.policy.ids': [policyId],
        'verdigraph.policy.granted_by': policyId,
      },
    })
    expect((decision?.startNs ?? 0n) >= request.startNs - 1_000_000n).toBe(true)
    expect((decision?.endNs ?? 0n) <= request.endNs + 1_000_000n).toBe(true)
  })

  it('has the plan of a decision, and whether it was made for it', async () => {
    await service.addPolicy({
      name: 'washers',
      cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)',
      actions: ['wash', 'repair'],
    })
    const wash = (id: string) => ask({ 'x-request-id': id }, question('ann', { action: { name: 'wash' } }))
    for (const [id, origin] of [
      ['plan-1', 'planned'],
      ['plan-2', 'cached'],
    ] as const) {
      await wash(id)
      const [decision] = childrenOf(await collector.waitFor(ofRequest(id)))
      expect(decision?.attributes).toMatchObject({
        'verdigraph.plan.operators': ['First(ExpandInto(Argument))'],
        'verdigraph.plan.origins': [origin],
      })
    }
    const { subject, resource } = question('ann')
    const evaluations = ['wash', 'paint', 'repair'].map((name) => ({ action: { name } }))
    await ask({ 'x-request-id': 'plan-3' }, { subject, resource, evaluations }, '/access/v1/evaluations')
    const items = childrenOf(await collector.waitFor(ofRequest('plan-3')))
    expect(items.map(({ attributes }) => attributes['verdigraph.plan.origins'])).toEqual([
      ['cached'],
      undefined,
      ['cached'],
    ])
    await ask(
      { 'x-request-id': 'plan-4' },
      { subject, action: { name: 'wash' }, resource: { type: 'Car' } },
      '/access/v1/search/resource',
    )
    const [search] = childrenOf(await collector.waitFor(ofRequest('plan-4')))
    expect(search?.attributes['verdigraph.plan.operators']).toEqual([expect.stringMatching(/^Distinct\(/)])
  })

  it('has the read transaction of the graph, one for a batch', async () => {
    const { subject, action, resource } = question('ann')
    const evaluations = [{ resource }, { resource }]
    for (const [id, body, path] of [
      ['read-1', question('ann'), '/access/v1/evaluation'],
      ['read-2', { subject, action, evaluations }, '/access/v1/evaluations'],
    ] as const) {
      await ask({ 'x-request-id': id }, body, path)
      const request = await collector.waitFor(ofRequest(id))
      const reads = childrenOf(request, { reads: true }).filter(({ name }) => name === 'store read')
      expect(reads).toHaveLength(1)
      const [{ startNs, endNs, attributes }] = reads as [ReceivedSpan]
      expect(attributes).toEqual({})
      expect(endNs >= startNs && endNs - startNs <= request.endNs - request.startNs + 1_000_000n).toBe(true)
    }
  })

  it('sends spans to /v1/traces with the headers of the settings', async () => {
    await ask({ 'x-request-id': 'r-2' })
    await collector.waitFor(ofRequest('r-2'))
    const [{ path, headers } = { path: '', headers: new Headers() }] = collector.requests
    expect([path, headers.get('x-tenant')]).toEqual(['/v1/traces', 'blue team'])
  })

  it('records nothing if the caller has decided that the trace is not sampled', async () => {
    await ask({ traceparent: `00-${TRACE}-${PARENT}-00`, 'x-request-id': 'r-3' })
    await ask({ 'x-request-id': 'r-4' })
    await collector.waitFor(ofRequest('r-4'))
    expect(collector.spans.some(ofRequest('r-3'))).toBe(false)
  })

  it.each([
    ['text', 'hello'],
    ['zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['the forbidden version', `ff-${TRACE}-${PARENT}-01`],
    ['upper case', sampled.toUpperCase()],
    ['an addition', `${sampled}-x`],
    ['a short id', `00-${TRACE.slice(1)}-${PARENT}-01`],
  ])('begins a trace of its own if traceparent is %s', async (kind, traceparent) => {
    const id = `bad-${kind.replaceAll(' ', '-')}`
    expect((await ask({ traceparent, 'x-request-id': id })).status).toBe(200)
    const request = await collector.waitFor(ofRequest(id))
    expect([request.parentSpanId, request.traceId === TRACE]).toEqual(['', false])
  })

  it('masks parameters and ids as the decision log does, and has no credentials', async () => {
    const context = { input_params: { pin: '1234-secret-pin', colour: 'red' } }
    await ask({ 'x-request-id': 'r-5', cookie: 'a=b' }, question('ann', { context }))
    const request = await collector.waitFor(ofRequest('r-5'))
    const [decision] = childrenOf(request)
    expect(JSON.parse(String(decision?.attributes['verdigraph.parameters']))).toEqual({ pin: '***', colour: 'red' })
    expect(decision?.attributes['verdigraph.subject.id']).toBe('ann')
    const text = JSON.stringify(collector.spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    for (const secret of ['1234-secret-pin', service.key, service.token]) expect(text).not.toContain(secret)
  })

  it('has a span for each of the first 50 items of a batch, and for searches', async () => {
    const { subject, action, resource } = question('ann')
    const evaluations = Array.from({ length: 60 }, () => ({ resource }))
    await ask({ 'x-request-id': 'r-6' }, { subject, action, evaluations }, '/access/v1/evaluations')
    const batch = await collector.waitFor(ofRequest('r-6'))
    expect(childrenOf(batch).map(({ attributes }) => attributes['verdigraph.decision.item'])).toEqual(
      Array.from({ length: 50 }, (_, i) => i),
    )
    await ask({ 'x-request-id': 'r-7' }, { subject, action, resource: { type: 'Car' } }, '/access/v1/search/resource')
    const search = await collector.waitFor(ofRequest('r-7'))
    expect(childrenOf(search)).toMatchObject([
      { name: 'resource search', attributes: { 'verdigraph.search.results': 1 } },
    ])
  })

  it('marks failures: of the client as an attribute, of paths without a route by their method only', async () => {
    await ask({ 'x-request-id': 'r-8' }, { subject: 7 })
    const malformed = await collector.waitFor(ofRequest('r-8'))
    expect([malformed.status, malformed.attributes['verdigraph.error']]).toEqual([0, 'malformed'])
    await service.send('/private/ann', { headers: { 'x-request-id': 'r-9' } })
    expect((await collector.waitFor(ofRequest('r-9'))).name).toBe('GET')
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toContain('private')
  })

  it('does not trace probes and scrapes', async () => {
    for (const path of ['/health', '/ready', '/metrics'])
      await service.send(path, { headers: { 'x-request-id': 'r-10' } })
    await ask({ 'x-request-id': 'r-11' })
    await collector.waitFor(ofRequest('r-11'))
    expect(collector.spans.some(ofRequest('r-10'))).toBe(false)
  })

  it('has the trace as exemplar of the latency histograms in OpenMetrics', async () => {
    await ask({ traceparent: sampled, 'x-request-id': 'r-12' })
    const { text } = await service.send('/metrics', { headers: { accept: 'application/openmetrics-text' } })
    for (const name of ['http_server_request_duration_seconds', 'verdigraph_decision_duration_seconds'])
      expect(text).toMatch(
        new RegExp(
          `^${name}_bucket\\{[^}]*http_route="/access/v1/evaluation"[^}]*\\} \\d+ # \\{trace_id="${TRACE}"\\} [\\d.e-]+ [\\d.]+$`,
          'm',
        ),
      )
  })

  it('counts sent spans, and those that the collector refuses, and answers in both cases', async () => {
    const read = async (name: string) => {
      const { text } = await service.send('/metrics')
      return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\d+)$`, 'm').exec(text)?.[1])
    }
    expect(await read('verdigraph_spans_exported_total')).toBeGreaterThan(0)
    const failed = 'verdigraph_spans_dropped_total{reason="export_failed"}'
    expect(await read(failed)).toBe(0)
    collector.answer = 400
    expect((await ask({ 'x-request-id': 'r-13' })).status).toBe(200)
    // The request and its decision; they may be refused one after the other.
    await expect.poll(() => read(failed)).toBeGreaterThanOrEqual(2)
  })
})

describe('events of a request', () => {
  const types = [
    'svc.audit.capture.upsert.node',
    'svc.audit.cdc.node.create',
    'svc.audit.authorization.evaluation',
    'svc.audit.config.create',
    'svc.audit.config.read',
    'svc.audit.request.refused',
  ]

  /** Causes an event of each type with one trace. */
  async function cause(service: TestService, headers: Readonly<Record<string, string>>): Promise<void> {
    const agent = { 'x-svc-clientkey': service.key, ...headers }
    const account = { authorization: `Bearer ${service.token}`, ...headers }
    const nodes = [{ external_id: 'ann', type: 'Person', is_identity: true }]
    const policy = { project_id: service.projectId, name: 'traced', status: 'ACTIVE' }
    const text = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
    }
    const answers = [
      await service.send('/capture/v1/nodes', { headers: agent, body: { nodes } }),
      await service.send('/access/v1/evaluation', { headers: agent, body: question('ann') }),
      await service.send('/configs/v1/authorization-policies', {
        headers: account,
        body: { ...policy, policy: JSON.stringify(text) },
      }),
      await service.send(`/configs/v1/projects/${service.projectId}`, { headers: account }),
      await service.send('/capture/v1/nodes', { headers: agent, body: { nodes: 7 } }),
      await service.send(`/configs/v1/projects/${service.projectId}`, {
        headers: { ...account, authorization: 'Bearer x' },
      }),
    ]
    expect(
      answers.map(({ status }) => status),
      answers[2]?.text,
    ).toEqual([200, 200, 201, 200, 400, 401])
  }

  it('have its span as traceparent, also where they arrive; change data capture and other requests have none', async () => {
    const collector = startOtlpReceiver()
    const receiver = startReceiver()
    const service = await startService(
      {
        otlpEndpoint: collector.url,
        spanDelayMs: 10,
        upstreamAllow: '127.0.0.1',
      },
      { eventDelivery: { random: () => 0.001 } },
    )
    try {
      const main = receiverProvider(receiver, { include_cdc_events: true })
      await addSink(
        service,
        types.map((type) => ({ type })),
        { main },
      )
      await cause(service, { traceparent: sampled, tracestate: 'vendor=opaque' })
      // A delivered event is removed from the outbox, so the receiver has all of them.
      const has = (type: string) => receiver.accepted.some((event) => event.type === type)
      await receiver.until(() => types.every(has))
      const ofTrace = receiver.accepted.filter(({ traceparent }) => traceparent?.includes(TRACE))
      const traced = types.filter((type) => !type.includes('cdc'))
      expect(new Set(ofTrace.map(({ type }) => type))).toEqual(new Set(traced))
      for (const { traceparent, tracestate } of ofTrace) {
        expect(tracestate).toBe('vendor=opaque')
        const [, , span] = traceparent?.split('-') ?? []
        const request = await collector.waitFor(({ spanId }) => spanId === span)
        expect([request.traceId, request.parentSpanId, request.kind]).toEqual([TRACE, PARENT, 2])
      }
      // An event may be delivered more than once.
      const changes = receiver.accepted.filter(({ type }) => type.includes('cdc'))
      expect(new Set(changes.map(({ traceparent }) => traceparent))).toEqual(new Set([undefined]))
    } finally {
      await service.stop()
      await receiver.stop()
      await collector.stop()
    }
  })

  it('have no attribute about a trace if the service does not trace, whatever the header', async () => {
    const service = await startService({})
    try {
      await addSink(
        service,
        types.slice(2).map((type) => ({ type })),
      )
      await cause(service, { traceparent: sampled, tracestate: 'vendor=opaque' })
      const events = await eventsOf(service)
      expect(events.length).toBeGreaterThanOrEqual(4)
      for (const { attributes } of events) expect(Object.keys(attributes).at(-1)).toBe('partitionkey')
    } finally {
      await service.stop()
    }
  })
})

it('a service that does not trace collects no plans', async () => {
  const decided: (object | null)[] = []
  const service = await startService({}, { onDecided: ({ plans }) => decided.push(plans) })
  try {
    await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    const { subject, action, resource } = question('ann')
    const batch = { subject, action, evaluations: [{ resource }] }
    expect((await service.ask('/access/v1/evaluation', question('ann'))).status).toBe(200)
    expect((await service.ask('/access/v1/evaluations', batch)).status).toBe(200)
    const search = { subject, action, resource: { type: 'Car' } }
    expect((await service.ask('/access/v1/search/resource', search)).status).toBe(200)
    expect(decided).toEqual([null, null, null])
  } finally {
    await service.stop()
  }
})

it('ids of subjects and resources are left out by default', async () => {
  const collector = startOtlpReceiver()
  const service = await startService({ otlpTracesEndpoint: `${collector.url}/custom/path`, spanDelayMs: 10 })
  try {
    await service.ask('/access/v1/evaluation', question('ann', { context: { input_params: { pin: 'p' } } }))
    const decision = await collector.waitFor(({ name }) => name === 'decision')
    expect(Object.keys(decision.attributes).filter((name) => name.endsWith('.id'))).toEqual([])
    expect(decision.attributes['verdigraph.parameters']).toBe('{"pin":"***"}')
    expect(collector.requests[0]?.path).toBe('/custom/path')
  } finally {
    await service.stop()
    await collector.stop()
  }
})

it('a collector that accepts connections and never answers delays neither requests nor the stop, and spans are dropped', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  const service = await startService({
    otlpEndpoint: `http://127.0.0.1:${silent.port}`,
    spanDelayMs: 1,
    spanQueueMax: 4,
    spanBatchMax: 4,
    metricsAccess: 'public',
  })
  try {
    for (let i = 0; i < 20; i++) expect((await service.ask('/access/v1/evaluation', question('ann'))).status).toBe(200)
    const { text } = await service.send('/metrics')
    const dropped = Number(/^verdigraph_spans_dropped_total\{reason="queue_full"\} (\d+)$/m.exec(text)?.[1])
    expect(dropped).toBeGreaterThanOrEqual(20)
  } finally {
    await service.stop()
    silent.stop(true)
  }
})
