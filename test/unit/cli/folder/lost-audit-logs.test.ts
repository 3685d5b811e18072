// Reading the audit logs of a data folder while a service creates their index.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lostLogFindings } from '../../../../src/cli/folder/lost-audit-logs.ts'
import { AUDIT_FOLDER, AUDIT_INDEX_FOLDER, CONFIGURATION_FOLDER } from '../../../../src/kernel/folder/data-folder.ts'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { AUDIT_DESCRIPTION, openMeta } from '../../../../src/store/lmdb/databases.ts'
import { LmdbFile } from '../../../../src/store/lmdb/lmdb-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test.each([
  ['databases', () => {}],
  ['layout entry', (file: LmdbFile) => void openMeta(file, AUDIT_DESCRIPTION)],
])('an index that has no %s yet has no logs', async (_, begin) => {
  const data = temporaryFolder()
  await openCollections(join(data, CONFIGURATION_FOLDER), {}).close()
  const file = new LmdbFile(join(data, AUDIT_FOLDER, AUDIT_INDEX_FOLDER), {})
  begin(file)
  await file.close()
  expect(await lostLogFindings(data)).toMatchObject({ findings: [], acknowledged: [] })
})
