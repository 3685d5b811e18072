// `npm run test:changed`: the tests of the folders in which files changed since the last commit, or of the files that it is given.
// It takes seconds: no test starts a process.
//   npm run test:changed
//   npm run test:changed -- src/pdp/search.ts
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { testFoldersOf } from './test-folders.ts'

const root = join(import.meta.dirname, '..', '..')

function git(...args: string[]): string[] {
  const { stdout } = Bun.spawnSync(['git', ...args], { cwd: root })
  return stdout.toString().split('\n').filter(Boolean)
}

const given = process.argv.slice(2)
const changed =
  given.length > 0
    ? given
    : [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
const folders = new Set<string>()
for (const path of changed) {
  const tests = testFoldersOf(path, (folder) => existsSync(join(root, folder)))
  console.log(`${path}: ${tests.join(' ') || 'no folder of tests'}`)
  for (const folder of tests) folders.add(folder)
}
if (folders.size === 0) {
  console.log('nothing changed that has a folder of tests: `npm test` runs all tests')
  process.exit(0)
}
const child = Bun.spawn(['npm', 'run', '--silent', 'test', '--', '--passWithNoTests', ...folders], {
  cwd: root,
  stdio: ['inherit', 'inherit', 'inherit'],
})
process.exitCode = await child.exited
