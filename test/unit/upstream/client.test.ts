// Which hosts the process calls and which it refuses, against real servers on this machine.
import { readFileSync } from 'node:fs'
import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { isPublic, parseAllowList } from '../../../src/upstream/allow-list.ts'
import { createUpstream, type Upstream, type UpstreamRequest } from '../../../src/upstream/client.ts'

const certificates = join(import.meta.dirname, '..', '..', 'support', 'data', 'certificates')
const authorities = readFileSync(join(certificates, 'authority.pem'), 'utf8')

function upstreamTo(list: string): Upstream {
  const allowed = parseAllowList(list)
  if (!allowed.ok) throw new Error(allowed.error)
  return createUpstream({ allowed: allowed.value, authorities })
}

async function ask(upstream: Upstream, url: string, more: Partial<UpstreamRequest> = {}): Promise<unknown> {
  const answer = await upstream.send({
    url,
    method: 'GET',
    headers: [],
    timeoutMs: 30_000,
    maxResponseBytes: 1000,
    ...more,
  })
  if (!answer.ok) return `${answer.error.kind}: ${answer.error.message}`
  return `${answer.value.status} ${new TextDecoder().decode(answer.value.body)}`
}

const open: Server[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

function listen(server: Server): Promise<number> {
  open.push(server)
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
}

const plain = (answer: RequestListener): Promise<number> => listen(createPlain(answer))
const secure = (name: string, answer: RequestListener): Promise<number> => {
  const read = (ending: string): Buffer => readFileSync(join(certificates, `${name}.${ending}`))
  return listen(createSecure({ key: read('key'), cert: read('pem') }, answer))
}
const hello: RequestListener = (request, response) => response.end(`hello ${request.headers.host?.split(':')[0]}`)

describe('without an allow list', () => {
  it('only public addresses are called, in any notation', async () => {
    const upstream = upstreamTo('')
    const inside = [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '168.63.129.16',
      '0.0.0.0',
      '224.0.0.1',
      '255.255.255.255',
      '198.18.0.1',
      '203.0.113.1',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:a9fe:a9fe]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[fe80::1]',
      '[fd00:ec2::254]',
      '[ff02::1]',
      '[5f00::1]',
    ]
    for (const host of inside) expect(upstream.urlError(`https://${host}/`), host).toContain('is not public')
    for (const host of ['1.1.1.1', '[2606:4700::1111]']) expect(upstream.urlError(`https://${host}/`), host).toBeNull()
    expect(isPublic('8.8.8.8')).toBe(true)
  })

  it('only https is used, and URLs with a password are refused', async () => {
    const upstream = upstreamTo('')
    expect(upstream.urlError('http://issuer.example/')).toBe('expected https')
    const noUrl = 'expected an absolute http or https URL without credentials'
    for (const url of ['ftp://issuer.example/', 'file:///etc/passwd', '/relative', 'https://a:b@issuer.example/', '']) {
      expect(upstream.urlError(url), url).toBe(noUrl)
    }
    expect(await ask(upstream, 'http://1.1.1.1/')).toBe('forbidden: expected https')
  })

  it('a name is refused because of its address', async () => {
    let called = false
    const port = await secure('localhost', (_, response) => {
      called = true
      response.end()
    })
    // A range is listed, so the name may resolve to one of its addresses.
    const other = upstreamTo('10.0.0.0/8')
    expect(other.urlError(`https://localhost:${port}/`)).toBeNull()
    expect(await ask(other, `https://localhost:${port}/`)).toMatch(/^forbidden: .*which is not public$/)
    expect(called).toBe(false)
  })

  it.each([
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    'nas.home.arpa',
    'mylocalhost',
    'db',
    'kafka-1.',
  ])('the name %s is refused before it is resolved, unless it is listed', (name) => {
    const host = name.toLowerCase()
    expect(upstreamTo('').urlError(`https://${name}/`)).toBe(`the host \`${host}\` is not public`)
    if (!name.endsWith('.')) expect(upstreamTo(name).urlError(`http://${name}/`)).toBeNull()
  })

  it.each(['localhost.example', 'internal.example', 'local'.concat('e.example')])(
    'the name %s is not refused',
    (name) => expect(upstreamTo('').urlError(`https://${name}/`)).toBeNull(),
  )
})

describe('a host on the allow list', () => {
  it('is called without TLS too: a name, an address, a range', async () => {
    const port = await plain(hello)
    expect(await ask(upstreamTo('localhost'), `http://localhost:${port}/`)).toBe('200 hello localhost')
    expect(await ask(upstreamTo('LocalHost, 10.0.0.0/8'), `http://LOCALHOST:${port}/`)).toBe('200 hello localhost')
    expect(await ask(upstreamTo('127.0.0.1'), `http://127.0.0.1:${port}/`)).toBe('200 hello 127.0.0.1')
    expect(await ask(upstreamTo('127.0.0.0/8,::1/128'), `http://localhost:${port}/`)).toBe('200 hello localhost')
    expect(await ask(upstreamTo('10.0.0.0/8'), `http://localhost:${port}/`)).toMatch(/^forbidden/)
    expect(await ask(upstreamTo('host'), `http://localhost:${port}/`)).toBe(
      'forbidden: the host `localhost` is not public',
    )
  })

  it('is distinguished from an invalid entry', () => {
    for (const entry of ['10.0.0.0/33', '300.1.1.1', '10.0.0', 'a b', 'https://issuer.example', 'host:80', '-a']) {
      expect(parseAllowList(`localhost,${entry}`), entry).toEqual({
        ok: false,
        error: `expected CIDRs, addresses and host names, found \`${entry}\``,
      })
    }
    expect(parseAllowList(' , ').ok).toBe(true)
  })
})

describe('over TLS', () => {
  it('the certificate must be for the requested name, although its address is dialled', async () => {
    const upstream = upstreamTo('127.0.0.0/8,::1/128')
    expect(await ask(upstream, `https://localhost:${await secure('localhost', hello)}/`)).toBe('200 hello localhost')
    const other = await secure('issuer.example', hello)
    expect(await ask(upstream, `https://localhost:${other}/`)).toBe('unreachable: ERR_TLS_CERT_ALTNAME_INVALID')
    expect(await ask(upstream, `https://127.0.0.1:${other}/`)).toBe('unreachable: ERR_TLS_CERT_ALTNAME_INVALID')
  })

  it('a certificate of an unknown authority is refused', async () => {
    const allowed = parseAllowList('localhost')
    if (!allowed.ok) throw new Error(allowed.error)
    const port = await secure('localhost', hello)
    expect(await ask(createUpstream({ allowed: allowed.value }), `https://localhost:${port}/`)).toMatch(/^unreachable/)
  })
})

describe('a response', () => {
  const upstream = upstreamTo('127.0.0.1')

  it('has status, headers and body; the request its method, headers and body', async () => {
    const port = await plain((request, response) => {
      const { method, url, headers } = request
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        response.writeHead(418, { 'x-answer': 'yes' })
        response.end(JSON.stringify([method, url, headers['x-list'], headers['accept-encoding'], body]))
      })
    })
    const answer = await upstream.send({
      url: `http://127.0.0.1:${port}/a%20b?c=d`,
      method: 'PUT',
      headers: [
        ['x-list', 'a'],
        ['X-List', 'b'],
        ['Host', 'elsewhere'],
        ['Content-Length', '3'],
      ],
      body: 'given',
      timeoutMs: 30_000,
      maxResponseBytes: 1000,
    })
    if (!answer.ok) throw new Error(answer.error.message)
    expect([answer.value.status, answer.value.header('X-Answer')]).toEqual([418, 'yes'])
    expect(JSON.parse(new TextDecoder().decode(answer.value.body))).toEqual([
      'PUT',
      '/a%20b?c=d',
      'a, b',
      'identity',
      'given',
    ])
  })

  it('is not followed if it redirects', async () => {
    let followed = false
    const port = await plain((request, response) => {
      if (request.url === '/elsewhere') followed = true
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    expect(await ask(upstream, `http://127.0.0.1:${port}/`)).toBe('307 ')
    expect(followed).toBe(false)
  })

  it('is aborted beyond the size limit, with declared length or without', async () => {
    const big = 'x'.repeat(1001)
    const declared = await plain((_, response) => response.end(big))
    expect(await ask(upstream, `http://127.0.0.1:${declared}/`)).toBe(
      'too-large: the response is larger than 1000 bytes',
    )
    const endless = await plain((_, response) => {
      const more = (): void => {
        while (response.write(big));
        response.once('drain', more)
      }
      more()
    })
    expect(await ask(upstream, `http://127.0.0.1:${endless}/`)).toBe(
      'too-large: the response is larger than 1000 bytes',
    )
  })

  it('is not decompressed', async () => {
    const port = await plain((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000)))
    })
    expect(await ask(upstream, `http://127.0.0.1:${port}/`)).toMatch(
      /^unreachable: the response has the content encoding `gzip`/,
    )
  })

  it('that does not arrive, or not completely, ends with the timeout', async () => {
    const silent = await plain(() => undefined)
    const tooSlow = 'too-slow: no complete response within 300 milliseconds'
    expect(await ask(upstream, `http://127.0.0.1:${silent}/`, { timeoutMs: 300 })).toBe(tooSlow)
    const dripping = await plain((_, response) => {
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    })
    expect(await ask(upstream, `http://127.0.0.1:${dripping}/`, { timeoutMs: 300 })).toBe(tooSlow)
  })

  it('from an unreachable host is an error', async () => {
    // An unassigned port: a port that was free a moment ago may be in use now.
    expect(await ask(upstream, 'http://127.0.0.1:1/')).toBe('unreachable: ECONNREFUSED')
    expect(await ask(upstreamTo(''), 'https://nobody.invalid/')).toBe(
      'unreachable: no address of `nobody.invalid` was found',
    )
    const rude = await plain((request) => request.socket.destroy())
    expect(await ask(upstream, `http://127.0.0.1:${rude}/`)).toMatch(/^unreachable/)
  })
})
