// Attempts to misuse the console: forged and foreign requests, floods of wrong credentials, and old sessions.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signIn } from '../../support/console-session.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  // Failures that are recorded one by one in a window of some seconds: on a slow machine a flood takes several windows.
  service = await startService({}, { singleFailuresMax: 2 })
})

afterAll(() => service?.stop())

const newLink = (): string => (service.app.consoleLink(service.url) ?? '').split('#link=')[1] ?? ''
const organization = '/configs/v1/organizations/current'
const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.send('/console/v1/session', { body, headers: { origin: service.url, ...headers } })

describe('a page of another port or site', () => {
  test('reads nothing with a session, also where browsers do not send Sec-Fetch-Site', async () => {
    const { cookie } = await signIn(service)
    const read = (origin: string | null, path: string) =>
      service.send(path, { headers: { cookie, ...(origin !== null && { origin }) } })
    for (const origin of ['https://attacker.example', `${service.url}0`, 'null']) {
      expect((await read(origin, organization)).status, origin).toBe(403)
      expect((await read(origin, '/console/v1/session')).body.session, origin).toBe(null)
    }
    for (const origin of [service.url, null]) {
      expect((await read(origin, organization)).status).toBe(200)
      expect((await read(origin, '/console/v1/session')).body.session).not.toBe(null)
    }
  })

  test('is not allowed by CORS, and a form is not accepted as a sign-in', async () => {
    const asked = await fetch(`${service.url}/console/v1/session`, {
      method: 'OPTIONS',
      headers: { origin: 'https://attacker.example', 'access-control-request-method': 'POST' },
    })
    expect([...asked.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    const link = newLink()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const form = await service.send('/console/v1/session', {
        method: 'POST',
        raw: JSON.stringify({ link }),
        headers: { 'content-type': type },
      })
      expect([form.status, form.headers.get('set-cookie')], type).toEqual([415, null])
    }
    expect((await post({ link })).status).toBe(200)
  })

  test('shows the page in no frame, and neither the page nor an answer with a secret is stored', async () => {
    for (const path of ['/console', '/console/', '/console/v1/session']) {
      const { headers } = await service.send(path)
      expect(headers.get('cache-control'), path).toBe('no-store')
    }
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await service.send('/console', { method })
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })
})

describe('signing in again', () => {
  test('ends the session before, which the browser no longer has', async () => {
    const before = await signIn(service)
    const again = await post({ link: newLink() }, { cookie: before.cookie })
    expect(again.status).toBe(200)
    const cookie = (again.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    expect(cookie).not.toBe(before.cookie)
    expect((await service.send(organization, { headers: { cookie: before.cookie } })).status).toBe(401)
    expect((await service.send(organization, { headers: { cookie } })).status).toBe(200)
  })

  test('with wrong credentials ends nothing, and a cookie of the own choice becomes no session', async () => {
    const { cookie } = await signIn(service)
    expect((await post({ link: 'x.y' }, { cookie })).status).toBe(401)
    expect((await service.send(organization, { headers: { cookie } })).status).toBe(200)
    const [name = ''] = cookie.split('=')
    const chosen = `${name}=${'A'.repeat(43)}`
    const opened = await post({ link: newLink() }, { cookie: chosen })
    expect(opened.status).toBe(200)
    expect(opened.headers.get('set-cookie')).not.toContain('A'.repeat(43))
    expect((await service.send(organization, { headers: { cookie: chosen } })).status).toBe(401)
  })
})

test('a flood of wrong links and tokens does not fill the audit log, and others can still sign in', async () => {
  const wrong = Array.from({ length: 150 }, (_, at) =>
    at % 2 === 0 ? { link: `WyJ4Il0.${at}` } : { token: `x.y.${at}` },
  )
  const [statuses, valid] = await Promise.all([
    Promise.all(wrong.map(async (credential) => (await post(credential)).status)),
    post({ link: newLink() }),
  ])
  expect(new Set(statuses)).toEqual(new Set([401]))
  expect(valid.status).toBe(200)
  await service.app.sealAudit()
  const log = encodeURIComponent(service.app.organizationId)
  const { body } = await service.send(
    `/audit/v1/records?project_id=${log}&type=svc.audit.credentials.authentication.failed`,
    { headers: { authorization: `Bearer ${service.token}` } },
  )
  const items = body.items as readonly unknown[]
  expect(items.length).toBeGreaterThan(0)
  expect(items.length).toBeLessThan(40)
  expect(JSON.stringify(items)).not.toMatch(/WyJ4Il0|x\.y\.\d/)
})

describe('the files of the page', () => {
  test('are only those of the build, whatever the name', async () => {
    const names = [
      '',
      '%00',
      '__proto__',
      'constructor',
      'main.tsx',
      '..%5c..%5capp.ts',
      'a'.repeat(5000),
      '%2e%2e%2fmain.js',
    ]
    for (const name of names) {
      const { status } = await fetch(`${service.url}/console/assets/${name}`)
      expect([400, 404, 414], name.slice(0, 40)).toContain(status)
    }
  })

  test('are sent as the client accepts them, and not again if it has them', async () => {
    const { text } = await service.send('/console')
    const path = /src="([^"]+)"/.exec(text)?.[1] ?? ''
    const sent = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
      const response = await fetch(`${service.url}${path}`, { method, headers, decompress: false })
      return {
        status: response.status,
        encoding: response.headers.get('content-encoding'),
        length: (await response.arrayBuffer()).byteLength,
      }
    }
    for (const accepted of ['gzip', 'br, gzip;q=0.5', '*'])
      expect((await sent({ 'accept-encoding': accepted })).encoding, accepted).toBe('gzip')
    for (const accepted of ['identity', 'br', 'gzip;q=0', '*;q=0', 'gzip;q=0.0, identity'])
      expect((await sent({ 'accept-encoding': accepted })).encoding, accepted).toBe(null)
    expect((await sent({}, 'HEAD')).length).toBe(0)
    const etag = `"${path.split('/').at(-1)}"`
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect((await sent({ 'if-none-match': known })).status, known).toBe(304)
    expect((await sent({ 'if-none-match': `"x${etag.slice(1)}` })).status).toBe(200)
  })
})
