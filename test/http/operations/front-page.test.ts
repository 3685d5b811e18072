// `GET /`: a page for browsers, JSON for programs, and nothing where the description is closed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prefersHtml } from '../../../src/http/docs/front-page.ts'
import { startService, type TestService } from '../../support/service.ts'

/** The header that browsers send. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

describe('the front page', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service?.stop())

  it.each([{}, { accept: '*/*' }, { accept: 'application/json' }])(
    'is JSON for programs, and every link works (%o)',
    async (given) => {
      const { status, headers, text } = await service.send('/', { headers: given as Record<string, string> })
      expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([200, 'application/json', 'Accept'])
      const { name, links } = JSON.parse(text)
      expect([name, Object.keys(links)]).toEqual([
        'Verdigraph',
        ['documentation', 'getting_started', 'api', 'openapi', 'authzen', 'health', 'ready', 'metrics'],
      ])
      for (const [link, path] of Object.entries<string>(links)) {
        expect((await service.send(path)).status, path).toBe(link === 'metrics' ? 401 : 200)
      }
    },
  )

  it('is a page for browsers, with the same links, no script and nothing from another address', async () => {
    const { status, headers, text } = await service.send('/', { headers: { accept: BROWSER } })
    expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'Accept',
    ])
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+=*';/)
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect(text).not.toMatch(/<script|\son\w+=|style=|<iframe|@import|url\(/)
    const { links } = JSON.parse((await service.send('/')).text)
    const hrefs = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href)
    expect(hrefs).toEqual(Object.values(links))
  })

  it('says no more than the documentation: no identifier, path or address of this process', async () => {
    for (const accept of [BROWSER, '*/*']) {
      const { text } = await service.send('/', { headers: { accept } })
      expect(text).not.toMatch(/gid:/)
      for (const secret of [service.dataDir, service.projectId, service.key, new URL(service.url).port]) {
        expect(text).not.toContain(secret)
      }
    }
  })

  it('answers HEAD without a body, and refuses other methods', async () => {
    const head = await service.send('/', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    expect((await service.send('/', { method: 'DELETE' })).status).toBe(405)
  })
})

it('the front page is as open as the documentation, and does not name what is closed', async () => {
  const account = await startService({ descriptionAccess: 'account' })
  const off = await startService({ descriptionAccess: 'off' })
  const noMetrics = await startService({ metricsAccess: 'off' })
  try {
    expect((await account.send('/', { headers: { accept: BROWSER } })).status).toBe(401)
    const authorization = `Bearer ${account.token}`
    expect((await account.send('/', { headers: { authorization } })).status).toBe(200)
    expect((await off.send('/')).status).toBe(404)
    expect((await noMetrics.send('/')).text).not.toContain('metrics')
  } finally {
    await Promise.all([account, off, noMetrics].map((service) => service.stop()))
  }
})

it.each([
  [null, false],
  ['*/*', false],
  ['application/json', false],
  [BROWSER, true],
  ['TEXT/HTML', true],
  ['text/html;q=0', false],
  ['text/html;q=0.5, application/json', false],
  ['text/html; q=0.5, application/json; q=0.4', true],
  ['text/html;q=x', false],
  ['text/htmlx', false],
])('an Accept header %s prefers HTML: %s', (accept, expected) => {
  expect(prefersHtml(accept)).toBe(expected)
})
