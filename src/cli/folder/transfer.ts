// The commands `export` and `import`. Messages go to the error stream, because the exported lines may go to the
// standard output.
import { existsSync } from 'node:fs'
import type { Settings } from '../../settings.ts'
import { exportFolder } from '../../transfer/export/export.ts'
import { importFile } from '../../transfer/import/import.ts'
import type { ExportTotals } from '../../transfer/lines/line-format.ts'
import { printJson, printNotice } from '../output/print.ts'
import { type ProgressLine, progressLine } from '../output/progress.ts'
import { projectIdIn } from './project-id.ts'
import { recorded } from './record-operation.ts'
import { remoteGraphNotices } from './remote-graph-notices.ts'

/** The audit logs of an export are in the folder with this suffix, unless another one is named. */
const AUDIT_SUFFIX = '.audit'

/** The options of `export`. */
export interface ExportFlags {
  readonly out: string
  readonly project?: string
  /** False: they are left out. */
  readonly auditLogs?: string | false
}

/** Runs `export`. Rejects with OperationalError if it fails. */
export async function exportTo(settings: Settings, flags: ExportFlags): Promise<void> {
  const { dataDir } = settings
  const { out, auditLogs = out === '-' ? false : `${out}${AUDIT_SUFFIX}` } = flags
  const projectId = flags.project === undefined ? undefined : await projectIdIn(dataDir, flags.project)
  const progress = progressLine(`opening ${dataDir}`)
  const run = () =>
    exportFolder({
      dataDir,
      out,
      ...(projectId === undefined ? {} : { projectId }),
      ...(auditLogs !== false && { auditLogs }),
      progress: (done, total, what) => progress.show(done, total, what),
    })
  const asked = { file: out, ...(projectId !== undefined && { project: projectId }) }
  try {
    const exported = await recorded(settings, 'svc.audit.operations.export', asked, run, countsOf)
    const { configuration, nodes, relationships, sealed, audit } = exported
    progress.end()
    printNotice(`${configuration} configuration documents, ${nodes} nodes, ${relationships} relationships`)
    for (const notice of await remoteGraphNotices(dataDir, projectId)) printNotice(notice)
    if (audit !== null) printNotice(`${audit.logs} audit logs with ${audit.entries} entries in ${auditLogs}`)
    if (sealed > 0)
      printNotice(`${sealed} secrets are encrypted: they can be decrypted only with the master key of ${dataDir}`)
  } finally {
    progress.end()
  }
}

function countsOf({ configuration, nodes, relationships }: ExportTotals): object {
  return { configuration, nodes, relationships }
}

/** The options of `import`. */
export interface ImportFlags {
  readonly in: string
  readonly project?: string
  readonly dryRun: boolean
  readonly resume: boolean
  readonly onDuplicate: 'refuse' | 'merge' | 'last'
  readonly json: boolean
}

/** Runs `import`. Rejects with OperationalError if a line is invalid or the folder is being served. */
export async function importFrom(settings: Settings, flags: ImportFlags): Promise<void> {
  const { dataDir } = settings
  const projectId = flags.project === undefined ? undefined : await projectIdIn(dataDir, flags.project)
  const progress = progressLine(`reading ${flags.in === '-' ? 'the standard input' : flags.in}`)
  try {
    const run = () =>
      importFile({
        dataDir,
        from: flags.in,
        ...(projectId === undefined ? {} : { projectId }),
        dryRun: flags.dryRun,
        resume: flags.resume,
        onDuplicate: flags.onDuplicate,
        progress: (done, total, what) => progress.show(done, total, what),
      })
    const asked = { file: flags.in, ...(projectId !== undefined && { project: projectId }) }
    // A dry run changes nothing, and may name a folder that does not exist.
    const imported = flags.dryRun
      ? await run()
      : await recorded(settings, 'svc.audit.operations.import', asked, run, countsOf)
    const { configuration, nodes, relationships, merged, skipped, isResumed, unfit, documentIds } = imported
    const warnings = [...unfit.warnings, ...(await warningsOf(settings, documentIds, progress))]
    progress.end()
    const counts = `${configuration} configuration documents, ${nodes} nodes, ${relationships} relationships`
    printNotice(flags.dryRun ? `${counts}: valid, nothing was written` : counts)
    // A resumed sorted load also merges relationships of the run before.
    const fresh = {
      nodes: nodes - merged.nodes,
      relationships: Math.max(0, relationships - merged.relationships),
    }
    if (merged.nodes + merged.relationships > 0)
      printNotice(
        `new: ${fresh.nodes} nodes, ${fresh.relationships} relationships; merged with existing ones or earlier lines: ${merged.nodes} nodes, ${merged.relationships} relationships`,
      )
    if (flags.json) printJson({ configuration, nodes, relationships, new: fresh, merged, skipped, unfit: unfit.lines })
    if (skipped > 0) printNotice(`${skipped} lines had been imported before`)
    if (flags.resume && !isResumed && !flags.dryRun)
      printNotice('there was no interrupted import of this file: it was imported completely')
    const logs = `${flags.in}${AUDIT_SUFFIX}`
    if (flags.in !== '-' && existsSync(logs))
      printNotice(`${logs} is not imported: the folder gets new audit logs; keep the old ones for \`audit verify\``)
    for (const warning of warnings) printNotice(`warning: ${warning}`)
  } finally {
    progress.end()
  }
}

/** Warnings about names in the imported policies and queries. An import without them does not load the policy compiler. */
async function warningsOf(
  settings: Settings,
  documentIds: ReadonlySet<string>,
  progress: ProgressLine,
): Promise<readonly string[]> {
  if (documentIds.size === 0) return []
  progress.show(0, null, 'comparing the names in policies with the graphs')
  const { importedNameWarnings } = await import('./imported-names.ts')
  return await importedNameWarnings(settings, documentIds)
}
