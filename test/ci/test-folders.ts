// The folders of tests for a changed file.

/** Folders of the sources whose tests are not in the folder of the same name in `test/unit` or `test/http`. */
const elsewhere: Readonly<Record<string, string>> = {
  app: 'test/http/operations',
  'app.ts': 'test/http/operations',
  docs: 'test/docs',
  data: 'test/docs',
  'README.md': 'test/docs',
  'CONTRIBUTING.md': 'test/docs',
  operator: 'test/http/operations',
  scenarios: 'test/scenarios',
  streams: 'test/http/decisions',
}

/** Files of tests are searched in these. */
const fixtures = ['test/support', 'test/generate']

/** Paths of folders, or of the file if it contains tests; empty if no folder tests it. */
export function testFoldersOf(path: string, exists: (folder: string) => boolean): string[] {
  if (path.endsWith('.test.ts')) return exists(path) ? [path] : []
  const folders = path.split('/').slice(0, -1)
  const [top = path, area = path.slice(top.length + 1)] = folders
  if (top === 'test') return folders.length < 2 || fixtures.includes(`test/${area}`) ? [] : [folders.join('/')]
  if (top !== 'src' && top !== 'grammar') return [elsewhere[top]].filter((folder) => folder !== undefined)
  const within = top === 'src' ? folders.slice(1) : folders
  const unit = within.map((_, depth) => `test/unit/${within.slice(0, within.length - depth).join('/')}`).find(exists)
  const found = [unit, `test/http/${area}`, elsewhere[area]].filter((folder) => folder !== undefined && exists(folder))
  return found as string[]
}
