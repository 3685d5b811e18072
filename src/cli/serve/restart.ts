// The command `restart`: lets a supervisor replace its workers one after another, and waits for the result.
import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { SERVER_LOCK_FILE, SERVER_PID_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { isFolderLocked } from '../../store/process/folder-lock.ts'
import { printJson, printLine } from '../output/print.ts'
import { type RollingRestartState, readRestartState } from './rolling-restart.ts'

const POLL_INTERVAL_MS = 100

/** Runs `restart`. Rejects with OperationalError if the service has no supervisor, or if a worker could not be replaced. */
export async function restart({ dataDir }: Settings, json: boolean): Promise<void> {
  const before = readSupervisor(dataDir)
  if (before.state === 'running') throw new OperationalError('a rolling restart is running already')
  signal(before.supervisor, dataDir)
  let printed = 0
  for (;;) {
    await Bun.sleep(POLL_INTERVAL_MS)
    const now = readSupervisor(dataDir)
    if (now.supervisor !== before.supervisor) throw new OperationalError('the service was restarted in the meantime')
    if (now.round === before.round) continue
    for (const { worker, by } of now.replaced.slice(printed)) {
      if (!json) printLine(`worker ${worker} was replaced by worker ${by}`)
    }
    printed = now.replaced.length
    if (now.state === 'running') continue
    if (json) printJson({ workers: now.workers, replaced: now.replaced, error: now.error })
    if (now.state === 'failed') {
      throw new OperationalError(
        `${now.error}; ${now.replaced.length} of ${now.workers} workers were replaced, and the others continue; the log of the service has the reason`,
      )
    }
    return
  }
}

function readSupervisor(dataDir: string): RollingRestartState {
  if (isForbidden(dataDir))
    throw new OperationalError(
      `this user may not read the folder ${dataDir}: run this command as the user of the service`,
    )
  if (!isServed(dataDir)) throw new OperationalError(`no process serves the folder ${dataDir}`)
  const state = readRestartState(dataDir)
  if (state === null || state.supervisor !== readServer(dataDir)) {
    throw new OperationalError(
      'the service is one process without a supervisor, which cannot be restarted without a pause: start it with `--workers 2` or with the setting `supervisor` `on`',
    )
  }
  return state
}

function isForbidden(dataDir: string): boolean {
  try {
    accessSync(dataDir, constants.R_OK | constants.X_OK)
    return false
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function isServed(dataDir: string): boolean {
  // Reading the lock would create the file.
  return existsSync(join(dataDir, SERVER_LOCK_FILE)) && isFolderLocked(dataDir)
}

function readServer(dataDir: string): number | null {
  try {
    return Number(readFileSync(join(dataDir, SERVER_PID_FILE), 'utf8').split('\n')[0])
  } catch {
    return null
  }
}

function signal(pid: number, dataDir: string): void {
  // The service may run in another container, where the number names another process.
  if (process.platform === 'linux' && !hasOpen(pid, join(realpathSync(dataDir), SERVER_LOCK_FILE))) {
    throw new OperationalError(
      `process ${pid} is not the supervisor of the folder: run this command in the container and as the user of the service, or send SIGUSR2 to the supervisor`,
    )
  }
  process.kill(pid, 'SIGUSR2')
}

function hasOpen(pid: number, path: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some((name) => {
      try {
        return readlinkSync(join(folder, name)) === path
      } catch {
        // It was closed in the meantime.
        return false
      }
    })
  } catch {
    return false
  }
}
