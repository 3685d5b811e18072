import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LogEntry } from '../../../src/ops/log.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { graphServers } from '../../support/graph-servers.ts'
import { ManualClock } from '../../support/manual-clock.ts'

interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answering = (response: ServerResponse, seen: ReceivedRequest) => void

const SECRET = 'very-secret-key'
let seen: ReceivedRequest[] = []
let answering: Answering
const log: LogEntry[] = []

const upstream = createServer((request, response) => {
  let body = ''
  request.on('data', (part) => {
    body += part
  })
  request.on('end', () => {
    const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
    seen.push(one)
    answering(response, one)
  })
})

function json(value: unknown): Answering {
  return (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

let setup: ContextService
let port = 0
beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  port = (upstream.address() as AddressInfo).port
  setup = await startContextService(
    {
      upstreamAllow: '127.0.0.1',
      upstreamTimeMs: 30_000,
      upstreamBytesMax: 2048,
      resolverCallsMax: 20,
      executeAnswerMax: 100_000,
      resolverParallel: 4,
    },
    { log: (entry) => log.push(entry) },
  )
})
afterAll(async () => {
  await setup.stop()
  upstream.closeAllConnections()
  upstream.close()
})
beforeEach(() => {
  seen = []
  log.length = 0
  answering = json({ price: 7 })
})

let made = 0
/** A separate resolver, a car whose price it supplies, and the query that reads it. */
async function carWith(
  resolver: object,
  { query = {}, cars = 1, properties = [] as object[] } = {},
): Promise<(params?: object) => Promise<{ data: Record<string, never>[]; warnings?: string[] }>> {
  made += 1
  const [name, type] = [`price-${made}`, `Car${made}`]
  const created = await setup.service.configure('POST', 'external-data-resolvers', {
    project_id: setup.service.projectId,
    name,
    url: `http://127.0.0.1:${port}/price`,
    method: 'GET',
    headers: { Authorization: `Bearer ${SECRET}` },
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
    ...resolver,
  })
  if (created.status !== 201) throw new Error(created.text)
  const nodes = Array.from({ length: cars }, (_, i) => ({
    type,
    external_id: `c${i}`,
    properties: [{ type: 'price', external_value: name }, { type: 'plate', value: `P ${i}` }, ...properties],
  }))
  const captured = await setup.capture('nodes', { nodes })
  if (captured.status !== 200) throw new Error(captured.text)
  const { applicationId } = setup.service
  const relationships = nodes.map(({ external_id }) => ({
    source: { type: '_Application', external_id: applicationId },
    target: { type, external_id },
    type: 'HOLDS',
  }))
  await setup.capture('relationships', { relationships })
  const id = await setup.addQuery(
    `of-${made}`,
    {
      subject: { type: '_Application' },
      condition: { cypher: `MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:${type})` },
      allowed_reads: { nodes: ['car.*', 'car'] },
    },
    { nodes: ['car.property.price'], ...query },
  )
  return async (params = {}) => {
    const { status, body, text } = await setup.execute(id, { input_params: params })
    if (status !== 200) throw new Error(text)
    return body as never
  }
}

const priceOf = ({ data }: { data: Record<string, never>[] }): unknown => {
  const [record] = data as unknown as { nodes: Record<string, unknown> }[]
  return record?.nodes['car.property.price']
}

/** The value is null, a warning gives the reason, and no secret is revealed. */
async function fails(read: Awaited<ReturnType<typeof carWith>>, reason: string): Promise<void> {
  const answer = await read()
  expect([priceOf(answer), answer.data.length]).toEqual([null, 1])
  expect(answer.warnings).toEqual([`property \`price\`, external data resolver \`price-${made}\`: ${reason}`])
  expect(JSON.stringify(log)).not.toContain(SECRET)
}

describe('a property of a resolver', () => {
  it.each(['GET', 'POST'])('is requested with %s without headers and payload', async (method) => {
    const read = await carWith({ method, headers: undefined })
    expect(priceOf(await read())).toBe(7)
    expect(seen).toMatchObject([{ method, body: '' }])
    expect(seen[0]?.headers['content-type']).toBeUndefined()
  })

  it('counts towards the size of a response: rows beyond it have no value, with a warning', async () => {
    answering = json({ price: 'x'.repeat(1900) })
    const read = await carWith({}, { cars: 80 })
    const { data, warnings } = await read()
    const prices = (data as unknown as { nodes: Record<string, unknown> }[]).map(
      ({ nodes }) => nodes['car.property.price'],
    )
    expect(prices).toHaveLength(80)
    const filled = prices.filter((price) => price !== null).length
    expect(filled).toBeGreaterThan(40)
    expect(filled * 1900).toBeLessThan(100_000)
    expect(warnings).toEqual([
      `property \`price\`, external data resolver \`price-${made}\`: the limit of 100000 characters in one answer is reached; request a smaller page`,
    ])
  })

  it('of a whole element in several rows counts once for each row', async () => {
    answering = json({ price: 'x'.repeat(1900) })
    await carWith({})
    const seats = Array.from({ length: 80 }, (_, i) => ({ type: 'Seat', external_id: `s${10 + i}` }))
    expect((await setup.capture('nodes', { nodes: seats })).status).toBe(200)
    const id = await setup.addQuery(
      `shared-${made}`,
      {
        subject: { type: '_Application' },
        condition: {
          cypher:
            `MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:Car${made}), (seat:Seat) ` +
            'WHERE seat.external_id < $to',
        },
        allowed_reads: { nodes: ['car.*'] },
      },
      { nodes: ['car', 'car.property.*'] },
    )
    const answerTo = async (to: string) => {
      const { body } = await setup.execute(id, { input_params: { to } })
      const rows = body.data as { nodes: { car: { Props: { price: string | null } } } }[]
      return { lengths: rows.map(({ nodes }) => nodes.car.Props.price?.length ?? null), warnings: body.warnings }
    }
    expect(await answerTo('s20')).toEqual({ lengths: Array(10).fill(1900), warnings: undefined })
    // Two values for each row: both would exceed the limit, and one of them fits.
    const { lengths, warnings } = await answerTo('s40')
    expect(lengths).toHaveLength(30)
    expect(new Set(lengths).size).toBe(1)
    expect(warnings).toEqual([expect.stringContaining('the limit of 100000 characters in one answer is reached')])
    const all = await answerTo('s99')
    expect(all.lengths).toEqual(Array(80).fill(null))
  })

  it('is requested if it is read, anywhere in the record', async () => {
    const read = await carWith({}, { query: { nodes: ['car.property.price', 'car.property.*', 'car'] } })
    const { data, warnings } = await read()
    expect(warnings).toBeUndefined()
    expect(data).toMatchObject([
      {
        nodes: {
          'car.property.price': 7,
          'car.property.*': [
            { type: 'price', value: 7 },
            { type: 'plate', value: 'P 0' },
          ],
          car: { Props: { price: 7, plate: 'P 0' } },
        },
      },
    ])
    // Equal requests of one execution are merged.
    expect(seen).toHaveLength(1)
    await read()
    expect(seen).toHaveLength(2)
  })

  it('may be an object or an array, with integers and floats distinct', async () => {
    answering = (response) =>
      response
        .writeHead(200, { 'content-type': 'application/vnd.prices+json; charset=UTF-8' })
        .end('{"price":[{"a":1.0,"b":9007199254740993}]}')
    await carWith({})
    const answered = await setup.execute(`of-${made}`)
    expect(answered.text).toContain('[{"a":1.0,"b":9007199254740993}]')
  })

  it('is null without a warning if the response has no value', async () => {
    answering = json({ cost: 1 })
    expect(await (await carWith({}))()).toEqual({ data: [{ nodes: { 'car.property.price': null } }] })
  })

  it.each(['POST', 'PUT', 'PATCH'])(
    'is requested by %s with a filled payload, and headers of the resolver',
    async (method) => {
      const read = await carWith({
        method,
        url: `http://127.0.0.1:${port}/{$external_id}/{$plate}?c={$currency}`,
        headers: { 'X-Key': ['a', 'b'], Accept: 'text/html', 'content-type': 'text/plain', Host: 'evil.example' },
        request_payload: '{"plate":"{$plate}","deep":{$more},"of":"{$more.kind}"}',
      })
      expect(priceOf(await read({ currency: 'a&b', more: { kind: '"x"' }, plate: 'forged' }))).toBe(7)
      expect(seen).toMatchObject([
        {
          method,
          url: '/c0/P%200?c=a%26b',
          headers: {
            'x-key': 'a, b',
            accept: 'application/json',
            'content-type': 'application/json',
            host: `127.0.0.1:${port}`,
          },
        },
      ])
      expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ plate: 'P 0', deep: { kind: '"x"' }, of: '"x"' })
    },
  )

  it('is requested with the claims of the token only: no parameter stands for one', async () => {
    const read = await carWith({
      url: `http://127.0.0.1:${port}/of/{$token.sub || nobody}?as={$svc_token.act.sub || 0}&d={$a.b || 1}`,
    })
    expect(priceOf(await read({ 'token.sub': 'victim', 'svc_token.act.sub': 'victim', 'a.b': 2 }))).toBe(7)
    expect(seen.map(({ url }) => url)).toEqual(['/of/nobody?as=0&d=2'])
  })

  it('is requested with the defaults of placeholders that neither element nor parameters have', async () => {
    const read = await carWith(
      {
        url: `http://127.0.0.1:${port}/v1/{$city || 'Bad Ischl'}?latitude={$latitude || 51.5072}&plate={$plate || none}`,
        method: 'POST',
        request_payload: '{"lat": {$latitude || 51.5072}, "at": "{$city || \\"}{\\"}", "plate": {$plate || 1}}',
      },
      { properties: [] },
    )
    expect(priceOf(await read())).toBe(7)
    expect(priceOf(await read({ latitude: 48.25, city: 'Linz/../x', plate: 'from the caller' }))).toBe(7)
    expect(priceOf(await read({ latitude: null }))).toBe(7)
    const defaults = '/v1/Bad%20Ischl?latitude=51.5072&plate=P%200'
    const body = '{"lat": 51.5072, "at": "}{", "plate": "P 0"}'
    expect(seen.map(({ url, body }) => ({ url, body }))).toEqual([
      { url: defaults, body },
      {
        url: '/v1/Linz%2F..%2Fx?latitude=48.25&plate=P%200',
        body: '{"lat": 48.25, "at": "Linz/../x", "plate": "P 0"}',
      },
      { url: defaults, body },
    ])
  })

  it('has no default that chooses the host or leaves the path, nor one that is not complete', async () => {
    const base = {
      project_id: setup.service.projectId,
      method: 'POST',
      request_content_type: 'JSON',
      response_content_type: 'JSON',
      response_selector: '.',
    }
    const local = `http://127.0.0.1:${port}`
    const noHost = 'url: the host cannot contain a placeholder'
    for (const [members, issue] of [
      [{ url: 'https://{$host || example.com}/x' }, noHost],
      [{ url: 'http://{$host || 169.254.169.254}/latest' }, noHost],
      [{ url: 'http://127.0.0.1{$more || 0}/x' }, noHost],
      [{ url: 'https://{$user || ann}@example.com/x' }, 'url: a URL with user name or password is not allowed'],
      [{ url: 'http://192.168.0.1/{$x || a}' }, /^url: /],
      [
        { url: `${local}/a/{$x || ..}` },
        'url: with the defaults of the placeholders: the values of the placeholders would change the path',
      ],
      [{ url: `${local}/a?x={$x | 1}` }, 'url: the placeholder `{$x`: expected `||`'],
      [
        { url: local, request_payload: '{"a": "{$x || 1"}' },
        'request_payload: the placeholder `{$x`: expected `}` after the default',
      ],
      [{ url: local, headers: { 'X-Tag': '{$x || 1}' } }, 'headers.X-Tag: a header cannot contain a placeholder'],
    ] as const) {
      const refused = await setup.service.configure('POST', 'external-data-resolvers', {
        name: 'refused-default',
        ...base,
        ...members,
      })
      expect(refused.status, JSON.stringify(members)).toBe(422)
      const issues = refused.body.errors as string[]
      expect(issues).toHaveLength(1)
      if (typeof issue === 'string') expect(issues).toEqual([issue])
      else expect(issues[0]).toMatch(issue)
    }
    expect(seen).toEqual([])
  })

  it('is not requested if a placeholder has no value, or one that would change the address', async () => {
    const read = await carWith({ url: `http://127.0.0.1:${port}/users/{$id}/{$user}` })
    const warned = async (params: object): Promise<string[] | undefined> => (await read(params)).warnings
    expect(await warned({})).toEqual([expect.stringMatching(/there is no scalar value for `\{\$user\}`$/)])
    expect(await warned({ user: '..' })).toEqual([expect.stringMatching(/would change the path$/)])
    expect(seen).toEqual([])
    expect(await warned({ user: '../../admin?x#y' })).toBeUndefined()
    expect(seen[0]?.url).toMatch(/^\/users\/gid[^/]*\/\.\.%2F\.\.%2Fadmin%3Fx%23y$/)
  })

  it('is requested after the graph was read: captures continue in the meantime', async () => {
    const read = await carWith({})
    let captured = 0
    answering = (response, one) => {
      void setup
        .capture('nodes', { nodes: [{ type: 'Other', external_id: 'x', properties: [{ type: 'a', value: 1 }] }] })
        .then(({ status }) => {
          captured = status
          json({ price: 8 })(response, one)
        })
    }
    expect(priceOf(await read())).toBe(8)
    expect(captured).toBe(200)
  })

  it('is requested with the newest configuration, by its name or its id', async () => {
    const read = await carWith({})
    const name = `price-${made}`
    expect(priceOf(await read())).toBe(7)
    const { body } = await setup.service.configure(
      'GET',
      `external-data-resolvers/${name}?project_id=${setup.service.projectId}`,
    )
    const path = `external-data-resolvers/${String(body.id)}`
    expect((await setup.service.configure('PUT', path, { response_selector: '.' })).status).toBe(200)
    expect(priceOf(await read())).toEqual({ price: 7 })
    expect((await setup.service.configure('DELETE', path)).status).toBe(200)
    await fails(read, 'the project has no resolver with this name')
  })

  it('is requested with the stored header values, which no response shows and an empty value keeps', async () => {
    const read = await carWith({
      headers: { Authorization: `Bearer ${SECRET}`, 'X-Keys': ['one-secret', 'two-secret'] },
    })
    const { projectId } = setup.service
    const byName = `external-data-resolvers/price-${made}?project_id=${projectId}`
    const found = await setup.service.configure('GET', byName)
    const path = `external-data-resolvers/${String(found.body.id)}`
    const sent = async (): Promise<unknown[]> => {
      seen = []
      await read()
      return [seen[0]?.headers.authorization, seen[0]?.headers['x-keys']]
    }
    const masked = { Authorization: '', 'X-Keys': ['', ''] }
    expect(found.body.headers).toEqual(masked)
    expect(await sent()).toEqual([`Bearer ${SECRET}`, 'one-secret, two-secret'])

    const put = (headers: object, more: object = {}) => setup.service.configure('PUT', path, { headers, ...more })
    // The document is sent back as read, with another selector; neither changes a secret value.
    expect((await put(masked)).headers.get('etag')).toBe(found.headers.get('etag'))
    expect((await put({ Authorization: [''], 'X-Keys': '' })).headers.get('etag')).toBe(found.headers.get('etag'))
    expect((await put(masked, { description: 'changed' })).status).toBe(200)
    expect(await sent()).toEqual([`Bearer ${SECRET}`, 'one-secret, two-secret'])
    expect((await put({ 'X-Keys': ['', ''], Authorization: 'Bearer anew-secret' })).status).toBe(200)
    expect(await sent()).toEqual(['Bearer anew-secret', 'one-secret, two-secret'])

    const refused = async (headers: object, more: object = {}) => (await put(headers, more)).body.errors
    expect(await refused({ 'X-Other': '' })).toEqual([
      'headers.X-Other: expected a value, found an empty string, and no value is stored',
    ])
    expect(await refused({ 'X-Keys': ['', 'x'] })).toHaveLength(1)
    const elsewhere = { url: `http://127.0.0.1:${port}/elsewhere` }
    expect(await refused(masked, elsewhere)).toEqual([
      'headers.Authorization: required again with another `url`',
      'headers.X-Keys: required again with another `url`',
    ])
    expect(await sent()).toEqual(['Bearer anew-secret', 'one-secret, two-secret'])

    const listed = await setup.service.configure(
      'GET',
      `external-data-resolvers?project_id=${projectId}&full_fetch=true`,
    )
    const past = await setup.service.configure('GET', `${path}?version=1`)
    for (const { status, text } of [listed, past, await setup.service.configure('GET', path)]) {
      expect([status, /-secret|Bearer/.test(text)]).toEqual([200, false])
    }
    expect((await put({})).status).toBe(200)
    expect(await sent()).toEqual([undefined, undefined])
  })

  it('is requested with a limited concurrency, and a limited number per execution', async () => {
    const read = await carWith({ url: `http://127.0.0.1:${port}/{$external_id}` }, { cars: 24 })
    let running = 0
    let mostRunning = 0
    answering = (response, one) => {
      running += 1
      mostRunning = Math.max(mostRunning, running)
      setTimeout(() => {
        // Before the answer, after which the next request comes.
        running -= 1
        json({ price: one.url })(response, one)
      }, 10)
    }
    const { data, warnings } = await read()
    const prices = (data as unknown as { nodes: Record<string, unknown> }[]).map(
      ({ nodes }) => nodes['car.property.price'],
    )
    expect(prices.filter((price) => price !== null)).toHaveLength(20)
    expect(new Set(prices).size).toBe(21)
    expect(warnings).toEqual([expect.stringMatching(/: the execution reached its number of calls$/)])
    expect(seen).toHaveLength(20)
    expect(mostRunning).toBeLessThanOrEqual(4)
  })
})

describe('if the resolver fails, the row stays, its value is null and a warning gives the reason', () => {
  const cases: readonly (readonly [name: string, reason: string, Answering])[] = [
    [
      'a status',
      'it answered with the status 503',
      (r) => r.writeHead(503, { 'content-type': 'application/json' }).end('{"price":1}'),
    ],
    ['a redirect', 'it answered with the status 302', (r) => r.writeHead(302, { location: '/elsewhere' }).end()],
    [
      'another content type',
      'its response does not have a JSON content type',
      (r) => r.writeHead(200, { 'content-type': 'text/html' }).end('{"price":1}'),
    ],
    ['no content type', 'its response does not have a JSON content type', (r) => r.writeHead(200).end('{"price":1}')],
    [
      'another character set',
      'its response does not have a JSON content type',
      (r) => r.writeHead(200, { 'content-type': 'application/json; charset=utf-16' }).end('{"price":1}'),
    ],
    [
      'a lie about its content',
      'its response is not valid JSON, has a duplicate member or is nested too deeply',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(`<html>${SECRET}`),
    ],
    [
      'two members of one name',
      'its response is not valid JSON, has a duplicate member or is nested too deeply',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{"price":1,"price":2}'),
    ],
    [
      'deep nesting',
      'its response is not valid JSON, has a duplicate member or is nested too deeply',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(`${'['.repeat(900)}${']'.repeat(900)}`),
    ],
    [
      'bytes that are no text',
      'its response is not UTF-8',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x22, 0xff, 0x22])),
    ],
    [
      'nothing',
      'its response is not valid JSON, has a duplicate member or is nested too deeply',
      (r) => r.writeHead(204, { 'content-type': 'application/json' }).end(),
    ],
    ['another shape', 'the selector expects `price`, found array', json([1])],
    ['a huge body', 'its response is too large', json({ price: 'x'.repeat(5000) })],
    [
      'a packed body',
      'it could not be reached, or its response was incomplete',
      (r) => r.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('{}'),
    ],
    [
      'an end before it is whole',
      'it could not be reached, or its response was incomplete',
      (r) => {
        r.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        r.write('{"price":1}')
        setTimeout(() => r.destroy(), 20)
      },
    ],
    ['a hang-up', 'it could not be reached, or its response was incomplete', (r) => r.destroy()],
  ]
  it.each(cases)('%s gives null with a reason', async (_, reason, how) => {
    const read = await carWith({})
    answering = how
    await fails(read, reason)
    expect(seen.map(({ url }) => url)).toEqual(['/price'])
  })

  it('a timeout', async () => {
    const own = await startContextService(
      { upstreamAllow: '127.0.0.1', upstreamTimeMs: 3_000 },
      { log: (entry) => log.push(entry) },
    )
    const before = setup
    setup = own
    try {
      const read = await carWith({})
      answering = () => undefined
      await fails(read, 'it did not answer in time')
      expect(seen.map(({ url }) => url)).toEqual(['/price'])
    } finally {
      setup = before
      await own.stop()
    }
  })

  it('a body that continues after its declared length', async () => {
    const read = await carWith({})
    answering = (response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n{"price":1}')
    }
    await fails(read, 'its response is not valid JSON, has a duplicate member or is nested too deeply')
  })

  it('an address that is not allowed is refused when it is stored', async () => {
    for (const host of [
      '[::1]',
      '[::ffff:10.0.0.1]',
      '[::ffff:127.0.0.2]',
      '169.254.169.254',
      '10.1.2.3',
      '2130706434',
      '0x7f.2',
    ]) {
      await expect(carWith({ url: `https://${host}:${port}/price` })).rejects.toThrow(
        /url: the address `.*` is not public/,
      )
    }
    expect(seen).toEqual([])
  })

  it('no server at the address', async () => {
    // An unassigned port: a port that was free a moment ago may be in use now.
    await fails(
      await carWith({ url: 'http://127.0.0.1:1/' }),
      'it could not be reached, or its response was incomplete',
    )
    expect(log.some(({ message }) => message.includes('ECONNREFUSED'))).toBe(true)
  })

  it('an outage is logged at a limited rate, not for every row', async () => {
    const clock = new ManualClock(Date.now())
    const own = await startContextService({ upstreamAllow: '127.0.0.1' }, { clock, log: (entry) => log.push(entry) })
    const before = setup
    setup = own
    try {
      answering = (response) => response.writeHead(500).end(SECRET)
      const read = await carWith({ url: `http://127.0.0.1:${port}/{$external_id}` }, { cars: 5 })
      const logged = () => log.filter(({ message }) => message.includes('supplied no value')).length
      expect((await read()).warnings).toHaveLength(1)
      await read()
      expect([seen.length, logged()]).toEqual([10, 1])
      clock.advance(10_000)
      await read()
      expect([seen.length, logged()]).toEqual([15, 2])
    } finally {
      setup = before
      await own.stop()
    }
  })
})

describe('without an entry in the allow list', () => {
  it('a name that resolves to this machine is not called', async (context) => {
    // The service of a test may call this machine if its graph is on a server there.
    if (graphServers.length > 0) return context.skip()
    // With a range in the list, the address of a name is known only after its lookup.
    const own = await startContextService({ upstreamAllow: '10.0.0.0/8' }, { log: (entry) => log.push(entry) })
    const before = setup
    setup = own
    try {
      await fails(await carWith({ url: `https://localhost:${port}/` }), 'calls to its address are not allowed')
      expect(log.some(({ message }) => message.includes('which is not public'))).toBe(true)
      await expect(carWith({ url: `http://127.0.0.1:${port}/` })).rejects.toThrow(
        'url: the address `127.0.0.1` is not public',
      )
      expect(seen).toEqual([])
    } finally {
      setup = before
      await own.stop()
    }
  })
})

describe('the time limit of an execution', () => {
  it('applies to its resolvers: missing responses are null', async () => {
    const own = await startContextService(
      { upstreamAllow: '127.0.0.1', upstreamTimeMs: 60_000, executeTimeMs: 4_000, resolverParallel: 1 },
      { log: () => undefined },
    )
    const before = setup
    setup = own
    try {
      const read = await carWith({ url: `http://127.0.0.1:${port}/{$external_id}` }, { cars: 8 })
      // The first gets a response and the second never, so that the time limit is reached before all requests are done.
      answering = (response, one) => {
        if (seen.length === 1) json({ price: 1 })(response, one)
      }
      const { data, warnings } = await read()
      expect(data).toHaveLength(8)
      const prices = (data as unknown as { nodes: Record<string, unknown> }[]).map(
        ({ nodes }) => nodes['car.property.price'],
      )
      expect(prices.filter((price) => price === 1)).toHaveLength(1)
      expect(prices.filter((price) => price === null)).toHaveLength(7)
      expect(warnings?.some((one) => one.endsWith('the time limit of the execution was reached'))).toBe(true)
      expect(seen).toHaveLength(2)
    } finally {
      setup = before
      await own.stop()
    }
  })

  it('responses are cached for equal requests as long as configured', async () => {
    const own = await startContextService({ upstreamAllow: '127.0.0.1', resolverCacheMs: 600_000 })
    const before = setup
    setup = own
    try {
      const read = await carWith({ url: `http://127.0.0.1:${port}/{$q}` })
      expect(priceOf(await read({ q: 'a' }))).toBe(7)
      answering = json({ price: 9 })
      expect(priceOf(await read({ q: 'a' }))).toBe(7)
      expect(priceOf(await read({ q: 'b' }))).toBe(9)
      const { projectId } = own.service
      const { body } = await own.service.configure(
        'GET',
        `external-data-resolvers/price-${made}?project_id=${projectId}`,
      )
      await own.service.configure('PUT', `external-data-resolvers/${String(body.id)}`, { headers: { 'X-New': 'a' } })
      expect(priceOf(await read({ q: 'a' }))).toBe(9)
      expect(seen).toHaveLength(3)
    } finally {
      setup = before
      await own.stop()
    }
  })
})

describe('a property that is written through a resolver of a parameter', () => {
  const noteOf = (name: string, values: object) =>
    setup.capture('nodes', {
      nodes: [{ type: 'Note', external_id: name, properties: [{ type: 'any', value: 1 }], ...values }],
    })

  /** A query that writes a note for the application, and reads it back. */
  async function writing(properties: object[], resolver: object = {}): Promise<string> {
    await carWith(resolver)
    return setup.addQuery(
      `writing-${made}`,
      {
        subject: { type: '_Application' },
        condition: {
          cypher: `MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:Car${made}) WHERE $go`,
        },
        allowed_reads: { nodes: ['car.*'] },
        allowed_upserts: { nodes: { node_types: ['Note'] } },
      },
      {
        nodes: ['note.property.price', 'note.property.price.metadata.source', 'note.property.price.metadata.by'],
        upsert_nodes: [{ name: 'note', type: 'Note', external_id: '$id', properties }],
      },
    )
  }
  const price = { type: 'price', external_value: '$resolver' }
  const run = (id: string, more: object = {}) =>
    setup.execute(id, { input_params: { id: `n${made}`, resolver: `price-${made}`, go: true, ...more } })

  it('is resolved once, before the transaction, and has its source', async () => {
    const id = await writing(
      [
        { ...price, metadata: [{ type: 'by', value: 'desk' }] },
        { type: 'plate', value: '$plate' },
      ],
      { url: `http://127.0.0.1:${port}/{$external_id}/{$type}/{$plate}/{$q}` },
    )
    let captured = 0
    answering = (response, one) => {
      void noteOf('meanwhile', {}).then(({ status }) => {
        captured = status
        json({ price: 7.5 })(response, one)
      })
    }
    const { status, body } = await run(id, { plate: 'A/1', q: 'x' })
    expect([status, captured]).toEqual([200, 200])
    expect(body).toEqual({
      data: [
        {
          nodes: {
            'note.property.price': 7.5,
            'note.property.price.metadata.source': `price-${made}`,
            'note.property.price.metadata.by': 'desk',
          },
        },
      ],
    })
    expect(seen.map(({ url }) => url)).toEqual([`/n${made}/Note/A%2F1/x`])
  })

  it('keeps the source in the query', async () => {
    const id = await writing([{ ...price, metadata: [{ type: 'source', value: 'desk' }] }])
    const { body } = await run(id)
    expect(body.data).toMatchObject([{ nodes: { 'note.property.price.metadata.source': 'desk' } }])
  })

  it('is not requested if no row matches', async () => {
    const id = await writing([price])
    expect((await run(id, { go: false })).body).toEqual({ data: [] })
    expect(seen).toEqual([])
  })

  it('writes nothing if it cannot be resolved, and gives the reason', async () => {
    const id = await writing([price])
    const where = 'query.upsert_nodes[0]: property `price`: external data resolver'
    const refused = async (more: object = {}) => {
      const { status, body } = await run(id, more)
      return [status, body.errors ?? body.message]
    }
    expect(await refused({ resolver: 'none' })).toEqual([
      422,
      [`${where} \`none\`: the project has no resolver with this name`],
    ])
    answering = json({ price: { a: 1 } })
    expect(await refused()).toEqual([422, [expect.stringContaining(`${where} \`price-${made}\`: expected`)]])
    answering = json({})
    expect(await refused()).toEqual([422, [expect.stringContaining(`${where} \`price-${made}\`: expected`)]])
    answering = (response) => response.writeHead(500).end(SECRET)
    expect(await refused()).toEqual([
      503,
      `nothing was written: ${where} \`price-${made}\`: it answered with the status 500`,
    ])
    answering = json({ price: 1 })
    const there = await setup.capture('nodes/delete', { nodes: [{ type: 'Note', external_id: `n${made}` }] })
    expect(there.body.results).toEqual([{ id: '' }])
  })
})

describe('a filter over a property of a resolver', () => {
  it('sends no request: a comparison is true for no row, and a test for absence is refused', async () => {
    const filtered = async (filter: object) => {
      await carWith({}, { query: { filter } })
      return setup.execute(`of-${made}`)
    }
    const attribute = 'car.property.price'
    expect((await filtered({ operator: '=', attribute, value: 7 })).body).toEqual({ data: [] })
    expect((await filtered({ operator: 'NOT', operands: [{ operator: '=', attribute, value: 8 }] })).body).toEqual({
      data: [],
    })
    const { status, body } = await filtered({ operator: 'IS NULL', attribute })
    expect([status, body.errors]).toEqual([
      422,
      ['an external data resolver supplies `price`, which a condition cannot read'],
    ])
    expect(seen).toEqual([])
  })
})
