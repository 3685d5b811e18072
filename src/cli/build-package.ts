// `npm run build:package`: builds the three parts of the npm package. `dist/library` is for Node and Bun: one file with the graph, the
// files that an authorizer loads, and their declarations. `dist/client` is for everything with `fetch`: the HTTP client and its
// middleware. `dist/server` is one file for Bun: the command. They contain the libraries that they need, except LMDB. See
// docs/decisions/0032-npm-package.md.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { build } from 'esbuild'
import packageJson from '../../package.json' with { type: 'json' }
import { embedDocumentation } from './embed-documentation.ts'
import { embedKafkaWasm } from './embed-kafka-wasm.ts'
import { SERVER_BUNDLE } from './self-command.ts'

const top = join(import.meta.dirname, '..', '..')
const library = join(top, 'dist', 'library')
const server = join(top, 'dist', 'server')
const client = join(top, 'dist', 'client')
const external = Object.keys(packageJson.dependencies)
/** The entry points of the library: `verdigraph`, `verdigraph/vitest` and `verdigraph/jest`. */
const libraryEntries = ['src/index.ts', 'src/authorizer/vitest.ts', 'src/authorizer/jest.ts']
/** `verdigraph/client`, and its middleware for web frameworks. */
const clientEntries = ['index', 'express', 'fastify', 'hono'].map((name) => `src/client/${name}.ts`)
/** Deleted at the end. Declarations of all modules; most describe internals that no user of the library can reach. */
const allDeclarations = join(top, 'dist', 'declarations')

async function bundle(options: Bun.BuildConfig): Promise<readonly string[]> {
  const built = await Bun.build({ format: 'esm', sourcemap: 'none', metafile: true, throw: true, ...options })
  return Object.keys(built.metafile?.inputs ?? {})
}

/**
 * LMDB stays outside, because it loads a native file. The other libraries are inside, whatever Node version they ask for. What
 * `openAuthorizer` imports is in files of its own, which a program that uses only the graph does not load. esbuild, because Bun
 * renames classes that several files share, and an error would be printed as `CompileError2`.
 */
async function buildLibrary(): Promise<void> {
  const { metafile } = await build({
    entryPoints: libraryEntries.map((path) => join(top, path)),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external,
    // The build for Node is CommonJS.
    alias: { yaml: join(top, 'node_modules', 'yaml', 'browser', 'index.js') },
    // Names stay, and lines are short: Node prints the line of an error.
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'none',
    metafile: true,
    outdir: library,
    entryNames: '[name]',
    chunkNames: 'parts/[name]-[hash]',
    absWorkingDir: top,
    logLevel: 'error',
  })
  writeLicences(Object.keys(metafile.inputs), library)
}

/** No library is inside or outside: the client needs only `fetch`. */
async function buildClient(): Promise<void> {
  const inputs = await bundle({
    entrypoints: clientEntries.map((path) => join(top, path)),
    target: 'browser',
    outdir: client,
    // `verdigraph/express` and the others share the classes of errors with `verdigraph/client`.
    splitting: true,
    naming: { chunk: 'parts/[name]-[hash].[ext]' },
  })
  const foreign = inputs.filter((path) => path.includes('node_modules'))
  if (foreign.length > 0) throw new Error(`the client needs ${foreign.join(', ')}`)
}

async function buildServer(): Promise<void> {
  const inputs = await bundle({
    entrypoints: [join(top, 'src', 'main.ts')],
    target: 'bun',
    external,
    outdir: server,
    naming: SERVER_BUNDLE,
    plugins: [embedDocumentation, embedKafkaWasm],
    // Names stay, so that stack traces can be read.
    minify: { whitespace: true, syntax: true },
  })
  writeLicences(inputs, server)
}

/** Writes the licences of the packages that a bundle contains next to it. */
function writeLicences(inputs: readonly string[], folder: string): void {
  const names = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []))
  const licences = [...names].sort().map((name) => `${name}\n\n${readLicence(join(top, 'node_modules', name))}`)
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licences.join(`\n\n${'-'.repeat(80)}\n\n`))
}

/** The text of the licence of a package, which must accompany its code. */
function readLicence(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8').trim()
  const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license?: string }
  if (license === undefined) throw new Error(`${folder} has no licence`)
  return license
}

/** Keeps the declarations that those of the entry points refer to. Throws if one of them needs the types of another package. */
function buildDeclarations(): void {
  const compiler = join(top, 'node_modules', '.bin', 'tsc')
  const { exitCode, stdout } = Bun.spawnSync([compiler, '-p', 'tsconfig.library.json', '--outDir', allDeclarations], {
    cwd: top,
    stderr: 'inherit',
  })
  if (exitCode !== 0) throw new Error(`tsc: ${stdout.toString()}`)
  const reached = new Set<string>()
  const reach = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    const withoutComments = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    for (const [, name = ''] of withoutComments.matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)) {
      if (!name.startsWith('.')) throw new Error(`${relative(allDeclarations, path)} needs the types of ${name}`)
      reach(normalize(join(dirname(path), name.replace(/\.ts$/, '.d.ts'))))
    }
  }
  for (const path of [...libraryEntries, ...clientEntries]) reach(join(allDeclarations, path.replace(/\.ts$/, '.d.ts')))
  for (const path of reached) {
    const target = join(library, relative(allDeclarations, path))
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(path, target)
  }
}

for (const folder of [library, server, client, allDeclarations]) rmSync(folder, { recursive: true, force: true })
try {
  buildDeclarations()
  await Promise.all([buildLibrary(), buildClient(), buildServer()])
} finally {
  rmSync(allDeclarations, { recursive: true, force: true })
}
if (!existsSync(join(server, SERVER_BUNDLE))) throw new Error('the bundler wrote no server')
