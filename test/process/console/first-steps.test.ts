// The screen First steps in a real browser: from an organization without a project to a decision that is granted.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, createApp } from '../../../src/app.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { expectAccessible, isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

let browser: Browser
let app: App
let url: string

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  app = await createApp({ ...defaultSettings, dataDir: temporaryFolder(), port: 0, decisionTimeMs: 60_000 })
  url = (await app.listen()).url
})

afterAll(async () => {
  await browser?.close()
  await app?.close()
  removeTemporaryFolders()
})

const hostile = `<img src=x onerror="document.title='hacked'">`

async function open(options: Parameters<typeof openConsole>[2] = {}) {
  const opened = await openConsole(browser, app.consoleLink(url) ?? '', options)
  await opened.page.getByRole('link', { name: 'First steps' }).waitFor()
  await opened.page.goto(`${url}/console#/first-steps`)
  await opened.page.getByRole('heading', { name: 'First steps' }).waitFor()
  return opened
}

const step = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.locator('h2', { hasText: name }) })

test.skipIf(isSkipped)(
  'a new organization gets to a granted decision by keyboard, and the key is forgotten',
  async () => {
    const { page, complaints, close } = await open({
      isExpected: (text) => text.includes('422') || text.includes('409'),
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    // Project: the request changes while one types, and a refusal is at its field.
    const name = page.getByLabel('Name', { exact: true })
    await name.focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('Bad Name')
    await page.getByText('"name":"Bad Name"').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Expected a lower-case letter').waitFor()
    await expect.poll(() => name.getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
    await name.focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('garage')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Project garage/ }).waitFor()

    await page.getByRole('button', { name: 'Create the application' }).press('Enter')
    await page.getByRole('button', { name: /^Application my-application/ }).waitFor()
    await page.getByLabel('ReadDataSchema').press('Space')
    await page.getByText('"api_permissions":["Authorization","Capture","ReadDataSchema"]').waitFor()
    await page.getByRole('button', { name: 'Create the agent' }).press('Enter')
    await page.getByRole('button', { name: /^Agent my-agent/ }).waitFor()

    await page.getByRole('button', { name: 'Create the key' }).press('Enter')
    const shown = await page.getByRole('status').locator('code').textContent()
    const key = shown ?? ''
    expect(key.length).toBeGreaterThan(20)
    await page.getByRole('button', { name: 'Copy the key' }).press('Enter')
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(key)
    await page.getByRole('button', { name: 'I have stored it' }).press('Enter')
    await page.getByRole('button', { name: /^Key 1 key/ }).waitFor()
    await expect.poll(() => page.content()).not.toContain(key)
    await expect
      .poll(() => page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state])'))
      .not.toContain(key)

    // A policy whose pattern is wrong is refused at the condition.
    const condition = page.getByLabel('Condition, in Cypher')
    await condition.fill('MATCH (subject:Person')
    await page.getByRole('button', { name: 'Create the policy' }).press('Enter')
    await page.locator('#policy-condition-fault').waitFor()
    await condition.focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
    await page.getByRole('button', { name: 'Create the policy' }).press('Enter')
    await page.getByRole('button', { name: /^Policy drive-own-car/ }).waitFor()

    await page.getByLabel('Person, its id').fill(hostile)
    await page.getByRole('button', { name: 'Write the data' }).press('Enter')
    await page.getByRole('button', { name: /^Data 2 nodes/ }).waitFor()
    await page.getByRole('button', { name: 'Ask it' }).press('Enter')
    await page.getByText('Granted', { exact: true }).waitFor()
    await expect.poll(() => page.title()).toBe('First steps – Verdigraph console')
    await expectAccessible(page)
    // The answer of the key has no secret.
    await step(page, 'Key').locator('summary').click()
    await step(page, 'Key').getByText('"api_key": "shown once"').waitFor()

    // Another visit shows the progress, and the curl command works with the key that was stored.
    await page.reload()
    await page.getByText('6 of 6 are done').waitFor()
    const command = await step(page, 'Ask').locator('pre').textContent()
    expect(command).toContain('/access/v1/evaluation')
    const run = Bun.spawn(['sh', '-c', `${command} -s`], { env: { ...process.env, KEY: key }, stderr: 'inherit' })
    expect(JSON.parse(await run.stdout.text())).toMatchObject({ decision: true })
    expect(complaints).toEqual([])
    await close()
  },
)

test.skipIf(isSkipped)('a name that is taken is refused at the field, by mouse, on a dark phone', async () => {
  const { page, complaints, close } = await open({
    isExpected: (text) => text.includes('409'),
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
    hasTouch: true,
  })
  await page.getByRole('button', { name: /^Application/ }).tap()
  await page.getByRole('button', { name: 'Create the application' }).tap()
  await page.locator('#application-name-fault').getByText('another application').waitFor()
  await expectAccessible(page)
  // Nothing is wider than the screen.
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(complaints).toEqual([])
  await close()
})

test.skipIf(isSkipped)('a viewer sees what exists, and that it may not create anything', async () => {
  const admin = await app.issueAdminToken(600)
  const post = async (path: string, body: object): Promise<Record<string, never>> => {
    const answer = await fetch(`${url}/configs/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, never>
  }
  const account = await post('service-accounts', {
    organization_id: app.organizationId,
    name: 'viewer',
    role: 'all_viewer',
  })
  const created = (await post('service-account-credentials', { service_account_id: account.id })) as {
    readonly service_account_config?: { readonly token: string }
  }
  const { page, complaints, close } = await openConsole(browser, `${url}/console`, {
    isExpected: (text) => text.includes('403'),
  })
  await page.getByLabel('Token of a service account').fill(created.service_account_config?.token ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'First steps' }).click()
  await page.getByText('You are signed in as a viewer').waitFor()
  await page.getByRole('button', { name: /^Policy/ }).click()
  await expect.poll(() => page.getByRole('button', { name: 'Create the policy' }).isDisabled()).toBe(true)
  await expectAccessible(page)
  // The page does not offer operations that the service refuses.
  await page.getByRole('link', { name: 'Operate' }).click()
  await page.getByRole('tab', { name: 'Keys' }).waitFor()
  await expect
    .poll(() => page.getByRole('tab').allTextContents())
    .toEqual(['Now', 'Keys', 'Connections', 'Jobs', 'MCP'])
  expect(complaints).toEqual([])
  await close()
})
