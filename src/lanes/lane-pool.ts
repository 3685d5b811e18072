// The pool of lanes: helper processes on the same data folder that run requests too large for the event loop. A lane
// that exceeds the time limit of its request is killed and replaced, so every request ends within its limit
// (docs/decisions/0018-lanes.md).
import type { LaneJob, LaneRunner } from '../http/lane-job.ts'
import type { HttpResponse } from '../http/route.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import type { ChildExit } from '../processes/child-process.ts'
import { RestartDelay } from '../processes/restart-delay.ts'
import { FairQueue } from './fair-queue.ts'
import { canUseAnotherLane, chooseLane, type Lane, type QueuedRequest, type RunningRequest } from './lane.ts'
import {
  clientGone,
  laneExited,
  queueFull,
  startTimedOut,
  stopping,
  timeLimitError,
  waitTimedOut,
} from './lane-errors.ts'
import { LaneEndedError, LaneProcess, type LaneResponse } from './lane-process.ts'

/** Options of a pool. */
export interface LanePoolOptions {
  /** Maximum number of lanes, at least 1. A lane starts when it is first needed. */
  readonly lanesMax: number
  /** Maximum number of waiting requests of one project. */
  readonly queueMax: number
  /** Maximum time that a request waits for a lane, milliseconds. */
  readonly waitMs: number
  /**
   * A lane that does not accept requests after this time is killed and replaced, milliseconds. Its replacement gets twice the time, because
   * the machine may be slow.
   */
  readonly startMaxMs: number
  /** How often a lane is asked whether it answers, milliseconds. For tests. Absent: that of `ChildProcess.watch`. */
  readonly pingMs?: number
  /** An idle lane with more memory than this is replaced, bytes. */
  readonly memoryBytesMax: number
  /** The command line of a lane. */
  readonly command: readonly string[]
  /** Settings sent to each lane. */
  readonly settings: unknown
  /** Shows a lane that this process holds the lock of the data folder. */
  readonly proof: string
  /** The number of the first lane. A replacement gets the number of the lane that it replaces. */
  readonly firstNumber: number
  /** Returns the path of the Unix socket of a lane: a free path of at most 100 bytes. */
  socketOf(number: number): string
  /** Called before each start of a lane. */
  onStart(): void
  /** Called with the metric increments of a lane. */
  onCounts(counts: Readonly<Record<string, number>>): void
  /** Called when a lane exited that was not stopped; it may have left a stale LMDB reader slot. */
  onUnexpectedExit(lane: number, exit: ChildExit): void
}

/** Time beyond the limit of a request that a lane gets to detect the limit itself and to write its response. */
const KILL_GRACE_MS = 200
/** A repeatable request whose lane was killed for another request runs again, at most this many times in total. */
const ATTEMPTS_MAX = 3
/** The time that a lane gets to start is not doubled beyond this. */
const START_LIMIT_MAX_MS = 600_000

/** Counts of a pool, for metrics. */
export interface LanePoolState {
  /** Lanes that accept requests. */
  readonly ready: number
  /** Requests in lanes. */
  readonly running: number
  /** Requests in the queue. */
  readonly waiting: number
  /** Lanes killed since the start, because a request exceeded its limit. */
  readonly killed: number
  /** Responses of lanes since the start. */
  readonly answered: number
}

/** The lanes of one serving process. */
export class LanePool implements LaneRunner {
  private readonly options: LanePoolOptions
  private readonly queue: FairQueue<QueuedRequest>
  private readonly lanes = new Map<number, Lane>()
  private readonly restarts = new Set<ReturnType<typeof setTimeout>>()
  private readonly delay = new RestartDelay()
  private restartDelayMs = 0
  private noRestartBeforeMs = 0
  private killCount = 0
  private responseCount = 0
  private isClosing = false
  private onIdle: (() => void) | null = null
  /** The time that the next lane gets to start. */
  private startLimitMs: number
  /** Called when a lane accepts requests. */
  private readonly warming = new Set<() => void>()

  constructor(options: LanePoolOptions) {
    this.options = options
    this.startLimitMs = options.startMaxMs
    this.queue = new FairQueue(options.queueMax)
  }

  /** The current counts. */
  get state(): LanePoolState {
    const lanes = [...this.lanes.values()]
    return {
      ready: lanes.filter(({ state }) => state === 'ready').length,
      running: lanes.reduce((sum, { running }) => sum + running.size, 0),
      waiting: this.queue.size,
      killed: this.killCount,
      answered: this.responseCount,
    }
  }

  /** Rejects with ThrownServiceError if the queue is full, a time limit was exceeded, the lane exited, or the pool is closing. */
  run(job: LaneJob): Promise<HttpResponse> {
    if (this.isClosing) return Promise.reject(new ThrownServiceError(stopping))
    return new Promise((resolve, reject) => {
      const { project, agent } = job
      const request: QueuedRequest = {
        job,
        project,
        agent,
        resolve,
        reject,
        attempts: 0,
        isTimedOut: false,
        timer: null,
      }
      if (!this.queue.enqueue(request)) {
        reject(new ThrownServiceError(queueFull))
        return
      }
      this.startWaitTimer(request)
      job.signal?.addEventListener('abort', () => {
        if (this.queue.remove(request)) rejectQueued(request, clientGone)
      })
      this.dispatch()
    })
  }

  /** Starts a lane if no lane runs. Resolves when one accepts requests, or after `maxMs` milliseconds. */
  async warm(maxMs: number): Promise<void> {
    if (this.isClosing || this.state.ready > 0) return
    let done = (): void => undefined
    const ready = new Promise<void>((resolve) => {
      done = resolve
    })
    this.warming.add(done)
    if (this.lanes.size === 0) this.start()
    await Promise.race([ready, Bun.sleep(maxMs)])
    this.warming.delete(done)
  }

  /** Makes all lanes reopen their log files. */
  reopenLogs(): void {
    for (const { process } of this.lanes.values()) process.command('reopen logs')
  }

  /** Makes all lanes clear stale LMDB reader slots. */
  checkReaders(): void {
    for (const { process } of this.lanes.values()) process.checkReaders()
  }

  /**
   * Checks the idle lanes, for the watchdog of the service manager. A lane that does not answer within `timeoutMs` is
   * killed and replaced. Resolves with whether all of them answered.
   */
  async check(timeoutMs: number): Promise<boolean> {
    const idle = [...this.lanes.values()].filter((lane) => lane.state === 'ready' && lane.running.size === 0)
    const answers = await Promise.all(idle.map((lane) => this.checkLane(lane, timeoutMs)))
    return !answers.includes(false)
  }

  private async checkLane(lane: Lane, timeoutMs: number): Promise<boolean> {
    if (await lane.process.ping(timeoutMs)) return true
    // It may have received a request, or the pool may be closing.
    if (lane.state !== 'ready' || lane.running.size > 0 || this.isClosing) return true
    lane.state = 'ending'
    lane.process.kill(`it did not answer a check within ${timeoutMs} ms`, 'hung')
    return false
  }

  /** Rejects waiting requests, lets running ones finish for at most `drainMs` milliseconds, then stops the lanes. */
  async close(drainMs: number): Promise<void> {
    this.isClosing = true
    for (const timer of this.restarts) clearTimeout(timer)
    for (let request = this.queue.dequeue(() => true); request !== null; request = this.queue.dequeue(() => true)) {
      rejectQueued(request, stopping)
    }
    if (this.state.running > 0) {
      const idle = new Promise<void>((resolve) => {
        this.onIdle = resolve
      })
      await Promise.race([idle, Bun.sleep(drainMs)])
    }
    const lanes = [...this.lanes.values()]
    await Promise.all(lanes.map(({ process }) => process.stop()))
  }

  private startWaitTimer(request: QueuedRequest): void {
    request.timer = setTimeout(() => {
      if (!this.queue.remove(request)) return
      const isAnyReady = [...this.lanes.values()].some(({ state }) => state === 'ready')
      rejectQueued(request, isAnyReady ? waitTimedOut : startTimedOut)
    }, this.options.waitMs)
  }

  private dispatch(): void {
    for (;;) {
      const request = this.queue.dequeue((oldest) => this.laneFor(oldest) !== null)
      const lane = request === null ? null : this.laneFor(request)
      if (request === null || lane === null) break
      void this.runInLane(lane, request)
    }
    if (this.queue.size > 0) this.grow()
  }

  private laneFor(request: QueuedRequest): Lane | null {
    return chooseLane(this.lanes.values(), request, this.options.lanesMax)
  }

  private grow(): void {
    if (this.isClosing || this.lanes.size >= this.options.lanesMax) return
    if ([...this.lanes.values()].some(({ state }) => state === 'starting')) return
    if (performance.now() < this.noRestartBeforeMs) return
    const { lanesMax } = this.options
    // A project at its limit of lanes gains nothing from another lane.
    const isUseful = this.queue.someOldest(({ project }) => canUseAnotherLane(this.lanes.values(), project, lanesMax))
    if (isUseful || this.lanes.size === 0) this.start()
  }

  private start(): void {
    const { firstNumber, command, settings, proof, pingMs, socketOf, onStart } = this.options
    onStart()
    let number = firstNumber
    while (this.lanes.has(number)) number += 1
    const { startLimitMs } = this
    const lane: Lane = {
      number,
      process: new LaneProcess({
        command,
        task: { settings, identity: { number, proof }, socket: socketOf(number) },
        onOpen: () => this.onOpen(lane),
        onEvent: ({ memoryBytes }) => this.onMemory(lane, memoryBytes),
        onExit: (exit) => this.onExit(lane, exit),
      }),
      state: 'starting',
      running: new Set(),
      startTimer: setTimeout(() => this.onStartLimit(lane, startLimitMs), startLimitMs),
      responses: 0,
    }
    lane.startTimer.unref()
    lane.process.watch(Number.POSITIVE_INFINITY, pingMs)
    this.lanes.set(number, lane)
  }

  /** A lane that hangs while it starts would prevent the start of another one. */
  private onStartLimit(lane: Lane, limitMs: number): void {
    if (lane.state !== 'starting') return
    this.startLimitMs = Math.min(2 * limitMs, START_LIMIT_MAX_MS)
    lane.state = 'ending'
    lane.process.kill(`it did not start within ${limitMs} ms`, 'hung')
  }

  private onOpen(lane: Lane): void {
    if (lane.state === 'starting') lane.state = 'ready'
    clearTimeout(lane.startTimer)
    this.startLimitMs = this.options.startMaxMs
    for (const done of this.warming) done()
    this.dispatch()
  }

  private onMemory(lane: Lane, bytes: number | null): void {
    if (bytes === null || bytes <= this.options.memoryBytesMax || lane.running.size > 0 || lane.state !== 'ready')
      return
    lane.state = 'ending'
    // A client that reads a long response slowly does not prevent the replacement: the time of a stop is limited.
    void lane.process.stop()
  }

  private async runInLane(lane: Lane, request: QueuedRequest): Promise<void> {
    const { job } = request
    clearWaitTimer(request)
    request.attempts += 1
    const startMs = performance.now()
    const running: RunningRequest = {
      queued: request,
      startMs,
      timer: setTimeout(() => this.onTimeLimit(lane, running), job.limitMs + KILL_GRACE_MS),
    }
    lane.running.add(running)
    job.onStart?.(lane.number)
    let response: LaneResponse | null = null
    let mayBeStored = false
    try {
      response = await lane.process.request(job.head(), job.body ?? new Uint8Array())
    } catch (error) {
      if (!(error instanceof LaneEndedError)) throw error
      // Assign no further request to this lane, even before its exit is reported.
      if (lane.state !== 'ending') {
        lane.state = 'ending'
        lane.process.kill()
      }
      // Until then it may still commit.
      await lane.process.exited
      mayBeStored = lane.process.mayBeStored(error)
    }
    clearTimeout(running.timer)
    lane.running.delete(running)
    this.queue.charge(request, job.isWaiting ? 0 : performance.now() - startMs)
    if (response === null) this.onLaneEnded(running, mayBeStored)
    else {
      lane.responses += 1
      this.responseCount += 1
      this.restartDelayMs = 0
      this.delay.reset()
      this.options.onCounts(response.counts)
      const { status, headers, body } = response
      request.resolve({ status, headers, body: '', bytes: body })
    }
    this.dispatch()
    if (this.isClosing && this.state.running === 0) this.onIdle?.()
  }

  private onTimeLimit(lane: Lane, { queued }: RunningRequest): void {
    queued.isTimedOut = true
    queued.reject(new ThrownServiceError(timeLimitError(queued.job)))
    if (lane.state !== 'ending') this.killCount += 1
    lane.state = 'ending'
    lane.process.kill(`${queued.job.label} exceeded its limit of ${queued.job.limitMs} ms`)
  }

  /** The lane of a request exited: repeats the request if that is safe, else rejects it. */
  private onLaneEnded({ queued }: RunningRequest, mayBeStored: boolean): void {
    const { job } = queued
    if (queued.isTimedOut) return
    const isRepeatable = job.isRepeatable && !mayBeStored
    const canRepeat = job.signal?.aborted !== true && isRepeatable && queued.attempts < ATTEMPTS_MAX && !this.isClosing
    if (!canRepeat) queued.reject(new ThrownServiceError(laneExited(job)))
    else {
      this.queue.requeue(queued)
      this.startWaitTimer(queued)
    }
  }

  private onExit(lane: Lane, exit: ChildExit): void {
    this.lanes.delete(lane.number)
    clearTimeout(lane.startTimer)
    if (this.isClosing) return
    const wasStopped = exit.cause === 'stopped'
    if (!wasStopped) this.options.onUnexpectedExit(lane.number, exit)
    this.checkReaders()
    if (exit.killedFor === null && lane.responses === 0 && !wasStopped) this.restartDelayMs = this.delay.nextMs()
    this.noRestartBeforeMs = performance.now() + this.restartDelayMs
    const timer = setTimeout(() => {
      this.restarts.delete(timer)
      // A killed lane may have left intents of a configuration change. The next lane with its number completes them.
      if (!wasStopped) this.ensureNumber(lane.number)
      this.dispatch()
    }, this.restartDelayMs + 1)
    this.restarts.add(timer)
  }

  private ensureNumber(number: number): void {
    if (this.isClosing || this.lanes.has(number) || this.lanes.size >= this.options.lanesMax) return
    this.start()
  }
}

function rejectQueued(request: QueuedRequest, error: ServiceError): void {
  clearWaitTimer(request)
  request.reject(new ThrownServiceError(error))
}

function clearWaitTimer(request: QueuedRequest): void {
  if (request.timer !== null) clearTimeout(request.timer)
  request.timer = null
}
