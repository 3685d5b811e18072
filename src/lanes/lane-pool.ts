// The pool of lanes: helper processes on the same data folder that run what is too large for the serving loop. A lane that
// overruns the limit of its request is killed and replaced, so every request ends within its limit, whatever it computes.
import type { LaneJob, LaneRunner } from '../http/lane-job.ts'
import type { HttpResponse } from '../http/route.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { FairQueue } from './fair-queue.ts'
import { LaneEndedError, type LaneEvent, LaneProcess, type LaneResponse } from './lane-process.ts'

export interface LanePoolOptions {
  /** Lanes that may run at a time, at least 1. They start when they are first needed. */
  readonly lanesMax: number
  /** Requests of one project that may wait. */
  readonly queueMax: number
  /** How long a request may wait for a lane, milliseconds. */
  readonly waitMs: number
  /** Memory of an idle lane, bytes, above which it is replaced. */
  readonly memoryBytesMax: number
  /** The command line of a lane. */
  readonly command: readonly string[]
  /** Sent to each lane as it is. */
  readonly settings: unknown
  readonly proof: string
  /** The number of the first lane. A lane that takes the place of another gets its number. */
  readonly firstNumber: number
  /** The path of its Unix socket, which does not exist yet; at most 100 bytes. */
  socketOf(number: number): string
  /** Called before each start of a lane. */
  onStart(): void
  /** What a lane counted. */
  onCounts(counts: Readonly<Record<string, number>>): void
  /** A lane ended that was not asked to; it may have been reading a graph. `how` is for the log. */
  onUnexpectedExit(ended: { readonly lane: number; readonly how: string; readonly killedFor: string | null }): void
}

/** Beyond the limit of a request, for the lane to notice it and to write its answer. */
const KILL_GRACE_MS = 200
/** Writes of one project that may run side by side in one lane: they share commits. */
const CONCURRENT_WRITES_MAX = 8
/** A request that is repeatable runs again when its lane is killed for another request, at most so often in all. */
const ATTEMPTS_MAX = 3
/** Before a lane that ended by itself is started again: doubled each time, until one has answered. */
const RESTART_DELAY_MIN_MS = 50
const RESTART_DELAY_MAX_MS = 2000
/** How long a lane without a running request may take to end: answers that were begun are written on for so long. */
const STOP_TIMEOUT_MS = 5000

interface QueuedRequest {
  readonly job: LaneJob
  readonly project: string
  readonly agent: string
  readonly resolve: (response: HttpResponse) => void
  readonly reject: (fault: ThrownServiceError) => void
  attempts: number
  /** It was answered before its lane ended: it exceeded its limit. */
  isTimedOut: boolean
  timer: ReturnType<typeof setTimeout> | null
}

interface RunningRequest {
  readonly queued: QueuedRequest
  readonly startMs: number
  readonly timer: ReturnType<typeof setTimeout>
}

interface Lane {
  readonly process: LaneProcess
  readonly number: number
  state: 'starting' | 'ready' | 'ending'
  readonly running: Set<RunningRequest>
  /** Why it was killed; null: it was not. */
  killedFor: string | null
  /** It ended while a request ran in it, unasked. */
  hasFailed: boolean
  responses: number
}

export interface LanePoolState {
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly killed: number
  readonly answered: number
}

export class LanePool implements LaneRunner {
  private readonly options: LanePoolOptions
  private readonly queue: FairQueue<QueuedRequest>
  private readonly lanes = new Map<number, Lane>()
  private readonly restarts = new Set<ReturnType<typeof setTimeout>>()
  private restartDelayMs = 0
  private noRestartBeforeMs = 0
  private killCount = 0
  private responseCount = 0
  private isClosing = false
  private onIdle: (() => void) | null = null

  constructor(options: LanePoolOptions) {
    this.options = options
    this.queue = new FairQueue(options.queueMax)
  }

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

  /** Rejects with ServiceFault: the queue is full, the time limit was exceeded, or the lane ended. */
  run(job: LaneJob): Promise<HttpResponse> {
    if (this.isClosing) return Promise.reject(new ThrownServiceError(stopping))
    return new Promise((resolve, reject) => {
      const { project, agent } = job
      const waiting: QueuedRequest = {
        job,
        project,
        agent,
        resolve,
        reject,
        attempts: 0,
        isTimedOut: false,
        timer: null,
      }
      if (!this.queue.enqueue(waiting)) {
        reject(new ThrownServiceError(queueFull))
        return
      }
      this.startWaitTimer(waiting)
      job.signal?.addEventListener('abort', () => {
        if (this.queue.remove(waiting)) this.settle(waiting, () => waiting.reject(new ThrownServiceError(clientGone)))
      })
      this.dispatch()
    })
  }

  reopenLogs(): void {
    for (const { process } of this.lanes.values()) process.send({ order: 'reopen logs' })
  }

  checkReaders(): void {
    for (const { process } of this.lanes.values()) process.send({ order: 'check readers' })
  }

  /** Refuses what waits, lets running requests finish for `drainMs`, then ends the lanes. */
  async close(drainMs: number): Promise<void> {
    this.isClosing = true
    for (const timer of this.restarts) clearTimeout(timer)
    for (let waiting = this.queue.dequeue(() => true); waiting !== null; waiting = this.queue.dequeue(() => true)) {
      this.settle(waiting, () => waiting?.reject(new ThrownServiceError(stopping)))
    }
    if (this.state.running > 0) {
      const idle = new Promise<void>((resolve) => {
        this.onIdle = resolve
      })
      await Promise.race([idle, Bun.sleep(drainMs)])
    }
    const lanes = [...this.lanes.values()]
    for (const { process } of lanes) process.send({ order: 'stop' })
    const timer = setTimeout(() => {
      for (const { process } of lanes) process.kill()
    }, STOP_TIMEOUT_MS)
    await Promise.all(lanes.map(({ process }) => process.exited()))
    clearTimeout(timer)
  }

  private startWaitTimer(waiting: QueuedRequest): void {
    const { waitMs } = this.options
    waiting.timer = setTimeout(() => {
      if (this.queue.remove(waiting)) this.settle(waiting, () => waiting.reject(new ThrownServiceError(waitTimedOut)))
    }, waitMs)
  }

  private settle(waiting: QueuedRequest, how: () => void): void {
    if (waiting.timer !== null) clearTimeout(waiting.timer)
    waiting.timer = null
    how()
  }

  private dispatch(): void {
    for (;;) {
      const waiting = this.queue.dequeue((one) => this.laneFor(one) !== null)
      if (waiting === null) break
      const lane = this.laneFor(waiting)
      if (lane === null) break
      void this.runInLane(lane, waiting)
    }
    if (this.queue.size > 0) this.grow()
  }

  /** An idle lane, or for a write the lane that writes for the same project. */
  private laneFor({ job, project }: QueuedRequest): Lane | null {
    let idle: Lane | null = null
    let ofProject = 0
    for (const lane of this.lanes.values()) {
      if (lane.state !== 'ready') continue
      if (lane.running.size === 0) {
        idle ??= lane
        continue
      }
      const isOfProject = [...lane.running].every(({ queued }) => queued.project === project)
      if (!isOfProject) continue
      ofProject += 1
      const isWriting = [...lane.running].every(({ queued }) => queued.job.isSharedWrite)
      if (job.isSharedWrite && isWriting) return lane.running.size < CONCURRENT_WRITES_MAX ? lane : null
    }
    // One project never holds all lanes, where there is more than one.
    return ofProject < Math.max(1, this.options.lanesMax - 1) ? idle : null
  }

  private grow(): void {
    if (this.isClosing || this.lanes.size >= this.options.lanesMax) return
    if ([...this.lanes.values()].some(({ state }) => state === 'starting')) return
    if (performance.now() < this.noRestartBeforeMs) return
    // A project that holds as many lanes as it may gets no other by more of them.
    const busy = [...this.lanes.values()].filter(({ running }) => running.size > 0)
    const waitsForMore = this.queue.someOldest(({ project }) => {
      const held = busy.filter((lane) => [...lane.running].every(({ queued }) => queued.project === project)).length
      return held < Math.max(1, this.options.lanesMax - 1)
    })
    if (waitsForMore || this.lanes.size === 0) this.start()
  }

  private start(): void {
    const { firstNumber, command, settings, proof, socketOf, onStart } = this.options
    onStart()
    let number = firstNumber
    while (this.lanes.has(number)) number += 1
    const lane: Lane = {
      number,
      process: new LaneProcess({
        command,
        settings,
        number,
        proof,
        socket: socketOf(number),
        onEvent: (report) => this.onEvent(lane, report),
        onExit: (how) => this.onExit(lane, how),
      }),
      state: 'starting',
      running: new Set(),
      killedFor: null,
      hasFailed: false,
      responses: 0,
    }
    this.lanes.set(number, lane)
  }

  private onEvent(lane: Lane, { report, bytes }: LaneEvent): void {
    if (report === 'ready') {
      if (lane.state === 'starting') lane.state = 'ready'
      this.dispatch()
      return
    }
    const isLarge = bytes !== null && bytes > this.options.memoryBytesMax
    if (isLarge && lane.running.size === 0 && lane.state === 'ready') {
      lane.state = 'ending'
      lane.process.send({ order: 'stop' })
      // A client that reads a long answer slowly, or not at all, does not keep the lane from being replaced.
      const timer = setTimeout(() => lane.process.kill(), STOP_TIMEOUT_MS)
      void lane.process.exited().then(() => clearTimeout(timer))
    }
  }

  private async runInLane(lane: Lane, waiting: QueuedRequest): Promise<void> {
    const { job } = waiting
    if (waiting.timer !== null) clearTimeout(waiting.timer)
    waiting.timer = null
    waiting.attempts += 1
    const startMs = performance.now()
    const running: RunningRequest = {
      queued: waiting,
      startMs,
      timer: setTimeout(() => this.onTimeLimit(lane, running), job.limitMs + KILL_GRACE_MS),
    }
    lane.running.add(running)
    let answer: LaneResponse | null = null
    try {
      answer = await lane.process.request(job.head(), job.body ?? new Uint8Array())
    } catch (error) {
      if (!(error instanceof LaneEndedError)) throw error
      // It gets no further request, even before its end is reported.
      if (lane.state !== 'ending') {
        lane.state = 'ending'
        lane.hasFailed = true
        lane.process.kill()
      }
    }
    clearTimeout(running.timer)
    lane.running.delete(running)
    this.queue.charge(waiting, performance.now() - startMs)
    if (answer === null) this.onLaneEnded(running)
    else {
      lane.responses += 1
      this.responseCount += 1
      this.restartDelayMs = 0
      this.options.onCounts(answer.counts)
      const { status, headers, body } = answer
      waiting.resolve({ status, headers, body: '', bytes: body })
    }
    this.dispatch()
    if (this.isClosing && this.state.running === 0) this.onIdle?.()
  }

  private onTimeLimit(lane: Lane, { queued }: RunningRequest): void {
    queued.isTimedOut = true
    lane.killedFor ??= `${queued.job.label} exceeded its limit of ${queued.job.limitMs} ms`
    queued.reject(new ThrownServiceError(timeLimitError(queued.job)))
    if (lane.state !== 'ending') this.killCount += 1
    lane.state = 'ending'
    lane.process.kill()
  }

  /** A request whose lane ended: runs again where that changes nothing, else its outcome is not known. */
  private onLaneEnded({ queued }: RunningRequest): void {
    const { job } = queued
    if (queued.isTimedOut) return
    const isAgain =
      job.signal?.aborted !== true && job.isRepeatable && queued.attempts < ATTEMPTS_MAX && !this.isClosing
    if (!isAgain) queued.reject(new ThrownServiceError(mayHaveWritten(job) ? outcomeUnknown : laneEnded))
    else {
      this.queue.requeue(queued)
      this.startWaitTimer(queued)
    }
  }

  private onExit(lane: Lane, how: string): void {
    this.lanes.delete(lane.number)
    const wasAsked = lane.state === 'ending' && lane.killedFor === null && !lane.hasFailed
    if (!this.isClosing && !wasAsked)
      this.options.onUnexpectedExit({ lane: lane.number, how, killedFor: lane.killedFor })
    if (this.isClosing) return
    this.checkReaders()
    if (lane.killedFor === null && lane.responses === 0 && !wasAsked) {
      this.restartDelayMs =
        this.restartDelayMs === 0 ? RESTART_DELAY_MIN_MS : Math.min(this.restartDelayMs * 2, RESTART_DELAY_MAX_MS)
    }
    this.noRestartBeforeMs = performance.now() + this.restartDelayMs
    const timer = setTimeout(() => {
      this.restarts.delete(timer)
      // A lane that was killed may have left work of the configuration unfinished, which the next one with its number ends.
      if (!wasAsked) this.ensureNumber(lane.number)
      this.dispatch()
    }, this.restartDelayMs + 1)
    this.restarts.add(timer)
  }

  private ensureNumber(number: number): void {
    if (this.isClosing || this.lanes.has(number) || this.lanes.size >= this.options.lanesMax) return
    this.start()
  }
}

const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const clientGone: ServiceError = { kind: 'unavailable', message: 'the client has closed the connection' }
const queueFull: ServiceError = {
  kind: 'unavailable',
  message: 'too many large requests of this project are waiting',
  retryAfterS: 1,
}
const waitTimedOut: ServiceError = {
  kind: 'unavailable',
  message: 'the request waited too long behind other large requests',
  retryAfterS: 5,
}
const laneEnded: ServiceError = {
  kind: 'unavailable',
  message: 'the process that ran this request ended; nothing was changed',
  retryAfterS: 1,
}
const outcomeUnknown: ServiceError = {
  kind: 'unavailable',
  message: 'the process that ran this request ended; whether the change was stored is not known',
  retryAfterS: 1,
}

/** Also an upsert, which is repeated, may have been stored before its lane ended. */
function mayHaveWritten({ isRepeatable, isSharedWrite }: LaneJob): boolean {
  return isSharedWrite || !isRepeatable
}

function timeLimitError(job: LaneJob): ServiceError {
  const message = `the time limit of ${job.limitMs} ms is reached`
  if (!mayHaveWritten(job)) return { kind: 'timed-out', message }
  return { kind: 'timed-out', message: `${message}; whether the change was stored is not known` }
}
