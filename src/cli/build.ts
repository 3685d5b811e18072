// `npm run build`: builds one executable with the runtime, the program and the native LMDB addon.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { embedDocumentation } from './embed-documentation.ts'
import { embedKafkaWasm } from './embed-kafka-wasm.ts'

const top = join(import.meta.dirname, '..', '..')
const outfile = join(top, 'dist', 'verdigraph')

/**
 * The path of the LMDB addon. The lmdb package looks for it on disk at run time, which a single file does not have; so
 * it is resolved at build time.
 */
function addonPath(): string {
  const lmdb = createRequire(import.meta.url).resolve('lmdb')
  const folder = createRequire(lmdb).resolve(`@lmdb/lmdb-${process.platform}-${process.arch}/package.json`)
  const musl = existsSync('/etc/alpine-release')
  const names =
    process.platform === 'linux' ? [musl ? 'node.napi.musl.node' : 'node.napi.glibc.node'] : ['node.napi.node']
  for (const name of names) {
    const path = join(dirname(folder), name)
    if (existsSync(path)) return path
  }
  throw new Error(`the LMDB addon for ${process.platform}-${process.arch} is not installed`)
}

const built = await Bun.build({
  entrypoints: [join(top, 'src', 'main.ts')],
  target: 'bun',
  minify: true,
  // Bytecode: modules load in a third of the time, and the file grows by 7 MB. Requires the ESM format.
  bytecode: true,
  format: 'esm',
  sourcemap: 'none',
  compile: { outfile },
  plugins: [
    embedDocumentation,
    embedKafkaWasm,
    {
      name: 'embed-lmdb-addon',
      setup(build) {
        build.onResolve({ filter: /^node-gyp-build-optional-packages$/ }, (args) => ({
          path: args.path,
          namespace: 'addon',
        }))
        build.onLoad({ filter: /.*/, namespace: 'addon' }, () => ({
          contents: `const addon = require(${JSON.stringify(addonPath())})\nexport default () => addon\n`,
          loader: 'js',
        }))
      },
    },
  ],
})
for (const log of built.logs) console.error(String(log))
if (!built.success) process.exit(1)
console.log(outfile)
