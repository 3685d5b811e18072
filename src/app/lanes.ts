// Builds the lane pool of a serving process: socket paths, lane numbers, metrics and log.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { LaneLimit } from '../http/route.ts'
import { LANE_SOCKETS_FOLDER } from '../kernel/folder/data-folder.ts'
import { LanePool } from '../lanes/lane-pool.ts'
import { firstLaneNumber } from '../processes/child-kinds.ts'
import type { Settings } from '../settings.ts'
import type { Platform } from './open-store.ts'
import type { AppOverrides } from './overrides.ts'

/** The path of a Unix socket has at most 108 bytes with the terminator (`sun_path`; 104 on macOS). */
const SOCKET_PATH_MAX = 100
/** A lane starts in about a second on a machine that is not overloaded. */
const START_MAX_MS = 30_000

/**
 * Creates the lane pool of a serving process. Throws the error of the system if the socket folder cannot be created.
 * @param command The command line that starts a lane.
 * @param onStart Called before each start of a lane.
 */
export function createLanePool(
  {
    process: { settings, clock, worker, folder },
    reports: { processes, metrics, connections, log },
    graphs: { clearStaleReaders },
  }: Platform,
  command: readonly string[],
  onStart: () => void,
  { laneStartMaxMs = START_MAX_MS, supervision }: Pick<AppOverrides, 'laneStartMaxMs' | 'supervision'>,
): LanePool {
  const sockets = socketFolder(settings.dataDir)
  const lanes = new LanePool({
    lanesMax: settings.lanes,
    queueMax: settings.laneQueueMax,
    waitMs: settings.laneWaitMs,
    startMaxMs: laneStartMaxMs,
    ...(supervision !== undefined && { pingMs: supervision.pingMs }),
    memoryBytesMax: settings.laneMemoryMax,
    command,
    // A lane behaves like this process, but it does not listen on a port and has no lanes of its own.
    settings: { ...settings, lanes: 0, accessLog: 'off' },
    proof: folder.workerToken,
    firstNumber: firstLaneNumber(worker),
    socketOf(number) {
      const path = join(sockets, `${number}.sock`)
      rmSync(path, { force: true })
      return path
    },
    onStart,
    onCounts(counts) {
      metrics.addDeltas(counts)
      connections.addDeltas(counts)
    },
    onUnexpectedExit(lane, exit) {
      clearStaleReaders()
      processes.countExit('lane', exit, Math.round(clock.now() / 1000))
      const { how, killedFor: reason } = exit
      log({ level: 'error', message: 'a lane exited', lane, how, ...(reason !== null && { reason }) })
    },
  })
  metrics.registerLanes(() => lanes.state)
  return lanes
}

/** Time limits of requests in lanes, milliseconds. */
export function laneLimits(settings: Settings): Readonly<Record<LaneLimit, number>> {
  const { decisionTimeMs, batchTimeMs, executeTimeMs, batchReadTimeMs, writeTimeMs } = settings
  // A query that takes too long on the event loop reports its own limit. This limit is for a request that is sent to a
  // lane before its query is known, for example because of its large body: the longer of the two limits applies.
  const query = Math.max(executeTimeMs, batchReadTimeMs)
  return { decision: decisionTimeMs, batch: batchTimeMs, query, write: writeTimeMs }
}

/** A folder that only the current user can access: a temporary folder if the path of the data folder is too long. */
function socketFolder(dataDir: string): string {
  const absolute = join(dataDir, LANE_SOCKETS_FOLDER)
  const shorter = relative(process.cwd(), absolute)
  const path = shorter.length < absolute.length ? shorter : absolute
  if (Buffer.byteLength(join(path, '99999.sock')) > SOCKET_PATH_MAX) return mkdtempSync(join(tmpdir(), 'verdigraph-'))
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}
