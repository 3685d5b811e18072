// The screen Policies in a real browser: finding, writing, comparing and deleting policies by keyboard and by mouse, two tabs, an ended
// session, a viewer, hostile names, and a phone. Any message of the browser that is not expected fails the test.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ConsolePage,
  expectAccessible,
  isSkipped,
  openBrowser,
  openConsole,
} from '../../support/console-browser.ts'
import { startService, type TestService } from '../../support/service.ts'

let browser: Browser
let service: TestService

const hostile = `<img src=x onerror="document.title='hacked'">`

function policyText(cypher: string, action = 'drive'): string {
  return JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: [action],
    resource: { type: 'Car' },
    condition: { cypher },
  })
}

async function store(kind: string, body: object): Promise<string> {
  const stored = await service.configure('POST', kind, { project_id: service.projectId, ...body })
  if (stored.status !== 201) throw new Error(stored.text)
  return String(stored.body.id)
}

async function policyNamed(name: string): Promise<{ id: string; status: string; policy: string }> {
  const path = `/configs/v1/authorization-policies/${name}?project_id=${service.projectId}`
  const { body } = await service.send(path, { headers: { authorization: `Bearer ${service.token}` } })
  return body as { id: string; status: string; policy: string }
}

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  service = await startService({ laneWaitMs: 60_000 })
  const nodes = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Person', external_id: 'bob' },
    { type: 'Team', external_id: 'red' },
    { type: 'Car', external_id: 'c1', properties: [{ type: 'wheels', value: 4 }] },
    { type: 'Car', external_id: hostile, properties: [{ type: 'wheels', value: 4 }] },
  ]
  const edge = (from: readonly [string, string], type: string, to: readonly [string, string]) => ({
    source: { type: from[0], external_id: from[1] },
    type,
    target: { type: to[0], external_id: to[1] },
  })
  const relationships = [
    edge(['Person', 'ann'], 'MEMBER', ['Team', 'red']),
    edge(['Person', 'bob'], 'MEMBER', ['Team', 'red']),
    edge(['Person', 'ann'], 'OWNS', ['Car', 'c1']),
    edge(['Team', 'red'], 'OWNS', ['Car', hostile]),
  ]
  for (const [path, body] of [
    ['nodes', { nodes }],
    ['relationships', { relationships }],
  ] as const) {
    const { status, text } = await service.ask(`/capture/v1/${path}`, body)
    if (status !== 200) throw new Error(text)
  }
  for (const [name, cypher] of [
    ['drive-own-car', 'MATCH (subject)-[:OWNS]->(resource)'],
    ['two-tabs', 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 1'],
    ['kept-text', 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 2'],
  ] as const)
    await store('authorization-policies', { name, policy: policyText(cypher), status: 'ACTIVE' })
  await store('authorization-policies', {
    name: 'hostile-draft',
    display_name: hostile,
    description: `"><script>document.title='hacked'</script>`,
    policy: hostile,
    status: 'DRAFT',
  })
  const context = await store('authorization-policies', {
    name: 'own-cars',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject)-[:OWNS]->(car:Car)' },
      allowed_reads: { nodes: ['car.external_id', 'car.property.wheels'] },
    }),
  })
  const query = JSON.stringify({ nodes: ['car.external_id'] })
  await store('knowledge-queries', { name: 'my-cars', policy_id: context, query, status: 'ACTIVE' })
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

async function open(
  address: string,
  options: Parameters<typeof openConsole>[2] = {},
): Promise<ConsolePage & { readonly page: Page }> {
  const opened = await openConsole(browser, service.app.consoleLink(service.url) ?? '', options)
  await opened.page.getByRole('heading', { name: 'Ask' }).waitFor()
  await opened.page.goto(`${service.url}/console${address}`)
  return opened
}

/** Replaces the condition, as a user does. */
async function writeCondition(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Condition' }).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

describe.skipIf(isSkipped)('the screen Policies', () => {
  test('is used by keyboard: search, a finding and a completion in the editor, saving, and the history', async () => {
    const { page, complaints, close } = await open('#/policies')
    const search = page.getByRole('searchbox', { name: 'Search for a policy' })
    await search.focus()
    await page.keyboard.type('drive-own')
    await page.getByRole('link', { name: /two-tabs/ }).waitFor({ state: 'detached' })
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /drive-own-car/ }).waitFor()
    const editor = page.getByRole('textbox', { name: 'Condition' })
    await editor.focus()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('MATCH (subject)-[:OWNZ]->(resource)')
    await page.getByText('did you mean `[:OWNS]`?').waitFor()
    // Back into the relationship type.
    for (const _ of ']->(resource)') await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Control+Space')
    await page.getByRole('option', { name: /OWNS/ }).waitFor()
    // The editor does not take a key that was pressed just when the list opened.
    await page.waitForTimeout(150)
    await page.keyboard.press('Enter')
    await page.getByText('did you mean').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('WHERE resource.wheels > 2')
    await page.keyboard.press('Control+s')
    await page.getByText('Saved.').waitFor()
    const { policy } = await policyNamed('drive-own-car')
    expect(JSON.parse(policy)).toMatchObject({
      condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels > 2' },
    })
    // Escape, then Tab leaves the editor.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    await expect.poll(() => page.evaluate(`document.activeElement.classList.contains('cm-content')`)).toBe(false)
    await page.getByRole('tab', { name: 'Plan' }).focus()
    await page.keyboard.press('End')
    const changes = page.getByRole('region', { name: 'Changes of revision 2' })
    await changes.getByText('added: WHERE resource.wheels > 2').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('edits the model: a finding, a completion of a name of its own, saving, and a policy with the definition', async () => {
    const { page, complaints, close } = await open('#/policies?list=model')
    await page.getByRole('link', { name: 'New model' }).click()
    await page.getByRole('heading', { name: 'New model' }).waitFor()
    await page.getByRole('textbox', { name: 'Model' }).click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(
      'DEFINE (p:Person)-[:may_drive]->(c:Car) AS {\n  MATCH (p)-[:OWNS]->(c) WHERE NOT (p)-[:may_drive]->(c)\n}',
    )
    await page.getByText('a definition cannot exclude or count what depends on itself').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(
      'DEFINE (p:Person)-[:may_drive]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) UNION MATCH (p)-[:may',
    )
    await page.keyboard.press('Control+Space')
    await page.getByRole('option', { name: /may_drive/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('DEFINE (p:Person)-[:may_drive]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) }')
    await page.getByText('depends on itself').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: /^Revision 1/ }).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Policies and queries' }).click()
    await page.getByText('Defines may_drive').waitFor()
    await page.goto(`${service.url}/console#/policies?policy=new`)
    await page.getByRole('combobox', { name: 'Subject type' }).fill('Person')
    await page.getByLabel('Actions').fill('drive')
    await page.getByRole('combobox', { name: 'Resource type' }).fill('Car')
    await page.getByRole('combobox', { name: 'Resource type' }).press('Tab')
    await writeCondition(page, 'MATCH (subject)-[:may_drave]->(resource)')
    await page.getByText('did you mean `[:may_drive]`?').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    expect(complaints).toEqual([])
    await close()
  })

  test('is used by mouse: a new draft, its plan, the pairs that it finds, who gains, and deletion', async () => {
    const { page, complaints, close } = await open('#/policies')
    await page.getByRole('link', { name: 'New policy' }).click()
    await page.getByLabel('Name', { exact: true }).fill('drive-team-car')
    await page.getByRole('combobox', { name: 'Subject type' }).fill('Person')
    await page.getByLabel('Actions').fill('drive')
    await page.getByRole('combobox', { name: 'Resource type' }).fill('Car')
    // The suggestions may cover the condition.
    await page.getByRole('combobox', { name: 'Resource type' }).press('Tab')
    await writeCondition(page, 'MATCH (subject)-[:MEMBER]->(:Team)-[:OWNS]->(resource)')
    await page.getByRole('heading', { name: 'One decision' }).waitFor()
    await page.getByRole('tab', { name: 'Try' }).click()
    await page.getByRole('button', { name: 'Run the condition' }).click()
    await page.getByText('2 pairs').waitFor()
    // Names of the graph are text.
    await page
      .getByRole('cell', { name: `Car:${hostile}` })
      .first()
      .waitFor()
    await page.getByRole('tab', { name: 'Who gains, who loses' }).click()
    await page.getByRole('button', { name: 'Compare with the policies in force' }).click()
    await page.getByText('2 decisions are gained').waitFor()
    await page.getByText('0 decisions are lost').waitFor()
    await page.getByText(`bob –MEMBER→ red –OWNS→ ${hostile}`).waitFor()
    await expect
      .poll(() => page.getByRole('link', { name: `bob → ${hostile}` }).getAttribute('href'))
      .toContain('#/ask?subject=')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.getByText('Revision 1').first().waitFor()
    expect(await policyNamed('drive-team-car')).toMatchObject({ status: 'DRAFT' })
    await page.getByRole('tab', { name: 'Try' }).click()
    await page.getByRole('button', { name: 'Run the condition' }).click()
    await page.getByRole('link', { name: 'Ask', exact: true }).nth(1).click()
    await page.getByRole('heading', { name: 'Granted' }).waitFor()
    await page.getByText('if the drafts were active').waitFor()
    await page.getByLabel('Drafts decide too').uncheck()
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.getByRole('heading', { name: 'Denied' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete the policy drive-team-car?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Policies', exact: true }).waitFor()
    expect((await policyNamed('drive-team-car')).id).toBeUndefined()
    await expect.poll(() => page.title()).not.toBe('hacked')
    expect(complaints).toEqual([])
    await close()
  })

  test('keeps both texts when another tab has saved the policy', async () => {
    const { id } = await policyNamed('two-tabs')
    const { page, complaints, close } = await open(`#/policies?policy=${id}`, {
      isExpected: (text) => text.includes('412'),
    })
    const other = await page.context().newPage()
    await other.goto(`${service.url}/console#/policies?policy=${id}`)
    for (const one of [page, other]) await one.getByRole('textbox', { name: 'Condition' }).waitFor()
    await writeCondition(other, 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 11')
    await other.getByRole('button', { name: 'Save' }).click()
    await other.getByText('Saved.').waitFor()
    await writeCondition(page, 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 22')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Someone has changed it since you opened it' }).waitFor()
    const difference = page.getByRole('region', { name: 'From revision 2 to your text' })
    await difference.getByText('removed: WHERE resource.wheels = 11').waitFor()
    await difference.getByText('added: WHERE resource.wheels = 22').waitFor()
    expect((await policyNamed('two-tabs')).policy).toContain('= 11')
    await page.getByRole('button', { name: 'Keep my text' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect((await policyNamed('two-tabs')).policy).toContain('= 22')
    expect(complaints).toEqual([])
    await close()
  })

  test('loses no text when the session ends, and shows it only to the same account', async () => {
    const { id } = await policyNamed('kept-text')
    const { page, complaints, close } = await open(`#/policies?policy=${id}`, {
      isExpected: (text) => text.includes('401'),
    })
    await page.getByRole('heading', { name: 'One decision' }).waitFor()
    await page.context().clearCookies()
    await writeCondition(page, 'MATCH (subject)-[:OWNS]->(resource)\nWHERE resource.wheels = 33')
    await page.getByText('Your session has ended').waitFor()
    const key = await page.evaluate(`Object.keys(sessionStorage).find((key) => key.startsWith('verdigraph-edit'))`)
    expect(key).toContain('authorization-policies')
    await page.getByLabel('Token of a service account').fill(service.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This text was kept in the tab and is not saved yet.').waitFor()
    await page.getByText('resource.wheels = 33').first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect((await policyNamed('kept-text')).policy).toContain('= 33')
    await expect
      .poll(() => page.evaluate(`Object.keys(sessionStorage).some((key) => key.startsWith('verdigraph-edit'))`))
      .toBe(false)
    expect(complaints).toEqual([])
    await close()
  })

  test('shows hostile documents as text, in the dark and on a phone', async () => {
    const { page, complaints, close } = await open('#/policies', {
      colorScheme: 'dark',
      viewport: { width: 390, height: 844 },
    })
    const row = page.getByRole('link', { name: /hostile-draft/ })
    await row.getByText(hostile).waitFor()
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await row.click()
    await expect.poll(() => page.getByLabel('Document (JSON)').inputValue()).toBe(hostile)
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await expect.poll(() => page.title()).not.toBe('hacked')
    expect(complaints).toEqual([])
    await close()
  })

  test('runs a pasted scenario with the stored policies, and shows why a check failed', async () => {
    const { page, complaints, close } = await open('#/policies?list=tests', {
      isExpected: (text) => text.includes('422'),
    })
    const text = [
      'graph: |',
      '  (ann:Person)-[:OWNS]->(c1:Car {wheels: 4})',
      '  (bob:Person)',
      'decisions:',
      '  - [Person:ann, drive, Car:c1, {}, yes]',
      '  - [Person:bob, drive, Car:c1, {}, yes]',
    ].join('\n')
    await page.getByLabel('Scenario', { exact: true }).fill(text)
    await page.getByLabel('Scenario', { exact: true }).press('Control+Enter')
    await page.getByRole('heading', { name: '1 check failed' }).waitFor()
    await page.getByText('Expected yes, found no.').waitFor()
    await page.getByText('drive-own-car').first().waitFor()
    await page.getByLabel('Scenario', { exact: true }).fill('decisions:\n  - [1]\n')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('scenario: line 2, column 5').waitFor()
    await page.getByLabel('Scenario', { exact: true }).fill('')
    await page.getByLabel('Open scenario files').setInputFiles([
      {
        name: 'good.scenario.yaml',
        mimeType: 'text/yaml',
        buffer: Buffer.from(text.split('\n').slice(0, 5).join('\n')),
      },
      { name: 'empty.scenario.yaml', mimeType: 'text/yaml', buffer: Buffer.from('decisions: []') },
    ])
    await page.getByRole('button', { name: 'Run 2 files' }).click()
    await page.getByRole('heading', { name: 'All checks passed' }).waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('edits a knowledge query, and refuses text that is not JSON', async () => {
    const { page, complaints, close } = await open('#/policies?list=queries')
    await page.getByRole('link', { name: /my-cars/ }).click()
    const field = page.getByLabel('Query (JSON)')
    await field.fill('{')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('Query: this is not JSON').waitFor()
    await field.fill('{ "nodes": ["car.external_id", "car.property.wheels"] }')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('tab', { name: 'Try the policy' }).click()
    await page.getByRole('button', { name: 'Run the condition' }).click()
    await page.getByRole('cell', { name: 'Car:c1' }).waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('lets a viewer read, and change nothing', async () => {
    const { organizationId: organization_id } = service.app
    const account = await service.configure('POST', 'service-accounts', {
      organization_id,
      name: 'viewer',
      role: 'all_viewer',
    })
    const { body } = await service.configure('POST', 'service-account-credentials', {
      service_account_id: account.body.id,
    })
    const { token } = body.service_account_config as { token: string }
    const { page, complaints, close } = await openConsole(browser, `${service.url}/console#/policies`)
    await page.getByLabel('Token of a service account').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: /own-cars/ }).click()
    await page.getByRole('tab', { name: 'History' }).waitFor()
    await expect.poll(() => page.getByRole('tab').allTextContents()).toEqual(['History'])
    await page.getByText('MATCH').first().waitFor()
    await expect.poll(() => page.getByRole('button', { name: /Save|Delete/ }).count()).toBe(0)
    await expect.poll(() => page.getByLabel('Display name').isEditable()).toBe(false)
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })
})
