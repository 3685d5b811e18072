// The process of a lane: started by a serving process. It listens on its own Unix socket only (docs/decisions/0018-lanes.md).
import { createApp } from '../../app.ts'
import type { LaneCommand, LaneEvent, LaneTask } from '../../lanes/lane-process.ts'
import { startLaneServer } from '../../lanes/lane-server.ts'
import { ownMemory } from '../../processes/own-memory.ts'
import { type OpenChild, type Parent, runChild } from '../../processes/run-child.ts'
import type { Settings } from '../../settings.ts'
import { logFailureOf } from './log-failure.ts'

/** After a request beyond these limits, the lane collects garbage and reports its memory. */
const LONG_MS = 50
const LARGE_BYTES = 1024 * 1024
const IDLE_MS = 500

/** Runs a lane. `parent`: the id of the serving process. Never resolves. */
export function runLane(parent: number): Promise<never> {
  return runChild<LaneTask, LaneCommand, LaneEvent>({
    kind: 'lane',
    parent,
    open: openLane,
    failed: logFailureOf('lane'),
  })
}

async function openLane(
  { settings, identity, socket }: LaneTask,
  parent: Parent<LaneEvent>,
): Promise<OpenChild<LaneCommand>> {
  let idleTimer: ReturnType<typeof setTimeout> | null = null
  const reportMemory = (): void => parent.report({ memoryBytes: ownMemory() })
  const onResponse = (ms: number, bytes: number): void => {
    if (ms < LONG_MS && bytes < LARGE_BYTES) return
    if (idleTimer !== null) clearTimeout(idleTimer)
    idleTimer = setTimeout(() => {
      Bun.gc(true)
      reportMemory()
    }, IDLE_MS)
  }
  const app = await createApp(settings as Settings, { lane: identity })
  const { handle, takeCounts } = app
  const server = await startLaneServer({ handle, socket, takeCounts, onResponse })
  return {
    checkReaders: () => app.checkReaders(),
    onCommand: () => app.reopenLogs(),
    async stop() {
      await server.close()
      await app.close()
    },
  }
}
