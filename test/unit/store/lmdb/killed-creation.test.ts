// A process that was killed while it created an environment leaves no damage: the next one creates it.
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CREATING_FILE, DATA_FILE, LMDB_LOCK_FILE } from '../../../../src/kernel/folder/data-folder.ts'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const states: readonly (readonly [state: string, files: readonly string[]])[] = [
  ['nothing', []],
  ['the reader table', [LMDB_LOCK_FILE]],
  ['the reader table and an empty data file', [LMDB_LOCK_FILE, DATA_FILE]],
]

test.each(states)('after a creation that left %s, the environment is created', async (_, files) => {
  const folder = temporaryFolder()
  for (const name of [CREATING_FILE, ...files]) writeFileSync(join(folder, name), '')
  await openCollections(folder, {}).close()
  expect(readdirSync(folder)).not.toContain(CREATING_FILE)
  expect(statSync(join(folder, DATA_FILE)).mode & 0o777).toBe(0o600)
  const again = openCollections(folder, { readOnly: true })
  await again.close()
})

test.each(states.slice(1))('without the note of a creation, %s is damage', (_, files) => {
  const folder = temporaryFolder()
  for (const name of files) writeFileSync(join(folder, name), '')
  expect(() => openCollections(folder, {})).toThrow(/is missing|is empty/)
  expect(existsSync(join(folder, CREATING_FILE))).toBe(false)
})
