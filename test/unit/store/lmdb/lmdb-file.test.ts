// Behaviour of the lmdb package that the store relies on beyond its documentation.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { LmdbFile } from '../../../../src/store/lmdb/lmdb-file.ts'
import { appendSlice, putSlice } from '../../../../src/store/lmdb/raw-database.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const opened: LmdbFile[] = []

afterEach(async () => {
  for (const file of opened.splice(0)) await file.close()
})

test('puts parts of one byte buffer, appended or in place', async () => {
  const file = new LmdbFile(temporaryFolder(), { sync: false })
  opened.push(file)
  const numbers = file.openNumbered('numbers')
  const bytes = Buffer.allocUnsafeSlow(16)
  for (let i = 0; i < 16; i++) bytes[i] = i
  await file.transaction(() => {
    appendSlice(numbers, 5, bytes, 0, 4)
    appendSlice(numbers, 9, bytes, 4, 8)
    // Below the others, and present already.
    appendSlice(numbers, 3, bytes, 8, 12)
    appendSlice(numbers, 5, bytes, 12, 16)
    putSlice(numbers, 4, bytes, 1, 3)
  })
  const found = [...numbers.getRange({ start: 0, end: undefined })].map(({ key, value }) => [key, [...value]])
  expect(found).toEqual([
    [3, [8, 9, 10, 11]],
    [4, [1, 2]],
    [5, [12, 13, 14, 15]],
    [9, [4, 5, 6, 7]],
  ])
})

test('creates no empty database in place of one whose name is damaged', async () => {
  const folder = temporaryFolder()
  const written = new LmdbFile(folder, { sync: false })
  written.openNumbered('first')
  const second = written.openNumbered('second')
  await written.transaction(() => second.put(1, Uint8Array.of(1)))
  await written.close()
  const path = join(folder, 'data.mdb')
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf('second\0'); at >= 0; at = bytes.indexOf('second\0', at + 1)) bytes.write('secone', at)
  writeFileSync(path, bytes)
  const file = new LmdbFile(folder, { sync: false })
  opened.push(file)
  expect(file.openNumbered('first').getRange).toBeDefined()
  expect(() => file.openNumbered('second')).toThrow(`${path} is damaged: the database second is missing; check`)
})
