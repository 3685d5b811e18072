// Compiles the program into one executable with the runtime, the native part of LMDB, the console and the documentation.
import { join } from 'node:path'
import { type BuiltFrom, readBuiltFrom } from './build-info.ts'
import { embedConsole } from './embed-console.ts'
import { embedDocumentation } from './embed-documentation.ts'
import { embedKafkaWasm } from './embed-kafka-wasm.ts'
import type { ReleaseTarget } from './targets.ts'

/** The top folder of the repository. */
export const top = join(import.meta.dirname, '..', '..')

/**
 * Replaces names in a bundle: the build that it is, and the folder of CommonJS modules. Bun would insert their paths on this machine,
 * which no user has, and which would make the builds of two folders differ.
 */
export function bundleDefinitions(builtFrom: BuiltFrom = readBuiltFrom(top)): Record<string, string> {
  return {
    VERDIGRAPH_BUILT_FROM: JSON.stringify(builtFrom),
    __dirname: JSON.stringify('/verdigraph'),
    __filename: JSON.stringify('/verdigraph/module.js'),
  }
}

/** Where the program is written, and the files of its system. */
interface CompileOptions {
  readonly target: ReleaseTarget
  readonly outfile: string
  /** The native file of LMDB. */
  readonly addon: string
  /** The runtime; null: the one that runs this. */
  readonly runtime: string | null
}

/** Writes the executable. Throws if it cannot be built. */
export async function compileProgram({ target, outfile, addon, runtime }: CompileOptions): Promise<void> {
  await Bun.build({
    entrypoints: [join(top, 'src', 'main.ts')],
    target: 'bun',
    minify: true,
    // Bytecode: modules load in a third of the time, and the file grows by 7 MB. Requires the ESM format.
    bytecode: true,
    format: 'esm',
    sourcemap: 'none',
    throw: true,
    define: bundleDefinitions(),
    compile: { outfile, target: target.compile, ...(runtime !== null && { executablePath: runtime }) },
    plugins: [
      await embedConsole(),
      embedDocumentation,
      embedKafkaWasm,
      {
        name: 'embed-lmdb-addon',
        setup(build) {
          // The lmdb package looks for its native file on disk at run time, which a single file does not have.
          build.onResolve({ filter: /^node-gyp-build-optional-packages$/ }, (args) => ({
            path: args.path,
            namespace: 'addon',
          }))
          build.onLoad({ filter: /.*/, namespace: 'addon' }, () => ({
            contents: `const addon = require(${JSON.stringify(addon)})\nexport default () => addon\n`,
            loader: 'js',
          }))
        },
      },
    ],
  })
}
