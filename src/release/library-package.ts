// The light npm package: the library and the client without the command, for programs that do not run the service. It has the files of
// the package `verdigraph`, so that it can be installed under that name: `npm install verdigraph@file:PATH`.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { type ArchiveFile, tarGz } from './archive.ts'
import { top } from './compile.ts'

/** Its name. */
export const LIBRARY_PACKAGE = 'verdigraph-library'

const kept = ['version', 'license', 'type', 'main', 'types', 'exports', 'dependencies', 'engines'] as const
const folders = ['dist/client', 'dist/library']

/** Returns the package file. The folders must have been built. */
export async function libraryPackage(timeMs: number): Promise<Uint8Array> {
  const manifest = {
    name: LIBRARY_PACKAGE,
    description: 'The library and the client of Verdigraph, graph-based authorization, without the service.',
    ...Object.fromEntries(kept.map((member) => [member, packageJson[member]])),
    files: folders,
  }
  const files: ArchiveFile[] = [
    { name: 'package/package.json', from: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    ...['LICENSE', 'README.md'].map((name) => ({ name: `package/${name}`, from: join(top, name) })),
    ...folders.flatMap((folder) =>
      readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => statSync(join(top, folder, name)).isFile())
        .sort()
        .map((name) => ({ name: `package/${folder}/${name}`, from: readFileSync(join(top, folder, name)) })),
    ),
  ]
  return await tarGz(files, timeMs)
}
