// The command `drill`: restores a backup to a temporary folder and reports whether it could be used.

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readIdentities } from '../../backup/encryption.ts'
import { givenMasterKey, masterKeyVariable } from '../../identity/master-key.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printLines } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { columnLines } from '../output/table.ts'
import { givenKeyFile, type SourceFlags, sourceOf } from './backup.ts'
import { type DrillReport, type DrillStep, questionsOf, runDrill } from './backup-drill.ts'

/** The options of `drill`. */
export interface DrillFlags extends SourceFlags {
  readonly masterKey?: string
  readonly questions?: string
  /** For the restored copy; absent: the setting `backup_work_folder`, or the folder of the system for temporary files. */
  readonly work?: string
  readonly json: boolean
}

const signs: Readonly<Record<DrillStep['outcome'], () => string>> = {
  ok: () => colours.green('✓'),
  skipped: () => colours.yellow('!'),
  failed: () => colours.red('✗'),
}

/** What `read` returns. Rejects with UsageError if a file of an option cannot be used: exit code 1 is for backups. */
async function usable<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (failure) {
    if (failure instanceof OperationalError) throw new UsageError(failure.message.split('\n'))
    throw failure
  }
}

/** Runs `drill`, and sets exit code 1 if the backup cannot be used. Rejects if it did not begin. */
export async function drill(settings: Settings, flags: DrillFlags): Promise<void> {
  const fileKey = join(settings.dataDir, MASTER_KEY_FILE)
  const isGiven = givenMasterKey(masterKeyVariable) !== null
  const masterKey =
    flags.masterKey !== undefined
      ? givenKeyFile(flags.masterKey)
      : !isGiven && existsSync(fileKey)
        ? readFileSync(fileKey, 'utf8')
        : null
  const identity = flags.identity ?? (settings.backupIdentity || undefined)
  const filed = flags.questions ?? settings.drillQuestions
  const questions = filed === '' ? null : await usable(() => questionsOf(filed))
  if (identity !== undefined) await usable(() => readIdentities(identity))
  const source = await sourceOf('drill', { ...flags, ...(identity !== undefined && { identity }) })
  const workFolder = flags.work ?? (settings.backupWorkFolder || tmpdir())
  mkdirSync(workFolder, { recursive: true, mode: 0o700 })
  const progress = progressLine(`reading ${source.label}`)
  let report: DrillReport
  try {
    report = await runDrill({
      source,
      settings,
      workFolder,
      masterKey,
      hasMasterKey: isGiven || masterKey !== null,
      questions,
      clock: systemClock,
      progress: (step, share) => progress.show(Math.round(share * 100), 100, step),
    })
  } finally {
    progress.end()
  }
  if (report.outcome !== 'proven') process.exitCode = exitCodes.failure.code
  if (flags.json) {
    printJson(report)
    return
  }
  const { backup, made_at, outcome, steps, answers } = report
  printLine(`${backup}${made_at === null ? '' : `, made at ${made_at}`}`)
  const rows = steps.map(({ step, outcome: ended, detail }) => [`${signs[ended]()} ${step}`, detail])
  printLines(columnLines([...rows, ...(answers?.faults.slice(1) ?? []).map((fault) => ['', fault])]))
  printLine(
    outcome === 'proven'
      ? 'The backup was restored and can be used. The restored copy is deleted.'
      : outcome === 'unproven'
        ? 'The backup was restored, but no question was asked: this proves nothing about its answers. The restored copy is deleted.'
        : 'The backup cannot be used as it is. The restored copy is deleted.',
  )
}
