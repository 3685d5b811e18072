// The Node of this machine. `bun --bun` puts a link to Bun first in the PATH, under the name `node`.
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Path of Node. Throws if the PATH contains no Node other than links to Bun. */
export function nodeProgram(): string {
  const bun = realpathSync(process.execPath)
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (existsSync(path) && realpathSync(path) !== bun && isNode(path)) return path
  }
  throw new Error('Node is not installed')
}

function isNode(path: string): boolean {
  const { stdout } = Bun.spawnSync([path, '-p', 'process.versions.bun ?? "none"'], { stderr: 'ignore' })
  return stdout.toString().trim() === 'none'
}
