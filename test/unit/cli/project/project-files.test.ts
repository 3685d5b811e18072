// Storing the files of a project folder: nothing is written or removed outside the folder or through a link.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { storeFiles } from '../../../../src/cli/project/project-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function folders(): { folder: string; outside: string } {
  const folder = temporaryFolder()
  const outside = temporaryFolder()
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(outside, 'own.policy.yaml'), 'outside')
  return { folder, outside }
}

const list = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String).sort()

test('writes what differs, keeps the mode of files, and removes the others', () => {
  const { folder } = folders()
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, 'policies', `${name}.policy.yaml`), name)
  chmodSync(join(folder, 'policies/b.policy.yaml'), 0o600)
  const files = [
    { path: 'policies/a.policy.yaml', text: 'a' },
    { path: 'policies/b.policy.yaml', text: 'new' },
    { path: 'queries/d.query.yaml', text: 'd' },
  ]
  expect(storeFiles(folder, files, ['policies/b.policy.yaml', 'policies/c.policy.yaml'])).toEqual({
    changed: ['policies/b.policy.yaml', 'queries/d.query.yaml'],
    removed: ['policies/c.policy.yaml'],
  })
  expect(list(folder)).toEqual([
    'policies',
    'policies/a.policy.yaml',
    'policies/b.policy.yaml',
    'queries',
    'queries/d.query.yaml',
  ])
  expect(readFileSync(join(folder, 'policies/b.policy.yaml'), 'utf8')).toBe('new')
  expect(statSync(join(folder, 'policies/b.policy.yaml')).mode & 0o777).toBe(0o600)
})

test('refuses links to files and folders, existing or not, before it writes', () => {
  const { folder, outside } = folders()
  symlinkSync(join(outside, 'own.policy.yaml'), join(folder, 'policies/own.policy.yaml'))
  symlinkSync(join(outside, 'new'), join(folder, 'policies/new.policy.yaml'))
  symlinkSync(outside, join(folder, 'queries'))
  const before = [list(folder), list(outside)]
  const paths = ['verdigraph.yaml', 'policies/own.policy.yaml', 'policies/new.policy.yaml', 'queries/own.policy.yaml']
  const files = paths.map((path) => ({ path, text: 'new' }))
  expect(() => storeFiles(folder, files, [])).toThrow(
    [
      'policies/own.policy.yaml: expected a file, found a symbolic link; nothing is written',
      'policies/new.policy.yaml: expected a file, found a symbolic link; nothing is written',
      'queries: expected a folder, found a symbolic link; nothing is written',
    ].join('\n'),
  )
  for (const path of paths.slice(1)) expect(() => storeFiles(folder, [], [path])).toThrow('symbolic link')
  expect([list(folder), list(outside)]).toEqual(before)
  expect(readFileSync(join(outside, 'own.policy.yaml'), 'utf8')).toBe('outside')
})

test('refuses paths outside the folder', () => {
  const { folder } = folders()
  for (const path of ['../x.policy.yaml', 'policies/../../x.policy.yaml', '..', '.']) {
    const message = `${path}: expected a path below the folder`
    expect(() => storeFiles(folder, [{ path, text: '' }], [])).toThrow(message)
    expect(() => storeFiles(folder, [], [path])).toThrow(message)
  }
})
