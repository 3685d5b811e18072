// `export` and `import`: what is asked, and what is told; the lines themselves may go to the standard output, so the rest
// goes beside it.
import type { Settings } from '../settings.ts'
import { exportFolder } from '../transfer/export.ts'
import { importFile } from '../transfer/import.ts'
import { printNotice } from './print.ts'
import { progressLine } from './progress.ts'

export async function exportTo({ dataDir }: Settings, out: string, projectId: string | undefined): Promise<void> {
  const progress = progressLine()
  try {
    const { configuration, nodes, relationships, sealed } = await exportFolder({
      dataDir,
      out,
      ...(projectId === undefined ? {} : { projectId }),
      progress: (done, total, what) => progress.show(done, total, what),
    })
    progress.end()
    printNotice(`${configuration} configuration documents, ${nodes} nodes, ${relationships} relationships`)
    if (sealed > 0) printNotice(`${sealed} secrets are sealed: they open with the master key of ${dataDir} alone`)
  } finally {
    progress.end()
  }
}

export interface ImportFlags {
  readonly in: string
  readonly project?: string
  readonly dryRun: boolean
  readonly resume: boolean
}

export async function importFrom({ dataDir }: Settings, flags: ImportFlags): Promise<void> {
  const progress = progressLine()
  try {
    const { configuration, nodes, relationships, skipped, isResumed } = await importFile({
      dataDir,
      from: flags.in,
      ...(flags.project === undefined ? {} : { projectId: flags.project }),
      dryRun: flags.dryRun,
      resume: flags.resume,
      progress: (done, total, what) => progress.show(done, total, what),
    })
    progress.end()
    const counts = `${configuration} configuration documents, ${nodes} nodes, ${relationships} relationships`
    printNotice(flags.dryRun ? `${counts}: all of it would be imported, nothing was written` : counts)
    if (skipped > 0) printNotice(`${skipped} lines were there from before`)
    if (flags.resume && !isResumed && !flags.dryRun) printNotice('no import of it was cut off: all of it was imported')
  } finally {
    progress.end()
  }
}
