// The process of a lane: started by a serving process, controlled over IPC, and terminated with it. It listens on its
// own Unix socket only (docs/decisions/0018-lanes.md).
import { type App, createApp } from '../app.ts'
import type { LaneCommand, LaneEvent } from '../lanes/lane-process.ts'
import { type LaneServer, startLaneServer } from '../lanes/lane-server.ts'
import { exitWithParent } from '../lanes/parent-death.ts'
import { defaultSettings, type Settings } from '../settings.ts'
import { UsageError } from './cli-error.ts'
import { logFailure } from './log-failure.ts'
import { ownMemory } from './own-memory.ts'

/** After a request beyond these limits, the lane collects garbage and reports its memory. */
const LONG_MS = 50
const LARGE_BYTES = 1024 * 1024
const IDLE_MS = 500

/**
 * Runs a lane. `parent`: the id of the serving process. Never resolves; rejects with UsageError if it was not started by
 * a serving process.
 */
export async function runLane(parent: number): Promise<void> {
  if (process.send === undefined) throw new UsageError(['a lane is started by `verdigraph serve` only'])
  exitWithParent(parent)
  let settings = defaultSettings
  const report = (message: LaneEvent): void => void process.send?.(message)
  let app: App | null = null
  let server: LaneServer | null = null
  let idleTimer: ReturnType<typeof setTimeout> | null = null

  // Ignored: terminals and service managers signal whole process groups, and the serving process decides when a lane
  // stops.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('disconnect', () => process.exit(0))

  const answered = (ms: number, bytes: number): void => {
    if (ms < LONG_MS && bytes < LARGE_BYTES) return
    if (idleTimer !== null) clearTimeout(idleTimer)
    idleTimer = setTimeout(() => {
      Bun.gc(true)
      report({ report: 'memory', bytes: ownMemory() })
    }, IDLE_MS)
  }

  async function stop(): Promise<void> {
    await server?.close()
    await app?.close()
    process.exit(0)
  }

  async function handleCommand(message: LaneCommand): Promise<void> {
    switch (message.order) {
      case 'serve': {
        const { number, proof, socket } = message
        settings = message.settings as Settings
        app = await createApp(settings, { lane: { number, proof } })
        const { handle, takeCounts } = app
        server = await startLaneServer({ handle, socket, takeCounts, onResponse: answered })
        report({ report: 'ready', bytes: ownMemory() })
        return
      }
      case 'check readers':
        app?.checkReaders()
        return
      case 'reopen logs':
        app?.reopenLogs()
        return
      case 'check':
        report({ report: 'alive' })
        return
      case 'stop':
        await stop()
    }
  }

  process.on('message', (message: LaneCommand) => {
    handleCommand(message).catch((failure: unknown) => {
      logFailure(settings, 'a lane failed', failure, { order: message.order })
      process.exit(1)
    })
  })
  await new Promise(() => {})
}
