import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { LogEntry } from '../../../src/ops/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

describe('CORS', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ corsOrigins: 'https://app.example.org,http://localhost:3000' })
  })
  afterAll(() => service?.stop())

  const preflight = (origin: string) =>
    service.send('/access/v1/evaluation', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-svc-clientkey,content-type',
      },
    })

  it('allows a configured origin', async () => {
    const { status, headers } = await preflight('https://app.example.org')
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example.org')
    expect(headers.get('access-control-allow-methods')).toBe('OPTIONS, POST')
    expect(headers.get('access-control-allow-headers')).toContain('x-svc-clientkey')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    expect(headers.get('vary')).toBe('Origin')
    const origin = 'http://localhost:3000'
    const asked = await service.send('/access/v1/evaluation', {
      headers: { origin, 'x-svc-clientkey': service.key },
      body: question,
    })
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([200, origin])
    expect(asked.headers.get('access-control-expose-headers')).toContain('ETag')
    const refused = await service.send('/nowhere', { headers: { origin } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, origin])
  })

  it('gives other origins no headers, and sets Vary for caches', async () => {
    for (const origin of ['https://evil.example', 'null', 'https://app.example.org.evil.example']) {
      const { status, headers } = await preflight(origin)
      expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([204, null, 'Origin'])
    }
    expect((await service.send('/health')).headers.get('vary')).toBe('Origin')
  })
})

describe('without a setting', () => {
  let service: TestService
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const log: LogEntry[] = []
  beforeAll(async () => {
    service = await startService(
      { agentRequestsPerS: 2, agentBurst: 3, accessLog: 'on' },
      { clock, log: (entry) => log.push(entry) },
    )
  })
  afterAll(() => service?.stop())

  it('no other origin is allowed', async () => {
    const { headers } = await service.send('/health', { headers: { origin: 'https://app.example.org' } })
    expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([null, null])
  })

  it('an agent is limited to its rate, and gets Retry-After', async () => {
    const { key } = await service.addAgent('busy', ['Authorization'])
    const ask = () => service.send('/access/v1/evaluation', { headers: { 'x-svc-clientkey': key }, body: question })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 200])
    const refused = await ask()
    expect([refused.status, refused.text]).toEqual([
      429,
      '{"message":"Too Many Requests","errors":["expected at most 2 requests per second from one agent"]}',
    ])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit')).toBe('"agent";r=0;t=2')
    expect(refused.headers.get('ratelimit-policy')).toBe('"agent";q=2;w=1')
    // Another agent has its own limit.
    expect((await service.ask('/access/v1/evaluation', question)).status).toBe(200)
    clock.advance(500)
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(429)
    clock.advance(60_000)
    expect([(await ask()).status, (await ask()).status, (await ask()).status, (await ask()).status]).toEqual([
      200, 200, 200, 429,
    ])
  })

  it('requests are logged by their route, if configured', async () => {
    log.length = 0
    const id = service.projectId
    await service.send(`/configs/v1/projects/${id}`, {
      headers: { authorization: `Bearer ${service.token}`, 'x-request-id': 'told' },
    })
    await service.send('/a/secret/path')
    expect(log).toMatchObject([
      { message: 'answered', requestId: 'told', method: 'GET', route: '/configs/v1/projects/{id}', status: 200 },
      { message: 'answered', route: null, status: 404 },
    ])
    expect(JSON.stringify(log)).not.toMatch(/secret|gid:/)
  })
})

describe('metrics over HTTP', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ metricsAccess: 'public', descriptionAccess: 'account' })
  })
  afterAll(() => service?.stop())

  it('count decisions, captures and the time of requests by route', async () => {
    await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    const nodes = [
      { type: 'Person', external_id: 'ann' },
      { type: 'Car', external_id: 'c1' },
    ]
    await service.ask('/capture/v1/nodes', { nodes })
    const relationships = [{ source: nodes[0], type: 'OWNS', target: nodes[1] }]
    await service.ask('/capture/v1/relationships', { relationships })
    await service.ask('/access/v1/evaluation', question)
    await service.ask('/access/v1/evaluation', { ...question, resource: { type: 'Car', id: 'c2' } })
    await service.ask('/access/v1/search/subject', { ...question, subject: { type: 'Person' } })
    await service.send('/nowhere')
    const { headers, text } = await service.send('/metrics')
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    for (const line of [
      'verdigraph_decisions_total{decision="permit"} 1',
      'verdigraph_decisions_total{decision="deny"} 1',
      'verdigraph_searches_total 1',
      'verdigraph_capture_items_total{operation="upsertNodes"} 2',
      'verdigraph_capture_items_total{operation="upsertRelationships"} 1',
      'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/access/v1/evaluation",http_response_status_code="200"} 2',
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="none",http_response_status_code="404"} 1',
    ]) {
      expect(text.split('\n')).toContain(line)
    }
    const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
    expect(value('verdigraph_store_bytes')).toBeGreaterThan(4096)
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(2 ** 20)
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(0)
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\n]*",?)+\})? [\d.e+-]+)$/)
    }
  })

  it('and the description are public or not, as configured', async () => {
    expect((await service.send('/openapi.json')).status).toBe(401)
    const authorization = `Bearer ${service.token}`
    expect((await service.send('/openapi.json', { headers: { authorization } })).status).toBe(200)
    const closed = await startService({ metricsAccess: 'off', descriptionAccess: 'off' })
    try {
      for (const path of ['/metrics', '/docs', '/openapi.json']) expect((await closed.send(path)).status).toBe(404)
    } finally {
      await closed.stop()
    }
  })
})

const openssl = Bun.which('openssl')
describe.skipIf(openssl === null)('a certificate', () => {
  let folder: string
  let service: TestService | null = null
  const log: LogEntry[] = []

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-tls-'))
    for (const name of ['one', 'two']) {
      const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)]
      const alt = ['-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2', '-subj', `/CN=${name}`]
      const args = [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        ...files,
        ...alt,
      ]
      execFileSync(openssl as string, args, { stdio: 'ignore' })
    }
  })
  afterEach(async () => {
    await service?.stop()
    service = null
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const use = (name: string, key = name) => {
    copyFileSync(join(folder, `${name}.crt`), join(folder, 'now.crt'))
    copyFileSync(join(folder, `${key}.key`), join(folder, 'now.key'))
  }
  const settings = () => ({ tlsCertificate: join(folder, 'now.crt'), tlsKey: join(folder, 'now.key') })

  function shownAt(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.end()
      })
      socket.on('error', reject)
    })
  }

  it('is used, renewed without a restart, and kept if the new one is broken', async () => {
    use('one')
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      service = await startService(settings(), { log: (entry) => log.push(entry) })
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    }
    expect(service.url).toMatch(/^https:/)
    const port = Number(new URL(service.url).port)
    expect(await shownAt(port)).toBe('one')

    // A connection that was open before the renewal gets its response after it.
    const open = await new Promise<ReturnType<typeof connect>>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => resolve(socket))
    })
    use('two')
    service.app.reloadCertificate()
    expect(await shownAt(port)).toBe('two')
    const answered = new Promise<string>((resolve) => {
      let text = ''
      open.on('data', (data) => (text += data.toString()))
      open.on('close', () => resolve(text))
    })
    open.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await answered).toLowerCase()).toMatch(/^http\/1.1 200 ok[\s\S]*connection: close[\s\S]*{"status":"ok"}$/)

    log.length = 0
    use('one', 'two')
    service.app.reloadCertificate()
    service.app.reloadCertificate()
    writeFileSync(join(folder, 'now.key'), 'nonsense')
    service.app.reloadCertificate()
    expect(log.map(({ message }) => message)).toEqual([
      `${join(folder, 'now.key')} is not the key of the certificate in ${join(folder, 'now.crt')}`,
      `${join(folder, 'now.crt')} and ${join(folder, 'now.key')} cannot be used: expected a certificate and its key, both in PEM`,
    ])
    expect(await shownAt(port)).toBe('two')
  })

  it('that does not match its key prevents the start', async () => {
    use('one', 'two')
    await expect(startService(settings())).rejects.toThrow(/is not the key of the certificate/)
  })
})
