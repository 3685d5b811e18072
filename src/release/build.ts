// `npm run build`: builds one executable for this machine: dist/verdigraph, or the file that the first argument names.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { compileProgram, top } from './compile.ts'
import { ownTarget } from './targets.ts'

const outfile = process.argv[2] ?? join(top, 'dist', 'verdigraph')
const target = ownTarget()
const lmdb = createRequire(import.meta.url).resolve('lmdb')
const addon = join(dirname(createRequire(lmdb).resolve(`${target.storePackage}/package.json`)), target.addon)
await compileProgram({ target, outfile, addon, runtime: null })
console.log(outfile)
