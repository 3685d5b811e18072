// The check of `doctor` for the processes that a service starts: which are being replaced now, and which have hung within a day.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PROCESS_FIGURES_FILE } from '../../kernel/folder/data-folder.ts'
import { childKinds } from '../../processes/child-kinds.ts'
import { openChildFigures } from '../../processes/process-figures.ts'
import { type Finding, passed, warned } from './doctor-checks.ts'

const RECENT_S = 24 * 3600

const CHECK = 'processes'
const MEND =
  'the log of the service has the reason; if it happens again, the machine may have too few processors or too little memory'

/** Checks the processes of a served folder. */
export function checkProcesses(dataDir: string, nowMs: number): readonly Finding[] {
  // A service of an older program has no figures.
  if (!existsSync(join(dataDir, PROCESS_FIGURES_FILE))) return []
  const figures = openChildFigures(dataDir)
  const replaced = figures.replaced()
  const found = Object.entries(childKinds).flatMap(([name, { label }]) => {
    const kind = name as keyof typeof childKinds
    const lastS = figures.lastHungS(kind)
    const hung = figures.exits().find(({ process, cause }) => process === kind && cause === 'hung')?.count ?? 0
    const isRecent = nowMs / 1000 - lastS < RECENT_S
    const history = isRecent
      ? `${label} hung at ${new Date(lastS * 1000).toISOString()} (${hung} in all)`
      : `${label} exited`
    if (replaced.includes(kind)) return [warned(CHECK, `${history}, and its replacement does not work yet`, MEND)]
    return isRecent ? [warned(CHECK, `${history}, and was replaced`, MEND)] : []
  })
  return found.length === 0 ? [passed(CHECK, 'none has hung within a day')] : found
}
