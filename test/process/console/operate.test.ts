// The screen Operate in a real browser.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateBackupRecord } from '../../../src/backup/backup-record.ts'
import { openShippingFigures } from '../../../src/backup/shipping/shipping-figures.ts'
import { processCommands } from '../../../src/cli/settings/self-command.ts'
import { killAll, ownEnvironment, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { expectAccessible, isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'
import { startService } from '../../support/service.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

let browser: Browser
let mcp: McpService

const hostile = `<img src=x onerror="document.title='hacked'">`
/** The lanes of a busy machine start slowly. */
const patient = { VERDIGRAPH_LANE_WAIT_MS: '60000' }

beforeAll(async () => {
  if (isSkipped) return
  browser = await openBrowser()
  mcp = await startMcpService({
    settings: { backupFolder: join(temporaryFolder(), 'backups') },
    overrides: { backupCommand: processCommands().backupCommand },
  })
  await mcp.create('external-data-resolvers', {
    name: 'stock',
    display_name: hostile,
    url: 'https://stock.example.org/items',
    method: 'GET',
    headers: {},
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.amount',
  })
})

afterAll(async () => {
  await browser?.close()
  await mcp?.stop()
  await killAll()
  removeTemporaryFolders()
})

const link = (): string => mcp.service.app.consoleLink(mcp.service.url) ?? ''

async function open(options: Parameters<typeof openConsole>[2] = {}) {
  const opened = await openConsole(browser, link(), options)
  await opened.page.getByRole('link', { name: 'Operate' }).click()
  await opened.page.getByRole('heading', { name: 'Operate' }).waitFor()
  return opened
}

describe.skipIf(isSkipped)('the screen Operate', () => {
  test('counts decisions while it is shown, and draws them', async () => {
    const { page, complaints, close } = await open()
    const chart = page.getByRole('img', { name: /^Decisions per second/ })
    await chart.locator('canvas').waitFor()
    const tile = page.getByRole('listitem').filter({ hasText: 'Decisions / s' })
    await tile.waitFor()
    const question = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    let isShown = false
    const asking = (async () => {
      while (!isShown) await mcp.service.ask('/access/v1/evaluation', question)
    })()
    await page.getByRole('img', { name: /^Time of a decision.* p50: [\d.]+ m?s/ }).waitFor()
    isShown = true
    await asking
    await page.getByRole('table', { name: 'Workers' }).getByRole('rowheader', { name: 'Worker 1' }).waitFor()
    await page.getByText('Configuration').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('makes, verifies, downloads and deletes a backup by mouse', async () => {
    const { page, complaints, close } = await open({ acceptDownloads: true })
    await page.getByRole('tab', { name: 'Backups' }).click()
    await page.getByRole('button', { name: 'Make a backup' }).click()
    await page.getByRole('button', { name: /^Verify/ }).click()
    await page.getByText('verified', { exact: true }).waitFor()
    await expectAccessible(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^Download/ }).click(),
    ])
    const file = join(temporaryFolder(), download.suggestedFilename())
    await download.saveAs(file)
    const restored = join(temporaryFolder(), 'restored')
    const { exitCode, stderr } = await runCommand(['restore', '--in', file, '--data', restored])
    expect([exitCode, stderr.includes('error')]).toEqual([0, false])
    expect(existsSync(join(restored, 'config', 'data.mdb'))).toBe(true)
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('button', { name: /for good$/ }).click()
    await page.getByText('There is no backup yet').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('shows the schedule of backups with its last error, the drill, and the shipping of changes', async () => {
    const folder = temporaryFolder()
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    const minuteMs = 60_000
    const ago = (minutes: number): string => new Date(Date.now() - minutes * minuteMs).toISOString()
    const service = await startService({
      dataDir,
      backupTo: join(folder, 'place'),
      backupSchedule: '30 2 * * *',
      drillSchedule: '0 4 * * 0',
      shipTo: join(folder, 'shipped'),
    })
    // As the processes of the jobs write them.
    updateBackupRecord(dataDir, {
      backup: {
        due_time: ago(0),
        failures: 2,
        last_run: { name: '', start_time: ago(5), end_time: ago(4), error: hostile },
      },
      newest: {
        name: 'scheduled-1',
        made_at: ago(3 * 60),
        bytes: 3 * 1024 * 1024,
        seconds: 4,
        projects: 1,
        verification: 'sound',
      },
      proven: { name: 'scheduled-1', made_at: ago(3 * 60), proven_at: ago(2 * 60) },
      kept: 1,
    })
    const figures = openShippingFigures(dataDir)
    figures.momentS = Math.floor(Date.now() / 1000) - 3
    figures.baseS = figures.momentS - 7200
    figures.objects = 12
    figures.kibibytes = 84
    try {
      const { page, complaints, close } = await openConsole(browser, service.app.consoleLink(service.url) ?? '')
      await page.getByRole('link', { name: 'Operate' }).click()
      await page.getByRole('tab', { name: 'Backups' }).click()
      const jobs = page.getByRole('table', { name: 'Scheduled jobs' })
      const row = (name: string) => jobs.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })
      await row('Backup').getByText('failed 2 times').waitFor()
      const backup = await row('Backup').innerText()
      for (const shown of ['30 2 * * *', /in \d+ (hour|minute|second)s?/, /\d minutes ago/, hostile])
        expect(backup).toMatch(shown)
      await expect.poll(() => row('Restore drill').innerText()).toMatch(/0 4 \* \* 0[\s\S]*never[\s\S]*waiting/)
      const schedule = page.getByRole('region', { name: 'Schedule' })
      await expect
        .poll(() => schedule.innerText())
        .toMatch(/1 backup[\s\S]*scheduled-1, 3 hours ago, 3\.0 MiB, read back and verified/)
      await expect.poll(() => schedule.innerText()).toMatch(/that of 3 hours ago, by a drill 2 hours ago/)
      const shipping = page.getByRole('region', { name: 'Shipped changes' })
      await expect
        .poll(() => shipping.innerText())
        .toMatch(/shipping[\s\S]*seconds ago[\s\S]*2 hours ago[\s\S]*12 objects, 84/)
      await page.getByText('Backups on request are off').waitFor()
      await expectAccessible(page)
      // The view follows the figures.
      figures.momentS -= 600
      figures.failures = 7
      await shipping.getByText('late').waitFor()
      await shipping.getByText('7, with their reasons in the log of the service').waitFor()
      expect(complaints).toEqual([])
      await close()
    } finally {
      await service.stop()
    }
  })

  test('shows settings with their origin, keys, connections and jobs, by keyboard', async () => {
    const { page, complaints, close } = await open()
    await page.getByRole('tab', { name: 'Now' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('searchbox', { name: 'Search' }).fill('drain')
    await page.getByRole('rowheader', { name: /^drain_ms/ }).waitFor()
    await expect.poll(() => page.getByRole('table').count()).toBe(1)
    await page.getByRole('searchbox', { name: 'Search' }).fill('')
    await page.getByLabel('Only what differs from the default').press('Space')
    await page.getByRole('row', { name: /backup_folder.*program/ }).waitFor()
    await expectAccessible(page)
    await page.getByRole('tab', { name: 'Settings' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('table', { name: 'Keys of service accounts' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('ArrowRight')
    // A hostile name is text.
    await page.getByRole('rowheader', { name: hostile }).waitFor()
    await page.getByRole('row', { name: /stock\.example\.org.*not used/ }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('ArrowRight')
    await page.getByText('The project has no trust score profile.').waitFor()
    await expect.poll(() => page.title()).toBe('Operate – Verdigraph console')
    expect(complaints).toEqual([])
    await close()
  })

  test('tries a tool of the MCP server with the rights of the session', async () => {
    const { page, complaints, close } = await open()
    await page.getByRole('tab', { name: 'MCP' }).click()
    await page.getByText('authzen_evaluate', { exact: true }).click()
    const fields = page.getByLabel('Arguments, as JSON')
    // The tool requires no argument by itself, because it takes a question in two forms.
    expect(JSON.parse(await fields.first().inputValue())).toEqual({
      subject: { type: '', id: '' },
      action: { name: '' },
      resource: { type: '', id: '' },
    })
    await fields.first().fill('{')
    await page.getByRole('button', { name: 'Try authzen_evaluate', exact: true }).click()
    await page.getByText('The arguments are not JSON').waitFor()
    await fields.first().fill(
      JSON.stringify({
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'drive' },
        resource: { type: 'Car', id: 'c1' },
      }),
    )
    await page.getByRole('button', { name: 'Try authzen_evaluate', exact: true }).click()
    await page
      .getByRole('status')
      .getByText(/"decision": (true|false)/)
      .waitFor()
    await expectAccessible(page)
    // Knowledge queries run for a user.
    await page.getByText('ciq_execute', { exact: true }).click()
    await page.getByRole('button', { name: 'Try ciq_execute' }).click()
    await page.getByText('does not include CIQ').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('fits a phone, light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints, close } = await open({ viewport: { width: 390, height: 844 }, colorScheme })
      await page
        .getByRole('img', { name: /^Decisions per second/ })
        .locator('canvas')
        .waitFor()
      await expectAccessible(page)
      for (const tab of ['Backups', 'Settings', 'Keys', 'MCP']) {
        await page.getByRole('tab', { name: tab }).click()
        await page.getByRole('tabpanel').locator('section').first().waitFor()
        expect([tab, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([tab, true])
      }
      expect(complaints).toEqual([])
      await close()
    }
  })

  test('keeps its chart, with a gap, while the service goes away and returns', async () => {
    const dataDir = temporaryFolder()
    let service = await startService({ dataDir })
    try {
      const { page, complaints, close } = await openConsole(browser, service.app.consoleLink(service.url) ?? '', {
        isExpected: (text) => text.includes('ERR_CONNECTION'),
      })
      await page.getByRole('link', { name: 'Operate' }).click()
      const chart = page.getByRole('img', { name: /^Decisions per second/ })
      await page.getByRole('img', { name: /Granted: [\d.]+/ }).waitFor()
      const { settings } = service.app
      const port = Number(new URL(service.url).port)
      await service.stop()
      await page.getByText('The service does not answer.').first().waitFor()
      await page.getByRole('img', { name: /^Decisions per second.*Granted: no value/ }).waitFor()
      await expect.poll(() => chart.locator('canvas').count()).toBe(1)
      const { createApp } = await import('../../../src/app.ts')
      const app = await createApp({ ...settings, port })
      service = { ...service, stop: () => app.close() }
      await app.listen()
      await page.getByRole('img', { name: /^Decisions per second.*Granted: [\d.]+/ }).waitFor()
      expect(complaints).toEqual([])
      await close()
    } finally {
      await service.stop()
    }
  })
})

test.skipIf(isSkipped)(
  'with two workers, the figures are those of both, and a backup runs in a process of its own',
  async () => {
    const folder = temporaryFolder()
    const args = ['--data', join(folder, 'data'), '--workers', '2', '--demo']
    const server: Server = await startServer(args, patient)
    const output = await server.printed('The console')
    const key = /export KEY=(\S+)/.exec(await server.printed('export KEY='))?.[1] ?? ''
    const address = /http\S+#link=\S+/.exec(output)?.[0] ?? ''
    expect(ownEnvironment.VERDIGRAPH_DATA).toBeUndefined()
    const body = JSON.stringify({
      subject: { type: 'Person', id: 'dara' },
      action: { name: 'tow' },
      resource: { type: 'Car', id: 'bramble' },
      context: { input_params: { load_kg: 1800 } },
    })
    const ask = async (): Promise<void> => {
      const answer = await fetch(`${server.url}/access/v1/evaluation`, {
        method: 'POST',
        // A connection is of one worker.
        headers: { 'x-svc-clientkey': key, 'content-type': 'application/json', connection: 'close' },
        body,
      })
      if (answer.status !== 200) throw new Error(await answer.text())
    }
    const { page, complaints, close } = await openConsole(browser, address)
    // Each worker builds the page from its sources at its first request.
    page.setDefaultTimeout(60_000)
    await page.getByRole('link', { name: 'Operate' }).click()
    await page.getByRole('rowheader', { name: 'Worker 2' }).waitFor()
    const decisions = async (): Promise<readonly number[]> => {
      const rows = await page
        .getByRole('table', { name: 'Workers' })
        .locator('td[data-title=Decisions]')
        .allTextContents()
      return rows.map((text) => Number(text.replaceAll(',', '')))
    }
    // Until the kernel has given both a connection.
    let sent = 0
    for (;;) {
      await ask()
      sent += 1
      const counts = await decisions()
      if (counts.length === 2 && counts.every((count) => count > 0)) break
    }
    const deadline = page.getByText(`${sent} since the start`)
    await deadline.waitFor()
    await page.getByRole('tab', { name: 'Backups' }).click()
    await page.getByRole('button', { name: 'Make a backup' }).click()
    await page.getByText('not verified').waitFor()
    await page.getByRole('button', { name: /^Verify/ }).click()
    await page.getByText('verified', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('row', { name: /^workers.*flag.*--workers/ }).waitFor()
    expect(complaints).toEqual([])
    await close()
    expect(await server.kill('SIGTERM')).toBe(0)
  },
)
