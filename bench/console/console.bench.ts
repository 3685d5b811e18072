// How fast is the console in a browser? The first screen in a fresh browser, and the screen Graph with 5,000 elements: from the answer to
// the picture, and moving it. Times are of headless Chromium without a graphics processor on this machine; a task over 50 ms is a
// long task (https://www.w3.org/TR/longtasks-1/).
import type { Browser, Page } from 'playwright-core'
import { openBrowser, openConsole } from '../../test/support/console-browser.ts'
import { startService, type TestService } from '../../test/support/service.ts'
import { type Bench, type BenchOptions, mustEqual, randomFrom, round } from '../harness.ts'

const TYPES = ['Person', 'Team', 'Car', 'Document', 'Garage']
const CAPTURED_AT_ONCE = 250
const QUERY = 'MATCH (a)-[r]->(b) WHERE NOT a:_AppAgent RETURN a, r, b'

export const browser: Bench = {
  name: 'console',
  question: 'the console in a browser: first load, a picture with 5,000 elements, and moving it',
  async run({ small, seed, report }: BenchOptions) {
    const nodes = small ? 200 : 2000
    const relationships = small ? 300 : 3000
    const rounds = small ? 1 : 5
    const service = await startService()
    const opened = await openBrowser()
    try {
      await fill(service, nodes, relationships, seed)
      const loads = []
      for (let at = 0; at < rounds; at++) loads.push(await firstLoad(opened, service))
      report.line({
        record: 'first-load',
        rounds,
        interactive_ms: median(loads.map(({ interactiveMs }) => interactiveMs)),
        gzip_kb: round((loads[0]?.bytes ?? 0) / 1000),
      })
      for (let at = 0; at < rounds; at++) report.line(await drawn(opened, service, nodes, relationships))
    } finally {
      await opened.close()
      await service.stop()
    }
  },
}

function median(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0)
}

async function fill(service: TestService, nodes: number, relationships: number, seed: number): Promise<void> {
  const random = randomFrom(seed)
  const name = (index: number) => ({ type: TYPES[index % TYPES.length], external_id: `n${index}` })
  const all = Array.from({ length: nodes }, (_, index) => ({
    ...name(index),
    properties: [{ type: 'name', value: `Element number ${index}` }],
  }))
  // A tree, so that all nodes are connected, and random relationships.
  const edges = Array.from({ length: relationships }, (_, index) => ({
    source: name(index + 1 < nodes ? index + 1 : random(nodes)),
    type: 'KNOWS',
    target: name(index + 1 < nodes ? random(index + 1) : random(nodes)),
    properties: [{ type: 'number', value: index }],
  }))
  const unique = [...new Map(edges.map((edge) => [JSON.stringify([edge.source, edge.target]), edge])).values()]
  for (const [path, items] of [
    ['nodes', all],
    ['relationships', unique],
  ] as const)
    for (let at = 0; at < items.length; at += CAPTURED_AT_ONCE) {
      const body = { [path]: items.slice(at, at + CAPTURED_AT_ONCE) }
      const { status, text } = await service.ask(`/capture/v1/${path}`, body)
      if (status !== 200) throw new Error(text)
    }
}

/** From the request of the document to the field for the subject, and the bytes of all files until then. */
async function firstLoad(opened: Browser, service: TestService) {
  const { page, complaints, close } = await openConsole(opened, service.app.consoleLink(service.url) ?? '')
  await page.getByLabel('Subject', { exact: true }).waitFor()
  const interactiveMs = (await page.evaluate('performance.now()')) as number
  const bytes = (await page.evaluate(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name }) => !name.includes('/v1/')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
  )) as number
  mustEqual('messages of the browser', complaints.join('\n'), '')
  await close()
  return { interactiveMs, bytes }
}

async function drawn(opened: Browser, service: TestService, nodes: number, relationships: number) {
  const { page, complaints, close } = await openConsole(opened, service.app.consoleLink(service.url) ?? '')
  await page.goto(`${service.url}/console#/graph`)
  await page.getByRole('application').waitFor()
  await page.evaluate(`
    globalThis.tasks = []
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => Math.round(duration)))).observe({ entryTypes: ['longtask'] })
    globalThis.drawnMs = null
    // The picture is drawn in the frame after its element has changed.
    const look = () => {
      const isShown = document.querySelector('[role=application][aria-label^="Picture of ${nodes.toLocaleString('en')} nodes"]') !== null
      requestAnimationFrame(isShown ? () => requestAnimationFrame(() => { drawnMs = performance.now() }) : look)
    }
    look()`)
  await page.getByLabel('Rows').selectOption('5000')
  await page.getByRole('textbox', { name: 'Cypher that reads' }).click()
  await page.keyboard.insertText(QUERY)
  await page.keyboard.press('Control+Enter')
  while ((await page.evaluate('drawnMs')) === null) await page.waitForTimeout(20)
  await page.locator('.graph-picture[aria-busy=false]').waitFor({ timeout: 60_000 })
  const settledMs = (await page.evaluate('performance.now()')) as number
  const { answerMs, drawnMs } = (await page.evaluate(
    `({ answerMs: performance.getEntriesByType('resource').findLast(({ name }) => name.endsWith('/graph/v1/query')).responseEnd, drawnMs })`,
  )) as { readonly answerMs: number; readonly drawnMs: number }
  const label = (await page.getByRole('application').getAttribute('aria-label')) ?? ''
  const shown = Number(/and ([\d,]+) relationship/.exec(label)?.[1]?.replaceAll(',', ''))
  if (shown < relationships * 0.98) throw new Error(`the picture has ${shown} of ${relationships} relationships`)
  const isDrawn = await page.evaluate(
    `(() => { const canvas = document.querySelector('[role=application] canvas'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((one) => one > 0) })()`,
  )
  mustEqual('the canvas has points', isDrawn, true)
  const beginning = await tasksOf(page)
  const moving = await move(page)
  for (let step = 0; step < 7; step++) await page.getByRole('button', { name: 'Zoom in' }).click()
  await page.waitForTimeout(500)
  await tasksOf(page)
  const near = await move(page)
  mustEqual('messages of the browser', complaints.join('\n'), '')
  await close()
  return {
    record: 'picture',
    elements: nodes + shown,
    drawn_ms: round(drawnMs - answerMs),
    arranged_ms: round(settledMs - answerMs),
    longest_task_ms: Math.max(0, ...beginning),
    moving_long_tasks: moving.tasks.length,
    moving_longest_ms: Math.max(0, ...moving.tasks),
    moving_frame_cpu_ms: moving.cpuMs,
    moving_frame_p95_ms: moving.frameMs,
    near_long_tasks: near.tasks.length,
    near_longest_ms: Math.max(0, ...near.tasks),
    near_frame_cpu_ms: near.cpuMs,
    near_frame_p95_ms: near.frameMs,
  }
}

/** The long tasks since the last call, in milliseconds. */
async function tasksOf(page: Page): Promise<readonly number[]> {
  return (await page.evaluate('tasks.splice(0)')) as readonly number[]
}

/** Moves the picture with the mouse for about a second. */
async function move(page: Page) {
  const box = await page.getByRole('application').boundingBox()
  if (box === null) throw new Error('the picture has no place')
  await page.evaluate(`
    globalThis.frames = []
    globalThis.isMoving = true
    const note = (ms) => { frames.push(ms); if (isMoving) requestAnimationFrame(note) }
    requestAnimationFrame(note)`)
  // The time of the processor in the page's main thread, which other programs on the machine do not change.
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taskMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000
  }
  const before = await taskMs()
  await page.mouse.move(box.x + 3, box.y + 3)
  await page.mouse.down()
  for (let step = 0; step < 60; step++) {
    await page.mouse.move(box.x + 3 + step * 4, box.y + 3 + step * 3)
    await page.waitForTimeout(16)
  }
  await page.mouse.up()
  const cpuMs = (await taskMs()) - before
  const frames = (await page.evaluate('isMoving = false, frames')) as readonly number[]
  await page.waitForTimeout(300)
  const lengths = frames.slice(1).map((ms, at) => ms - (frames[at] ?? ms))
  return {
    tasks: await tasksOf(page),
    cpuMs: round(cpuMs / Math.max(1, frames.length)),
    frameMs: round(lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length * 0.95)] ?? 0),
  }
}
