// The commands `backup` and `restore`: their output, and the note that the master key is not in the file.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../kernel/clock.ts'
import { MASTER_KEY_FILE } from '../kernel/data-folder.ts'
import type { Settings } from '../settings.ts'
import { backup } from '../transfer/backup.ts'
import { restore, restoredLogs } from '../transfer/restore.ts'
import { printNotice } from './print.ts'
import { progressLine } from './progress.ts'
import { recorded, recordOperation } from './record-operation.ts'

const KEY_NEEDED =
  'its secrets are encrypted: before serving it, copy the original master.key into the folder, or set VERDIGRAPH_MASTER_KEY'

/** Runs `backup`. `projectId`: only this project. Rejects with OperationalError if the backup fails. */
export async function backupFolder(
  settings: Settings,
  out: string,
  projectId: string | undefined,
  json: boolean,
): Promise<void> {
  const { dataDir } = settings
  const progress = progressLine(`opening ${dataDir}`)
  const run = () =>
    backup({
      dataDir,
      out,
      ...(projectId === undefined ? {} : { projectId }),
      madeBy: `verdigraph ${packageJson.version}`,
      nowMs: systemClock.now(),
      progress: (done, total, what) => progress.show(done, total, what),
    })
  const asked = { file: out, ...(projectId !== undefined && { project: projectId }) }
  try {
    const { manifest, bytes } = await recorded(settings, 'svc.audit.operations.backup', asked, run, (made) => ({
      projects: made.manifest.projects.length,
      bytes: made.bytes,
    }))
    progress.end()
    if (json) console.log(JSON.stringify({ out, bytes, members: manifest.members.length, projects: manifest.projects }))
    else {
      console.log(`${out}: ${projectsOf(manifest.projects)}, ${bytes} bytes`)
      console.log(
        'The backup does not contain the master key. Store master.key separately: without it, the secrets cannot be decrypted.',
      )
    }
  } finally {
    progress.end()
  }
}

function projectsOf({ length }: readonly string[]): string {
  return `${length} ${length === 1 ? 'project' : 'projects'}`
}

/** Runs `restore`. Rejects with OperationalError if the folder is not empty or the backup is invalid. */
export async function restoreFolder(settings: Settings, from: string, json: boolean): Promise<void> {
  const { dataDir } = settings
  const progress = progressLine('unpacking')
  try {
    const manifest = await restore({
      from,
      dataDir,
      progress: (done, total) => progress.show(done, total, 'unpacking'),
    })
    const made = { file: from, madeAt: manifest.made_at, projects: manifest.projects.length }
    await recordOperation(settings, 'svc.audit.operations.restore', made)
    progress.end()
    for (const { owner, origin, size } of await restoredLogs(dataDir))
      printNotice(
        `the audit log of ${owner} continues under a new origin, because entries after the ${size} of ${origin} may have been published`,
      )
    if (json) console.log(JSON.stringify({ data: dataDir, made_at: manifest.made_at, projects: manifest.projects }))
    else {
      console.log(`${dataDir}: restored to its state at ${manifest.made_at}, ${projectsOf(manifest.projects)}`)
      if (!existsSync(join(dataDir, MASTER_KEY_FILE)) && !process.env.VERDIGRAPH_MASTER_KEY) console.log(KEY_NEEDED)
    }
  } finally {
    progress.end()
  }
}
