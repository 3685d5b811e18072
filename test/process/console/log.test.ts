// The screen Log in a real browser: live decisions, audit records whose proofs the page verifies, and the delivery of events.
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { processCommands } from '../../../src/cli/settings/self-command.ts'
import { expectAccessible, isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { type EventReceiver, startReceiver } from '../../support/event-receiver.ts'
import { startService, type TestService } from '../../support/service.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

let browser: Browser
let service: TestService
let receiver: EventReceiver
/** Whether the receiver accepts events of nodes whose ids contain `bad`. */
let accepts = true

const markup = `<img src=x onerror="document.title='hacked'">`
/** Names that would run a script, hide a part of themselves, or fill the page. */
const hostile = [markup, 'gnp\u202Eexe.txt', 'bell\u0007\u001b[31mred', 'x'.repeat(10_000)]

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  receiver = startReceiver()
  const { backgroundCommand } = processCommands()
  service = await startService(
    { decisionLog: join(temporaryFolder(), 'decisions.log'), parameterMask: 'secret', upstreamAllow: '127.0.0.1/32' },
    { backgroundCommand },
  )
  await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'ann' }] })
  await service.addPolicy({
    name: 'drive-own-car',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.wheels >= $min',
  })
  receiver.answer = (events) => (!accepts && events.some(({ subject }) => subject.includes('bad')) ? 413 : 200)
  const sink = await service.configure('POST', 'event-sinks', {
    project_id: service.projectId,
    name: 'events',
    providers: { main: { event_topic: { topic_endpoint: receiver.endpoint, access_key: 'a-long-access-key' } } },
    routes: [{ provider_id: 'main', event_type_key_values_filter: { event_type: 'svc.audit.capture.*' } }],
  })
  if (sink.status !== 201) throw new Error(sink.text)
}, 60_000)

afterAll(async () => {
  await browser?.close()
  await service?.stop()
  await receiver?.stop()
  removeTemporaryFolders()
})

const link = (): string => service.app.consoleLink(service.url) ?? ''
const view = (tab: string): string => `${service.url}/console#/log?tab=${tab}`

/** Asks for a decision with the key of the agent. */
async function decide(subject: string, action = 'drive', parameters: object = { min: 1 }): Promise<void> {
  const { status, text } = await service.ask('/access/v1/evaluation', {
    subject: { type: 'Person', id: subject },
    action: { name: action },
    resource: { type: 'Car', id: 'c1' },
    context: { input_params: parameters },
  })
  if (status !== 200) throw new Error(text)
}

/** Opens a tab of the screen. */
async function openLog(tab: string, options: Parameters<typeof openConsole>[2] = {}) {
  const opened = await openConsole(browser, link(), options)
  await opened.page.getByRole('heading', { name: 'Ask' }).waitFor()
  await opened.page.goto(view(tab))
  return opened
}

/** Opens the live decisions, and waits for the stream. */
async function openDecisions(options: Parameters<typeof openConsole>[2] = {}) {
  const opened = await openLog('decisions', options)
  await opened.page.getByText('Live', { exact: true }).waitFor()
  return opened
}

describe.skipIf(isSkipped)('live decisions', () => {
  test('appear, are filtered, and one is opened in Ask with the same question', async () => {
    const { page, complaints, close } = await openDecisions()
    await decide('ann', 'drive', { min: 4, secret: 'x' })
    await decide('bob', 'fly')
    await page.getByRole('option', { name: /Person:bob/ }).waitFor()
    await page.getByLabel('Text').fill('drive-own-car')
    await page.getByRole('option', { name: /Person:bob/ }).waitFor({ state: 'detached' })
    await page.getByRole('option', { name: /denied Person:ann drive Car:c1/ }).click()
    const detail = page.getByRole('region', { name: 'Decision' })
    await detail.getByText('drive-own-car', { exact: true }).waitFor()
    await expect.poll(() => detail.textContent()).toMatch(/Agentgid:.*Applicationgid:.*Decision idgid:/s)
    await page.getByRole('link', { name: 'Open in Ask' }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    await expect.poll(() => page.getByLabel('Subject', { exact: true }).inputValue()).toBe('Person:ann')
    await expect.poll(() => page.getByLabel('Value of $min').inputValue()).toBe('4')
    await expect.poll(() => page.getByLabel('Value of $secret').inputValue()).toBe('')
    expect(complaints).toEqual([])
    await close()
  })

  test('are filtered by the service, whose filter is in the address', async () => {
    const { page, complaints, close } = await openDecisions()
    const streams: string[] = []
    page.on('request', (request) => request.url().includes('/access/v1/decisions') && streams.push(request.url()))
    await page.getByLabel('Denied').check({ force: true })
    await page.getByLabel('Action').fill('steer')
    await expect.poll(() => streams.at(-1)).toContain('decision=denied&action=steer')
    await expect.poll(() => page.url()).toContain('decision=denied&action=steer')
    await page.getByText('Live', { exact: true }).waitFor()
    // The stream begins when the service has answered.
    await expect
      .poll(async () => {
        await decide('ann', 'drive')
        await decide('ann', 'steer')
        return page.getByRole('option', { name: / steer / }).count()
      })
      .toBeGreaterThan(0)
    await expect.poll(() => page.getByRole('option', { name: / drive / }).count()).toBe(0)
    expect(complaints).toEqual([])
    await close()
  })

  test('wait during a pause, are counted, and follow afterwards', async () => {
    const { page, complaints, close } = await openDecisions()
    await decide('before-pause')
    await page.getByRole('option', { name: /before-pause/ }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    for (let count = 0; count < 3; count += 1) await decide('during-pause')
    await page.getByRole('button', { name: 'Continue (3 new)' }).waitFor()
    await expect.poll(() => page.getByRole('option', { name: /during-pause/ }).count()).toBe(0)
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect.poll(() => page.getByRole('option', { name: /during-pause/ }).count()).toBe(3)
    expect(complaints).toEqual([])
    await close()
  })

  test('are read by keyboard: arrows, Enter for the detail, Escape back to the list', async () => {
    const { page, complaints, close } = await openDecisions()
    for (const name of ['one', 'two', 'three']) await decide(name)
    // The keys go through the rows that are there: they arrive one by one.
    await page.getByRole('option', { name: /Person:three/ }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).focus()
    await page.keyboard.press('Tab')
    await expect
      .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'))
      .toBe('Decisions, newest first')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    const detail = page.getByRole('region', { name: 'Decision' })
    await detail.getByText('Person:two').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await detail.waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Decision' }).getByText('Person:one').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('use bounded memory, and only visible rows are in the document', async () => {
    const { page, complaints, close } = await openDecisions()
    const items = Array.from({ length: 50 }, (_, at) => ({ subject: { type: 'Person', id: `crowd-${at}` } }))
    const batch = { evaluations: items, action: { name: 'drive' }, resource: { type: 'Car', id: 'c1' } }
    for (let round = 0; round < 60; round += 1) await service.ask('/access/v1/evaluations', batch)
    await page.getByText(/2,000 shown, 3,000 received, 1,000 older ones dropped/).waitFor()
    await expect.poll(() => page.locator('.row-list [role=option]').count()).toBeLessThan(60)
    await page.getByRole('listbox', { name: 'Decisions, newest first' }).press('End')
    await page.getByRole('option', { name: /crowd-0 / }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('show hostile names as text, invisible characters by their code, and long ones cut', async () => {
    const { page, complaints, close } = await openDecisions()
    for (const name of hostile) await decide(name)
    await page.getByRole('option', { name: markup }).click()
    await page.getByRole('region', { name: 'Decision' }).getByText(`Person:${markup}`, { exact: true }).waitFor()
    await page.getByRole('option', { name: /gnpU\+202Eexe\.txt/ }).waitFor()
    await page.getByRole('option', { name: /bellU\+0007U\+001B\[31mred/ }).waitFor()
    const long = page.getByRole('option', { name: /Person:x{100}/ })
    expect((await long.textContent())?.length).toBeLessThan(400)
    await long.click()
    await page
      .getByRole('button', { name: /Show 6,\d+ more characters/ })
      .first()
      .click()
    await expect.poll(() => page.title()).toBe('Log – Verdigraph console')
    await expect.poll(() => page.locator('img, script:not([src])').count()).toBe(0)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(complaints).toEqual([])
    await close()
  })
})

/** Opens the audit records and waits for the newest one of a type. */
async function openRecords(options: Parameters<typeof openConsole>[2] = {}, type = 'svc.audit.config.update') {
  const opened = await openLog('audit', options)
  const { page } = opened
  await page.getByLabel('Type', { exact: true }).fill(type)
  // The suggestions may cover the button.
  await page.getByRole('button', { name: 'Search' }).press('Enter')
  await page
    .getByRole('option', { name: new RegExp(type.replace('svc.audit.', '')) })
    .first()
    .waitFor()
  return opened
}

/** Changes the description of the first policy, and waits until the log has the record. */
async function changePolicy(description: string): Promise<void> {
  const { body } = await service.configure('GET', `authorization-policies?project_id=${service.projectId}`)
  const [{ id }] = body.data as [{ id: string }]
  const { body: policy } = await service.configure('GET', `authorization-policies/${id}`)
  const { status, text } = await service.configure('PUT', `authorization-policies/${id}`, {
    policy: policy.policy,
    status: 'ACTIVE',
    description,
  })
  if (status !== 200) throw new Error(text)
  const newest = `/audit/v1/records?project_id=${service.projectId}&type=svc.audit.config.update&pagesize=1`
  const isRecorded = async (): Promise<boolean> => {
    const records = await service.send(newest, { headers: { authorization: `Bearer ${service.token}` } })
    return records.text.includes(JSON.stringify(description))
  }
  await vi.waitUntil(isRecorded, { timeout: 30_000, interval: 100 })
}

const firstRecord = (page: Page) => page.getByRole('option', { name: /config\.update/ }).first()
const proof = (page: Page) => page.getByRole('region', { name: 'Record' }).getByText(/^(Proven|This record|The proof)/)

describe.skipIf(isSkipped)('audit records', () => {
  beforeAll(() => changePolicy('the first change'), 60_000)

  test('are found, shown with before and after, and proven in the page', async () => {
    const { page, complaints, close } = await openRecords()
    await page.getByText(/The log is signed and continuous: \d+ entries/).waitFor()
    await firstRecord(page).click()
    const detail = page.getByRole('region', { name: 'Record' })
    await detail.getByText('Proven: the log contains this record unchanged').click()
    await detail.getByText(/^\d+ hashes lead from entry \d+ to the root of \d+ entries/).waitFor()
    await detail.getByText(/^By verdigraph\/projects\/.*, key [0-9a-f]{8}\./).waitFor()
    await detail.locator('pre.is-after', { hasText: 'the first change' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByLabel('Organization').check({ force: true })
    await page.getByLabel('Type', { exact: true }).fill('')
    await page.getByRole('button', { name: 'Search' }).press('Enter')
    await page
      .getByRole('option', { name: /request\.answered|config\.read/ })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('are searched and opened by keyboard', async () => {
    const { page, complaints, close } = await openLog('audit')
    await page.getByLabel('Type', { exact: true }).focus()
    await page.keyboard.type('config.up')
    // The suggestions of the whole text.
    const suggestions = page.getByRole('listbox', { name: 'Suggestions for Type' }).getByRole('option')
    await expect.poll(() => suggestions.count()).toBe(1)
    await page.keyboard.press('ArrowDown')
    await page.getByRole('option', { name: /changes with before and after/, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('listbox', { name: 'Records' }).textContent()).not.toContain('config.read')
    await page.getByRole('listbox', { name: 'Records' }).focus()
    await page.keyboard.press('Enter')
    await proof(page).getByText('Proven').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  const replaceByte = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  const tampered: readonly (readonly [what: string, path: string, change: (text: string) => string, title: RegExp])[] =
    [
      [
        'the entry in the proof',
        '/proof',
        (text) => text.replace('the first change', 'the First change'),
        /another content/,
      ],
      ['a hash of the path', '/proof', (text) => replaceByte(text, text.indexOf('"proof":["') + 12), /do not lead/],
      [
        'the root in the checkpoint',
        '/proof',
        (text) => replaceByte(text, text.indexOf('"checkpoint":"') + 90),
        /signature/,
      ],
      ['the signature', '/proof', (text) => replaceByte(text, text.length - 40), /signature/],
    ]
  test.each(tampered)('a change of one byte is shown: %s', async (_, path, change, title) => {
    const { page, complaints, close } = await openRecords()
    await page.route(new RegExp(`${path}\\?`), async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: change(await response.text()) })
    })
    await firstRecord(page).click()
    await proof(page).getByText('This record is not proven').waitFor()
    const detail = page.getByRole('region', { name: 'Record' })
    await detail.getByText(title).first().waitFor()
    await expect.poll(() => detail.locator('details.proof').getAttribute('class')).toContain('is-bad')
    expect(complaints).toEqual([])
    await close()
  })

  test('a record that the list shows with another content is shown as not proven', async () => {
    const opened = await openLog('audit')
    const { page, complaints, close } = opened
    await page.route(/\/audit\/v1\/records\?/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replaceAll('the first change', 'a harmless text') })
    })
    await page.getByLabel('Type', { exact: true }).fill('svc.audit.config.update')
    // The suggestions may cover the button.
    await page.getByRole('button', { name: 'Search' }).press('Enter')
    await expect.poll(() => page.getByRole('listbox', { name: 'Records' }).textContent()).not.toContain('config.read')
    await firstRecord(page).click()
    await page.getByText('The entry in the proof has another content than the record in the list.').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('a log that continues what the browser has seen is good; a rewritten or shortened one is shown', async () => {
    const { page, complaints, close } = await openRecords({ isExpected: (text) => text.includes('400') })
    await page.getByText(/The log is signed and continuous/).waitFor()
    const storedName = `verdigraph-audit:${service.projectId}`
    const read = () => page.evaluate(`localStorage.getItem(${JSON.stringify(storedName)})`)
    await expect.poll(read).not.toBe(null)
    const stored = JSON.parse((await read()) as string) as [{ size: number; root: string }]
    await changePolicy('another change')
    await page.getByRole('button', { name: 'Read again' }).click()
    const status = page.locator('.log-bar details')
    await page.getByText(/The log is signed and continuous/).click()
    await status.getByText(new RegExp(`It had ${stored[0].size} entries`)).waitFor()
    const pretend = async (change: object): Promise<void> => {
      const changed = JSON.stringify([{ ...stored[0], ...change }])
      await page.evaluate(`localStorage.setItem(${JSON.stringify(storedName)}, ${JSON.stringify(changed)})`)
      await page.getByRole('button', { name: 'Read again' }).click()
    }
    await pretend({ root: replaceByte(stored[0].root, 3) })
    await status.getByText('The log was rewritten').waitFor()
    await status.getByRole('button', { name: 'Copy both checkpoints' }).waitFor()
    await expectAccessible(page)
    // It stays so until the user decides otherwise.
    await page.reload()
    await status.getByText('The log was rewritten').waitFor()
    await pretend({ size: 1_000_000 })
    await status.getByText('Entries were removed').waitFor()
    await pretend({ keys: ['00000000 AAAA'] })
    await status.getByText(/By a key that this browser has not seen before/).waitFor()
    await status.getByRole('button', { name: /this is expected/ }).click()
    await page.getByText(/The log is signed and continuous/).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('are not called proven if the browser cannot verify them', async () => {
    const { page, complaints, close } = await openRecords()
    await page.addInitScript("Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined })")
    await page.reload()
    await page.getByText('Not verifiable in this browser').waitFor()
    await firstRecord(page).click()
    await proof(page).getByText('The proof could not be verified completely').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('show hostile texts as text', async () => {
    await changePolicy(`${markup} gnp\u202Eexe.txt`)
    const { page, complaints, close } = await openRecords()
    await firstRecord(page).click()
    await proof(page).getByText('Proven').waitFor()
    await page.locator('pre.is-after', { hasText: `${markup} gnpU+202Eexe.txt` }).waitFor()
    await expect.poll(() => page.title()).toBe('Log – Verdigraph console')
    await expect.poll(() => page.locator('img, script:not([src])').count()).toBe(0)
    expect(complaints).toEqual([])
    await close()
  })
})

describe.skipIf(isSkipped)('events', () => {
  const capture = (external_id: string) => service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id }] })

  test('refused ones are dead letters, which are sent again by mouse and by keyboard, one or all, or deleted', async () => {
    accepts = false
    for (const name of ['bad-1', 'bad-2', 'bad-3', 'bad-4']) await capture(name)
    const { page, complaints, close } = await openLog('events')
    const letters = page.getByRole('region', { name: 'Dead letters' })
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Read again' }).click()
          await page.waitForTimeout(300)
          return letters.getByRole('option').count()
        },
        { timeout: 60_000 },
      )
      .toBe(4)
    await letters.getByRole('option', { name: /bad-1/ }).click()
    const letter = page.getByRole('region', { name: 'Dead letter', exact: true })
    await letter.getByText('HTTP status 413').first().waitFor()
    await letter.getByText(/"externalId": "bad-1"/).waitFor()
    await expectAccessible(page)
    accepts = true
    await letter.getByRole('button', { name: 'Send again' }).click()
    await receiver.until((accepted) => accepted.some(({ subject }) => subject.includes('bad-1')))
    await letters.getByRole('option', { name: /bad-1/ }).waitFor({ state: 'detached' })
    await letters.getByRole('listbox').focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await letter.getByRole('button', { name: 'Delete' }).press('Enter')
    await letter.getByRole('button', { name: 'Delete for good?' }).press('Enter')
    await page.getByText('The dead letter is deleted.').waitFor()
    await page.getByRole('button', { name: 'Send all of main again' }).press('Enter')
    await letters.getByText('No receiver has refused an event for good.').waitFor()
    expect(receiver.accepted.filter(({ subject }) => /bad-[2-4]/.test(subject)).length).toBe(2)
    expect(complaints).toEqual([])
    await close()
  })

  test('are followed as they happen', async () => {
    const { page, complaints, close } = await openLog('events')
    await page.getByText('up to date').waitFor()
    await page.getByRole('button', { name: 'Follow' }).click()
    await capture('followed')
    await page.getByRole('option', { name: /nodes\/Car\/followed/ }).click()
    await page
      .getByRole('region', { name: 'Event', exact: true })
      .getByText('svc.audit.capture.upsert.node')
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    expect(complaints).toEqual([])
    await close()
  })
})

describe.skipIf(isSkipped)('the screen Log', () => {
  test('a viewer sees neither decisions nor events, and the page does not ask for them', async () => {
    const { organizationId: organization_id } = service.app
    const account = await service.configure('POST', 'service-accounts', {
      organization_id,
      name: 'eyes',
      role: 'all_viewer',
    })
    const credential = await service.configure('POST', 'service-account-credentials', {
      service_account_id: account.body.id,
    })
    const { token } = credential.body.service_account_config as { token: string }
    const { page, complaints, close } = await openConsole(browser, `${service.url}/console`)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.getByLabel('Token of a service account').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Log' }).click()
    await page.getByText(/The log is signed and continuous/).waitFor()
    await expect.poll(() => page.getByRole('tab').allInnerTexts()).toEqual(['Audit records', 'Events'])
    await page.getByRole('tab', { name: 'Events' }).click()
    await page.getByText('CloudEvents over HTTP').waitFor()
    await expect.poll(() => page.getByText('Dead letters').count()).toBe(1)
    await expect.poll(() => page.getByRole('button', { name: /Follow|again$/ }).allInnerTexts()).toEqual(['Read again'])
    await page.goto(view('decisions'))
    await page.getByText('This account may not read this log').waitFor()
    expect(asked.filter((path) => /access\/v1\/decisions|dead-letters|follow/.test(path))).toEqual([])
    expect(complaints).toEqual([])
    await close()
  })

  test('the screen has no fault of accessibility in the dark and on a phone, where nothing is wider than the screen', async () => {
    for (const options of [{ colorScheme: 'dark' }, { viewport: { width: 360, height: 740 } }] as const) {
      const { page, complaints, close } = await openDecisions(options)
      await decide('ann')
      for (const tab of ['decisions', 'audit', 'events']) {
        await page.goto(view(tab))
        if (tab !== 'events') await page.locator('.row-list [role=option]').first().waitFor()
        else await page.getByText('CloudEvents over HTTP').waitFor()
        await expectAccessible(page)
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        if (tab === 'events') continue
        await page.locator('.row-list [role=option]').first().click()
        await page.getByRole('button', { name: 'Close' }).waitFor()
        await expectAccessible(page)
        await page.getByRole('button', { name: 'Close' }).click()
      }
      expect(complaints).toEqual([])
      await close()
    }
  })

  test('two tabs follow the same decisions; signing out ends both', async () => {
    const { page, complaints, close } = await openDecisions()
    const other = await page.context().newPage()
    await other.goto(view('decisions'))
    await other.getByText('Live', { exact: true }).waitFor()
    await decide('both-tabs')
    for (const tab of [page, other]) await tab.getByRole('option', { name: /both-tabs/ }).waitFor()
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})
