// The oldest program that may serve a data folder: features that an older program would silently drop raise it.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS } from '../../../../src/kernel/folder/data-folder.ts'
import { folderFeatures, PROGRAM_LEVEL } from '../../../../src/kernel/folder/folder-features.ts'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { DOCUMENTS_DESCRIPTION, openMeta } from '../../../../src/store/lmdb/databases.ts'
import {
  documentsLayout,
  encodeLayout,
  LAYOUT_KEY,
  LayoutError,
  readFolderLayout,
  requireProgram,
} from '../../../../src/store/lmdb/layout.ts'
import { LmdbFile } from '../../../../src/store/lmdb/lmdb-file.ts'
import { startService } from '../../../support/service.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const plain = { kind: 'applications', fields: {} }
const uses: readonly (readonly [feature: string, collection: string, document: object])[] = [
  ['event sinks or an audit log', CURRENT_DOCUMENTS, { kind: 'event-sinks', fields: {} }],
  [
    'graphs in a database server',
    CURRENT_DOCUMENTS,
    { kind: 'projects', fields: { db_connection: { url: 'bolt://server' } } },
  ],
  ['a configuration that several instances share', 'copy-state', { store: 's' }],
  ['a model of a project', CURRENT_DOCUMENTS, { kind: 'models', fields: {} }],
]

test('each feature of the table has a document that uses it', () => {
  expect(uses.map(([name]) => name)).toEqual(folderFeatures.map(({ name }) => name))
})

test.each(uses)('a folder with %s needs a program that knows it', async (name, collection, document) => {
  const path = join(temporaryFolder(), CONFIGURATION_FOLDER)
  const collections = openCollections(path, { sync: false })
  await collections.transact(({ put }) => put(CURRENT_DOCUMENTS, 'plain', plain))
  expect((await readFolderLayout(path)).needs).toBeUndefined()
  await collections.transact(({ put }) => put(collection, 'one', document))
  await collections.close()
  expect((await readFolderLayout(path)).needs).toMatchObject({ level: 1, name })
  // Programs that do not read the level accept no layout entry of another length than 8.
  const file = new LmdbFile(path, { readOnly: true })
  expect(openMeta(file, DOCUMENTS_DESCRIPTION).raw.getBinaryFast(LAYOUT_KEY)?.length).toBeGreaterThan(8)
  await file.close()
})

test('a program refuses a folder with a feature that it does not know, and says which', async () => {
  const path = join(temporaryFolder(), CONFIGURATION_FOLDER)
  await openCollections(path, { sync: false }).close()
  const file = new LmdbFile(path, { sync: false })
  const meta = openMeta(file, DOCUMENTS_DESCRIPTION)
  const needs = { level: PROGRAM_LEVEL + 1, since: '7.0.0', name: 'policies of another kind' }
  await file.transaction(() => requireProgram(meta, needs))
  // A lower level does not replace it.
  await file.transaction(() => requireProgram(meta, { level: 1, since: '0.1.0', name: 'other' }))
  await file.close()
  const message = /^the folder has policies of another kind, which version 7\.0\.0 or a newer program serves/
  expect(() => openCollections(path, {})).toThrow(LayoutError)
  expect(() => openCollections(path, { readOnly: true })).toThrow(message)
})

test('a layout entry of another length is refused', async () => {
  const path = join(temporaryFolder(), CONFIGURATION_FOLDER)
  await openCollections(path, { sync: false }).close()
  const file = new LmdbFile(path, { sync: false })
  const entry = Uint8Array.from([...encodeLayout(documentsLayout), 1, 0, 0, 0])
  await file.transaction(() => void openMeta(file, DOCUMENTS_DESCRIPTION).raw.put(LAYOUT_KEY, entry))
  await file.close()
  expect(() => openCollections(path, {})).toThrow('no valid layout entry')
})

test.each(['on', 'off'] as const)('a service with audit %s', async (audit) => {
  const service = await startService({ audit }, { sync: false })
  const path = join(service.dataDir, CONFIGURATION_FOLDER)
  try {
    expect((await readFolderLayout(path)).needs?.level).toBe(audit === 'on' ? 1 : undefined)
  } finally {
    await service.stop()
  }
})
