// Reads the Markdown pages and pictures of the folder `docs/` of this package. A bundle contains
// a module with their texts instead, because it has no folder to read (src/release/embed-documentation.ts).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '..', '..', '..', 'docs')

/**
 * Returns the text of every page (`how-to/backup.md`) and picture (`images/layers.svg`) by its path within `docs/`.
 * Throws the error of the file system if the folder cannot be read.
 */
export function readDocumentation(): Readonly<Record<string, string>> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(md|svg)$/.test(path))
    .sort()
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}
