// The process of a backup job that hangs, that cannot write its audit record, and a record of backups that cannot be read.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ScheduledJob } from '../../../src/backup/backup-job.ts'
import { readBackupRecord, updateBackupRecord } from '../../../src/backup/backup-record.ts'
import { scheduledJobs } from '../../../src/backup/backup-schedule.ts'
import { Backups } from '../../../src/backup/backups.ts'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { BACKUP_RECORD_FILE, EVENTS_COMMIT_FILE } from '../../../src/kernel/folder/data-folder.ts'
import type { ServiceAccountCaller } from '../../../src/kernel/request/caller.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { openChildFigures } from '../../../src/processes/process-figures.ts'
import { defaultSettings, type Settings } from '../../../src/settings.ts'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

afterAll(removeTemporaryFolders)
afterAll(killAll)

const caller = { serviceAccountId: 'gid:operator', organizationId: 'gid:o' } as ServiceAccountCaller
const job: ScheduledJob = { kind: 'scheduled-backup', organizationId: 'gid:o', dueMs: 0, madeBy: 'test' }

/** A start of a process takes longer than the short limits of these tests: `again` has those of a service. */
async function jobsOf(command: readonly string[], pingMs?: number) {
  const folder = temporaryFolder()
  const dataDir = join(folder, 'data')
  const place = join(folder, 'place')
  expect(await runCommand(['init', '--data', dataDir, '--json'])).toMatchObject({ exitCode: 0 })
  const settings: Settings = { ...defaultSettings, dataDir, backupTo: place, audit: 'on' }
  const log: LogEntry[] = []
  const figures = openChildFigures(dataDir)
  const deps = {
    folder: join(folder, 'backups'),
    dataDir,
    settings,
    madeBy: 'test',
    recipients: [],
    identityFile: '',
    clock: systemClock,
    log: (line: LogEntry) => void log.push(line),
    figures,
    command,
    hasProject: () => true,
  }
  const backups = new Backups({ ...deps, ...(pingMs !== undefined && { pingMs }) })
  return { dataDir, place, settings, backups, log, figures, again: () => new Backups(deps) }
}

/** The first process hangs, every later one is a backup job. */
function hangingOnce(): readonly string[] {
  const mark = join(temporaryFolder(), 'hung')
  const script = 'mark=$1; shift; if [ -e "$mark" ]; then exec "$@"; fi; : > "$mark"; exec sleep 600'
  return ['sh', '-c', script, 'sh', mark, ...childCommand('backup-job')]
}

test('a job that hangs is ended and counted, and the next one is made', async () => {
  const { backups, figures, place, again } = await jobsOf(hangingOnce(), 100)
  await expect(backups.runScheduled(job)).rejects.toThrow('its process was ended: it did not start within 2400 ms')
  expect(figures.exits()).toContainEqual({ process: 'backup-job', cause: 'hung', count: 1 })
  const next = again()
  expect(await next.runScheduled(job)).toBe('done')
  expect(readdirSync(place).filter((name) => name.startsWith('scheduled-'))).toHaveLength(1)
  await next.close()
})

test('a backup on request whose job hangs has failed, with the reason', async () => {
  const { backups, log } = await jobsOf(hangingOnce(), 100)
  expect(await backups.create(caller, null)).toMatchObject({ ok: true, value: { state: 'running' } })
  await expect.poll(() => backups.list().backups[0]?.state).toBe('failed')
  expect(backups.list().backups[0]?.error).toContain('it did not start within 2400 ms')
  expect(log).toMatchObject([{ level: 'error', message: 'a job on a backup failed' }])
  await backups.close()
})

test('a backup whose audit record cannot be written is made, with a line in the log', async () => {
  const { dataDir, place, settings } = await jobsOf([])
  rmSync(join(dataDir, EVENTS_COMMIT_FILE), { force: true })
  mkdirSync(join(dataDir, EVENTS_COMMIT_FILE))
  const errors = join(temporaryFolder(), 'errors')
  const command = ['sh', '-c', 'errors=$1; shift; exec "$@" 2>"$errors"', 'sh', errors, ...childCommand('backup-job')]
  const backups = new Backups({
    folder: '',
    dataDir,
    settings,
    madeBy: 'test',
    recipients: [],
    identityFile: '',
    clock: systemClock,
    log: () => undefined,
    figures: openChildFigures(dataDir),
    command,
    hasProject: () => true,
  })
  expect(await backups.runScheduled(job)).toBe('done')
  expect(readdirSync(place).filter((name) => name.startsWith('scheduled-'))).toHaveLength(1)
  expect(readBackupRecord(dataDir).backup).toMatchObject({ failures: 0, last_run: { error: null } })
  const lines = readFileSync(errors, 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', message: 'a backup was made, but its audit record could not be written' },
  ])
  await backups.close()
})

test('a record that cannot be read is an error, and is not written again', async () => {
  const { dataDir, settings } = await jobsOf([])
  const path = join(dataDir, BACKUP_RECORD_FILE)
  expect(readBackupRecord(dataDir).backup).toBeNull()
  writeFileSync(path, '{"backup":')
  expect(() => readBackupRecord(dataDir)).toThrow(`${path} cannot be read (it is damaged)`)
  expect(() => updateBackupRecord(dataDir, { kept: 1 })).toThrow(`${path} cannot be read (it is damaged)`)
  expect(readFileSync(path, 'utf8')).toBe('{"backup":')
  const [status] = scheduledJobs({ ...settings, backupSchedule: '0 0 * * *' }, Date.now())
  expect(status?.state).toMatchObject({ failures: 1, last_run: { error: expect.stringContaining('is damaged') } })

  rmSync(path)
  mkdirSync(path)
  expect(() => readBackupRecord(dataDir)).toThrow('expected a file, found a folder')
  const environment = { VERDIGRAPH_BACKUP_TO: settings.backupTo, VERDIGRAPH_BACKUP_SCHEDULE: '* * * * * *' }
  const server = await startServer(['--data', dataDir], environment)
  await expect.poll(() => server.notices()).toContain('no scheduled job starts')
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  await server.kill('SIGTERM')
})
