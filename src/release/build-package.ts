// `npm run build:package`: builds the three parts of the npm package. `dist/library` is for Node and Bun: one file with the graph, the
// files that an authorizer loads, and their declarations. `dist/client` is for everything with `fetch`: the HTTP client and its
// middleware. `dist/server` is one file for Bun: the command. They contain the libraries that they need, except LMDB. See
// docs/decisions/0032-npm-package.md.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { build, type Plugin, transform } from 'esbuild'
import packageJson from '../../package.json' with { type: 'json' }
import { SERVER_BUNDLE } from '../cli/settings/self-command.ts'
import { loadPageFiles } from '../console/page-files.ts'
import { bundleDefinitions, top } from './compile.ts'
import { packageFolders } from './contents.ts'
import { embedConsole } from './embed-console.ts'
import { embedDocumentation } from './embed-documentation.ts'
import { embedKafkaWasm } from './embed-kafka-wasm.ts'
import { licenceTexts } from './licences.ts'

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
    plugins: [zodByMembers, lmdbOnDemand, shortNamesInLibraries],
  })
  writeLicences(Object.keys(metafile.inputs), library)
}

/**
 * Imports zod as a module instead of the object `z`, of which no member could be left out: its messages in 50 languages and its conversions
 * of JSON schemas are a fifth of the library, which Node would parse at each start. And marks each schema as an expression without side
 * effects, so that those of answers, which only the OpenAPI document needs, are left out: Node would build them at each start.
 */
const zodByMembers: Plugin = {
  name: 'zod-by-members',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const contents = text.replace(/^import \{ z \} from 'zod'$/m, "import * as z from 'zod'")
      return contents === text ? undefined : { contents: withPureSchemas(contents), loader: 'ts' }
    })
  },
}

/** A declaration at the top of a module: its last line is the one before the next that begins in the first column, without a closing bracket. */
const declaration = /^((?:export )?const \w+(?:: [^=\n]+)? =\s)(.*(?:\n(?: .*|[)\]}].*|))*)$/gm
/** `z.string()`, also within an object, and `other.extend(…)`. */
const schema =
  /\bz\s*\.\w|^\w+\s*\.(?:array|describe|extend|meta|nullable|nullish|omit|optional|partial|pick|refine|shape|transform)\b/

function withPureSchemas(text: string): string {
  return text.replace(declaration, (whole, start: string, value: string) => {
    const isSchema = schema.test(value) && !/^(?:async |function |new |\(.*=>)/.test(value)
    return isSchema ? `${start}/* @__PURE__ */ (() => (${value}))()` : whole
  })
}

/**
 * Loads LMDB with the first store in a folder. A store in memory does not need the native addon, which takes a quarter of the time from
 * the start of a process to the first decision.
 */
const lmdbOnDemand: Plugin = {
  name: 'lmdb-on-demand',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/store\/lmdb\/driver\.ts$/ }, () => ({
      contents: `import { createRequire } from 'node:module'
let driver
export function loadDriver() {
  return (driver ??= createRequire(import.meta.url)('lmdb'))
}
`,
      loader: 'ts',
    }))
  },
}

/** Names stay only in our own modules, for stack traces. */
const shortNamesInLibraries: Plugin = {
  name: 'short-names-in-libraries',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/.*\.m?js$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { minifyIdentifiers: true, target: 'node20' })
      return { contents: code, loader: 'js' }
    })
  },
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
    define: bundleDefinitions(),
    plugins: [await embedConsole(), embedDocumentation, embedKafkaWasm],
    // Names stay, so that stack traces can be read.
    minify: { whitespace: true, syntax: true },
  })
  // The built page of the console is inside, as text.
  writeLicences([...inputs, ...(await loadPageFiles()).sources], server)
}

/** Writes the licences of the packages that a bundle contains next to it. */
function writeLicences(inputs: readonly string[], folder: string): void {
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licenceTexts(packageFolders(inputs)))
}

/** The types that the declarations of middleware need. An application that imports the middleware has the framework. */
const frameworkTypes: Readonly<Record<string, readonly string[]>> = {
  'src/client/express.d.ts': ['express', 'node:http'],
  'src/client/fastify.d.ts': ['fastify'],
  'src/client/hono.d.ts': ['hono'],
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
      if (!name.startsWith('.')) {
        const file = relative(allDeclarations, path)
        if (frameworkTypes[file]?.includes(name)) continue
        throw new Error(`${file} needs the types of ${name}`)
      }
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
