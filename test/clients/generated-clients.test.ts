// Clients of published generators: each is generated from the description of a live server, compiled strictly, and makes live
// calls. `npm run test:clients` runs these tests; they install the generators from the package registries first.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ClientFixture } from './generators.ts'

const programs = join(import.meta.dirname, 'programs')

/** Pinned, like the generators in package.json. */
const oapiCodegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const pythonPackages = ['openapi-python-client==0.29.1', 'mypy==1.19.1', 'types-python-dateutil==2.9.0.20251115']

/** Models of the Python client of each part of the document. Fifteen kinds of configuration alone have some 60 bodies. */
const PYTHON_MODELS_MAX = 190

/** The answers as each client prints them. */
const answers = { light: true, heavy: false, found: ['t1'] }
const problem = ['subject.id: expected string, found nothing']

let fixture: ClientFixture

beforeAll(async () => {
  fixture = await ClientFixture.start()
}, 300_000)

afterAll(() => fixture?.stop())

describe('the OpenAPI document', () => {
  it.each(['openapi.json', 'openapi-3.2.json', 'requests.json', 'configuration.json'])(
    'passes all rules of the linter (%s)',
    async (name) => {
      const found = await fixture.tool('redocly', [
        'lint',
        '--config',
        join(import.meta.dirname, 'redocly.yaml'),
        '--format',
        'json',
        fixture.path(name),
      ])
      const { totals, problems } = JSON.parse(found)
      expect([problems, totals]).toEqual([[], { errors: 0, warnings: 0, ignored: 0 }])
    },
  )
})

describe('a TypeScript client', () => {
  beforeAll(async () => {
    await fixture.tool('openapi-typescript', [fixture.path('openapi.json'), '-o', fixture.path('schema.d.ts')])
    await fixture.tool('openapi-ts', ['-i', fixture.path('openapi.json'), '-o', fixture.path('hey-api'), '--silent'])
    for (const name of ['with-openapi-typescript.ts', 'with-hey-api.ts']) {
      cpSync(join(programs, name), fixture.path(name))
    }
    cpSync(join(import.meta.dirname, 'tsconfig.programs.json'), fixture.path('tsconfig.json'))
  }, 300_000)

  it('compiles strictly, and refuses wrong bodies and other spellings', async () => {
    await fixture.tool('tsc', ['--project', fixture.path('tsconfig.json')])
    const program = readFileSync(join(programs, 'with-openapi-typescript.ts'), 'utf8')
    expect(program.match(/@ts-expect-error/g)).toHaveLength(2)
  })

  it('of openapi-typescript passes parameters to a live server', async () => {
    const printed = await fixture.run([process.execPath, 'with-openapi-typescript.ts'])
    expect(JSON.parse(printed)).toEqual({ ...answers, inline: true, problem, region: 'local' })
  })

  it('of @hey-api/openapi-ts passes parameters to a live server', async () => {
    const printed = await fixture.run([process.execPath, 'with-hey-api.ts'])
    expect(JSON.parse(printed)).toEqual({ ...answers, inline: true, problem, region: 'local' })
  })
})

describe.skipIf(Bun.which('go') === null)('a Go client', () => {
  it('of oapi-codegen compiles and passes parameters to a live server', async () => {
    const below = 'go/verdigraph'
    cpSync(join(programs, 'main.go'), fixture.path('go', 'main.go'))
    writeFileSync(fixture.path('go', 'go.mod'), 'module example.test/client\n\ngo 1.24\n')
    cpSync(join(programs, 'oapi-codegen.yaml'), fixture.path(below, 'oapi-codegen.yaml'), { recursive: true })
    // The flag of the caller may name options that the generator does not know.
    const environment = { GOFLAGS: '-mod=mod' }
    await fixture.run(['go', 'run', oapiCodegen, '-config', 'oapi-codegen.yaml', '../../openapi.json'], { below })
    await fixture.run(['go', 'mod', 'tidy'], { below: 'go', environment })
    await fixture.run(['go', 'vet', './...'], { below: 'go', environment })
    const printed = await fixture.run(['go', 'run', '.'], { below: 'go', environment })
    expect(JSON.parse(printed)).toEqual({ ...answers, problem: true, region: 'local' })
  }, 600_000)
})

const python = Bun.which('python3')

describe.skipIf(python === null)('a Python client', () => {
  it('of openapi-python-client imports, passes mypy and passes parameters to a live server', async () => {
    const tools = fixture.path('venv', 'bin')
    const environment = { PATH: `${tools}:${process.env.PATH}` }
    await fixture.run([python ?? '', '-m', 'venv', fixture.path('venv')])
    await fixture.run([join(tools, 'pip'), 'install', '--quiet', '--disable-pip-version-check', ...pythonPackages])
    cpSync(join(programs, 'call.py'), fixture.path('call.py'))
    const models: Record<string, number> = {}
    for (const [name, client] of [
      ['openapi.json', 'whole_client'],
      ['requests.json', 'request_client'],
      ['configuration.json', 'configuration_client'],
    ] as const) {
      const config = join(programs, 'openapi-python-client.yaml')
      const options = ['--path', name, '--output-path', client, '--meta', 'none', '--config', config]
      await fixture.run([join(tools, 'openapi-python-client'), 'generate', '--fail-on-warning', ...options], {
        environment,
      })
      const files = readdirSync(fixture.path(client, 'models')).filter((file) => /^[a-z].*\.py$/.test(file))
      models[client] = files.length
      await fixture.run([join(tools, 'python'), '-c', `import ${client}, ${client}.models`])
    }
    expect(models.request_client).toBeLessThanOrEqual(PYTHON_MODELS_MAX)
    expect(models.configuration_client).toBeLessThanOrEqual(PYTHON_MODELS_MAX)
    const clients = ['whole_client', 'request_client', 'configuration_client', 'call.py']
    await fixture.run([join(tools, 'mypy'), '--config-file', join(programs, 'mypy.ini'), ...clients])
    const printed = await fixture.run([join(tools, 'python'), 'call.py'])
    expect(JSON.parse(printed)).toEqual(answers)
  }, 600_000)
})
