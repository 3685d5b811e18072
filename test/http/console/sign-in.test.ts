// Signing in to the console over HTTP: links, tokens, cookies, and what a session may do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signIn } from '../../support/console-session.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  service = await startService({}, { clock })
})

afterAll(() => service?.stop())

const secretOf = (link: string | null): string => /#link=(.+)$/.exec(link ?? '')?.[1] ?? ''
const newLink = (): string => secretOf(service.app.consoleLink(service.url))
const projects = (): string => `/configs/v1/projects?organization_id=${encodeURIComponent(service.app.organizationId)}`

function post(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return service.send('/console/v1/session', { body, headers: { origin: service.url, ...headers } })
}

describe('a one-time link', () => {
  test('signs in once, as the administrator, with a cookie that scripts and other sites cannot use', async () => {
    const link = newLink()
    const first = await post({ link })
    expect(first.status).toBe(200)
    expect(first.body.session).toMatchObject({ role: 'all_editor', service_account_id: service.app.serviceAccountId })
    const cookie = first.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(
      /^verdigraph-console-[0-9a-f]{12}=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const second = await post({ link })
    expect([second.status, second.headers.get('set-cookie')]).toEqual([401, null])
    expect(second.text).toContain('was used or is older than two minutes')
  })

  test('expires after two minutes, and is refused if any character differs', async () => {
    const link = newLink()
    const [text = '', signature = ''] = link.split('.')
    for (const changed of [`${text}x.${signature}`, `${text}.${signature.slice(1)}`, text, '', '.', `${link}.x`])
      expect((await post({ link: changed })).status, changed).toBe(401)
    clock.advance(119_000)
    const late = newLink()
    clock.advance(1_000)
    expect((await post({ link })).status).toBe(401)
    expect((await post({ link: late })).status).toBe(200)
  })

  test('is made only from a header `Host` with an address of this machine and a port', async () => {
    const made = (host: string) =>
      fetch(`${service.url}/console/v1/links`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.token}`, host },
      })
    for (const host of [
      'localhost/evil',
      'a@localhost',
      'localhost?x',
      'localhost#x',
      'pdp.example:8080',
      '192.0.2.1:8080',
    ])
      expect((await made(host)).status, host).toBe(400)
    for (const host of ['localhost:8080', '127.0.0.1:1', '[::1]:8080', 'LOCALHOST:8080']) {
      const { url } = (await (await made(host)).json()) as { url: string }
      expect(url).toContain(`http://${host.toLowerCase()}/console#link=`)
    }
  })

  test('of a service account opens a session of that account, which ends with its token', async () => {
    const made = await service.send('/console/v1/links', {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}` },
    })
    expect(made.status).toBe(201)
    expect(made.body.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console#link=/)
    const { body } = await post({ link: secretOf(made.body.url as string) })
    const { expire_time } = body.session as { expire_time: string }
    // The token of the service is valid for an hour.
    expect(Date.parse(expire_time) - clock.now()).toBeLessThanOrEqual(3_600_000)
  })

  test('is not made by a session', async () => {
    const { headers } = await signIn(service)
    const refused = await service.send('/console/v1/links', { method: 'POST', headers })
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('not with a console session')])
  })
})

describe('signing in', () => {
  test('with a token opens a session; an invalid token, two credentials or none are refused', async () => {
    expect((await post({ token: service.token })).status).toBe(200)
    expect((await post({ token: 'x.y.z' })).status).toBe(401)
    for (const body of [{}, { token: service.token, link: newLink() }, { password: 'x' }, []])
      expect((await post(body)).status, JSON.stringify(body)).toBe(400)
  })

  test('from a page of another service is refused, and uses no link up', async () => {
    const link = newLink()
    for (const origin of ['https://attacker.example', 'http://127.0.0.1:1', 'null'])
      expect((await post({ link }, { origin })).status, origin).toBe(403)
    expect((await post({ link })).status).toBe(200)
  })
})

describe('a session', () => {
  test('reads as its account does, and changes only with the token against forgery and the origin of the page', async () => {
    const { cookie, csrfToken, headers } = await signIn(service)
    expect((await service.send(projects(), { headers: { cookie } })).status).toBe(200)
    const body = { organization_id: service.app.organizationId, name: 'made-in-console', region: 'local' }
    const origin = service.url
    const refusals: readonly Readonly<Record<string, string>>[] = [
      { cookie },
      { cookie, origin },
      { cookie, 'x-csrf-token': csrfToken },
      { cookie, origin, 'x-csrf-token': `${csrfToken.slice(0, -1)}?` },
      { cookie, origin: 'https://attacker.example', 'x-csrf-token': csrfToken },
      { ...headers, 'sec-fetch-site': 'same-site' },
      { ...headers, 'sec-fetch-site': 'cross-site' },
    ]
    for (const refused of refusals)
      expect((await service.send('/configs/v1/projects', { body, headers: refused })).status).toBe(403)
    expect((await service.send(projects(), { headers: { cookie, 'sec-fetch-site': 'same-site' } })).status).toBe(403)
    expect((await service.send('/configs/v1/projects', { body, headers })).status).toBe(201)
  })

  test('is not shown to a page of another site or port', async () => {
    const { cookie } = await signIn(service)
    const sessionFor = async (site: string) =>
      (await service.send('/console/v1/session', { headers: { cookie, 'sec-fetch-site': site } })).body.session
    expect(await sessionFor('same-origin')).toMatchObject({ role: 'all_editor' })
    for (const site of ['cross-site', 'same-site']) expect(await sessionFor(site)).toBe(null)
  })

  test('asks for decisions in a project', async () => {
    const { headers } = await signIn(service)
    const body = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    const asked = { body, headers: { ...headers, 'x-project-id': service.projectId } }
    expect((await service.send('/access/v1/evaluation', asked)).body).toMatchObject({ decision: false })
    const other = { body, headers: { ...headers, 'x-project-id': 'gid:00000000000000000000000000' } }
    expect((await service.send('/access/v1/evaluation', other)).status).toBe(403)
    // Without a project, and with the key of an agent, the cookie is no credential of an agent.
    expect((await service.send('/access/v1/evaluation', { body, headers })).status).toBe(401)
  })

  test('counts for nothing next to other credentials', async () => {
    const { cookie } = await signIn(service)
    const refused = await service.send(projects(), { headers: { cookie, authorization: 'Bearer x.y.z' } })
    expect(refused.status).toBe(401)
  })

  test('ends by signing out; its cookie is then refused', async () => {
    const { cookie, headers } = await signIn(service)
    const ended = await service.send('/console/v1/session', { method: 'DELETE', headers })
    expect([ended.status, ended.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    const after = await service.send(projects(), { headers: { cookie } })
    expect([after.status, after.text]).toEqual([401, expect.stringContaining('sign in again')])
    const state = await service.send('/console/v1/session', { headers: { cookie } })
    expect([state.status, state.body.session]).toEqual([200, null])
  })

  test('ends when the credential or the account that opened it is deleted', async () => {
    const organization_id = service.app.organizationId
    const account = await service.configure('POST', 'service-accounts', {
      organization_id,
      name: 'guest',
      role: 'all_viewer',
    })
    const service_account_id = account.body.id as string
    const credential = await service.configure('POST', 'service-account-credentials', { service_account_id })
    const { token } = credential.body.service_account_config as { token: string }
    const { cookie, headers } = await signIn(service, { token })
    const body = { organization_id, name: 'by-viewer', region: 'local' }
    expect((await service.send('/configs/v1/projects', { body, headers })).status).toBe(403)
    expect((await service.send(projects(), { headers: { cookie } })).status).toBe(200)
    await service.configure('DELETE', `service-account-credentials/${credential.body.id}`)
    expect((await service.send(projects(), { headers: { cookie } })).status).toBe(401)
  })

  test('ends after eight hours at the latest', async () => {
    const { body, headers } = await post({ link: newLink() })
    expect(body.session).not.toBe(null)
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    clock.advance(8 * 3_600_000 - 1)
    expect((await service.send(projects(), { headers: { cookie } })).status).toBe(200)
    clock.advance(1)
    expect((await service.send(projects(), { headers: { cookie } })).status).toBe(401)
  })
})
