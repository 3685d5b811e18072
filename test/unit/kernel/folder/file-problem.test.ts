// Errors of the file system as sentences: what is wrong, where, and what to do.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileProblemOf } from '../../../../src/kernel/folder/file-issue.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const folder = temporaryFolder()
const file = join(folder, 'file')
writeFileSync(file, '')
mkdirSync(join(folder, 'full', 'inner'), { recursive: true })

function failureOf(run: () => unknown): unknown {
  try {
    run()
  } catch (failure) {
    return failure
  }
  throw new Error('it did not fail')
}

test.each([
  [
    'a missing file',
    () => readFileSync(join(folder, 'no')),
    `${folder}/no cannot be used: it does not exist; create it`,
  ],
  ['a folder below a file', () => mkdirSync(join(file, 'a')), `${file}/a cannot be used: a part of the path is a file`],
  [
    'a folder instead of a file',
    () => writeFileSync(folder, ''),
    `${folder} cannot be used: it is a folder; name a file`,
  ],
  ['a file instead of a folder', () => readdirSync(file), `${file} cannot be used: a part of the path is a file`],
  ['a file where a folder is made', () => mkdirSync(file), `${file} cannot be used: a file with this name exists`],
  [
    'a folder with content',
    () => rmdirSync(join(folder, 'full')),
    `${folder}/full cannot be used: the folder is not empty`,
  ],
  [
    'a rename',
    () => renameSync(join(folder, 'no'), join(folder, 'other')),
    `${folder}/no, or ${folder}/other, cannot be used: it does not exist`,
  ],
])('%s is a sentence with the path, the mend and the name of the error', (_, run, expected) => {
  const problem = fileProblemOf(failureOf(run))
  expect(problem).toContain(expected)
  expect(problem).toMatch(/; [a-z][^;]+ \(E[A-Z]+\)$/)
})

test('other errors are no problems of a file', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
  for (const error of [new Error('x'), 'ENOENT', null, refused]) expect(fileProblemOf(error)).toBeNull()
})
