// The documentation as the service shows it: every page, link and curl command, the search, and a browser.
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDocumentation } from '../../src/http/docs/files.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service?.stop())

const markdown = Object.keys(readDocumentation()).filter((path) => path.endsWith('.md'))
const addressOf = (path: string): string => (path === 'index.md' ? '/docs' : `/docs/${path.replace(/\.md$/, '')}`)

async function textAt(address: string): Promise<string> {
  const { status, text } = await service.send(address)
  expect(status, address).toBe(200)
  return text
}

describe('a page', () => {
  it('is served for every Markdown file, with its title, and every link on it leads to a page and an anchor', async () => {
    const pages = new Map<string, string>()
    for (const path of markdown) pages.set(addressOf(path), await textAt(addressOf(path)))
    pages.set('/docs/api', await textAt('/docs/api'))
    const broken: string[] = []
    for (const [address, text] of pages) {
      expect(text).toMatch(/<title>[^<]+ – Verdigraph<\/title>/)
      for (const [, href = ''] of text.matchAll(/<a[^>]* href="([^"]*)"/g)) {
        if (/^https?:|^\/openapi/.test(href)) continue
        const [target = '', anchor] = href.startsWith('#') ? [address, href.slice(1)] : href.split('#')
        const found = pages.get(target)
        if (found === undefined || (anchor !== undefined && !found.includes(`id="${anchor}"`)))
          broken.push(`${address} → ${href}`)
      }
      for (const [, src = ''] of text.matchAll(/<img[^>]* src="([^"]*)"/g)) {
        const { status, headers } = await service.send(src)
        if (status !== 200 || headers.get('content-type') !== 'image/svg+xml; charset=utf-8')
          broken.push(`${address} → ${src}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('loads nothing from another address and runs no script', async () => {
    for (const address of ['/docs', '/docs/api', '/docs/search?q=policy']) {
      const { headers, text } = await service.send(address)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/]+=*'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      )
      expect(text).not.toMatch(/<script|\son\w+=|<iframe|@import|url\(|<link[^>]+href="(?!data:)/)
    }
  })

  it.each(['/docs/nothing', '/docs/how-to/nothing', '/docs/images/nothing.svg'])(
    '%s does not exist',
    async (address) => {
      expect((await service.send(address)).status).not.toBe(200)
    },
  )
})

describe('the search', () => {
  it('finds sections and operations, by the beginning of a word and in spite of a typing mistake', async () => {
    expect(await textAt('/docs/search?q=explain')).toContain('href="/docs/api#explainDecision"')
    for (const query of ['glossar', 'glosary'])
      expect(await textAt(`/docs/search?q=${query}`)).toContain('href="/docs/glossary"')
  })

  it('reports that nothing was found, and escapes the search text', async () => {
    const text = await textAt(`/docs/search?q=${encodeURIComponent('<b>qqqq"')}`)
    expect(text).toContain('Nothing found for “&#60;b&#62;qqqq&#34;”')
    expect(text).toContain('value="&#60;b&#62;qqqq&#34;"')
    expect(await textAt('/docs/search')).toContain('Type a word')
  })

  it('refuses a query that is too long, and other parameters', async () => {
    expect((await service.send(`/docs/search?q=${'x'.repeat(201)}`)).status).toBe(422)
    expect((await service.send('/docs/search?p=x')).status).toBe(422)
  })
})

describe('the interface reference', () => {
  it('has a curl command for each operation, which the service understands', async () => {
    const text = await textAt('/docs/api')
    const commands = [...text.matchAll(/<article id="([^"]+)">[\s\S]*?<h4>curl<\/h4><pre>([\s\S]*?)<\/pre>/g)].map(
      ([, operation = '', command = '']) => ({
        operation,
        command: command.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
      }),
    )
    expect(commands.map(({ operation }) => operation).sort()).toEqual(
      service.app.routes.flatMap(({ operationId, aliasOf }) => (aliasOf === undefined ? [operationId] : [])).sort(),
    )
    const names = { VERDIGRAPH: service.url, KEY: service.key, TOKEN: service.token, ID: service.applicationId }
    const others = {
      PROJECT_ID: service.projectId,
      DECISION: service.applicationId,
      FILE: 'x.svg',
      NAME: 'x.tar',
      PAGE: 'glossary',
      SECTION: 'how-to',
      IDENTIFIER: 'Person:ann',
    }
    // One shell for all: `-m` ends streams, which answer their head at once. Without an answer in time (000), the command runs again with
    // more time.
    const script = commands
      .map(({ operation, command }) => {
        const timed = command.replace(/^curl/, 'curl -s -m $limit -o /dev/null -w "%{http_code}"')
        return `for limit in 2 20 60; do
  code=$(${timed})
  [ "$code" = 000 ] || break
done
echo "${operation} $code"`
      })
      .join('\n')
    const shell = Bun.spawn(['bash', '-c', script], {
      env: { ...process.env, ...names, ...others, no_proxy: '127.0.0.1,localhost' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const lines = (await shell.stdout.text()).trim().split('\n')
    expect(await shell.stderr.text()).toBe('')
    expect(lines).toHaveLength(commands.length)
    const off = lines.filter((line) => {
      const [operation = '', status = ''] = line.split(' ')
      const route = service.app.routes.find(({ operationId }) => operationId === operation)
      // 401: a user token where the service account's is sent. 404: a path parameter that names nothing.
      const expected = [...Object.keys(route?.responses ?? {}), '401', '404', '422']
      return !expected.includes(status)
    })
    expect(off).toEqual([])
    const answered = lines.filter((line) => / 2\d\d$/.test(line))
    expect(answered.length).toBeGreaterThan(25)
  })
})

// In a real browser, where one is installed.
const browserPath = Bun.which('chromium') ?? Bun.which('google-chrome')

describe.skipIf(browserPath === null)('in a browser', () => {
  it('shows the front page without a complaint, on a phone of 360 pixels too, and its links work', async () => {
    const browser = await chromium.launch({ executablePath: browserPath as string, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage({ viewport: { width: 360, height: 740 } })
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(`${service.url}/`)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      // The style sheet is applied, by its hash.
      expect(await page.evaluate("getComputedStyle(document.querySelector('dt')).fontWeight")).toBe('600')
      await page.click('text=Getting started')
      await expect.poll(() => page.title()).toContain('Getting started')
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
    }
  })

  it('shows pages without a complaint, searches by the form, and fits a phone', async () => {
    const browser = await chromium.launch({ executablePath: browserPath as string, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      const asked: string[] = []
      const complaints: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(`${service.url}/docs/api#upsertNodes`)
      // The style sheet is applied, by its hash: without it the list would be below the text.
      expect(await page.evaluate("getComputedStyle(document.querySelector('nav')).position")).toBe('sticky')
      expect(await page.locator('article:target h3').textContent()).toBe(
        service.app.routes.find(({ operationId }) => operationId === 'upsertNodes')?.summary,
      )
      await page.goto(`${service.url}/docs`)
      await page.getByRole('searchbox').fill('glossary')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.locator('.hits a[href="/docs/glossary"]').click()
      await expect.poll(() => page.locator('main h1').textContent()).toBe('Glossary')
      await page.setViewportSize({ width: 360, height: 740 })
      for (const address of ['/docs', '/docs/api', ...markdown.map(addressOf)]) {
        await page.goto(`${service.url}${address}`)
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), address).toBe(true)
      }
      expect([
        asked.filter((url) => !url.startsWith(`${service.url}/`) && !url.startsWith('data:')),
        complaints,
      ]).toEqual([[], []])
    } finally {
      await browser.close()
    }
  })
})
