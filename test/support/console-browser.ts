// The console in a real browser: pages that fail the test on any message of the browser's console, and on serious faults of
// accessibility. Needs chromium: a test is skipped without it, except in continuous integration.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'

/** The path of the browser; null: none is installed. */
export const browserPath = Bun.which('chromium') ?? Bun.which('google-chrome')

/** True: there is no browser, and the tests may be skipped. */
export const isSkipped = browserPath === null && process.env.CI === undefined

/** A step of a test that takes longer fails with its own name. */
const STEP_TIMEOUT_MS = 60_000

const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Starts the browser. */
export function openBrowser(): Promise<Browser> {
  if (browserPath === null) throw new Error('chromium is not installed: apt-get install chromium')
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] })
}

/** A page of the console. */
export interface ConsolePage {
  readonly page: Page
  /** Messages of the browser's console, errors of the page, and requests to other servers. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

/** `isExpected`: messages that the test causes, such as a refused request. */
export interface ConsolePageOptions extends BrowserContextOptions {
  readonly isExpected?: (message: string) => boolean
}

/** Opens an address of the console in a browser without cookies, such as a one-time link. */
export async function openConsole(
  browser: Browser,
  address: string,
  { isExpected = () => false, ...options }: ConsolePageOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    // A colour that is on its way to another one has another contrast.
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  const complaints: string[] = []
  const complain = (text: string): void => {
    if (!isExpected(text)) complaints.push(text)
  }
  const { origin } = new URL(address)
  page.on('console', (message) => complain(message.text()))
  page.on('pageerror', (error) => complain(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!/^(data|blob):/.test(url) && new URL(url).origin !== origin) complain(`request to ${url}`)
  })
  await page.goto(address)
  return { page, complaints, close: () => context.close() }
}

/** Fails if axe-core finds a serious or critical fault on the page. A part that exists only while the page changes does not fail it. */
export async function expectAccessible(page: Page): Promise<void> {
  // The tools of the browser may run scripts that the policy of the page refuses.
  await page.evaluate(axeText)
  const faults = () =>
    page.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    )
  await expect.poll(faults, { interval: 500, timeout: 60_000 }).toEqual([])
}
