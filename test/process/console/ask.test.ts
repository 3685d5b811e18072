// The console in a real browser: signing in, and the screen Ask by keyboard and by mouse. Any message of the browser, such as a
// violation of the content security policy, fails the test.
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAccessible, isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { startService, type TestService } from '../../support/service.ts'

let browser: Browser
let service: TestService

/** Names that would run a script, or leave an attribute, if a page took them for markup. */
const hostile = [
  `<img src=x onerror="document.title='hacked'">`,
  `"><script>document.title='hacked'</script>`,
  `javascript:document.title='hacked'`,
  `\${document.title='hacked'}`,
  `' onmouseover='document.title=1`,
  '\u202Egnp.exe',
]

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  service = await startService()
  const node = (type: string, external_id: string, properties: readonly { type: string; value: unknown }[] = []) => ({
    type,
    external_id,
    properties,
  })
  const nodes = [
    node('Person', 'ann', [{ type: 'name', value: hostile[0] }]),
    node('Person', 'bob'),
    node('Team', 'red'),
    node('Car', 'c1', [{ type: 'wheels', value: 4 }]),
    ...hostile.map((id) =>
      node('Car', id, [
        { type: 'name', value: id },
        { type: 'wheels', value: 4 },
      ]),
    ),
  ]
  const edge = (from: readonly [string, string], type: string, to: readonly [string, string]) => ({
    source: { type: from[0], external_id: from[1] },
    type,
    target: { type: to[0], external_id: to[1] },
  })
  const relationships = [
    edge(['Person', 'ann'], 'MEMBER', ['Team', 'red']),
    ...['c1', ...hostile].map((id) => edge(['Team', 'red'], 'OWNS', ['Car', id])),
  ]
  for (const [path, body] of [
    ['nodes', { nodes }],
    ['relationships', { relationships }],
  ] as const) {
    const { status, text } = await service.ask(`/capture/v1/${path}`, body)
    if (status !== 200) throw new Error(text)
  }
  await service.addPolicy({
    name: 'drive-team-car',
    cypher: 'MATCH (subject:Person)-[:MEMBER]->(team:Team)-[:OWNS]->(resource:Car) WHERE resource.wheels >= $min',
  })
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

const link = (): string => service.app.consoleLink(service.url) ?? ''
const question = (resource: string, min: number, subject = 'Person:ann'): string =>
  `${service.url}/console#/ask?${new URLSearchParams({ subject, action: 'drive', resource, $min: String(min) })}`

describe.skipIf(isSkipped)('signing in', () => {
  test('by a link works once, leaves no secret in the address, and ends by signing out', async () => {
    const once = link()
    const first = await openConsole(browser, once)
    await first.page.getByRole('heading', { name: 'Ask' }).waitFor()
    await expect.poll(() => first.page.url()).toBe(`${service.url}/console`)
    const cookies = await first.page.context().cookies()
    expect(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']])
    await expect.poll(() => first.page.evaluate('document.cookie')).toBe('')
    const second = await openConsole(browser, once, { isExpected: (text) => text.includes('401') })
    await second.page.getByText('was used or is older than two minutes').waitFor()
    await first.page.getByRole('button', { name: 'Sign out' }).click()
    await first.page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    expect([...first.complaints, ...second.complaints]).toEqual([])
    await Promise.all([first.close(), second.close()])
  })

  test('by a token, by keyboard, without a fault of accessibility', async () => {
    const { page, complaints, close } = await openConsole(browser, `${service.url}/console`, {
      isExpected: (text) => text.includes('401'),
    })
    const field = page.getByLabel('Token of a service account')
    await field.fill('not a token')
    await page.getByRole('button', { name: 'Sign in' }).press('Enter')
    await page.getByText('the service account token is invalid or expired').waitFor()
    await expectAccessible(page)
    await field.fill(service.token)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('is asked for again when the session has ended, in every tab', async () => {
    const { page, complaints, close } = await openConsole(browser, link(), {
      isExpected: (text) => text.includes('401'),
    })
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    const other = await page.context().newPage()
    await other.goto(question('Car:c1', 2))
    await other.getByRole('heading', { name: 'Granted' }).waitFor()
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    // An ended session that no tab has noticed.
    await page.goto(link())
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    await page.context().clearCookies()
    await page.getByLabel('Subject', { exact: true }).fill('ann')
    await page.getByText('Your session has ended').waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})

describe.skipIf(isSkipped)('the screen Ask', () => {
  test('is used by keyboard: suggestions, the question, and the granted path', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    const subject = page.getByLabel('Subject', { exact: true })
    await subject.focus()
    await page.keyboard.type('ann')
    await page.getByRole('option', { name: /^Person:ann/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('option', { name: /^Person:ann/, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => subject.inputValue()).toBe('Person:ann')
    await page.keyboard.press('Tab')
    await page.keyboard.type('dri')
    await page.getByRole('option', { name: 'drive' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('option', { name: 'drive', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Car:c1')
    await page.getByRole('button', { name: '$min' }).press('Enter')
    await page.getByLabel('Value of $min').fill('4')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Granted' }).waitFor()
    const picture = page.getByRole('img', { name: /Person ann MEMBER Team red; / })
    await expect.poll(() => picture.getAttribute('aria-label')).toContain('Team red OWNS Car c1')
    await expect.poll(() => page.url()).toContain('subject=Person%3Aann')
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('shows by mouse why a question is denied: both values, and the missing relationship', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.getByRole('button', { name: /Person drive Car/ }).click()
    await page.getByLabel('Subject', { exact: true }).click()
    await page.getByRole('option', { name: /^Person:ann/ }).click()
    await page.getByLabel('Resource', { exact: true }).click()
    await page.getByRole('option', { name: 'Car:c1' }).click()
    await page.getByLabel('Value of $min').fill('6')
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    await page.getByText(/resource\.wheels is 4 and \$min is 6/).waitFor()
    await page.goto(question('Car:c1', 4, 'Person:bob'))
    await page.getByRole('img', { name: /missing: Person bob MEMBER/ }).waitFor()
    await page.goto(question('Car:unknown', 4))
    await page.getByText('The graph has no Car “unknown”.').first().waitFor()
    await page.goto(`${service.url}/console#/ask?subject=Car%3Ac1&action=fly&resource=Car%3Ac1`)
    await page.getByText('No active policy decides').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('names the field of a missing parameter, and forgets a fault of the form when its text changes', async () => {
    const { page, complaints, close } = await openConsole(browser, link(), {
      isExpected: (message) => message.includes('422'),
    })
    const card = page.getByRole('button', { name: /Person drive Car/ })
    const [outer, text] = [await card.boundingBox(), await card.locator('small').boundingBox()]
    expect((text?.x ?? 0) - (outer?.x ?? 0)).toBeLessThan(20)
    await page.getByLabel('Subject', { exact: true }).fill('Person:ann')
    await page.getByLabel('Action', { exact: true }).fill('drive')
    await page.keyboard.press('Enter')
    const fault = page.getByText('Resource: write it as Type:id')
    await fault.waitFor()
    await page.getByLabel('Resource', { exact: true }).fill('Car:c1')
    await expect.poll(() => fault.count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.getByText('A policy reads $min. Add its value under Parameters.').waitFor()
    await page.getByRole('button', { name: '$min' }).press('Enter')
    await page.getByLabel('Value of $min').fill('4')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Granted' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('shows the same question as commands, and saves it as a scenario', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.goto(question('Car:c1', 4))
    await page.getByRole('tab', { name: 'curl' }).focus()
    await expect.poll(() => page.getByRole('tabpanel').innerText()).toContain('/access/v1/evaluation')
    await page.keyboard.press('ArrowRight')
    await expect
      .poll(() => page.getByRole('tabpanel').innerText())
      .toContain('client.may({ Person: "ann" }, "drive", { Car: "c1" }')
    await page.keyboard.press('ArrowRight')
    await expect
      .poll(() => page.getByRole('tabpanel').innerText())
      .toContain('verdigraph why Person:ann drive Car:c1 --param min=4')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as scenario' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('ann-drive-c1.scenario.yaml')
    const text = readFileSync(await download.path(), 'utf8')
    const saved = Bun.YAML.parse(text) as { graph: { nodes: object[]; relationships: object[] }; decisions: unknown[] }
    expect(saved.decisions).toEqual([['Person:ann', 'drive', 'Car:c1', { min: 4 }, 'yes']])
    expect(saved.graph.nodes).toContainEqual({ type: 'Team', external_id: 'red' })
    expect(saved.graph.relationships).toHaveLength(2)
    expect(complaints).toEqual([])
    await close()
  })

  test('shows hostile names as text', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    for (const id of hostile) {
      await page.goto(question(`Car:${id}`, 4))
      await page.getByRole('heading', { name: 'Granted' }).waitFor()
      await page.getByText(id, { exact: true }).first().waitFor()
      await expect.poll(() => page.title()).toBe('Ask – Verdigraph console')
      await expect.poll(() => page.locator('img, script:not([src])').count()).toBe(0)
    }
    await page.getByLabel('Subject', { exact: true }).fill('ann')
    await page.getByRole('option', { name: hostile[0] as string }).waitFor()
    await expect.poll(() => page.title()).toBe('Ask – Verdigraph console')
    expect(complaints).toEqual([])
    await close()
  })

  test('has no fault of accessibility in the dark and on a phone, where nothing is wider than the screen', async () => {
    for (const options of [{ colorScheme: 'dark' }, { viewport: { width: 360, height: 740 } }] as const) {
      const { page, complaints, close } = await openConsole(browser, link(), options)
      for (const address of [question('Car:c1', 4), question('Car:c1', 6), question('Car:c1', 4, 'Person:bob')]) {
        await page.goto(address)
        await page.getByRole('heading', { name: /^(Granted|Denied)$/ }).waitFor()
        await expectAccessible(page)
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      }
      expect(complaints).toEqual([])
      await close()
    }
  })

  test('keeps the colours that the user chose', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    const ground = (): Promise<unknown> => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    const light = await ground()
    await page.getByLabel('Dark colours').check({ force: true })
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    await expect.poll(() => ground()).toBe(dark)
    expect(complaints).toEqual([])
    await close()
  })

  test('reaches its content with the link at the top, and names a screen that does not exist', async () => {
    const { page, complaints, close } = await openConsole(browser, link())
    await page.getByRole('heading', { name: 'Ask' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
    await page.goto(`${service.url}/console#/nowhere`)
    await page.getByRole('heading', { name: 'This screen does not exist' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})
