// The packages that the program contains: those that its bundle has files of, LMDB's native file, and the runtime.
import { join } from 'node:path'
import { loadPageFiles } from '../console/page-files.ts'
import { bundleDefinitions, top } from './compile.ts'
import { embedConsole } from './embed-console.ts'
import { embedDocumentation } from './embed-documentation.ts'
import { embedKafkaWasm } from './embed-kafka-wasm.ts'
import { lockEntries } from './lock-file.ts'

/** The name of the package of the runtime, and of the package that describes what the runtime contains. */
export const RUNTIME_PACKAGE = 'node_modules/bun'
/** A page of the runtime's documentation: the libraries that it contains, and their licences. */
export const RUNTIME_LICENCES = join(top, 'node_modules', 'bun-types', 'docs', 'project', 'license.mdx')

/** The folders of the packages in package-lock.json, such as `node_modules/zod`, in order. */
export async function packagesInside(): Promise<readonly string[]> {
  const { metafile } = await Bun.build({
    entrypoints: [join(top, 'src', 'main.ts')],
    target: 'bun',
    format: 'esm',
    metafile: true,
    throw: true,
    define: bundleDefinitions(),
    plugins: [await embedConsole(), embedDocumentation, embedKafkaWasm],
  })
  // The built page of the console is inside, as text.
  const inputs = [...Object.keys(metafile?.inputs ?? {}), ...(await loadPageFiles()).sources]
  return [...new Set([...packageFolders(inputs), RUNTIME_PACKAGE])].sort()
}

/** The folders of packages that contain the files. Throws if package-lock.json does not have one. */
export function packageFolders(inputs: readonly string[]): readonly string[] {
  const folders = inputs.flatMap(
    (path) => /.*?(node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  )
  const unique = [...new Set(folders)].sort()
  for (const folder of unique)
    if (lockEntries[folder] === undefined) throw new Error(`package-lock.json has no ${folder}`)
  return unique
}
