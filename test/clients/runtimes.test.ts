// The built `verdigraph/client` in a browser (Chromium), from a page of another origin, and in an edge runtime (workerd).
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../../clients/run-program.ts'
import { type LanguageWorld, startLanguageWorld } from './language-world.ts'

const chromiumProgram = Bun.which('chromium')

/** The browser needs the headers that it may send and show. */
const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'content-type, x-svc-clientkey, authorization, x-svc-token',
  'access-control-expose-headers': 'Retry-After',
}

/** By the name of the action: 503 and then a permit, no answer, or a redirect to `stolen`. */
class FailingService {
  readonly attempts: { readonly action: string; readonly atMs: number }[] = []
  stolen = 0
  private readonly server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => this.answer(request),
  })

  get url(): string {
    return this.server.url.origin
  }

  private async answer(request: Request): Promise<Response> {
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: cors })
    if (new URL(request.url).pathname === '/stolen') this.stolen += 1
    const { action } = (await request.json()) as { action: { name: string } }
    const before = this.attempts.filter((attempt) => attempt.action === action.name).length
    this.attempts.push({ action: action.name, atMs: performance.now() })
    if (action.name === 'silence') return new Promise(() => undefined)
    if (action.name === 'redirect')
      return new Response(null, { status: 307, headers: { ...cors, location: `${this.url}/stolen` } })
    if (before === 0) return new Response('', { status: 503, headers: { ...cors, 'retry-after': '1' } })
    return Response.json({ decision: true }, { headers: cors })
  }

  /** Milliseconds between the two requests with the action `busy`. */
  pauseMs(): number {
    const [first, second] = this.attempts.filter(({ action }) => action === 'busy')
    return (second?.atMs ?? 0) - (first?.atMs ?? 0)
  }

  async stop(): Promise<void> {
    await this.server.stop(true)
  }
}

/** The pages: each has the program, and the built client below `/client/`. */
function servePages(folder: string): { readonly origin: string; allow(url: string): void; stop(): Promise<void> } {
  let connect = ''
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/') {
        const policy = `default-src 'none'; script-src 'self'; connect-src ${connect}`
        const headers = { 'content-type': 'text/html', 'content-security-policy': policy }
        return new Response('<!doctype html><title>application</title>', { headers })
      }
      const file = Bun.file(join(folder, pathname))
      return (await file.exists()) ? new Response(file) : new Response('', { status: 404 })
    },
  })
  return {
    origin: server.url.origin,
    allow: (url) => {
      connect += ` ${url}`
    },
    stop: () => server.stop(true),
  }
}

const top = join(import.meta.dirname, '..', '..')
let folder: string
let pages: ReturnType<typeof servePages>
let world: LanguageWorld
let failing: FailingService

beforeAll(async () => {
  if (!existsSync(join(top, 'dist', 'client', 'index.js')))
    throw new Error('dist/client is absent: npm run build:package')
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-runtimes-'))
  cpSync(join(top, 'dist', 'client'), join(folder, 'client'), { recursive: true })
  cpSync(join(import.meta.dirname, 'programs', 'ask-in-runtime.js'), join(folder, 'ask.js'))
  pages = servePages(folder)
  world = await startLanguageWorld({ corsOrigins: pages.origin })
  failing = new FailingService()
  pages.allow(world.environment.VERDIGRAPH_URL as string)
  pages.allow(failing.url)
}, 300_000)

afterAll(async () => {
  await world?.stop()
  await failing?.stop()
  await pages?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  failing.attempts.length = 0
})

const inputs = () => {
  const { VERDIGRAPH_URL: url, AGENT_KEY: key, USER_TOKEN: token } = world.environment
  return { url, key, token, failingUrl: failing.url }
}

const expected = {
  written: [301, 300],
  may: [true, false],
  permits: 200,
  resources: 200,
  subjects: ['ann'],
  actions: ['drive'],
  records: 300,
  why: ['denied'],
  wrong: {
    name: 'InvalidRequestError',
    status: 422,
    hasRequestId: true,
    retryAfterMs: null,
    message: expect.any(String),
  },
  unknown: {
    name: 'NotAuthorizedError',
    status: 401,
    hasRequestId: true,
    retryAfterMs: null,
    message: expect.any(String),
  },
  repeated: true,
  late: {
    name: 'UnavailableError',
    status: null,
    hasRequestId: false,
    retryAfterMs: null,
    message: expect.stringContaining('no answer in time'),
  },
  aborted: 'enough',
  redirected: {
    name: 'ClientError',
    // A browser hides the status from the page.
    status: expect.toSatisfy((status) => status === 0 || status === 307),
    hasRequestId: false,
    retryAfterMs: null,
    message: expect.stringContaining('expected a result'),
  },
}

describe.skipIf(chromiumProgram === null)('the client in Chromium', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: chromiumProgram as string,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync'],
    })
  })

  afterAll(() => browser?.close())

  /** Calls `ask` of the program in a page of the origin. */
  async function askFrom(origin: string, input: object): Promise<unknown> {
    const page = await browser.newPage()
    try {
      await page.goto(origin)
      // As text, because the test runner rewrites functions that import.
      const call = `import('/ask.js').then(({ ask }) => ask(${JSON.stringify(input)}))`
      return await page.evaluate(`${call}.catch(({ name, message }) => name + ': ' + message)`)
    } finally {
      await page.close()
    }
  }

  it('decides, searches, writes and repeats, for a page of an allowed origin', async () => {
    expect(await askFrom(pages.origin, inputs())).toEqual(expected)
    expect(failing.pauseMs()).toBeGreaterThan(990)
    expect(failing.stolen).toBe(0)
  })

  it('gives no answer to a page of another origin', async () => {
    const other = servePages(folder)
    other.allow(inputs().url as string)
    try {
      expect(await askFrom(other.origin, inputs())).toMatch(/^UnavailableError: .*the service cannot be reached$/)
    } finally {
      await other.stop()
    }
  })
})

describe('the client in an edge runtime', () => {
  const program = join(import.meta.dirname, 'node_modules', '.bin', 'workerd')

  it('decides, searches, writes and repeats in workerd', async () => {
    const modules = readdirSync(join(folder, 'client'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => `client/${name}`)
    writeFileSync(join(folder, 'worker.js'), worker)
    const embedded = ['worker.js', 'ask.js', ...modules].map((name) => `(name = "${name}", esModule = embed "${name}")`)
    writeFileSync(
      join(folder, 'config.capnp'),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (
    modules = [${embedded.join(', ')}],
    compatibilityDate = "2026-01-01",
    bindings = [(name = "INPUT", json = ${JSON.stringify(JSON.stringify(inputs()))})],
  )),
  (name = "internet", network = (allow = ["private", "local"])),
]);
`,
    )
    const printed = await runProgram([program, 'test', 'config.capnp'], { cwd: folder })
    const [, found] = /^result: (.*)$/m.exec(printed) ?? [null, printed]
    expect(JSON.parse(found as string)).toEqual(expected)
    expect(failing.pauseMs()).toBeGreaterThan(990)
    expect(failing.stolen).toBe(0)
  })
})

const worker = `import { ask } from './ask.js'
export default {
  async test(controller, env) {
    console.log('result: ' + JSON.stringify(await ask(env.INPUT)))
  },
}
`
