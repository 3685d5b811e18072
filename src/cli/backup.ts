// `backup` and `restore`: what is asked, what is told, and that the master key is not in the file.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../kernel/clock.ts'
import type { Settings } from '../settings.ts'
import { backup } from '../transfer/backup.ts'
import { restore } from '../transfer/restore.ts'
import { progressLine } from './progress.ts'

const KEY_NEEDED =
  'its secrets are sealed: to serve it, put the master.key of the original into the folder, or set VERDIGRAPH_MASTER_KEY'

export async function backupFolder(
  { dataDir }: Settings,
  out: string,
  projectId: string | undefined,
  json: boolean,
): Promise<void> {
  const progress = progressLine()
  try {
    const { manifest, bytes } = await backup({
      dataDir,
      out,
      ...(projectId === undefined ? {} : { projectId }),
      madeBy: `verdigraph ${packageJson.version}`,
      nowMs: systemClock.now(),
      note: (what) => progress.show(0, null, `copying ${what}`),
    })
    progress.end()
    if (json) console.log(JSON.stringify({ out, bytes, members: manifest.members.length, projects: manifest.projects }))
    else {
      console.log(`${out}: ${projectsOf(manifest.projects)}, ${bytes} bytes`)
      console.log('The master key is not in it. Keep master.key apart: without it nobody can open the secrets.')
    }
  } finally {
    progress.end()
  }
}

function projectsOf({ length }: readonly string[]): string {
  return `${length} ${length === 1 ? 'project' : 'projects'}`
}

export async function restoreFolder({ dataDir }: Settings, from: string, json: boolean): Promise<void> {
  const progress = progressLine()
  try {
    const manifest = await restore({
      from,
      dataDir,
      progress: (done, total) => progress.show(done, total, 'unpacking'),
    })
    progress.end()
    if (json) console.log(JSON.stringify({ data: dataDir, made_at: manifest.made_at, projects: manifest.projects }))
    else {
      console.log(`${dataDir}: as it was at ${manifest.made_at}, ${projectsOf(manifest.projects)}`)
      if (!existsSync(join(dataDir, 'master.key')) && !process.env.VERDIGRAPH_MASTER_KEY) console.log(KEY_NEEDED)
    }
  } finally {
    progress.end()
  }
}
