// The files of the page, built from their sources. A bundle contains a module with the built files instead, because it has no
// sources (src/release/embed-console.ts).
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file of the page. */
interface ConsoleFile {
  readonly mediaType: string
  readonly gzipped: Uint8Array<ArrayBuffer>
}

/** The built page. */
export interface PageFiles {
  /** By name; a name contains a hash of the content. */
  readonly files: ReadonlyMap<string, ConsoleFile>
  /** Name of the script to load first. */
  readonly script: string
  /** Name of the style sheet. */
  readonly style: string
  /** The paths of the sources, for the licences of the packages among them. */
  readonly sources: readonly string[]
}

const mediaTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const compress = promisify(gzip)

/** Builds the page; takes some 100 ms on other threads. Rejects with an AggregateError if a source is wrong. */
export async function loadPageFiles(): Promise<PageFiles> {
  const naming = '[name]-[hash].[ext]'
  const built = await Bun.build({
    entrypoints: [join(import.meta.dirname, 'page', 'main.tsx')],
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    naming: { entry: naming, chunk: naming, asset: naming },
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
    throw: true,
  })
  const files = new Map<string, ConsoleFile>()
  let script = ''
  let style = ''
  for (const output of built.outputs) {
    const name = output.path.replace(/^.*\//, '')
    const extension = name.slice(name.lastIndexOf('.') + 1)
    const mediaType = mediaTypes[extension]
    if (mediaType === undefined) throw new Error(`the page has a file of an unknown type: ${name}`)
    if (output.kind === 'entry-point') script = name
    else if (extension === 'css') style = name
    const gzipped = await compress(new Uint8Array(await output.arrayBuffer()), { level: 9 })
    files.set(name, { mediaType, gzipped: new Uint8Array(gzipped) })
  }
  if (script === '' || style === '') throw new Error('the page has no script or no style sheet')
  return { files, script, style, sources: Object.keys(built.metafile?.inputs ?? {}) }
}
