// The schedule of backups in a serving process whose data folder takes no file, as on a full disk.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BackupSchedule } from '../../../src/backup/backup-schedule.ts'
import { BACKUP_RECORD_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import type { Settings } from '../../../src/settings.ts'
import { CommitWaiter } from '../../../src/store/process/commit-waiter.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(removeTemporaryFolders)

test('a record that cannot be written is logged once, and starts no job', async () => {
  const dataDir = temporaryFolder()
  // The record is written next to itself first.
  mkdirSync(join(dataDir, `${BACKUP_RECORD_FILE}.next`))
  const lines: object[] = []
  let runs = 0
  const schedule = new BackupSchedule({
    settings: {
      dataDir,
      backupSchedule: '* * * * * *',
      drillSchedule: '',
      backupTo: '/b',
      backupFolder: '',
    } as Settings,
    signal: new CommitWaiter(dataDir),
    clock: systemClock,
    log: (line) => lines.push(line),
    madeBy: 'test',
    organizationId: 'gid:1',
    async run() {
      runs += 1
      return 'done'
    },
  })
  schedule.start()
  await expect.poll(() => lines.length).toBeGreaterThan(1)
  // Several looks at the clock.
  await Bun.sleep(900)
  schedule.close()
  expect(runs).toBe(0)
  expect(lines).toEqual([
    // The pattern of this test begins with seconds.
    { level: 'info', message: expect.stringContaining('has six fields, so the first one is seconds') },
    {
      level: 'error',
      message: 'the record of backups cannot be used: no scheduled job starts',
      reason: expect.stringContaining(`${BACKUP_RECORD_FILE}.next cannot be used: it is a folder`),
    },
  ])
})
