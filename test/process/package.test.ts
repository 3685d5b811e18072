// The package as its users get it: packed, unpacked in another folder with the packages that npm would install with it, and used
// under Node, by a strict compiler, by a bundler, and from the command line.
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownEnvironment, patientEnvironment } from '../support/cli-process.ts'
import { nodeProgram } from '../support/node-program.ts'

const top = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-package-'))
const modules = join(folder, 'node_modules')
const installed = join(modules, 'verdigraph')
const command = join(installed, 'src', 'cli', 'verdigraph.sh')
const node = nodeProgram()
const { dependencies, engines, scripts } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))

/**
 * The files that the library loads for a first decision. Models with types and definitions have added 74 kB, policies that forbid and the
 * functions for addresses 33 kB.
 */
const LOADED_FILES_MAX = 17
const LOADED_BYTES_MAX = 1_762_000

/** The tools that the command needs, and no Bun. */
const pathWithoutBun = join(folder, 'bin')

async function run(
  args: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const env = { ...ownEnvironment, NO_COLOR: '1', ...environment } as Record<string, string>
  const child = Bun.spawn([...args], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

beforeAll(async () => {
  const packed = await run(['npm', 'pack', '--silent', '--pack-destination', folder], top)
  if (packed.exitCode !== 0) throw new Error(`npm pack: ${packed.stderr}`)
  const unpacked = await run(['tar', '-xzf', packed.stdout.trim().split('\n').at(-1) as string], folder)
  if (unpacked.exitCode !== 0) throw new Error(`tar: ${unpacked.stderr}`)
  mkdirSync(modules)
  cpSync(join(folder, 'package'), installed, { recursive: true })
  for (const name of Object.keys(dependencies)) symlinkSync(join(top, 'node_modules', name), join(modules, name))
  mkdirSync(pathWithoutBun)
  for (const name of ['readlink', 'dirname']) symlinkSync(Bun.which(name) as string, join(pathWithoutBun, name))
  // npm makes the files of `bin` executable.
  chmodSync(command, 0o755)
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const filesBelow = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(path, name)).isFile())

/** `import … from "…"` and `import "…"`, also in code without white space. */
const importStatement = /(?:^|[;\n])(?:import|export)\s*(?:[\w*{}\s,$]+\s*from)?\s*["']([^"'\n]+)["']/g

const readme = readFileSync(join(top, 'README.md'), 'utf8')
const example = (/## As a library[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme) as unknown as string[])[1] as string
const promised = [...example.matchAll(/^(owns\..*) \/\/ (.*)$/gm)].map((match) => match[2] as string)
const program = `${example.replace(/^(owns\..*) \/\/ .*$/gm, 'console.log(JSON.stringify($1))')}\nawait store.close()\n`

describe('the packed library', () => {
  const runtimes = { Node: node, Bun: process.execPath }
  test.each(['Node', 'Bun'] as const)('runs the example of the README under %s', async (name) => {
    const runtime = runtimes[name]
    expect(promised).toHaveLength(3)
    writeFileSync(join(folder, 'example.mjs'), program)
    rmSync(join(folder, 'my-graph'), { recursive: true, force: true })
    const { exitCode, stdout, stderr } = await run([runtime, 'example.mjs'], folder)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n')).toEqual(promised)
  })

  test('runs in a clone under Node after `npm install`, which builds it', async () => {
    expect(scripts.prepare).toBe('node src/release/prepare.mjs')
    const text = program.replace("'my-graph'", "':memory:'")
    const { exitCode, stdout, stderr } = await run([node, '--input-type=module', '--eval', text], top)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n')).toEqual(promised)
  })

  test('leaves no file with a store in memory', async () => {
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    writeFileSync(join(folder, 'memory.mjs'), program.replace("'my-graph'", "':memory:'"))
    const environment = { TMPDIR: empty, HOME: empty }
    const { stdout, stderr } = await run([node, join(folder, 'memory.mjs')], empty, environment)
    expect([stdout.trim().split('\n'), stderr]).toEqual([promised, ''])
    expect(readdirSync(empty)).toEqual([])
  })

  test('shows an error with its position under Node', async () => {
    const text = "import { Graph, openStore } from 'verdigraph'\nnew Graph(openStore(':memory:')).query('RETURN 1 +')\n"
    writeFileSync(join(folder, 'fails.mjs'), text)
    const { exitCode, stderr } = await run([node, 'fails.mjs'], folder)
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/CompileError: line 1, column 11: .*\nRETURN 1 \+\n {10}\^\n/)
  })

  test('imports only what it depends on', () => {
    const files = filesBelow(join(installed, 'dist', 'library')).filter((name) => name.endsWith('.js'))
    const texts = files.map((name) => readFileSync(join(installed, 'dist', 'library', name), 'utf8'))
    const imported = new Set(texts.flatMap((text) => [...text.matchAll(importStatement)].map(([, name = '']) => name)))
    const packages = [...imported].filter((name) => !name.startsWith('node:') && !name.startsWith('.'))
    // LMDB is loaded with the first store in a folder.
    expect(packages).toEqual([])
    const required = new Set(
      texts.flatMap((text) =>
        [...text.matchAll(/createRequire\(import\.meta\.url\)\("([^"]+)"\)/g)].map(([, name]) => name),
      ),
    )
    expect([...required]).toEqual(['lmdb'])
    expect(Object.keys(dependencies)).toEqual(['lmdb'])
  })

  test('loads none of the parts of an authorizer before one is opened', () => {
    const loaded = new Set<string>()
    const load = (path: string): void => {
      if (loaded.has(path)) return
      loaded.add(path)
      for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(importStatement)) {
        if (name.startsWith('.')) load(join(dirname(path), name))
      }
    }
    load(join(installed, 'dist', 'library', 'index.js'))
    const text = [...loaded].map((path) => readFileSync(path, 'utf8')).join()
    // Of the YAML reader, and of the schemas.
    expect([text.includes('BLOCK_LITERAL'), text.includes('strictObject')]).toEqual([false, false])
  })

  describe('an authorizer', () => {
    const projectFolder = join(folder, 'authz')
    beforeAll(() => {
      mkdirSync(join(projectFolder, 'policies'), { recursive: true })
      writeFileSync(join(projectFolder, 'verdigraph.yaml'), 'name: cars\n')
      const policy = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'
      writeFileSync(join(projectFolder, 'policies', 'drive.policy.yaml'), policy)
    })

    const opening = `
      const authorizer = await openAuthorizer({ memory: true, project: ${JSON.stringify(projectFolder)} })
      const [ann, car] = [{ type: 'Person', external_id: 'ann' }, { type: 'Car', external_id: 'c1' }]
      const bob = { type: 'Person', external_id: 'bob' }
      await authorizer.write({ nodes: [ann, bob, car], relationships: [{ source: ann, target: car, type: 'OWNS' }] })
    `
    test.each(['Node', 'Bun'] as const)('decides under %s, and leaves no file', async (name) => {
      const empty = join(folder, `empty-${name}`)
      mkdirSync(empty)
      const text = `import { AuthorizerError, openAuthorizer } from 'verdigraph'
        ${opening}
        const request = { subject: { type: 'Person', id: 'ann' }, action: { name: 'drive' }, resource: { type: 'Car', id: 'c1' } }
        console.log(JSON.stringify([authorizer.evaluate(request), authorizer.search.action(request).results]))
        try { authorizer.evaluate({}) } catch (error) { console.log(error instanceof AuthorizerError, error.status) }
        await authorizer.close()
      `
      writeFileSync(join(folder, 'authorizer.mjs'), text)
      const environment = { TMPDIR: empty, HOME: empty }
      const { exitCode, stdout, stderr } = await run(
        [runtimes[name], join(folder, 'authorizer.mjs')],
        empty,
        environment,
      )
      expect([exitCode, stderr, stdout]).toEqual([0, '', '[{"decision":true},[{"name":"drive"}]]\ntrue 400\n'])
      // Bun has a cache of its own.
      expect(readdirSync(empty).filter((name) => name !== '.bun')).toEqual([])
    })

    // Each kilobyte that a first decision loads is read, parsed and garbage-collected at each start.
    test('loads for a first decision the engine, the policies and the YAML reader, and nothing else', async () => {
      const text = `import { openAuthorizer } from 'verdigraph'
        ${opening}
        const request = { subject: { type: 'Person', id: 'ann' }, action: { name: 'drive' }, resource: { type: 'Car', id: 'c1' } }
        console.log(authorizer.evaluate(request).decision)
        await authorizer.close()
      `
      writeFileSync(join(folder, 'first-decision.mjs'), text)
      const coverage = join(folder, 'coverage')
      const { stdout, stderr } = await run([node, 'first-decision.mjs'], folder, { NODE_V8_COVERAGE: coverage })
      expect([stdout, stderr]).toEqual(['true\n', ''])
      const loaded = readdirSync(coverage)
        .flatMap((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')).result as { url: string }[])
        .flatMap(({ url }) => (url.startsWith('file:') ? [fileURLToPath(url)] : []))
        .filter((path) => path !== join(folder, 'first-decision.mjs'))
      const ownFolder = join(installed, 'dist', 'library')
      // Neither LMDB nor another package.
      expect(loaded.filter((path) => !path.startsWith(ownFolder))).toEqual([])
      expect(loaded).toContain(join(ownFolder, 'index.js'))
      expect(loaded.length).toBeLessThanOrEqual(LOADED_FILES_MAX)
      const texts = loaded.map((path) => readFileSync(path, 'utf8'))
      expect(texts.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(LOADED_BYTES_MAX)
      const all = texts.join('\n')
      // Words of the YAML reader and of the parser, which must be found, and of what a decision does not need.
      const words = { yaml: 'BLOCK_LITERAL', chevrotain: 'NoViableAltException' }
      const unwanted = {
        jose: 'ERR_JWS_INVALID',
        'MCP servers': 'MCP server',
        'knowledge queries': 'KnowledgeQueryFile',
        'external data resolvers': 'ResolverMethod',
        'trust scores': 'trust-score-profiles',
        'outgoing requests': 'node:dns',
        'answers of explanations': 'ExplainedScore',
        'answers of decisions': 'DecisionList',
        'analyses of stored policies': 'may be null, and then this',
      }
      expect(Object.entries(words).filter(([, word]) => !all.includes(word))).toEqual([])
      expect(Object.entries(unwanted).filter(([, word]) => all.includes(word))).toEqual([])
    })

    test('has matchers whose red test shows the nearest miss, in Vitest under Node', async () => {
      const text = `import { expect, test } from 'vitest'
        import { openAuthorizer } from 'verdigraph'
        import { matchers } from 'verdigraph/vitest'
        expect.extend(matchers)
        ${opening}
        test('right', () => {
          expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' })
          expect(authorizer).toDeny('Person:bob', 'drive', 'Car:c1')
          expect(authorizer).not.toAllow('Person:bob', 'drive', 'Car:c1')
        })
        test('wrong', () => expect(authorizer).toDeny({ Person: 'ann' }, 'drive', { Car: 'c1' }))
        test('wrong too', () => expect(authorizer).toAllow({ Person: 'ann' }, 'sell', { Car: 'c1' }))
      `
      mkdirSync(join(folder, 'vitest'))
      writeFileSync(join(folder, 'vitest', 'authz.test.mjs'), text)
      const program = join(top, 'node_modules', 'vitest', 'vitest.mjs')
      symlinkSync(join(top, 'node_modules', 'vitest'), join(modules, 'vitest'))
      const args = [node, program, 'run', '--root', join(folder, 'vitest'), '--reporter', 'verbose']
      const { exitCode, stdout, stderr } = await run(args, folder)
      expect(exitCode, `${stdout}${stderr}`).toBe(1)
      expect(stdout.match(/[✓×] authz\.test\.mjs > [a-z ]+(?= \d)/g)).toEqual([
        '✓ authz.test.mjs > right',
        '× authz.test.mjs > wrong',
        '× authz.test.mjs > wrong too',
      ])
      expect(`${stdout}${stderr}`).toContain('policy drive grants: (Person:ann)-[:OWNS]->(Car:c1)')
      expect(`${stdout}${stderr}`).toContain('no policy for Person and Car names the action `sell`')
    })

    test('has matchers with types for Vitest', async () => {
      const uses = `import { expect } from 'vitest'
        import { type Authorizer } from 'verdigraph'
        import { matchers } from 'verdigraph/vitest'
        declare const authorizer: Authorizer
        expect.extend(matchers)
        expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 })
        expect(authorizer).toAllow({ Person: 'ann' }, 4, { Car: 'c1' })
        export const decision: string = authorizer.evaluate({ subject: { type: 'A', id: 'a' }, action: { name: 'x' }, resource: { type: 'B', id: 'b' } }).decision
      `
      writeFileSync(join(folder, 'matchers.mts'), uses)
      const options = [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--target',
        'esnext',
        '--types',
        '',
        '--module',
        'nodenext',
      ]
      const { stdout } = await run([join(top, 'node_modules', '.bin', 'tsc'), ...options, 'matchers.mts'], folder)
      expect(stdout.trim().split('\n')).toEqual([
        expect.stringMatching(/^matchers\.mts\(7,.*TS2345: Argument of type 'number'/),
        expect.stringMatching(/^matchers\.mts\(8,.*TS2322: Type 'boolean' is not assignable to type 'string'/),
      ])
    })
  })

  test('depends only on packages that accept the oldest Node that it accepts itself', () => {
    const oldest = `${/^>=(\d+)$/.exec(engines.node)?.[1]}.0.0`
    const refused = Object.keys(dependencies).filter((name) => {
      const manifest = JSON.parse(readFileSync(join(top, 'node_modules', name, 'package.json'), 'utf8'))
      return !Bun.semver.satisfies(oldest, manifest.engines?.node ?? '*')
    })
    expect(refused).toEqual([])
  })

  test.each(['nodenext', 'bundler'])(
    'has types for a strict compiler that checks libraries too (%s)',
    async (module) => {
      const uses = `
      import { CompileError, Graph, openStore, type OpenStore, type StoreOptions } from 'verdigraph'
      const options: StoreOptions = { readOnly: false }
      const store: OpenStore = openStore(':memory:', options)
      const graph = new Graph(store)
      export const id: number = await graph.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }).id)
      export const place = (error: CompileError): number | null => error.line ?? error.diagnostics[0]?.span.start ?? null
      await store.close()
      const wrong: number = graph.prepare('MATCH (subject:A)').exists({ subject: ['A', 'a'] })
    `
      writeFileSync(join(folder, 'uses.mts'), uses)
      const ofModule =
        module === 'bundler' ? ['--module', 'preserve', '--moduleResolution', module] : ['--module', module]
      const options = [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        'false',
        '--target',
        'esnext',
        '--types',
        '',
        ...ofModule,
      ]
      const { stdout } = await run([join(top, 'node_modules', '.bin', 'tsc'), ...options, 'uses.mts'], folder)
      expect(stdout.trim().split('\n')).toEqual([
        expect.stringMatching(/^uses\.mts\(9,13\): error TS2322: Type 'boolean' is not assignable to type 'number'/),
      ])
    },
  )

  test('is bundled by esbuild with lmdb outside, as the guide says', async () => {
    writeFileSync(join(folder, 'consumer.ts'), program.replace("'my-graph'", "'bundled-graph'"))
    const outfile = join(folder, 'bundled.mjs')
    await build({
      entryPoints: [join(folder, 'consumer.ts')],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['lmdb'],
      logLevel: 'error',
    })
    const { exitCode, stdout, stderr } = await run([node, outfile], folder)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n')).toEqual(promised)
  })
})

describe('the package', () => {
  test('contains the two builds and the command, and no sources or tests', () => {
    const files = filesBelow(join(folder, 'package'))
    const declarations = files.filter((name) => name.startsWith('dist/library/') && name.endsWith('.d.ts'))
    expect(declarations).toContain('dist/library/src/index.d.ts')
    expect(declarations.length).toBeLessThan(60)
    const schemas = files.filter((name) => name.startsWith('data/schemas/') && name.endsWith('.schema.json'))
    expect(schemas).toContain('data/schemas/policy.schema.json')
    const parts = files.filter((name) => /^dist\/(?:client|library)\/parts\/[\w-]+\.js$/.test(name))
    expect(parts.length).toBeLessThan(33)
    const others = new Set([...declarations, ...schemas, ...parts])
    expect(files.filter((name) => !others.has(name)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'dist/client/express.js',
      'dist/client/fastify.js',
      'dist/client/hono.js',
      'dist/client/index.js',
      'dist/library/THIRD-PARTY-LICENSES.txt',
      'dist/library/index.js',
      'dist/library/jest.js',
      'dist/library/vitest.js',
      'dist/server/THIRD-PARTY-LICENSES.txt',
      'dist/server/verdigraph-server.js',
      'package.json',
      'src/cli/verdigraph.sh',
    ])
  })

  test('names every folder and file of its entry points', () => {
    const { bin, main, types, exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const entries = Object.values(exports as Record<string, string | Record<string, string>>)
    const inEntries = entries.flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
    const targets = [bin.verdigraph, main, types, ...inEntries]
    for (const target of targets) expect(statSync(join(installed, target)).isFile(), target).toBe(true)
    expect(Object.keys(exports)).toEqual([
      '.',
      './vitest',
      './jest',
      './client',
      './express',
      './fastify',
      './hono',
      './package.json',
    ])
  })

  // Of these, the commands for authors take 0.2 MB, and the console 0.05 MB. Graph library, editor and charts of its screens will take 0.4 MB,
  // and the driver of Neo4j, for `bench --compare`, 0.6 MB.
  test('is small: less than 11.8 MB, and a consumer of the library installs no Bun', () => {
    const bytes = filesBelow(installed).reduce((sum, name) => sum + statSync(join(installed, name)).size, 0)
    expect(bytes).toBeLessThan(11_800_000)
    const { peerDependenciesMeta } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    expect([dependencies.bun, peerDependenciesMeta]).toEqual([undefined, { bun: { optional: true } }])
  })

  test('carries the licences of what its library contains', () => {
    const text = readFileSync(join(installed, 'dist', 'library', 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const name of ['chevrotain', 'fastest-levenshtein', 're2js', 'yaml', 'zod'])
      expect(text).toMatch(new RegExp(`^${name} \\S+\\n\\n[\\s\\S]{200}`, 'm'))
  })

  test('carries the licences of what its server contains', () => {
    const text = readFileSync(join(installed, 'dist', 'server', 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const name of ['zod', 'pino', 'commander', 'jose', 'lru-cache', 'preact']) {
      expect(text).toMatch(new RegExp(`^${name} \\S+\\n\\n[\\s\\S]{200}`, 'm'))
    }
  })
})

test('`npm install` in a clone without development packages builds nothing and says so', async () => {
  const clone = join(folder, 'clone')
  mkdirSync(join(clone, 'src', 'release'), { recursive: true })
  cpSync(join(top, 'src', 'release', 'prepare.mjs'), join(clone, 'src', 'release', 'prepare.mjs'))
  const { exitCode, stderr } = await run([node, 'src/release/prepare.mjs'], clone)
  expect([exitCode, stderr]).toEqual([
    0,
    'verdigraph: dist/ is not built, because the development packages are not installed\n',
  ])
  expect(readdirSync(clone)).toEqual(['src'])
})

describe('the installed command', () => {
  const bunFolder = join(modules, 'bun')
  const environment = { PATH: pathWithoutBun }

  test('says what to run if Bun is not installed', async () => {
    const { exitCode, stdout, stderr } = await run([command, '--version'], folder, environment)
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toBe('verdigraph: the service needs Bun, which is not installed. Run:\n  npm install bun\n')
  })

  test('says what to run if the install script of Bun did not run, and runs after that', async () => {
    // The text that the package `bun` contains in place of the program.
    const placeholder = 'echo "Error: Bun\'s postinstall script was not run." >&2\nexit 1\n'
    mkdirSync(join(bunFolder, 'bin'), { recursive: true })
    writeFileSync(join(bunFolder, 'bin', 'bun.exe'), placeholder, { mode: 0o755 })
    const script = `require('node:fs').copyFileSync(${JSON.stringify(process.execPath)}, 'bin/bun.exe')\n`
    writeFileSync(join(bunFolder, 'install.js'), script)
    const { exitCode, stdout, stderr } = await run([command, '--version'], folder, environment)
    expect([exitCode, stdout]).toEqual([1, ''])
    const [first, line, ...rest] = stderr.trimEnd().split('\n')
    expect(first).toContain('verdigraph: Bun is not ready, because its install script did not run')
    expect([line, rest]).toEqual([`  (cd '${bunFolder}' && node install.js)`, []])

    const printed = await run(['sh', '-c', line as string], folder)
    expect([printed.exitCode, printed.stderr]).toEqual([0, ''])
    const again = await run([command, '--version'], folder, environment)
    expect([again.exitCode, again.stdout, again.stderr]).toEqual([
      0,
      `${JSON.parse(readFileSync(join(top, 'package.json'), 'utf8')).version}\n`,
      '',
    ])
  })

  test('finds Bun above a link to the package, as pnpm installs it', async () => {
    const linked = join(folder, 'pnpm', 'node_modules')
    mkdirSync(join(linked, '.bin'), { recursive: true })
    mkdirSync(join(linked, '.pnpm', 'verdigraph', 'node_modules'), { recursive: true })
    cpSync(installed, join(linked, '.pnpm', 'verdigraph', 'node_modules', 'verdigraph'), { recursive: true })
    symlinkSync('.pnpm/verdigraph/node_modules/verdigraph', join(linked, 'verdigraph'))
    for (const name of Object.keys(dependencies)) {
      symlinkSync(join(top, 'node_modules', name), join(linked, '.pnpm', 'verdigraph', 'node_modules', name))
    }
    symlinkSync(join(top, 'node_modules', 'bun'), join(linked, 'bun'))
    const through = join(linked, 'verdigraph', 'src', 'cli', 'verdigraph.sh')
    const { exitCode, stderr } = await run([through, '--version'], folder, environment)
    expect([exitCode, stderr]).toEqual([0, ''])
  })

  test('serves the demo with workers and lanes, shows the documentation, and verifies its folder', async () => {
    rmSync(bunFolder, { recursive: true, force: true })
    symlinkSync(join(top, 'node_modules', 'bun'), bunFolder)
    const data = join(folder, 'data')
    const child = Bun.spawn([command, 'serve', '--demo', '--data', data, '--port', '0', '--workers', '2'], {
      cwd: folder,
      env: { ...ownEnvironment, ...patientEnvironment, NO_COLOR: '1', PATH: pathWithoutBun },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    try {
      let output = ''
      let address: string | undefined
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
        output += part
        address = /listening on (http:\/\/[^\s"]+)\n/.exec(output)?.[1]
        if (address !== undefined) break
      }
      expect(address, output).toBeDefined()
      const statusOf = async (path: string) => (await fetch(`${address}${path}`)).status
      expect([await statusOf('/ready'), await statusOf('/docs'), await statusOf('/openapi.json')]).toEqual([
        200, 200, 200,
      ])
    } finally {
      child.kill('SIGTERM')
      await child.exited
    }
    const { exitCode, stderr } = await run([command, 'verify', '--data', data], folder, environment)
    expect([exitCode, stderr]).toEqual([0, expect.any(String)])
  })
})
