// The middleware for web frameworks with the real packages, and the client in other runtimes than Bun.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { requirePermission as expressPermission } from '../../src/client/express.ts'
import { requirePermission as fastifyPermission } from '../../src/client/fastify.ts'
import type { Permission } from '../../src/client/guard.ts'
import { requirePermission as honoPermission } from '../../src/client/hono.ts'
import { nodeProgram } from '../support/node-program.ts'
import { ClientFixture } from './generators.ts'

let fixture: ClientFixture

beforeAll(async () => {
  fixture = await ClientFixture.start()
}, 300_000)

afterAll(() => fixture?.stop())

interface Application {
  readonly url: string
  readonly handled: () => number
  stop(): Promise<void>
}

/** The question of `GET /trucks/t1?user=ann&load=100`. */
function permissionOf(
  truck: string,
  query: { readonly user?: string | undefined; readonly load?: string | undefined },
): Permission {
  if (query.user === 'broken') throw new Error('the session cannot be read')
  // Express takes these values for no error, or for an instruction to skip handlers.
  if (query.user === 'empty') throw ''
  if (query.user === 'route') throw 'route'
  return {
    subject: query.user === undefined ? null : { Person: query.user },
    action: 'drive',
    resource: { Truck: truck },
    params: { load_kg: Number(query.load ?? 0) },
  }
}

const clientOf = (url: string, key: string): ReturnType<typeof createClient> =>
  createClient({ url, key, retries: 0, timeoutMs: 60_000 })

async function expressApplication(url: string, key: string): Promise<Application> {
  const { default: express } = (await import(join(import.meta.dirname, 'node_modules', 'express', 'index.js'))) as {
    default: () => ExpressApplication
  }
  const app = express()
  let handled = 0
  const guard = expressPermission(clientOf(url, key), (request: ExpressRequest) =>
    permissionOf(request.params.id as string, request.query),
  )
  app.get('/trucks/:id', guard, (_, response) => {
    handled += 1
    response.json({ driven: true })
  })
  return serveNode(app as never, () => handled)
}

interface ExpressRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}
interface ExpressApplication {
  get(
    path: string,
    guard: ReturnType<typeof expressPermission<ExpressRequest>>,
    handle: (request: ExpressRequest, response: { json(body: object): void }) => void,
  ): void
}

async function serveNode(handler: never, handled: () => number): Promise<Application> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()))
  return { url: `http://127.0.0.1:${port}`, handled, stop }
}

async function fastifyApplication(url: string, key: string): Promise<Application> {
  const { default: fastify } = await import(join(import.meta.dirname, 'node_modules', 'fastify', 'fastify.js'))
  const app = fastify()
  // As plugins do that compress or sign answers.
  app.addHook('onSend', async () => Bun.sleep(20))
  let handled = 0
  const preHandler = fastifyPermission(clientOf(url, key), (request: ExpressRequest) =>
    permissionOf(request.params.id as string, request.query),
  )
  app.get('/trucks/:id', { preHandler }, () => {
    handled += 1
    return { driven: true }
  })
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), handled: () => handled, stop: () => app.close() }
}

async function honoApplication(url: string, key: string): Promise<Application> {
  const { Hono } = await import(join(import.meta.dirname, 'node_modules', 'hono', 'dist', 'index.js'))
  const app = new Hono()
  let handled = 0
  interface Context {
    body(data: string, status: 401 | 403 | 503, headers: Record<string, string>): Response
    json(body: object): Response
    readonly req: { param(name: string): string; query(): Readonly<Record<string, string>> }
  }
  const guard = honoPermission(clientOf(url, key), (c: Context) => permissionOf(c.req.param('id'), c.req.query()))
  app.get('/trucks/:id', guard, (c: Context) => {
    handled += 1
    return c.json({ driven: true })
  })
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: app.fetch })
  return { url: server.url.origin, handled: () => handled, stop: () => server.stop(true) }
}

describe.each([
  ['Express', expressApplication],
  ['Fastify', fastifyApplication],
  ['Hono', honoApplication],
] as const)('the middleware for %s', (_, start) => {
  it('passes on what the service permits, and nothing else', async () => {
    const app = await start(fixture.serviceUrl, fixture.agentKey)
    try {
      const permitted = await fetch(`${app.url}/trucks/t1?user=ann&load=1500`)
      expect([permitted.status, await permitted.json(), app.handled()]).toEqual([200, { driven: true }, 1])
      const answers = [
        '?user=ann&load=2500',
        '?user=bob&load=1500',
        '?load=1500',
        '?user=broken',
        '?user=empty',
        '?user=route',
      ].map(async (query) => {
        const { status } = await fetch(`${app.url}/trucks/t1${query}`)
        return status
      })
      expect([await Promise.all(answers), app.handled()]).toEqual([[403, 403, 401, 500, 500, 500], 1])
    } finally {
      await app.stop()
    }
  })

  it('refuses all requests while the service cannot be asked', async () => {
    const gone = await start('http://127.0.0.1:1', fixture.agentKey)
    const wrong = await start(fixture.serviceUrl, 'wrong')
    try {
      const unavailable = await fetch(`${gone.url}/trucks/t1?user=ann&load=1500`)
      expect([unavailable.status, unavailable.headers.get('retry-after')]).toEqual([503, '1'])
      // A wrong key is a fault of the application, not of its user.
      expect((await fetch(`${wrong.url}/trucks/t1?user=ann&load=1500`)).status).toBe(500)
      expect([gone.handled(), wrong.handled()]).toEqual([0, 0])
    } finally {
      await Promise.all([gone.stop(), wrong.stop()])
    }
  })
})

describe('the client', () => {
  const program = `
import { createClient } from 'verdigraph/client'
const { VERDIGRAPH_URL: url, AGENT_KEY: key } = globalThis.process?.env ?? Deno.env.toObject()
const client = createClient({ url, key })
const found = []
for await (const id of client.resources({ Person: 'ann' }, 'drive', 'Truck', { load_kg: 1 })) found.push(id)
const wrong = await client.may({ Person: '' }, 'drive', { Truck: 't1' }).catch((error) => error.name)
const light = await client.may({ Person: 'ann' }, 'drive', { Truck: 't1' }, { load_kg: 1 })
console.log(JSON.stringify({ light, found, wrong }))
`
  beforeAll(() => {
    const top = join(import.meta.dirname, '..', '..')
    // In a folder without other packages, as in the project of a user.
    mkdirSync(fixture.path('runtime', 'node_modules'), { recursive: true })
    symlinkSync(top, fixture.path('runtime', 'node_modules', 'verdigraph'))
    writeFileSync(fixture.path('runtime', 'package.json'), '{"type":"module"}')
    writeFileSync(fixture.path('runtime', 'ask.js'), program)
  })

  it.each([
    ['Node', [nodeProgram(), 'ask.js']],
    ['Bun', [process.execPath, 'ask.js']],
    [
      'Deno',
      [
        join(import.meta.dirname, 'node_modules', '.bin', 'deno'),
        'run',
        '--no-prompt',
        '--allow-net',
        '--allow-env',
        '--allow-read',
        'ask.js',
      ],
    ],
  ])('runs in %s', async (_, command) => {
    const printed = await fixture.run(command, { below: 'runtime' })
    expect(JSON.parse(printed)).toEqual({ light: true, found: ['t1'], wrong: 'InvalidRequestError' })
  })
})
