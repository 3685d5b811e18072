// The table of the processes that a service starts: one row for each kind, with everything that is a number or a name.
// docs/explanation/processes.md has the picture.

/** A kind of process. It is also the hidden command that starts it (cli/commands/serving.ts). */
export type ChildKind = 'worker' | 'background' | 'shipper' | 'lane' | 'matcher' | 'backup-job'

/** The properties of the processes of a kind. */
interface ChildProperties {
  /** The subject of log messages. */
  readonly label: string
  /** Added to the scheduling priority (nice): processes that answer requests at once come first. */
  readonly niceness: number
  /**
   * Added to the score of the OOM killer of the process that starts it (`oom_score_adj` of proc(5), per mille of the memory): the greater, the
   * earlier the process is killed. The process that listens on the port is the last.
   */
  readonly oomScore: number
  /** Time that a process gets to end its work when it is stopped, milliseconds. Then it is killed. */
  readonly stopMs: number
  /** A watched process that has missed so many pings in a row hangs. On a busy machine one that works may miss some. Absent: `MISSED_MAX`. */
  readonly missedMax?: number
  /** True: its work may keep it from answering, and has time limits. It hangs only while it uses no processor time either. */
  readonly isComputing?: boolean
}

/** A minute. */
export const MISSED_MAX = 12

/** Lanes and what works in the background run at a lower scheduling priority than the serving process. */
const NICENESS = 10

/** All kinds. */
export const childKinds: Readonly<Record<ChildKind, ChildProperties>> = {
  // Its supervisor adds the drain time.
  worker: { label: 'a worker', niceness: 0, oomScore: 50, stopMs: 5000 },
  // It finishes running calls, and stores its progress.
  background: { label: 'the background process', niceness: NICENESS, oomScore: 100, stopMs: 8000 },
  // It ships the last changes. The next start ships the others.
  shipper: { label: 'the process that ships changes', niceness: NICENESS, oomScore: 150, stopMs: 3000 },
  // It writes its responses.
  lane: { label: 'a lane', niceness: NICENESS, oomScore: 200, stopMs: 5000, isComputing: true },
  // It ends its step. Its memory grows with the nodes. The background process starts it: 250 more than a serving process.
  matcher: { label: 'the entity matching process', niceness: NICENESS, oomScore: 150, stopMs: 3000 },
  // Its backup is then interrupted. To flush a large copy to a slow disk takes minutes, in which it answers nothing.
  'backup-job': {
    label: 'the process of a backup job',
    niceness: NICENESS,
    oomScore: 300,
    stopMs: 0,
    missedMax: 10 * MISSED_MAX,
  },
}

/*
 * Numbers of the processes on a data folder: unique among those that write. Workers have the numbers from 1, and lanes those from 1000: each
 * worker has a range of as many numbers as it may have lanes.
 */

/** The number of the process that executes entity matching pipelines. */
export const MATCHER_NUMBER = 998
/** The number of the background process. */
export const BACKGROUND_NUMBER = 999
const FIRST_LANE_NUMBER = 1000
/** Maximum value of the setting `lanes`. */
const LANES_PER_WORKER_MAX = 64

/** The number of the first lane of a worker. Null: there is one serving process. */
export function firstLaneNumber(worker: number | null): number {
  return FIRST_LANE_NUMBER + (worker ?? 0) * LANES_PER_WORKER_MAX
}
