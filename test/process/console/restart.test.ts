// The page of the console while its service goes away and returns.
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { isSkipped, openBrowser, openConsole } from '../../support/console-browser.ts'
import { startService, type TestService } from '../../support/service.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

let browser: Browser

beforeAll(async () => {
  if (!isSkipped) browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  removeTemporaryFolders()
})

/** Messages of the browser while the service is away. */
const isExpected = (text: string): boolean => /ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)/.test(text)

/** Starts the service of the same folder at the same address. */
async function startAgain(service: TestService): Promise<TestService> {
  const app = await createApp({ ...service.app.settings, port: Number(new URL(service.url).port) })
  await app.listen()
  return { ...service, app, stop: () => app.close() }
}

describe.skipIf(isSkipped)('a service that goes away and returns', () => {
  test('a page notices that the service is away, and uses its session again when it is back', async () => {
    let service = await startService({ dataDir: temporaryFolder() })
    try {
      const address = service.app.consoleLink(service.url) ?? ''
      const { page, complaints, close } = await openConsole(browser, address, { isExpected })
      await page.getByRole('heading', { name: 'Ask' }).waitFor()
      await service.stop()
      await page.goto(`${service.url}/console#/ask?subject=Person%3Aann&action=drive&resource=Car%3Ac1`)
      await page.getByRole('alert').getByText('The service does not answer.').first().waitFor()
      service = await startAgain(service)
      // The session is stored, so that the answer needs no other sign-in.
      await page.getByRole('heading', { name: 'Denied' }).waitFor()
      await expect.poll(() => page.getByText('The service does not answer.').count()).toBe(0)
      expect(complaints).toEqual([])
      await close()
    } finally {
      await service.stop()
    }
  })

  test('live decisions continue, and those that the page has shown stay', async () => {
    const dataDir = temporaryFolder()
    let service = await startService({ dataDir, decisionLog: join(dataDir, 'decisions.log') })
    const decide = async (id: string): Promise<void> => {
      const { status, text } = await service.ask('/access/v1/evaluation', {
        subject: { type: 'Person', id },
        action: { name: 'drive' },
        resource: { type: 'Car', id: 'c1' },
      })
      if (status !== 200) throw new Error(text)
    }
    try {
      const address = service.app.consoleLink(service.url) ?? ''
      const { page, complaints, close } = await openConsole(browser, address, { isExpected })
      await page.getByRole('link', { name: 'Log' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      await decide('before')
      await page.getByRole('option', { name: /Person:before/ }).waitFor()
      await service.stop()
      await page.getByText('Reconnecting', { exact: true }).waitFor()
      service = await startAgain(service)
      await page.getByText('Live', { exact: true }).waitFor()
      await decide('after')
      await page.getByRole('option', { name: /Person:after/ }).waitFor()
      await page.getByRole('option', { name: /Person:before/ }).waitFor()
      expect(complaints).toEqual([])
      await close()
    } finally {
      await service.stop()
    }
  })
})
