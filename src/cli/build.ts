// `npm run build`: one executable file with the runtime, the program and the storage addon inside (ruling R1).
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const top = join(import.meta.dirname, '..', '..')
const outfile = join(top, 'dist', 'verdigraph')

/** The storage package looks for its addon on the disk at run time; a single file has none, so it is named at build time. */
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
  throw new Error(`the storage addon of ${process.platform}-${process.arch} is not installed`)
}

const built = await Bun.build({
  entrypoints: [join(top, 'src', 'main.ts')],
  target: 'bun',
  minify: true,
  // Compiled ahead: the modules load in a third of the time, and the file grows by 7 MB. Needs the format.
  bytecode: true,
  format: 'esm',
  sourcemap: 'none',
  compile: { outfile },
  plugins: [
    {
      name: 'storage addon inside',
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
