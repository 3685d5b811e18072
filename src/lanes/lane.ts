// The state of one lane in the pool, and the choice of a lane for a request.
import type { LaneJob } from '../http/lane-job.ts'
import type { HttpResponse } from '../http/route.ts'
import type { ThrownServiceError } from '../kernel/errors.ts'
import type { LaneProcess } from './lane-process.ts'

/** Maximum number of concurrent writes of one project in one lane. They share commits. */
const CONCURRENT_WRITES_MAX = 8
/** Maximum number of requests in one lane that wait for other services. */
const WAITING_MAX = 8

/** A request in the queue or in a lane. */
export interface QueuedRequest {
  readonly job: LaneJob
  readonly project: string
  readonly agent: string
  readonly resolve: (response: HttpResponse) => void
  readonly reject: (error: ThrownServiceError) => void
  attempts: number
  /** The request exceeded its time limit and was answered before its lane exited. */
  isTimedOut: boolean
  /** Limits the time in the queue. */
  timer: ReturnType<typeof setTimeout> | null
}

/** A request that runs in a lane. */
export interface RunningRequest {
  readonly queued: QueuedRequest
  readonly startMs: number
  /** Limits the running time. */
  readonly timer: ReturnType<typeof setTimeout>
}

/** A lane process and its requests. */
export interface Lane {
  readonly process: LaneProcess
  readonly number: number
  state: 'starting' | 'ready' | 'ending'
  readonly running: Set<RunningRequest>
  /** Limits the time of its start. */
  readonly startTimer: ReturnType<typeof setTimeout>
  /** Number of responses of this lane. */
  responses: number
}

/** The requests that use the processor of a lane. Those that wait for other services leave it to others. */
function occupying({ running }: Lane): readonly RunningRequest[] {
  return [...running].filter(({ queued }) => !queued.job.isWaiting)
}

/**
 * Chooses an idle lane, or for a write the lane that runs writes of the same project; null: the request has to wait.
 * `lanesMax`: size of the pool.
 */
export function chooseLane(lanes: Iterable<Lane>, { job, project }: QueuedRequest, lanesMax: number): Lane | null {
  let idle: Lane | null = null
  let ofProject = 0
  let ofTests = 0
  for (const lane of lanes) {
    if (lane.state !== 'ready') continue
    const occupied = occupying(lane)
    if (occupied.length === 0) {
      if (!job.isWaiting || lane.running.size < WAITING_MAX) idle ??= lane
      continue
    }
    if (occupied.some(({ queued }) => queued.job.isTest)) ofTests += 1
    if (!runsOnly(lane, project)) continue
    ofProject += 1
    const isWriting = occupied.every(({ queued }) => queued.job.isSharedWrite)
    if (job.isSharedWrite && isWriting) return occupied.length < CONCURRENT_WRITES_MAX ? lane : null
  }
  if (job.isTest && ofTests >= testLanesMax(lanesMax)) return null
  return ofProject < projectLanesMax(lanesMax) ? idle : null
}

/** Returns whether a project would get another lane if there was one. Starting lanes are not counted. */
export function canUseAnotherLane(lanes: Iterable<Lane>, project: string, lanesMax: number): boolean {
  let held = 0
  for (const lane of lanes) if (occupying(lane).length > 0 && runsOnly(lane, project)) held += 1
  return held < projectLanesMax(lanesMax)
}

/** With more than one lane, tests never occupy all of them. */
function testLanesMax(lanesMax: number): number {
  return Math.max(1, Math.floor(lanesMax / 2))
}

/** With more than one lane, a single project never occupies all of them. */
function projectLanesMax(lanesMax: number): number {
  return Math.max(1, lanesMax - 1)
}

function runsOnly(lane: Lane, project: string): boolean {
  for (const { queued } of occupying(lane)) if (queued.project !== project) return false
  return true
}
