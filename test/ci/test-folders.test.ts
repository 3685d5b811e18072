// The folders of tests that `npm run test:changed` runs for a changed file.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testFoldersOf } from './test-folders.ts'

const root = join(import.meta.dirname, '..', '..')
const foldersOf = (path: string): string[] => testFoldersOf(path, (folder) => existsSync(join(root, folder)))

test.each([
  ['src/engine/plan/plan.ts', ['test/unit/engine/plan']],
  ['src/store/tenancy/deep/new.ts', ['test/unit/store/tenancy']],
  ['src/trust/report.ts', ['test/unit/trust', 'test/http/trust']],
  ['src/mcp/tools/new.ts', ['test/http/mcp']],
  ['src/app.ts', ['test/http/operations']],
  ['grammar/index.ts', ['test/unit/grammar']],
  ['docs/how-to/new.md', ['test/docs']],
  ['test/http/mcp/new-client.ts', ['test/http/mcp']],
  ['test/ci/test-folders.test.ts', ['test/ci/test-folders.test.ts']],
  ['test/unit/deleted.test.ts', []],
  ['test/support/service.ts', []],
  ['package.json', []],
])('of %s', (path, folders) => {
  expect(foldersOf(path)).toEqual(folders)
})
