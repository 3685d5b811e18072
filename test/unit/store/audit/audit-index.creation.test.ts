// Readers of the index of the audit logs in the moment in which the first start of a service creates it: there are no logs yet.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { auditLogFindings } from '../../../../src/audit/seal/check-log-files.ts'
import { restoredLogs } from '../../../../src/backup/restore.ts'
import { ShippedLogs } from '../../../../src/backup/shipping/shipped-logs.ts'
import { AUDIT_FOLDER } from '../../../../src/kernel/folder/data-folder.ts'
import { AuditIndex } from '../../../../src/store/audit/audit-index.ts'
import { LmdbFile } from '../../../../src/store/lmdb/lmdb-file.ts'
import { exportAuditLogs } from '../../../../src/transfer/export/export-audit.ts'
import { auditIndexFolder } from '../../../../src/transfer/files/database-folders.ts'

let dataDir: string
let folder: string

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'verdigraph-index-'))
  const created = dataDir
  onTestFinished(() => rmSync(created, { recursive: true, force: true }))
  folder = auditIndexFolder(dataDir)
  mkdirSync(folder, { recursive: true })
  // The file exists, and the service has not written to it.
  await new LmdbFile(folder, {}).close()
})

test('an index that has not been written does not exist', () => {
  expect(() => new AuditIndex(folder, { readOnly: true })).toThrow()
  expect(AuditIndex.existing(folder)).toBeNull()
  expect(AuditIndex.existing(join(dataDir, 'none'))).toBeNull()
})

test('shipping, exports, restores and the verification find no logs', async () => {
  const logs = new ShippedLogs(dataDir)
  const { files, after } = await logs.changesSince({}, 0)
  expect(await Array.fromAsync(files)).toEqual([])
  expect(after).toEqual({})
  expect(await exportAuditLogs(dataDir, folder, undefined, join(dataDir, 'out'))).toBeNull()
  expect(await restoredLogs(dataDir)).toEqual([])
  expect(await auditLogFindings(join(dataDir, AUDIT_FOLDER))).toEqual([])
  // The same reader finds the index when it is there.
  const index = new AuditIndex(folder, {})
  await index.close()
  expect((await logs.changesSince({}, 0)).after).toEqual({})
  expect(AuditIndex.existing(folder)).not.toBeNull()
  await logs.close()
})
