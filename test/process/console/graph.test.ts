// The screen Graph in a real browser: queries, the picture by keyboard and by mouse, details, the data schema, and hostile names. Any
// message of the browser fails the test.
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAccessible, isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { startService, type TestService } from '../../support/service.ts'

let browser: Browser
let service: TestService
let viewerToken = ''

const hostile = [
  `<img src=x onerror="document.title='hacked'">`,
  `"><script>document.title='hacked'</script>`,
  `=HYPERLINK("https://example.org")`,
  '\u202Egnp.exe',
  'quote \' " ` \\ and\nline',
]
/** More than one step of expanding adds. */
const MEMBERS = 60

async function capture(path: string, body: object): Promise<void> {
  const { status, text } = await service.ask(`/capture/v1/${path}`, body)
  if (status !== 200) throw new Error(text)
}

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  service = await startService()
  const members = Array.from({ length: MEMBERS }, (_, index) => `m${index}`)
  const metadata = {
    source: 'registry',
    assurance_level: 2,
    verified_time: '2026-01-01T00:00:00Z',
    custom_metadata: { clerk: 'Eve' },
  }
  await capture('nodes', {
    nodes: [
      {
        type: 'Person',
        external_id: 'ann',
        labels: ['Vip'],
        is_identity: true,
        properties: [
          { type: 'name', value: 'Ann Archer', metadata },
          { type: 'badge', value: 4711 },
          { type: 'rating', external_value: 'rating-service' },
        ],
      },
      { type: 'Person', external_id: 'bob' },
      { type: 'Team', external_id: 'red' },
      { type: 'Team', external_id: 'large' },
      ...members.map((external_id) => ({ type: 'Member', external_id })),
      ...hostile.map((external_id) => ({
        type: 'Hostile',
        external_id,
        properties: [{ type: 'name', value: external_id }],
      })),
    ],
  })
  const edge = (from: readonly [string, string], type: string, to: readonly [string, string]) => ({
    source: { type: from[0], external_id: from[1] },
    type,
    target: { type: to[0], external_id: to[1] },
    properties: [{ type: 'since', value: 2020 }],
  })
  await capture('relationships', {
    relationships: [
      edge(['Person', 'ann'], 'MEMBER', ['Team', 'red']),
      edge(['Person', 'bob'], 'MEMBER', ['Team', 'red']),
      edge(['Person', 'ann'], 'KNOWS', ['Person', 'ann']),
      ...members.map((id) => edge(['Member', id], 'IN', ['Team', 'large'])),
      ...hostile.map((id) => edge(['Person', 'bob'], 'HAS', ['Hostile', id])),
    ],
  })
  const account = await service.configure('POST', 'service-accounts', {
    organization_id: service.app.organizationId,
    name: 'viewer',
    role: 'all_viewer',
  })
  const credential = await service.configure('POST', 'service-account-credentials', {
    service_account_id: account.body.id,
  })
  viewerToken = (credential.body.service_account_config as { token: string }).token
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

const link = (): string => service.app.consoleLink(service.url) ?? ''
const addressOf = (parameters: Readonly<Record<string, string>> = {}): string =>
  `${service.url}/console#/graph?${new URLSearchParams(parameters)}`

/** Opens the screen with the query of a link, and runs it as a person does. */
async function openQuery(page: Page, query: string): Promise<void> {
  await page.goto(addressOf({ query }))
  await page.getByText('The address has this query. It has not run').waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
}

/** Writes a query into the editor. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Cypher that reads' }).click()
  await page.keyboard.press('ControlOrMeta+a')
  // Replacing coloured text, the browser would insert it with a style of its own, and report that the policy refuses it.
  await page.keyboard.press('Backspace')
  await page.keyboard.insertText(text)
}

/** Waits until the nodes of the picture have their places and are drawn there. */
async function waitForPicture(page: Page): Promise<void> {
  await page.locator('.graph-picture[aria-busy=false]').waitFor()
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  await page.locator('.graph-picture[aria-busy=false]').waitFor()
}

/** The middle of the picture on the screen, where a single node is. */
async function centreOf(page: Page): Promise<{ readonly x: number; readonly y: number }> {
  await waitForPicture(page)
  const box = await picture(page).boundingBox()
  if (box === null) throw new Error('the picture has no place')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

const picture = (page: Page) => page.getByRole('application', { name: /^Picture of/ })

describe.skipIf(isSkipped)('the screen Graph', () => {
  test('is used by keyboard: a query with a parameter, selection, expanding, pinning, hiding', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.goto(addressOf())
    await page.getByRole('cell', { name: 'Person', exact: true }).waitFor()
    await write(page, 'MATCH (p:Person {external_id: $id}) RETURN p')
    await page.getByRole('button', { name: '$id' }).press('Enter')
    await page.getByLabel('Value of $id').fill('ann')
    await page.keyboard.press('Enter')
    await page.getByText('1 row', { exact: true }).waitFor()
    await expect.poll(() => page.url()).toContain('%24id=ann')
    await picture(page).focus()
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'Ann Archer' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('2 relationships of Ann Archer added, no more left.').waitFor()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('2 nodes and 2 relationships')
    await page.keyboard.press('p')
    await expect.poll(() => page.getByRole('button', { name: 'Release' }).getAttribute('aria-pressed')).toBe('true')
    await page.keyboard.press('c')
    await page.getByText('Collapsed.').waitFor()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('1 node and 0 relationships')
    for (const key of ['ArrowLeft', 'ArrowDown', '+', '-', '0']) await page.keyboard.press(key)
    await page.keyboard.press('Delete')
    await page.getByRole('button', { name: 'Show 1 hidden' }).press('Enter')
    await page.getByRole('button', { name: /^Ann Archer/ }).press('Enter')
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('is used by mouse: an example, a click and a double click on a node, moving it, and the wheel', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await openQuery(page, "MATCH (t:Team {external_id: 'large'}) RETURN t")
    await page.getByText('1 row', { exact: true }).waitFor()
    const { x, y } = await centreOf(page)
    await page.mouse.click(x, y)
    await page.getByRole('heading', { name: 'large' }).waitFor()
    await page.mouse.dblclick(x, y)
    await page.getByText('50 relationships of large added, 10 left out.').waitFor()
    await page.getByRole('button', { name: 'Expand (10 left)' }).click()
    await page.getByText('10 relationships of large added, no more left.').waitFor()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('61 nodes and 60 relationships')
    await waitForPicture(page)
    await picture(page).focus()
    await page.mouse.wheel(0, -300)
    await page.mouse.move(x - 200, y - 150)
    await page.mouse.down()
    await page.mouse.move(x - 150, y - 120, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Collapse' }).click()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('1 node and 0 relationships')
    await page.getByRole('button', { name: 'Fit' }).click()
    const again = await centreOf(page)
    await page.mouse.move(again.x, again.y)
    await page.mouse.down()
    await page.mouse.move(again.x + 80, again.y + 40, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    await page.getByRole('button', { name: 'Examples' }).click()
    await page.getByRole('button', { name: /^Person MEMBER Team/ }).click()
    await page.getByText('2 rows', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('is used by touch: a tap selects a node, and a finger moves it', async () => {
    const { page, complaints, close } = await openConsole(browser, link(), {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    })
    await openQuery(page, "MATCH (t:Team {external_id: 'large'}) RETURN t")
    await page.getByText('1 row', { exact: true }).waitFor()
    await picture(page).scrollIntoViewIfNeeded()
    const { x, y } = await centreOf(page)
    await page.touchscreen.tap(x, y)
    await page.getByRole('heading', { name: 'large' }).waitFor()
    await picture(page).scrollIntoViewIfNeeded()
    const from = await centreOf(page)
    const fingers = await page.context().newCDPSession(page)
    const touch = (type: string, points: readonly (readonly [number, number])[]): Promise<unknown> =>
      fingers.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: points.map(([left, top], id) => ({ x: from.x + left, y: from.y + top, id })),
      } as never)
    // Two fingers zoom, and move no node.
    await touch('touchStart', [[-30, 0]])
    await touch('touchStart', [
      [-30, 0],
      [30, 0],
    ])
    await touch('touchMove', [
      [-60, 0],
      [60, 0],
    ])
    await touch('touchEnd', [])
    await expect.poll(() => page.getByRole('button', { name: 'Pin' }).getAttribute('aria-pressed')).toBe('false')
    await touch('touchStart', [[0, 0]])
    await touch('touchMove', [[20, 10]])
    await touch('touchMove', [[50, 30]])
    await touch('touchEnd', [])
    await page.getByRole('button', { name: 'Release' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('shows the details of a node: origin of properties, times, relationships by type, and links to Ask', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.goto(addressOf())
    await page.getByRole('combobox', { name: 'Find a node' }).fill('arch')
    await page.getByRole('option', { name: /^Person:ann/ }).click()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    const aside = page.getByRole('complementary', { name: 'Elements' })
    await aside.getByText('source registry · assurance level 2 · verified 2026-01-01T00:00:00Z · clerk Eve').waitFor()
    const text = await aside.innerText()
    expect(text).toMatch(/rating\s+external\s+Supplied by the resolver rating-service/)
    for (const part of ['4711', 'Vip', 'may be the subject of a user token', 'Created']) expect(text).toContain(part)
    await aside.getByRole('button', { name: /to MEMBER Team/ }).click()
    await page.getByText('1 relationship of Ann Archer added').waitFor()
    await page.getByRole('button', { name: 'All elements' }).click()
    await aside.getByRole('button', { name: /Ann Archer → red/ }).click()
    await aside.getByText('2020').waitFor()
    await aside.getByRole('button', { name: 'Person:ann' }).click()
    await aside.getByRole('link', { name: 'subject' }).click()
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    await expect.poll(() => page.getByLabel('Subject', { exact: true }).inputValue()).toBe('Person:ann')
    await page.goto(addressOf({ node: 'Person:unknown' }))
    await page.getByText('The graph has no Person “unknown”.').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('shows trust scores', async () => {
    const profile = await service.configure('POST', 'trust-score-profiles', {
      project_id: service.projectId,
      name: 'people',
      node_classification: 'Person',
      schedule: 'DAILY',
      dimensions: [{ name: 'FRESHNESS', weight: 1 }],
    })
    expect(profile.status, profile.text).toBe(201)
    const { page, complaints, close } = await openConsole(browser, link())
    await service.app.scoreTrustOf(String(profile.body.id), 'operator')
    await page.goto(addressOf({ node: 'Person:ann' }))
    const aside = page.getByRole('complementary', { name: 'Elements' })
    await aside.getByText('final score').waitFor()
    await expect.poll(() => aside.innerText()).toMatch(/freshness\s*\d\.\d\d/i)
    expect(complaints).toEqual([])
    await close()
  })

  test('shows the same rows as table, JSON and files, with numbers as the service sent them', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    const query = `MATCH (h:Hostile) RETURN h, h.name AS name, 9007199254740993 AS large, 2.0 AS float, null AS nothing`
    await openQuery(page, query)
    await page.getByText('5 rows', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Picture' }).focus()
    await page.keyboard.press('ArrowRight')
    const table = page.getByRole('tabpanel')
    await table.getByText('9007199254740993').first().waitFor()
    await expect.poll(() => table.getByText('2.0').count()).toBe(hostile.length)
    await expectAccessible(page)
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.getByRole('tabpanel').innerText()).toContain('"large": 9007199254740993')
    const saved = async (name: string): Promise<string> => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name, exact: true }).click(),
      ])
      return readFileSync(await file.path(), 'utf8')
    }
    const rows = JSON.parse(await saved('JSON')) as readonly { name: string }[]
    expect(rows.map(({ name }) => name).sort()).toEqual([...hostile].sort())
    const csv = await saved('CSV')
    expect(csv.split('\r\n')[0]).toBe('h,name,large,float,nothing')
    expect(csv).toContain(`"'=HYPERLINK(""https://example.org"")",9007199254740993,2.0,`)
    expect(complaints).toEqual([])
    await close()
  })

  test('shows limits, warnings, and the place of an error', async () => {
    const { page, complaints, close } = await openConsole(browser, link(), {
      isExpected: (text) => text.includes('422'),
    })
    await page.goto(addressOf())
    await page.getByLabel('Rows').selectOption('100')
    await write(page, 'UNWIND range(1, 200) AS n RETURN n')
    await page.keyboard.press('Control+Enter')
    await page.getByText('The query has more rows than the limit.').waitFor()
    await page.getByRole('tab', { name: 'Table', selected: true }).waitFor()
    await write(page, 'MATCH (p:Persn) RETURN p')
    await page.keyboard.press('Control+Enter')
    await page
      .getByText(/did you mean/)
      .first()
      .waitFor()
    await write(page, 'MATCH (p:Person) WHERE p.x = RETURN p')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Line 1, column 30' }).waitFor()
    await page.getByText('The query was refused. The editor marks the place.').waitFor()
    await write(page, 'MATCH (p:Person) DETACH DELETE p')
    await page.keyboard.press('Control+Enter')
    await page
      .getByText(/writing clause/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Last queries' }).click()
    await page.getByRole('button', { name: 'UNWIND range(1, 200) AS n RETURN n' }).click()
    await page.getByText('100 rows', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('shows the data schema, whose types and relationships give queries', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.goto(addressOf())
    await page.getByRole('application', { name: /Picture of 4 types of nodes/ }).waitFor()
    await page.getByRole('cell', { name: 'Person', exact: true }).getByRole('button').click()
    const aside = page.getByRole('complementary', { name: 'Data schema' })
    await aside.getByRole('cell', { name: 'badge' }).waitFor()
    await expect.poll(() => aside.innerText()).toContain('50 %')
    await expectAccessible(page)
    await aside.getByRole('button', { name: 'MEMBER' }).click()
    await aside.getByRole('button', { name: 'Show relationships' }).click()
    await page.getByText('2 rows', { exact: true }).waitFor()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('3 nodes and 2 relationships')
    expect(complaints).toEqual([])
    await close()
  })

  test('shows hostile names as text', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    for (const id of hostile) {
      await page.goto(addressOf({ node: `Hostile:${id}` }))
      await page.getByRole('heading', { name: id.replace('\u202E', 'U+202E').replace(/\s+/g, ' ') }).waitFor()
      await page.getByRole('tab', { name: 'Picture', selected: true }).waitFor()
      await expect.poll(() => page.title()).toBe('Graph – Verdigraph console')
      await expect.poll(() => page.locator('main img, main script').count()).toBe(0)
    }
    expect(complaints).toEqual([])
    await close()
  })

  test('has no fault of accessibility in the dark and on a phone, where nothing is wider than the screen', async () => {
    for (const options of [
      { colorScheme: 'dark' },
      { viewport: { width: 360, height: 740 }, hasTouch: true },
    ] as const) {
      const { page, complaints, close } = await openConsole(browser, link(), options)
      for (const address of [addressOf(), addressOf({ node: 'Person:ann' }), 'MATCH (n)-[r]->(m) RETURN n, r, m']) {
        if (address.startsWith('MATCH')) await openQuery(page, address)
        else await page.goto(address)
        await picture(page).waitFor()
        await page.waitForLoadState('networkidle')
        await expectAccessible(page)
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      }
      expect(complaints).toEqual([])
      await close()
    }
  })

  test('names the permission that an account does not have, and shows nothing of the graph', async () => {
    const { page, complaints, close } = await openConsole(browser, `${service.url}/console`, {
      isExpected: (text) => /40[13]/.test(text),
    })
    await page.getByLabel('Token of a service account').fill(viewerToken)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    await page.goto(addressOf({ query: 'MATCH (n) RETURN n' }))
    await page.getByRole('heading', { name: 'This account may not read the graph' }).waitFor()
    await page.getByText('the permission ReadDataSchema').waitFor()
    await expect.poll(() => page.getByRole('application').count()).toBe(0)
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('a query of a link runs only when the user runs it, also if the address changes', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    const asked: string[] = []
    page.on('request', (request) => {
      if (!request.url().endsWith('/graph/v1/query')) return
      asked.push((request.postDataJSON() as { query: string }).query)
    })
    const queries = ['MATCH (p:Person) RETURN p', 'MATCH (p:Person) RETURN p.external_id']
    for (const query of queries) {
      await page.goto(addressOf({ query }))
      await page.getByText('The address has this query. It has not run').waitFor()
      await expect.poll(() => page.getByRole('textbox', { name: 'Cypher that reads' }).textContent()).toContain(query)
      await page.waitForLoadState('networkidle')
    }
    expect(asked.filter((query) => queries.includes(query))).toEqual([])
    await expect.poll(() => page.getByRole('button', { name: 'Last queries' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('2 rows', { exact: true }).waitFor()
    await expect.poll(() => page.getByText('It has not run').count()).toBe(0)
    expect(asked).toContain(queries[1])
    expect(complaints).toEqual([])
    await close()
  })

  test('keeps what it shows while the service is away', async () => {
    const { page, complaints, close } = await openConsole(browser, link(), {
      isExpected: (text) => text.includes('ERR_INTERNET_DISCONNECTED'),
    })
    await openQuery(page, 'MATCH (p:Person) RETURN p')
    await page.getByText('2 rows', { exact: true }).waitFor()
    // The changes of the user to the picture stay too.
    await picture(page).focus()
    await page.keyboard.press('n')
    await page.keyboard.press('Delete')
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('1 node and')
    await page.context().setOffline(true)
    await page.keyboard.press('n')
    await page.getByRole('alert').getByText('The service does not answer.').first().waitFor()
    await page.context().setOffline(false)
    await expect.poll(() => page.getByText('The service does not answer.').count(), { timeout: 15_000 }).toBe(0)
    await page.getByText('2 rows', { exact: true }).waitFor()
    await page.getByText('Created').waitFor()
    await expect.poll(() => picture(page).getAttribute('aria-label')).toContain('1 node and')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('application', { name: /Picture of 2 nodes/ }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})
