// The lanes of a serving process: where their sockets are, which numbers they have, and what their counts and ends mean.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { LANE_SOCKETS_FOLDER } from '../kernel/data-folder.ts'
import { LanePool } from '../lanes/lane-pool.ts'
import type { Log } from '../ops/log.ts'
import type { ServiceMetrics } from '../ops/service-metrics.ts'
import type { Settings } from '../settings.ts'

/** The path of a Unix socket has at most 108 bytes with its end (`sun_path`; 104 on macOS). */
const SOCKET_PATH_MAX = 100
/** Numbers of lanes begin here, and each worker has as many as a process may have lanes. */
const FIRST_LANE_NUMBER = 1000
export const LANES_PER_WORKER_MAX = 64

export interface LanePoolDeps {
  /** The command line of a lane. */
  readonly command: readonly string[]
  /** Shows a lane that this process holds the data folder. */
  readonly proof: string
  /** The number of this worker; null: it serves alone. */
  readonly worker: number | null
  readonly metrics: ServiceMetrics
  readonly log: Log
  /** A process that was reading has ended. */
  checkReaders(): void
  /** Called before each start of a lane. */
  onStart(): void
}

export function createLanePool(settings: Settings, wiring: LanePoolDeps): LanePool {
  const { command, proof, worker, metrics, log, checkReaders, onStart } = wiring
  const firstNumber = FIRST_LANE_NUMBER + (worker ?? 0) * LANES_PER_WORKER_MAX
  const folder = socketFolder(settings.dataDir)
  const socketOf = (number: number): string => join(folder, `${number}.sock`)
  const lanes = new LanePool({
    lanesMax: settings.lanes,
    queueMax: settings.laneQueueMax,
    waitMs: settings.laneWaitMs,
    memoryBytesMax: settings.laneMemoryMax,
    command,
    // Calls the upstreams and answers requests as this process would, but listens on nothing and has no lanes.
    settings: { ...settings, lanes: 0, accessLog: 'off' },
    proof,
    firstNumber,
    socketOf(number) {
      const path = socketOf(number)
      rmSync(path, { force: true })
      return path
    },
    onStart,
    onCounts: (counts) => metrics.addDeltas(counts),
    onUnexpectedExit({ lane, how, killedFor }) {
      checkReaders()
      log({ level: 'error', message: 'a lane ended', lane, how, ...(killedFor !== null && { reason: killedFor }) })
    },
  })
  metrics.registerLanes(() => lanes.state)
  return lanes
}

/** Readable by this user alone. In the folder for temporary files where the path of the data folder is too long. */
function socketFolder(dataDir: string): string {
  const absolute = join(dataDir, LANE_SOCKETS_FOLDER)
  const shorter = relative(process.cwd(), absolute)
  const path = shorter.length < absolute.length ? shorter : absolute
  if (Buffer.byteLength(join(path, '99999.sock')) > SOCKET_PATH_MAX) return mkdtempSync(join(tmpdir(), 'verdigraph-'))
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}
