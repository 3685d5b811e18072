// The Python and Go clients of `clients/`: their generated types, their own tests against a live service, and their examples on the demo.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientLanguage, canGenerate, generatedFiles, generateTypes } from '../../clients/generate.ts'
import { runProgram } from '../../clients/run-program.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { demoLines } from '../../src/cli/serve/serve.ts'
import { type Block, blocksOf } from '../docs/pages.ts'
import { startService, type TestService } from '../support/service.ts'
import { type LanguageWorld, startLanguageWorld } from './language-world.ts'

const top = join(import.meta.dirname, '..', '..')
const clients = join(top, 'clients')
/** With which the types are checked. */
const pythonPackages = ['mypy==2.4.1', 'ruff==0.17.6']

let folder: string
let world: LanguageWorld
let demo: TestService
let demoVariables: Readonly<Record<string, string>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-languages-'))
  world = await startLanguageWorld()
  demo = await startService({}, { sync: false, log: () => {} })
  const lines = await demoLines(demo.app, demo.url)
  const key = lines.find((line) => line.startsWith('  export KEY='))?.split('=')[1]
  demoVariables = { URL: demo.url, KEY: key as string }
})

afterAll(async () => {
  await world?.stop()
  await demo?.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe.each((['python', 'go'] as const).filter(canGenerate))('the client in %s', (language) => {
  it('has the types of the OpenAPI document (npm run clients)', async () => {
    const committed = readFileSync(join(clients, generatedFiles[language]), 'utf8')
    expect(await generateTypes(language)).toBe(committed)
  }, 300_000)
})

it('the clients have the version of the service', () => {
  const { version } = packageJson
  expect(readFileSync(join(clients, 'python/src/verdigraph/_version.py'), 'utf8')).toContain(`"${version}"`)
  expect(readFileSync(join(clients, 'go/client.go'), 'utf8')).toContain(`const Version = "${version}"`)
})

/** The blocks of the page of the clients and of the package's own page. */
function examplesOf(language: ClientLanguage): readonly Block[] {
  const blocks = ['docs/how-to/client.md', `clients/${language}/README.md`].map((path) =>
    blocksOf(readFileSync(join(top, path), 'utf8')).filter((block) => block.language === language),
  )
  for (const ofPage of blocks) expect(ofPage.length).toBeGreaterThan(0)
  return blocks.flat()
}

/** The expected output: the comments at the ends of the statements that print. */
function promised(text: string, comment: string): string {
  const lines = text.split('\n').filter((line) => /print/i.test(line) && line.includes(` ${comment} `))
  expect(lines.length).toBeGreaterThan(0)
  return lines.map((line) => `${line.split(` ${comment} `).at(-1)}\n`).join('')
}

describe.skipIf(Bun.which('python3') === null)('the client', () => {
  let programs: string
  const program = (name: string, ...args: readonly string[]) =>
    runProgram([join(programs, name), ...args], { cwd: join(folder, 'python'), environment: world.environment })

  beforeAll(async () => {
    mkdirSync(join(folder, 'python'))
    programs = join(folder, 'python', 'environment', 'bin')
    await runProgram(['python3', '-m', 'venv', 'environment'], { cwd: join(folder, 'python') })
    // Without the sources, so that the installed package is tested.
    cpSync(join(clients, 'python', 'tests'), join(folder, 'python', 'tests'), { recursive: true })
    cpSync(join(clients, 'python'), join(folder, 'package'), { recursive: true })
    await program(
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      join(folder, 'package'),
      ...pythonPackages,
    )
  }, 300_000)

  it('Python: is typed strictly, as an installed package', async () => {
    await program('mypy', '--strict', 'tests')
    await program('mypy', '--strict', '--package', 'verdigraph')
    writeFileSync(join(folder, 'python', 'wrong.py'), wrongPython)
    const faults = await program('mypy', '--strict', 'wrong.py').catch((error: Error) => error.message)
    for (const line of [5, 6, 7, 8]) expect(faults).toContain(`wrong.py:${line}: error`)
  }, 300_000)

  it('Python: is formatted, and passes the linter', async () => {
    await program('ruff', 'check', '--no-cache', join(folder, 'package'))
    await program('ruff', 'format', '--no-cache', '--check', join(folder, 'package'))
  })

  it('Python: passes its tests against a live service', async () => {
    await program('python', '-W', 'error', '-m', 'unittest', 'discover', '--start-directory', 'tests')
  }, 300_000)

  it('Python: does what its examples show', async () => {
    for (const { text } of examplesOf('python')) {
      const options = { cwd: folder, environment: demoVariables }
      expect(await runProgram([join(programs, 'python'), '-c', text], options)).toBe(promised(text, '#'))
    }
  })
})

const wrongPython = `import asyncio
from verdigraph import AsyncClient, Client

client = Client("http://127.0.0.1", "k")
client.may("ann", "drive", {"Car": "c1"})
client.write(nodes=[{"type": "Car"}])
client.may_all([{"subject": {"Person": "ann"}, "action": "drive"}])
client.may({"Person": "ann"}, "drive", {"Car": "c1"}, tokn="t")
`

describe.skipIf(Bun.which('go') === null)('the client', () => {
  // The flag of the caller may name options of another command.
  const environment = { GOFLAGS: '' }

  it('Go: passes its tests against a live service', async () => {
    const options = { cwd: join(clients, 'go'), environment: { ...environment, ...world.environment } }
    await runProgram(['go', 'vet', './...'], options)
    expect(await runProgram(['gofmt', '-l', '.'], options)).toBe('')
    expect(await runProgram(['go', 'list', '-m', 'all'], options)).toBe('verdigraph.example/verdigraph\n')
    expect(await runProgram(['go', 'test', '-v', '-count=1', './...'], options)).not.toContain('--- SKIP')
  }, 300_000)

  it('Go: does what its examples show, in another module', async () => {
    for (const [at, { text }] of examplesOf('go').entries()) {
      const cwd = join(folder, `go-${at}`)
      mkdirSync(cwd)
      writeFileSync(join(cwd, 'main.go'), text)
      const options = { cwd, environment: { ...environment, ...demoVariables } }
      const replacement = `verdigraph.example/verdigraph=${join(clients, 'go')}`
      await runProgram(['go', 'mod', 'init', 'example.test/application'], options)
      await runProgram(['go', 'mod', 'edit', '-replace', replacement], options)
      await runProgram(['go', 'get', `verdigraph.example/verdigraph@v${packageJson.version}`], options)
      expect(await runProgram(['go', 'run', '.'], options)).toBe(promised(text, '//'))
    }
  }, 300_000)
})
