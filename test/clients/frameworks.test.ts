// Every example of middleware in TypeScript compiles with the types of the frameworks themselves: the blocks of the guide, and the
// examples of the docstrings. The declarations are those of the package.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksOf, repositoryRoot } from '../docs/pages.ts'
import { nodeProgram } from '../support/node-program.ts'

const guide = 'docs/how-to/client.md'
const NOT_RUN = 'not-run: test/clients/frameworks.test.ts compiles it'
const installed = join(import.meta.dirname, 'node_modules')
const frameworks = ['express', 'fastify', 'hono'] as const
type Framework = (typeof frameworks)[number]

let folder: string

/** A project of a user: the package, and the frameworks with their types. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-frameworks-'))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(installed))
    if (!name.startsWith('.')) symlinkSync(join(installed, name), join(modules, name))
  // Copied: the compiler looks for the frameworks next to the real path of the package.
  const own = join(modules, 'verdigraph')
  for (const part of ['package.json', 'dist/library', 'dist/client'])
    cpSync(join(repositoryRoot, part), join(own, part), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The errors of the compiler for a program: its line, and what is wrong. */
async function errorsOf(text: string): Promise<readonly string[]> {
  writeFileSync(join(folder, 'program.ts'), text)
  const strict = [
    '--noEmit',
    '--strict',
    '--noUncheckedIndexedAccess',
    '--exactOptionalPropertyTypes',
    '--skipLibCheck',
  ]
  const target = ['--target', 'esnext', '--module', 'nodenext', '--types', 'node']
  const compiler = join(installed, 'typescript', 'bin', 'tsc')
  const child = Bun.spawn([nodeProgram(), compiler, ...strict, ...target, 'program.ts'], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

/** The code of the application around the example of a docstring. */
const surroundings: Readonly<Record<Framework, string>> = {
  express: `import express, { type RequestHandler } from 'express'
    declare global { namespace Express { interface Request { user?: { id: string } } } }
    const app = express()
    declare const showCar: RequestHandler<{ id: string }>`,
  fastify: `import fastify, { type FastifyRequest } from 'fastify'
    declare module 'fastify' { interface FastifyRequest { user: { id: string } } }
    const app = fastify()
    declare const showCar: (request: FastifyRequest<{ Params: { id: string } }>) => Promise<object>`,
  hono: `import { type Context, Hono } from 'hono'
    type AppEnv = { Variables: { user: { id: string } } }
    const app = new Hono<AppEnv>()
    declare const showCar: (c: Context<AppEnv, '/cars/:id'>) => Response`,
}

function around(framework: Framework, example: string): string {
  return `import type { VerdigraphClient } from 'verdigraph/client'
    import { requirePermission } from 'verdigraph/${framework}'
    declare const client: VerdigraphClient
    ${surroundings[framework]}
    ${example}`
}

function docstringExample(framework: Framework): string {
  const source = readFileSync(join(repositoryRoot, 'src', 'client', `${framework}.ts`), 'utf8')
  const [, example = ''] = /@example\n([\s\S]*?)\n \*\//.exec(source) ?? []
  return example.replaceAll(/^ \* ?/gm, '')
}

const blocks = blocksOf(readFileSync(join(repositoryRoot, guide), 'utf8')).filter(({ info }) => info === NOT_RUN)

it('the guide has an example for each framework', () => {
  const named = blocks.map(({ text }) => frameworks.filter((name) => text.includes(`'verdigraph/${name}'`)))
  expect(named).toEqual(frameworks.map((name) => [name]))
})

it.each(frameworks)('the example of the guide for %s compiles', async (framework) => {
  expect(await errorsOf(blocks[frameworks.indexOf(framework)]!.text)).toEqual([])
})

it.each(frameworks)('the example of the docstring for %s compiles', async (framework) => {
  const example = docstringExample(framework)
  expect(example).toContain('requirePermission')
  expect(await errorsOf(around(framework, example))).toEqual([])
})

/** Each line has the type of a member of the framework, whichever way the middleware is added. */
const uses: Readonly<Record<Framework, string>> = {
  express: `
    const router = express.Router()
    app.use(requirePermission(client, (request) => ({ subject: null, action: request.method, resource: { Page: request.path } })))
    router.use('/x', requirePermission(client, async (request) => ({ subject: { Person: request.user!.id }, action: 'x', resource: { Page: request.originalUrl } })))
    const guard = requirePermission(client, (request: express.Request<{ id: string }>) => ({ subject: null, action: 'x', resource: { Car: request.params.id } }))
    app.get('/cars/:id', guard, (request, response) => {
      const id: string = request.params.id
      response.json(id)
    })
    // @ts-expect-error: the path has no such parameter
    app.get('/cars/:id', requirePermission<{ id: string }>(client, (request) => ({ subject: null, action: 'x', resource: { Car: request.params.other } })), showCar)`,
  fastify: `
    app.addHook('preHandler', requirePermission(client, (request) => ({ subject: { Person: request.user.id }, action: 'x', resource: { Page: request.url } })))
    const guard = requirePermission(client, (request) => ({ subject: { Person: request.user.id }, action: request.method, resource: { Page: request.url } }))
    app.addHook('preHandler', guard)
    app.get<{ Params: { id: string } }>('/cars/:id', { preHandler: [guard, requirePermission(client, (request) => ({ subject: null, action: 'x', resource: { Car: request.params.id } }))] }, showCar)
    // @ts-expect-error: the path has no such parameter
    app.get<{ Params: { id: string } }>('/cars/:id', { preHandler: requirePermission(client, (request) => ({ subject: null, action: 'x', resource: { Car: request.params.other } })) }, showCar)`,
  hono: `
    app.use('/cars/*', requirePermission<AppEnv>(client, (c) => ({ subject: { Person: c.get('user').id }, action: c.req.method, resource: { Page: c.req.path } })))
    app.use(requirePermission(client, (c) => ({ subject: null, action: c.req.method, resource: { Page: c.req.header('x-page') ?? '' } })))
    app.get('/cars/:id', requirePermission(client, async (c) => ({ subject: null, action: 'x', resource: { Page: c.req.url } })), (c) => {
      const id: string = c.req.param('id')
      const user: { id: string } = c.get('user')
      return c.json({ id, user })
    })
    // @ts-expect-error: the path has no such parameter
    app.get('/cars/:id', requirePermission<AppEnv, '/cars/:id'>(client, (c) => ({ subject: null, action: 'x', resource: { Car: c.req.param('other') } })), showCar)`,
}

it.each(frameworks)('the request has the types of %s, and the other handlers keep theirs', async (framework) => {
  expect(await errorsOf(around(framework, uses[framework]))).toEqual([])
})
