// `npm run pictures`: takes pictures of the console in dist/pictures, from the demo, with chromium, and renews those in docs/pictures.
// With arguments, only those whose names begin with one of them.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createApp } from '../../src/app.ts'
import { demoLines } from '../../src/cli/serve/serve.ts'
import { processCommands } from '../../src/cli/settings/self-command.ts'
import { defaultSettings } from '../../src/settings.ts'
import { openBrowser, openConsole } from '../support/console-browser.ts'
import { fillLogs } from './console-picture-data.ts'

const top = join(import.meta.dirname, '..', '..')
const folder = join(top, 'dist', 'pictures')
/** The pictures that the documentation shows; those of other sizes and colours are for a look before a change. */
const shown = readdirSync(join(top, 'docs', 'pictures'))
mkdirSync(folder, { recursive: true })

const desktop = { viewport: { width: 1280, height: 1100 } }
const phone = { viewport: { width: 390, height: 844 } }
interface ConsolePicture {
  readonly name: string
  /** The address after `/console`; null: a browser that is not signed in. */
  readonly view: string | null
  readonly options: BrowserContextOptions
  /** True: the picture shows a refusal, which the browser reports. */
  readonly isRefusing?: boolean
  /** Resolves when the page shows what the picture is about. */
  ready(page: Page): Promise<void>
}

const both = (make: (colorScheme: 'light' | 'dark') => readonly ConsolePicture[]): ConsolePicture[] =>
  (['light', 'dark'] as const).flatMap(make)
const answered = async (page: Page): Promise<void> => {
  await page.locator('.verdict').waitFor()
  // The first answer of a policy includes the time of its plan.
  const again = page.waitForResponse((response) => response.url().endsWith('/access/v1/explain'))
  await page.getByRole('button', { name: 'Ask', exact: true }).press('Enter')
  await (await again).finished()
  await page.locator('section[aria-busy=false] .verdict').waitFor()
  await page.getByRole('heading', { name: 'Ask' }).click()
}

/** All pictures. Those of the log come last: it has the requests of the others. */
const pictures: readonly ConsolePicture[] = [
  {
    name: 'console-sign-in',
    view: null,
    options: { ...desktop, colorScheme: 'light' },
    ready: (page) => page.locator('h1').waitFor(),
  },
  ...both((colorScheme) => [
    {
      name: `console-ask-granted-${colorScheme}`,
      view: viewOf('dara', 'tow', 'Car:bramble', '1800'),
      options: { ...desktop, colorScheme },
      ready: answered,
    },
    {
      name: `console-ask-denied-${colorScheme}`,
      view: viewOf('nia', 'read', 'Document:rota'),
      options: { ...desktop, colorScheme },
      ready: answered,
    },
  ]),
  ...both((colorScheme) => policyPictures(colorScheme, desktop)),
  ...policyPictures('phone', phone),
  ...both((colorScheme) => operatePictures(colorScheme, desktop)),
  ...operatePictures('phone', phone),
  {
    name: 'console-ask-phone',
    view: viewOf('dara', 'tow', 'Car:bramble', '2400'),
    options: { ...phone, colorScheme: 'light' },
    ready: answered,
  },
  ...both((colorScheme) => graphPictures(colorScheme, desktop)),
  ...graphPictures('phone', phone),
  ...both((colorScheme) => logPictures(colorScheme, desktop)),
  ...logPictures('phone', phone),
]

/** `kind`: a theme, or `phone`. Nothing is saved. */
function policyPictures(kind: 'light' | 'dark' | 'phone', size: BrowserContextOptions): readonly ConsolePicture[] {
  const options: BrowserContextOptions = { ...size, colorScheme: kind === 'dark' ? 'dark' : 'light' }
  const row = (page: Page, name: string) => page.getByRole('link', { name })
  return [
    {
      name: `console-policies-${kind}`,
      view: '#/policies',
      options,
      ready: (page) => row(page, 'drive-team-car').waitFor(),
    },
    {
      name: `console-policy-${kind}`,
      view: '#/policies',
      options,
      async ready(page) {
        await row(page, 'drive-team-car').click()
        await page.getByRole('heading', { name: 'One decision' }).waitFor()
        await page.getByRole('textbox', { name: 'Condition' }).click()
        await page.keyboard.press('Control+a')
        await page.keyboard.insertText(
          'MATCH (subject:Person)-[:MEMBER]->(team:Team)-[:USES]->(resource:Car)\nWHERE resource.seets > 4',
        )
        await page.getByText('did you mean').first().waitFor()
        await page.getByRole('tab', { name: 'Who gains, who loses' }).click()
        await page.getByRole('button', { name: 'Compare with the policies in force' }).click()
        await page.getByText(/decisions? (is|are) lost/).waitFor()
        if (kind === 'phone') await page.getByRole('textbox', { name: 'Condition' }).scrollIntoViewIfNeeded()
      },
    },
  ]
}

/** `kind`: a theme, or `phone`. The form of the second picture has a refusal at its field. */
function operatePictures(kind: 'light' | 'dark' | 'phone', size: BrowserContextOptions): readonly ConsolePicture[] {
  const options: BrowserContextOptions = { ...size, colorScheme: kind === 'dark' ? 'dark' : 'light' }
  return [
    {
      name: `console-operate-${kind}`,
      view: '#/operate',
      options,
      async ready(page) {
        const figures = page.getByRole('img', { name: /^Time of a decision.* p50: [\d.]+ m?s/ })
        const endMs = Date.now() + CHART_MS
        for (let round = 0; Date.now() < endMs; round++) {
          await logs.decide()
          await page.waitForTimeout(150 + 250 * (1 + Math.sin(round / 9)))
        }
        await figures.waitFor()
      },
    },
    {
      name: `console-first-steps-${kind}`,
      view: '#/first-steps',
      options,
      isRefusing: true,
      async ready(page) {
        await page.getByRole('button', { name: /^Agent/ }).click()
        await page.getByLabel('Name', { exact: true }).fill('assistant')
        await page.getByRole('button', { name: 'Create the agent' }).click()
        await page.locator('#agent-name-fault').waitFor()
      },
    },
  ]
}

/** The chart of a picture has decisions of this time. */
const CHART_MS = 40_000

/** `kind`: a theme, or `phone`. */
function graphPictures(kind: 'light' | 'dark' | 'phone', size: BrowserContextOptions): readonly ConsolePicture[] {
  const options: BrowserContextOptions = { ...size, colorScheme: kind === 'light' ? 'light' : 'dark' }
  const arranged = (page: Page): Promise<void> => page.locator('.graph-picture[aria-busy=false]').waitFor()
  const query = 'MATCH p = (:Person)-[:MEMBER]->(:Team)-[:USES]->(:Car)\nRETURN p'
  return [
    {
      name: `console-graph-${kind}`,
      view: `#/graph?${new URLSearchParams({ query })}`,
      options,
      async ready(page) {
        await page.getByRole('button', { name: 'Run', exact: true }).click()
        await page.getByRole('button', { name: 'Dara Dunn Person' }).click()
        await page.getByRole('button', { name: /MEMBER Team/ }).waitFor()
        await arranged(page)
        if (kind === 'phone') await page.locator('.graph-canvas').scrollIntoViewIfNeeded()
      },
    },
    {
      name: `console-graph-schema-${kind}`,
      view: '#/graph',
      options,
      async ready(page) {
        await page.getByRole('cell', { name: 'Person', exact: true }).waitFor()
        await arranged(page)
        if (kind === 'phone') await page.locator('.graph-canvas').scrollIntoViewIfNeeded()
      },
    },
  ]
}

/** `kind`: a theme, or `phone`. */
function logPictures(kind: 'light' | 'dark' | 'phone', size: BrowserContextOptions): readonly ConsolePicture[] {
  const options: BrowserContextOptions = { ...size, colorScheme: kind === 'dark' ? 'dark' : 'light' }
  return [
    {
      name: `console-log-decisions-${kind}`,
      view: '#/log?tab=decisions',
      options,
      async ready(page) {
        await page.getByText('Live', { exact: true }).waitFor()
        await logs.decide()
        await page.getByRole('option', { name: /hana inspect/ }).waitFor()
        if (kind !== 'phone')
          await page
            .getByRole('option', { name: /granted Person:dara tow/ })
            .first()
            .click()
        // The time of the last row is on the screen.
        await page.getByText('Live', { exact: true }).scrollIntoViewIfNeeded()
      },
    },
    {
      name: `console-log-audit-${kind}`,
      view: '#/log?tab=audit',
      options,
      async ready(page) {
        await logs.change()
        await page.getByRole('button', { name: 'Read again' }).click()
        await page
          .getByRole('option', { name: /config\.update/ })
          .first()
          .click()
        await page.getByText('Proven: the log contains this record unchanged').click()
        await page.getByRole('region', { name: 'Record' }).getByText('The checkpoint is signed').waitFor()
      },
    },
    {
      name: `console-log-events-${kind}`,
      view: '#/log?tab=events',
      options,
      async ready(page) {
        await logs.change()
        while ((await page.getByText('failing', { exact: true }).count()) === 0) {
          await page.getByRole('button', { name: 'Read again' }).click()
          await page.waitForTimeout(500)
        }
        await page.getByRole('option', { name: /willow/ }).waitFor()
        await page.getByRole('button', { name: 'Follow' }).click()
        await page.getByRole('region', { name: 'Events as they happen' }).getByRole('option').first().waitFor()
      },
    },
  ]
}

function viewOf(person: string, action: string, resource: string, load = ''): string {
  const parameters = new URLSearchParams({
    subject: `Person:${person}`,
    action,
    resource,
    ...(load !== '' && { $load_kg: load }),
  })
  return `#/ask?${parameters}`
}

/** The navigation at the lower edge of a phone then covers nothing. */
async function fitHeight(page: Page): Promise<void> {
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  await page.setViewportSize({
    ...phone.viewport,
    height: Math.min(HEIGHT_MAX, Math.max(height, phone.viewport.height)),
  })
}

const HEIGHT_MAX = 2400

const isWanted = ({ name }: ConsolePicture): boolean =>
  process.argv.length <= 2 || process.argv.slice(2).some((start) => name.startsWith(start))

const dataDir = mkdtempSync(join(tmpdir(), 'verdigraph-pictures-'))
const { backgroundCommand } = processCommands()
// The address is part of the pictures.
const app = await createApp(
  {
    ...defaultSettings,
    dataDir,
    port: 8080,
    logLevel: 'error',
    decisionLog: join(dataDir, 'decisions.log'),
    upstreamAllow: '127.0.0.1/32',
  },
  { backgroundCommand },
)
const browser = await openBrowser()
const { url } = await app.listen()
await demoLines(app, url)
const logs = await fillLogs(app, url)
try {
  for (const { name, view, options, isRefusing, ready } of pictures.filter(isWanted)) {
    const address = view === null ? `${url}/console` : (app.consoleLink(url) ?? '')
    const { page, complaints, close } = await openConsole(browser, address, {
      ...options,
      isExpected: (text) => isRefusing === true && text.includes('409'),
    })
    await page.locator('h1').waitFor()
    if (view !== null) await page.goto(`${url}/console${view}`)
    await ready(page)
    // A picture of the graph is as high as the screen.
    if (name.endsWith('-phone') && !name.startsWith('console-graph')) await fitHeight(page)
    await page.waitForTimeout(300)
    const path = join(folder, `${name}.png`)
    await page.screenshot({ path })
    if (shown.includes(basename(path))) copyFileSync(path, join(top, 'docs', 'pictures', basename(path)))
    if (complaints.length > 0) throw new Error(complaints.join('\n'))
    await close()
    console.log(name)
  }
} finally {
  logs.end()
  await browser.close()
  await app.close()
  rmSync(dataDir, { recursive: true, force: true })
}
