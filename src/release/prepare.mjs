// Runs after `npm install` in a clone, before `npm pack`, and for a dependency from git: builds the package, so that Node can import
// the library. Without the development packages (`npm ci --omit=dev`) it builds nothing and says so.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const top = fileURLToPath(new URL('../..', import.meta.url))
const bun = join(top, 'node_modules', 'bun', 'bin', 'bun.exe')
if (existsSync(bun) && existsSync(join(top, 'node_modules', 'typescript'))) {
  const { status } = spawnSync(bun, [join('src', 'release', 'build-package.ts')], { cwd: top, stdio: 'inherit' })
  process.exitCode = status ?? 1
} else console.error('verdigraph: dist/ is not built, because the development packages are not installed')
