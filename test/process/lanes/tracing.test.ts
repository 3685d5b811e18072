// One trace from the caller through the serving process and a lane to a resolver and an issuer, which run as servers of their own.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { startIssuer, type TestIssuer } from '../../support/token-issuer.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

let setup: ContextService
let collector: OtlpReceiver
let issuer: TestIssuer
const received: IncomingMessage['headers'][] = []
const resolver = createServer((request, response) => {
  received.push(request.headers)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"price":7}')
})

beforeAll(async () => {
  collector = startOtlpReceiver()
  issuer = await startIssuer()
  await new Promise<void>((resolve) => resolver.listen(0, '127.0.0.1', resolve))
  setup = await startContextService(
    {
      lanes: 1,
      laneWaitMs: 60_000,
      upstreamAllow: '127.0.0.1',
      otlpEndpoint: collector.url,
      spanDelayMs: 10,
    },
    { laneCommand: childCommand('lane') },
  )
})
afterAll(async () => {
  await setup?.stop()
  await issuer?.stop()
  resolver.closeAllConnections()
  resolver.close()
  await collector?.stop()
  expect(collector?.faults).toEqual([])
})

const childrenOf = ({ spanId }: ReceivedSpan) => collector.spans.filter(({ parentSpanId }) => parentSpanId === spanId)
const send = (path: string, body: object, headers: Readonly<Record<string, string>>) =>
  setup.service.send(path, { headers: { 'x-svc-clientkey': setup.key, ...headers }, body })

async function addPricedCar(): Promise<string> {
  const { port } = resolver.address() as AddressInfo
  const { status, text } = await setup.service.configure('POST', 'external-data-resolvers', {
    project_id: setup.service.projectId,
    name: 'price',
    url: `http://127.0.0.1:${port}/private-path`,
    method: 'GET',
    headers: { TraceParent: 'set-by-the-configuration', 'x-own': 'kept' },
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
  })
  if (status !== 201) throw new Error(text)
  await setup.capture('nodes', {
    nodes: [{ type: 'Car', external_id: 'c0', properties: [{ type: 'price', external_value: 'price' }] }],
  })
  const source = { type: '_Application', external_id: setup.service.applicationId }
  const relationships = [{ source, target: { type: 'Car', external_id: 'c0' }, type: 'HOLDS' }]
  await setup.capture('relationships', { relationships })
  return setup.addQuery(
    'prices',
    {
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:Car)' },
      allowed_reads: { nodes: ['car.*', 'car'] },
    },
    { nodes: ['car.property.price'] },
  )
}

describe('a trace', () => {
  it('has the request, the wait for a lane, the run in it, the request in the lane, and the call of a resolver', async () => {
    const id = await addPricedCar()
    received.length = 0
    const headers = {
      traceparent: `00-${TRACE}-${PARENT}-01`,
      tracestate: 'vendor=opaque',
      'x-request-id': 'chain',
    }
    // White space makes the body large, so that the request runs in a lane from its beginning.
    const raw = JSON.stringify({ id }).replace('{', `{${' '.repeat(40_000)}`)
    const answered = await setup.service.send('/contx-iq/v1/execute', {
      headers: { 'content-type': 'application/json', 'x-svc-clientkey': setup.key, ...headers },
      raw,
    })
    expect([answered.status, answered.text]).toEqual([200, expect.stringContaining('7')])

    const isOfChain = ({ attributes }: ReceivedSpan) => attributes['verdigraph.request_id'] === 'chain'
    const request = await collector.waitFor((span) => isOfChain(span) && span.kind === 2)
    const inLane = await collector.waitFor((span) => isOfChain(span) && span.kind === 1)
    const call = await collector.waitFor(({ name, traceId }) => name === 'resolver GET' && traceId === TRACE)
    expect([request.traceId, request.parentSpanId, request.name]).toEqual([TRACE, PARENT, 'POST /contx-iq/v1/execute'])
    expect(childrenOf(request).map(({ name }) => name)).toEqual(['lane wait', 'lane run'])
    const run = childrenOf(request)[1] as ReceivedSpan
    expect(childrenOf(run)).toEqual([inLane])
    expect(inLane).toMatchObject({ traceId: TRACE, name: 'POST /contx-iq/v1/execute' })
    expect(inLane.resource['service.instance.id']).toMatch(/^lane-/)
    expect(request.resource['service.instance.id']).toMatch(/^process-/)
    const { lane } = /^(?<lane>lane-\d+)-/.exec(String(inLane.resource['service.instance.id']))?.groups ?? {}
    for (const span of [request, run]) expect(span.attributes['verdigraph.lane']).toBe(lane)
    expect(inLane.attributes).not.toHaveProperty('verdigraph.lane')
    const [reads, others] = [true, false].map((isRead) =>
      childrenOf(inLane).filter(({ name }) => (name === 'store read') === isRead),
    ) as [ReceivedSpan[], ReceivedSpan[]]
    expect(others).toEqual([call])
    expect(reads.length).toBeGreaterThanOrEqual(1)
    const { port } = resolver.address() as AddressInfo
    expect(call).toMatchObject({
      kind: 3,
      status: 0,
      attributes: { 'server.address': '127.0.0.1', 'server.port': port, 'http.response.status_code': 200 },
    })
    expect(received).toMatchObject([
      { traceparent: `00-${TRACE}-${call.spanId}-01`, tracestate: 'vendor=opaque', 'x-own': 'kept' },
    ])
    const text = JSON.stringify(collector.spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    expect(text).not.toContain('private-path')
  })

  it('that the caller does not sample is not sampled in the lane either, and the resolver learns that', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const id = await addNamedQuery()
    received.length = 0
    const raw = JSON.stringify({ id }).replace('{', `{${' '.repeat(40_000)}`)
    const { status } = await setup.service.send('/contx-iq/v1/execute', {
      headers: {
        'content-type': 'application/json',
        'x-svc-clientkey': setup.key,
        traceparent: `00-${trace}-${PARENT}-00`,
      },
      raw,
    })
    expect(status).toBe(200)
    expect(received).toMatchObject([
      { traceparent: expect.stringMatching(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`)) },
    ])
    expect(collector.spans.some(({ traceId }) => traceId === trace)).toBe(false)
  })

  it('has the calls of an issuer', async () => {
    const created = await setup.service.configure('POST', 'token-introspects', {
      project_id: setup.service.projectId,
      name: 'issued',
      jwt_matcher: { issuer: issuer.url, audience: 'api' },
      online_validation: {},
      ikg_node_type: 'Person',
      perform_upsert: false,
    })
    expect([created.status, created.text]).toEqual([201, expect.anything()])
    const token = await issuer.sign({
      iss: issuer.url,
      aud: 'api',
      sub: 'ann',
      exp: Math.floor(Date.now() / 1000) + 600,
    })
    const body = { subject: { type: 'Person', id: 'ann' }, action: { name: 'x' }, resource: { type: 'Car', id: 'c0' } }
    await send('/access/v1/evaluation', body, { authorization: `Bearer ${token}`, 'x-request-id': 'with-token' })
    const request = await collector.waitFor(({ attributes }) => attributes['verdigraph.request_id'] === 'with-token')
    expect(issuer.calls).toEqual(['/.well-known/openid-configuration', '/jwks', '/userinfo'])
    expect(childrenOf(request).filter(({ name }) => name === 'issuer GET')).toHaveLength(issuer.calls.length)
  })
})

/** Another query, because responses are cached for equal requests only. */
async function addNamedQuery(): Promise<string> {
  return setup.addQuery(
    'prices-again',
    {
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:Car)' },
      allowed_reads: { nodes: ['car.*', 'car'] },
    },
    { nodes: ['car.property.price'] },
  )
}
