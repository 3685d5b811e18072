import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HttpResponse } from '../../../src/http/route.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { askUntilClosed } from '../../support/keep-alive-client.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const clock = new ManualClock(Date.UTC(2026, 0, 1))
const log: LogEntry[] = []

beforeAll(async () => {
  service = await startService(
    { bodyBytesMax: 2048, inputStringMax: 10, metricsAccess: 'public' },
    { clock, log: (entry) => log.push(entry) },
  )
})

afterAll(() => service?.stop())

const path = '/access/v1/evaluation'
const body = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}
const withKey = () => ({ 'x-svc-clientkey': service.key })
const answer = ({ status, text }: { status: number; text: string }) => [status, text]

describe('bodies', () => {
  it('reports the position of malformed JSON', async () => {
    const { status, body: refused } = await service.send(path, {
      headers: withKey(),
      raw: '{"subject": {"type": "a",}}',
    })
    expect(status).toBe(400)
    expect(refused.message).toBe('Bad Request')
    expect(refused.errors).toHaveLength(1)
    expect((refused.errors as string[])[0]).toMatch(/^body: .*line 1, column 26/)
  })

  it('refuses an empty body, a top-level array and text that is not UTF-8', async () => {
    const raw = (text: string | Uint8Array) =>
      service.send(path, { method: 'POST', headers: { ...withKey(), 'content-type': 'application/json' }, raw: text })
    expect(answer(await raw(''))).toEqual([
      400,
      '{"message":"Bad Request","errors":["body: expected a JSON object, found an empty body"]}',
    ])
    expect(answer(await raw('[]'))).toEqual([
      400,
      '{"message":"Bad Request","errors":["body: expected object, found array"]}',
    ])
    expect(answer(await raw(new Uint8Array([0x22, 0xff, 0x22])))).toEqual([
      400,
      '{"message":"Bad Request","errors":["body: expected UTF-8 text"]}',
    ])
  })

  it('refuses a duplicate member, in decisions and in configuration', async () => {
    const fault = '"errors":["body: malformed JSON at line 1, column 10: the member `a` is given twice"]}'
    const raw = '{"a": 1, "a": 2}'
    expect(answer(await service.send(path, { headers: withKey(), raw }))).toEqual([
      400,
      `{"message":"Bad Request",${fault}`,
    ])
    const headers = { authorization: `Bearer ${service.token}` }
    expect((await service.send('/configs/v1/projects', { headers, raw })).status).toBe(400)
  })

  it('refuses half a surrogate pair, which would make two identifiers equal', async () => {
    const text = JSON.stringify(body).replace('"ann"', '"\\ud800"')
    expect(answer(await service.send(path, { headers: withKey(), raw: text }))).toEqual([
      400,
      '{"message":"Bad Request","errors":["body: expected well-formed Unicode, found a lone surrogate"]}',
    ])
    const whole = JSON.stringify(body).replace('"ann"', '"\\ud83d\\ude97"')
    expect((await service.send(path, { headers: withKey(), raw: whole })).status).toBe(200)
  })

  it('accepts application/json with any parameters but another charset, and no other type', async () => {
    const typed = (type: string) => service.send(path, { headers: { ...withKey(), 'content-type': type }, body })
    expect((await typed('application/json; charset=utf-8')).status).toBe(200)
    expect((await typed('Application/JSON')).status).toBe(200)
    expect((await typed('application/json; profile="x"; charset="UTF-8"; v=1')).status).toBe(200)
    expect((await typed('application/json;charset=iso-8859-1')).status).toBe(400)
    expect((await typed('application/jsonp')).status).toBe(400)
    const refused = '"errors":["content-type: expected application/json, found `text/plain`"]}'
    expect(answer(await typed('text/plain'))).toEqual([400, `{"message":"Bad Request",${refused}`])
    expect((await typed('application/json-patch+json')).status).toBe(400)
    for (const [at, headers] of [
      ['/capture/v1/nodes', withKey()],
      ['/configs/v1/projects', { authorization: `Bearer ${service.token}` }],
    ] as const) {
      const elsewhere = await service.send(at, { headers: { ...headers, 'content-type': 'text/plain' }, body })
      expect(answer(elsewhere)).toEqual([415, `{"message":"Unsupported Media Type",${refused}`])
    }
  })

  it('refuses a compressed body, on every route that takes one', async () => {
    const admin = { authorization: `Bearer ${service.token}` }
    const permissions = ['Authorization', 'Capture', 'CIQ', 'ReadAuthZConfigs', 'EntityMatching', 'ReadDataSchema']
    const { key } = await service.addAgent('packer', permissions)
    const described = (await service.send('/openapi.json')).body.paths as Record<string, Record<string, object>>
    const taking = Object.entries(described).flatMap(([at, operations]) =>
      Object.entries(operations).flatMap(([method, operation]) =>
        'requestBody' in operation && !at.startsWith('/mcp/') ? [[method.toUpperCase(), at] as const] : [],
      ),
    )
    expect(taking.length).toBeGreaterThan(20)
    const raw = gzipSync(JSON.stringify(body))
    for (const [method, at] of taking) {
      const who = /^\/(configs|operations)\//.test(at) ? admin : { 'x-svc-clientkey': key }
      const headers = { ...who, 'content-type': 'application/json', 'content-encoding': 'gzip' }
      const refused = await service.send(at.replace(/\{\w+\}/g, 'x'), { method, headers, raw })
      expect([method, at, ...answer(refused), refused.headers.get('accept-encoding')]).toEqual([
        method,
        at,
        415,
        '{"message":"Unsupported Media Type","errors":["content-encoding: expected none, found `gzip`"]}',
        'identity',
      ])
    }
    const encoded = (encoding: string) =>
      service.send(path, { headers: { ...withKey(), 'content-encoding': encoding }, body })
    for (const encoding of ['br', 'deflate, identity', 'zstd']) expect((await encoded(encoding)).status).toBe(415)
    for (const encoding of ['identity', 'Identity , identity']) expect((await encoded(encoding)).status).toBe(200)
  })

  it('refuses a body without a type', async () => {
    const text = JSON.stringify(body)
    const refused = await rawExchange(
      service.url,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${service.key}\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    )
    expect(refused).toMatch(/^HTTP\/1.1 400 /)
    expect(refused).toContain('"errors":["content-type: expected application/json, found nothing"]')
  })

  it('refuses a body above the limit by its declared length', async () => {
    const large = { ...body, padding: 'x'.repeat(2048) }
    expect(answer(await service.send(path, { headers: withKey(), body: large }))).toEqual([
      413,
      '{"message":"Content Too Large","errors":["body: expected at most 2048 bytes"]}',
    ])
  })

  it('refuses a body above the limit that declares no length, before it ends', async () => {
    const endless = await rawExchange(
      service.url,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${service.key}\r\nX-Request-ID: chunky\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
        `1000\r\n${'x'.repeat(4096)}\r\n`,
    )
    expect(endless).toMatch(/^HTTP\/1.1 413 /)
    expect(endless.toLowerCase()).toContain('x-request-id: chunky')
    expect(endless).toContain('{"message":"Content Too Large","errors":["body: expected at most 2048 bytes"]}')
  })

  it('accepts a chunked body below the limit', async () => {
    const text = JSON.stringify(body)
    const [start, rest] = [text.slice(0, 5), text.slice(5)]
    // RFC 9112, section 7.1.1: extensions are ignored. The runtime refuses those with white space.
    for (const [extension, status] of [
      ['', 200],
      [';a', 200],
      [';a=1;b="c"', 200],
      ['; a=1', 400],
      [';a="b c"', 400],
    ] as const) {
      const extended = await rawExchange(
        service.url,
        `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${service.key}\r\nContent-Type: application/json\r\n` +
          `Transfer-Encoding: chunked\r\n\r\n5${extension}\r\n${start}\r\n${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`,
      )
      expect(extended, extension).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    }
    const whole = await rawExchange(
      service.url,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${service.key}\r\nContent-Type: application/json\r\n` +
        `Transfer-Encoding: chunked\r\n\r\n5\r\n${text.slice(0, 5)}\r\n` +
        `${(text.length - 5).toString(16)}\r\n${text.slice(5)}\r\n0\r\n\r\n`,
    )
    expect(whole).toMatch(/^HTTP\/1.1 200 /)
    expect(whole).toContain('{"decision":false')
  })
})

describe('a string among the input parameters', () => {
  it('has as many characters as the setting allows', async () => {
    const asked = (text: string) =>
      service.send(path, { headers: withKey(), body: { ...body, context: { input_params: { text } } } })
    expect((await asked('x'.repeat(10))).status).toBe(200)
    expect(answer(await asked('x'.repeat(11)))).toEqual([
      422,
      '{"message":"Unprocessable Entity","errors":["context.input_params.text: expected at most 10 characters, found 11"]}',
    ])
  })

  it('is measured at any depth', async () => {
    const asked = (a: unknown) =>
      service.send(path, { headers: withKey(), body: { ...body, context: { input_params: { a } } } })
    const fits = 'x'.repeat(10)
    expect((await asked([1, null, { b: fits, [fits]: [fits] }])).status).toBe(200)
    const refused = (issue: string) => [422, `{"message":"Unprocessable Entity","errors":["${issue}"]}`]
    expect(answer(await asked([0, 0, 0, { b: `${fits}x` }]))).toEqual(
      refused('context.input_params.a[3].b: expected at most 10 characters, found 11'),
    )
    expect(answer(await asked({ b: { [`${fits}x`]: 1 } }))).toEqual(
      refused('context.input_params.a.b: expected names of at most 10 characters, found one of 11'),
    )
  })
})

describe('paths and methods', () => {
  it('returns 404 for an unknown path', async () => {
    expect(answer(await service.send('/nowhere'))).toEqual([404, '{"message":"Not Found"}'])
    expect((await service.send('/access/v1/evaluation/x', { headers: withKey(), body })).status).toBe(404)
    expect((await service.send('/%zz')).status).toBe(404)
    expect((await service.send('/health%2F')).status).toBe(404)
    expect((await service.send('/%61ccess%2fv1%2fpolicies')).status).toBe(404)
  })

  it('lists the methods of a path', async () => {
    const refused = await service.send(path, { method: 'PUT', headers: withKey(), body })
    expect(answer(refused)).toEqual([405, '{"message":"Method Not Allowed"}'])
    expect(refused.headers.get('allow')).toBe('OPTIONS, POST')
    expect((await service.send(path)).status).toBe(405)
    const options = await service.send(path, { method: 'OPTIONS' })
    expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', 'OPTIONS, POST'])
  })

  it('responds to HEAD without a body', async () => {
    const head = await service.send('/health', { method: 'HEAD' })
    expect(answer(head)).toEqual([200, ''])
    expect(head.headers.get('content-length')).toBe(String('{"status":"ok"}'.length))
    const refused = await service.send('/configs/v1/projects', { method: 'HEAD' })
    expect([refused.status, refused.text]).toEqual([401, ''])
  })

  it('reports liveness and readiness, without credentials', async () => {
    expect(answer(await service.send('/health'))).toEqual([200, '{"status":"ok"}'])
    expect(answer(await service.send('/ready/'))).toEqual([200, '{"status":"ready"}'])
  })
})

describe('a request target that another parser may read as another path', () => {
  const get = (target: string, host = 'Host: x\r\n') =>
    rawExchange(service.url, `GET ${target} HTTP/1.1\r\n${host}X-Request-ID: odd\r\nConnection: close\r\n\r\n`)
  const refusal =
    '{"message":"Bad Request","errors":["path: expected no dot segment and no backslash, also none that is percent-encoded"]}'

  it.each([
    '/./health',
    '/../health',
    '/health/.',
    '/x/..',
    '/x/../health',
    '/x/../',
    '/x/../health/',
    '/x/%2e%2e/health',
    '/x/.%2E/health',
    '/%2e/health',
    '/x/..%2fhealth',
    '/x\\..\\health',
    '/\\health',
    '/openapi.json\\',
    '/x%5C..%5chealth',
    '/access/v1/../../health',
    '/configs/v1/projects/%2e%2e/projects',
    '/configs/v1/projects/a%5cb',
    'http://x/a/../health',
    `${'/a'.repeat(16)}${'/..'.repeat(16)}/health`,
    `//x/../../health`,
  ])('%s is refused', async (target) => {
    const answered = await get(target)
    expect(answered).toMatch(/^HTTP\/1\.1 400 /)
    expect(answered.toLowerCase()).toContain('x-request-id: odd')
    expect(answered).toContain(refusal)
  })

  it.each(['/hea%6cth', '/%63onfigs/v1/projects', '/configs/v%31/projects', '/access%2Dx', '/configs/v1/%70rojects/x'])(
    '%s is refused, because a fixed part has one spelling',
    async (target) => {
      const answered = await get(target)
      expect(answered).toMatch(/^HTTP\/1\.1 404 /)
      expect(answered).toContain('of a fixed part as they are, found a percent-encoded one')
    },
  )

  it('is refused even if it matches no route', async () => {
    expect(await get('//x/../health')).toMatch(/^HTTP\/1\.1 40[04] /)
    expect(await get('/health//')).toMatch(/^HTTP\/1\.1 404 /)
    expect(await get('//health')).toMatch(/^HTTP\/1\.1 404 /)
  })

  it.each(['/health', '/health/', '/health?x=/../y', '/health?x\\y', 'http://x/health'])(
    '%s is accepted',
    async (target) => {
      expect(await get(target)).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"status":"ok"}/)
    },
  )

  it('matches every described path, with and without a trailing slash', async () => {
    const described = (await service.send('/openapi.json')).body.paths as Record<string, object>
    expect(Object.keys(described).length).toBeGreaterThan(20)
    for (const at of Object.keys(described)) {
      for (const end of ['', '/']) {
        const sent = await service.send(`${at.replace(/\{\w+\}/g, 'a..b')}${end}`, { method: 'OPTIONS' })
        expect([at, end, sent.status]).toEqual([at, end, 204])
      }
    }
  })

  it('and a repeated host, equal or different, are refused', async () => {
    for (const [first, second] of [
      ['x', 'y'],
      ['x', 'x'],
    ]) {
      for (const target of ['/health', '/configs/v1/projects/x']) {
        const answered = await get(target, `Host: ${first}\r\nHost: ${second}\r\n`)
        expect(answered).toMatch(/^HTTP\/1\.1 400 /)
        expect(answered).toContain('"errors":["host: expected one host, found several"]')
      }
    }
    expect(await get('/health', '')).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('trailers after a chunked body', () => {
  const chunked = (id: string, ends: readonly string[]) =>
    rawExchange(
      service.url,
      [
        `POST /capture/v1/nodes HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${captureKey}\r\nContent-Type: application/json\r\n`,
        `Transfer-Encoding: chunked\r\n\r\n`,
        ...chunks(JSON.stringify({ nodes: [{ external_id: id, type: 'Trailed' }] })),
        ends.join(''),
      ].join(''),
      'to the end',
    )
  const chunks = (text: string) => [`${text.length.toString(16)}\r\n${text}\r\n`]
  let captureKey = ''

  beforeAll(async () => {
    captureKey = (await service.addAgent('trailing', ['Capture', 'Authorization'])).key
  })

  it.each([
    ['a field', 'X-Sum: 1\r\n'],
    ['what looks like a request', 'GET /health HTTP/1.1\r\nHost: x\r\n'],
  ])('%s: one error response, nothing executed, and the connection closed', async (what, trailer) => {
    const id = `never ${what}`
    const answered = await chunked(id, ['0\r\n', trailer, '\r\n'])
    expect(answered.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Trailed' },
      actions: ['be'],
      resource: { type: 'Trailed' },
      condition: { cypher: 'MATCH (subject:Trailed), (resource:Trailed)' },
    })
    await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      name: 'trailed',
      policy,
      status: 'ACTIVE',
    })
    const is = async (of: string) => {
      const { body: decided } = await service.send(path, {
        headers: withKey(),
        body: { subject: { type: 'Trailed', id: of }, action: { name: 'be' }, resource: { type: 'Trailed', id: of } },
      })
      return decided.decision
    }
    expect(await is(id)).toBe(false)
    const { status } = await service.send('/capture/v1/nodes', {
      headers: { 'x-svc-clientkey': captureKey },
      body: { nodes: [{ external_id: `sent ${what}`, type: 'Trailed' }] },
    })
    expect([status, await is(`sent ${what}`)]).toEqual([200, true])
  })
})

describe('a head of more than 16 KiB', () => {
  const long = 'x'.repeat(16_384)
  it.each([
    ['path', `GET /${long} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['query', `GET /health?${long} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['header', `GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ${long}\r\n\r\n`],
    ['number of headers', `GET /health HTTP/1.1\r\nHost: x\r\n${'X-Many: x\r\n'.repeat(300)}\r\n`],
  ])('by its %s is refused by the runtime, and the next request is served', async (_, head) => {
    expect(await rawExchange(service.url, head)).toMatch(/^HTTP\/1\.1 431 /)
    expect((await service.send('/health')).status).toBe(200)
  })
})

describe('request identifiers', () => {
  it.each([
    ['a decision', path, 200],
    ['a path that does not exist', '/nowhere', 404],
  ])('are returned on %s', async (_, at, status) => {
    const sent = await service.send(at, { headers: { ...withKey(), 'x-request-id': 'my-id' }, body })
    expect([sent.status, sent.headers.get('x-request-id')]).toEqual([status, 'my-id'])
    const made = await service.send(at, { headers: withKey(), body })
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/)
  })

  const echoed = async (id: string) => {
    const answered = await rawExchange(
      service.url,
      Buffer.from(`GET /health HTTP/1.1\r\nHost: x\r\nX-Request-ID: ${id}\r\n\r\n`, 'latin1'),
    )
    return /x-request-id: ([^\r]*)\r\n/i.exec(answered)?.[1]
  }

  it.each(['a b, c; "d" <e> [1]', 'x'.repeat(256), 'caf\xc3\xa9', 'caf\xe9 \x80'])('are returned as %j', async (id) => {
    expect(await echoed(id)).toBe(id)
  })

  it.each(['', 'x'.repeat(257), 'a\tb'])('are replaced when they are %j', async (id) => {
    expect(await echoed(id)).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/)
  })

  it('are returned on every error response', async () => {
    const headers = { 'x-request-id': 'my-id' }
    const refused = [
      await service.send(path, { headers, body }),
      await service.send(path, { headers, method: 'DELETE' }),
      await service.send(path, { headers: { ...headers, ...withKey() }, raw: '{' }),
      await service.send(path, { headers: { ...headers, ...withKey() }, body: { x: 'x'.repeat(3000) } }),
      await service.send(path, { headers: { ...headers, ...withKey(), 'content-type': 'text/plain' }, body }),
      await service.send('/configs/v1/projects', { headers }),
    ]
    expect(refused.map((one) => [one.status, one.headers.get('x-request-id')])).toEqual(
      [401, 405, 400, 413, 400, 401].map((status) => [status, 'my-id']),
    )
  })
})

describe('service accounts', () => {
  const list = (authorization?: string) =>
    service.send(`/configs/v1/projects?organization_id=${service.app.organizationId}`, {
      headers: authorization === undefined ? {} : { authorization },
    })

  it('authenticate with a bearer token', async () => {
    expect((await list(`Bearer ${service.token}`)).status).toBe(200)
    expect((await list(`bearer ${service.token}`)).status).toBe(200)
    for (const end of ['=', '==']) expect((await list(`Bearer ${service.token}${end}`)).status).toBe(401)
    expect((await list(`Bearer ${service.token.replace('.', '=.')}`)).status).toBe(401)
  })

  it('are refused without a token, with a wrong one, and with an agent key', async () => {
    expect(answer(await list())).toEqual([
      401,
      '{"message":"a service account token is required in the header Authorization"}',
    ])
    const unknown = '{"message":"the service account token is invalid or expired"}'
    expect(answer(await list('Bearer nonsense'))).toEqual([401, unknown])
    const challenge = (await list('Bearer nonsense')).headers.get('www-authenticate')
    expect(challenge).toBe('Bearer error="invalid_token", error_description="the token is invalid or expired"')
    expect((await list()).headers.get('www-authenticate')).toBe('Bearer')
    expect(answer(await list(`Bearer ${service.key}`))).toEqual([401, unknown])
    expect(answer(await list(`Bearer ${service.token.slice(0, -4)}AAAA`))).toEqual([401, unknown])
  })

  it('cannot decide or capture', async () => {
    const headers = { authorization: `Bearer ${service.token}` }
    expect((await service.send(path, { headers, body })).status).toBe(401)
  })
})

describe('expiry', () => {
  it('ends a key at its expire_time and a token at its exp', async () => {
    const made = await service.configure('POST', 'application-agent-credentials', {
      application_agent_id: service.agentId,
      expire_time: new Date(clock.now() + 60_000).toISOString(),
    })
    const headers = { 'x-svc-clientkey': made.body.api_key as string }
    expect((await service.send(path, { headers, body })).status).toBe(200)
    clock.advance(59_999)
    expect((await service.send(path, { headers, body })).status).toBe(200)
    clock.advance(1)
    const expired = await service.send(path, { headers, body })
    expect(answer(expired)).toEqual([401, '{"message":"the application agent key is unknown or expired"}'])

    const list = `/configs/v1/projects?organization_id=${service.app.organizationId}`
    const token = { authorization: `Bearer ${service.token}` }
    expect((await service.send(list, { headers: token })).status).toBe(200)
    clock.advance(3_600_000)
    expect((await service.send(list, { headers: token })).status).toBe(401)
    clock.advance(-3_660_000)
  })
})

describe('configuration over HTTP', () => {
  it('reports where a policy’s Cypher is wrong: line, column and a caret', async () => {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject:Person)\n-[:OWNS->(resource:Car)' },
    })
    const refused = await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      name: 'broken',
      policy,
      status: 'ACTIVE',
    })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toBe('Unprocessable Entity')
    const [error] = refused.body.errors as string[]
    expect(error).toMatch(/^policy\.condition\.cypher: /)
    expect(error).toMatch(/line 2, column 8/)
    expect(error).toMatch(/\n\s*-\[:OWNS->\(resource:Car\)\n {7}\^/)
  })

  it('creates, reads by id and by name, updates by ETag, lists and deletes', async () => {
    const body = { project_id: service.projectId, name: 'app-2', display_name: 'Second' }
    const created = await service.configure('POST', 'applications', body)
    expect(created.status).toBe(201)
    const etag = created.headers.get('etag') as string
    expect(etag).toMatch(/^".+"$/)
    const { id } = created.body
    const read = await service.configure('GET', `applications/${id}`)
    expect([read.status, read.body.name, read.headers.get('etag')]).toEqual([200, 'app-2', etag])
    const named = await service.configure('GET', `applications/app-2?project_id=${service.projectId}`)
    expect(named.body).toEqual(read.body)
    expect((await service.configure('POST', 'applications', body)).status).toBe(409)

    const put = (ifMatch: string) =>
      service.send(`/configs/v1/applications/${id}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${service.token}`, 'if-match': ifMatch },
        body: { display_name: 'Changed' },
      })
    expect((await put(etag)).status).toBe(200)
    expect(answer(await put(etag))).toEqual([412, '{"message":"Precondition Failed"}'])
    const listed = await service.configure('GET', `applications?project_id=${service.projectId}&search=Changed`)
    expect((listed.body.data as { id: string }[]).map((one) => one.id)).toEqual([id])
    expect((await service.configure('DELETE', `applications/${id}`)).body).toEqual({ id })
    expect((await service.configure('GET', `applications/${id}`)).status).toBe(404)
  })
})

describe('a body that does not arrive', () => {
  const half = ({ key }: TestService) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${key}\r\nX-Request-ID: slow\r\n` +
    'Content-Type: application/json\r\n'

  it.each([
    ['of a declared length', 'Content-Length: 100\r\n\r\n{"subject"'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"sub\r\n'],
  ])('%s is aborted, and its connection closed', async (_, sent) => {
    // Only here: on a slow machine the bodies of the other tests could be too late.
    const impatient = await startService({ bodyTimeMs: 500 })
    try {
      const answered = await rawExchange(impatient.url, half(impatient) + sent, 'to the end')
      expect(answered).toMatch(/^HTTP\/1.1 408 /)
      expect(answered.toLowerCase()).toContain('x-request-id: slow')
      expect(answered).toContain('"errors":["the body was not received within the time limit"]')
    } finally {
      await impatient.stop()
    }
  })

  it('and whose caller disconnects is not logged as a failure', async () => {
    const refused = async () => {
      const { text } = await service.send('/metrics')
      const line = /^http_server_request_duration_seconds_count\{[^}]*"\/access\/v1\/evaluation",[^}]*"400"\} (\d+)$/m
      return Number(line.exec(text)?.[1] ?? 0)
    }
    const before = await refused()
    log.length = 0
    const { hostname, port } = new URL(service.url)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${half(service)}Content-Length: 100\r\n\r\n{`, () => setTimeout(() => socket.destroy(), 50))
      })
      socket.on('close', () => resolve())
    })
    // The service notices the end of a connection some time after it.
    await expect.poll(refused).toBe(before + 1)
    expect((await service.send(path, { headers: withKey(), body })).status).toBe(200)
    expect(log).toEqual([])
  })

  it('does not delay a stop', async () => {
    let refused: unknown = null
    const begun = Promise.withResolvers<void>()
    const front = startHttpServer(
      async (request) => {
        begun.resolve()
        await Promise.resolve(request.body('')).catch((fault: unknown) => {
          refused = fault
        })
        return { status: 503, headers: {}, body: 'given up' }
      },
      {
        host: '127.0.0.1',
        port: 0,
        bodyBytesMax: 100,
        bodyTotalBytesMax: 1 << 20,
        bodyCallerBytesMax: 1 << 20,
        bodyTimeMs: 60_000,
        drainMs: 60_000,
        routes: [],
        idleTimeS: 75,
        tls: null,
      },
    )
    const sent = rawExchange(front.url, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf', 'to the end')
    await begun.promise
    await front.stop()
    expect(await sent).toContain('given up')
    expect(refused).toMatchObject({ error: { kind: 'unavailable' } })
  })
})

describe('a stop', () => {
  it('lets a running request finish, refuses new connections and drops idle ones', async () => {
    let release: (response: HttpResponse) => void = () => {}
    let started: () => void = () => {}
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const front = startHttpServer(
      (request) => {
        if (request.path === '/quick') return Promise.resolve({ status: 200, headers: {}, body: 'quick' })
        started()
        return new Promise((resolve) => {
          release = resolve
        })
      },
      {
        host: '127.0.0.1',
        port: 0,
        bodyBytesMax: 100,
        bodyTotalBytesMax: 1 << 20,
        bodyCallerBytesMax: 1 << 20,
        bodyTimeMs: 60_000,
        drainMs: 60_000,
        routes: [],
        idleTimeS: 75,
        tls: null,
      },
    )
    // Leaves an idle connection open.
    expect(await (await fetch(`${front.url}/quick`)).text()).toBe('quick')
    const slow = fetch(`${front.url}/slow`)
    await running
    const stopped = front.stop()
    await refusesSoon(front.url)
    release({ status: 200, headers: {}, body: 'finished' })
    const answered = await slow
    expect([answered.status, await answered.text()]).toEqual([200, 'finished'])
    await stopped
    await expect(fetch(front.url)).rejects.toThrow()
  })

  it.each([1, 2, 3])(
    'responds to every request of 32 keep-alive connections, the last one with `connection: close` (%i)',
    async () => {
      const front = startHttpServer((request) => ({ status: 200, headers: {}, body: `answer to ${request.query}` }), {
        host: '127.0.0.1',
        port: 0,
        bodyBytesMax: 100,
        bodyTotalBytesMax: 1 << 20,
        bodyCallerBytesMax: 1 << 20,
        bodyTimeMs: 5000,
        drainMs: 5000,
        routes: [],
        idleTimeS: 75,
        tls: null,
      })
      const { hostname, port } = new URL(front.url)
      const kept = Array.from({ length: 32 }, (_, number) =>
        askUntilClosed(hostname, Number(port), (sent) => ({
          target: `/?${number}-${sent}`,
          answer: `answer to ${number}-${sent}`,
        })),
      )
      await Promise.all(kept.map(({ begun }) => begun))
      await front.stop()
      const ends = await Promise.all(kept.map(({ ended }) => ended))
      expect(ends).toEqual(ends.map(() => ({ unanswered: 0, wrong: 0, fault: null, lastSaysClose: true })))
    },
  )

  it('writes a response completely to a slow reader before it closes the connection', async () => {
    const length = 20_000_000
    const front = startHttpServer(() => ({ status: 200, headers: {}, body: 'x'.repeat(length) }), {
      host: '127.0.0.1',
      port: 0,
      bodyBytesMax: 100,
      bodyTotalBytesMax: 1 << 20,
      bodyCallerBytesMax: 1 << 20,
      bodyTimeMs: 5000,
      drainMs: 20_000,
      routes: [],
      idleTimeS: 75,
      tls: null,
    })
    const { hostname, port } = new URL(front.url)
    const socket = connect(Number(port), hostname)
    const begun = Promise.withResolvers<void>()
    let received = 0
    socket.on('data', (data) => {
      if (received === 0) {
        socket.pause()
        begun.resolve()
      }
      received += data.length
    })
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await begun.promise
    const stopped = front.stop()
    await Bun.sleep(300)
    socket.resume()
    await closed
    await stopped
    expect(received).toBeGreaterThan(length)
  })

  it('does not wait for a request longer than the drain time', async () => {
    const begun = Promise.withResolvers<void>()
    const front = startHttpServer(
      () => {
        begun.resolve()
        return new Promise(() => {})
      },
      {
        host: '127.0.0.1',
        port: 0,
        bodyBytesMax: 100,
        bodyTotalBytesMax: 1 << 20,
        bodyCallerBytesMax: 1 << 20,
        bodyTimeMs: 5000,
        drainMs: 20,
        routes: [],
        idleTimeS: 75,
        tls: null,
      },
    )
    const hanging = fetch(front.url).catch((error: unknown) => error)
    await begun.promise
    await front.stop()
    expect(await hanging).toBeInstanceOf(Error)
  })
})

/** Resolves when a new connection is refused. */
async function refusesSoon(url: string): Promise<void> {
  for (;;) {
    const asked = fetch(`${url}/quick`, { headers: { connection: 'close' } })
    if (await asked.then(() => false).catch(() => true)) return
    await Bun.sleep(20)
  }
}

/** Sends bytes and reads until the response is complete, or until the server closes the connection. */
function rawExchange(url: string, text: string | Uint8Array, until?: 'to the end'): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    let received = ''
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.on('data', (data) => {
      received += data.toString('latin1')
      const length = /content-length: (\d+)/i.exec(received)?.[1]
      const start = received.indexOf('\r\n\r\n') + 4
      if (until === undefined && length !== undefined && start > 3 && received.length >= start + Number(length)) {
        socket.destroy()
        resolve(received)
      }
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}
