// The pool of lanes: helper processes on the same data folder that run what is too large for the serving loop. A lane that
// overruns the limit of its request is killed and replaced, so every request ends within its limit, whatever it computes.
import type { LaneJob, LaneRunner } from '../http/lane-job.ts'
import type { FrontResponse } from '../http/route.ts'
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'
import { FairQueue } from './fair-queue.ts'
import { type LaneAnswer, LaneEndedError, LaneProcess, type LaneReport } from './lane-process.ts'

export interface LanesOptions {
  /** Lanes that may run at a time, at least 1. They start when they are first needed. */
  readonly max: number
  /** Requests of one project that may wait. */
  readonly queueMax: number
  /** How long a request may wait for a lane, milliseconds. */
  readonly waitMs: number
  /** Memory of an idle lane, bytes, above which it is replaced. */
  readonly memoryMax: number
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
  onEnded(ended: { readonly lane: number; readonly how: string; readonly killedFor: string | null }): void
}

/** Beyond the limit of a request, for the lane to notice it and to write its answer. */
const OVERRUN_MS = 200
/** Writes of one project that may run side by side in one lane: they share commits. */
const WRITES_TOGETHER = 8
/** A request that is repeatable runs again when its lane is killed for another request, at most so often in all. */
const ATTEMPTS_MAX = 3
/** Before a lane that ended by itself is started again: doubled each time, until one has answered. */
const PAUSE_MIN_MS = 50
const PAUSE_MAX_MS = 2000
/** How long a lane without a running request may take to end: answers that were begun are written on for so long. */
const STOP_MS = 5000

interface Waiting {
  readonly job: LaneJob
  readonly project: string
  readonly agent: string
  readonly resolve: (response: FrontResponse) => void
  readonly reject: (fault: ServiceFault) => void
  attempts: number
  /** It was answered before its lane ended: it exceeded its limit. */
  isOver: boolean
  timer: ReturnType<typeof setTimeout> | null
}

interface Running {
  readonly waiting: Waiting
  readonly startMs: number
  readonly timer: ReturnType<typeof setTimeout>
}

interface Lane {
  readonly process: LaneProcess
  readonly number: number
  state: 'starting' | 'ready' | 'ending'
  readonly running: Set<Running>
  /** Why it was killed; null: it was not. */
  killedFor: string | null
  /** It ended while a request ran in it, unasked. */
  failed: boolean
  answers: number
}

export interface LanesState {
  readonly ready: number
  readonly running: number
  readonly waiting: number
  readonly killed: number
  readonly answered: number
}

export class Lanes implements LaneRunner {
  private readonly options: LanesOptions
  private readonly queue: FairQueue<Waiting>
  private readonly lanes = new Map<number, Lane>()
  private readonly restarts = new Set<ReturnType<typeof setTimeout>>()
  private pauseMs = 0
  private pausedUntilMs = 0
  private killed = 0
  private answered = 0
  private closing = false
  private onIdle: (() => void) | null = null

  constructor(options: LanesOptions) {
    this.options = options
    this.queue = new FairQueue(options.queueMax)
  }

  get state(): LanesState {
    const lanes = [...this.lanes.values()]
    return {
      ready: lanes.filter(({ state }) => state === 'ready').length,
      running: lanes.reduce((sum, { running }) => sum + running.size, 0),
      waiting: this.queue.size,
      killed: this.killed,
      answered: this.answered,
    }
  }

  /** Rejects with ServiceFault: the queue is full, the time limit was exceeded, or the lane ended. */
  run(job: LaneJob): Promise<FrontResponse> {
    if (this.closing) return Promise.reject(new ServiceFault(stopping))
    return new Promise((resolve, reject) => {
      const { project, agent } = job
      const waiting: Waiting = { job, project, agent, resolve, reject, attempts: 0, isOver: false, timer: null }
      if (!this.queue.push(waiting)) {
        reject(new ServiceFault(queueFull))
        return
      }
      this.waitFor(waiting)
      job.signal?.addEventListener('abort', () => {
        if (this.queue.remove(waiting)) this.settle(waiting, () => waiting.reject(new ServiceFault(left)))
      })
      this.dispatch()
    })
  }

  reopenLogs(): void {
    for (const { process } of this.lanes.values()) process.tell({ order: 'reopen logs' })
  }

  checkReaders(): void {
    for (const { process } of this.lanes.values()) process.tell({ order: 'check readers' })
  }

  /** Refuses what waits, lets running requests finish for `drainMs`, then ends the lanes. */
  async close(drainMs: number): Promise<void> {
    this.closing = true
    for (const timer of this.restarts) clearTimeout(timer)
    for (let waiting = this.queue.take(() => true); waiting !== null; waiting = this.queue.take(() => true)) {
      this.settle(waiting, () => waiting?.reject(new ServiceFault(stopping)))
    }
    if (this.state.running > 0) {
      const idle = new Promise<void>((resolve) => {
        this.onIdle = resolve
      })
      await Promise.race([idle, Bun.sleep(drainMs)])
    }
    const lanes = [...this.lanes.values()]
    for (const { process } of lanes) process.tell({ order: 'stop' })
    const timer = setTimeout(() => {
      for (const { process } of lanes) process.kill()
    }, STOP_MS)
    await Promise.all(lanes.map(({ process }) => process.stopped()))
    clearTimeout(timer)
  }

  private waitFor(waiting: Waiting): void {
    const { waitMs } = this.options
    waiting.timer = setTimeout(() => {
      if (this.queue.remove(waiting)) this.settle(waiting, () => waiting.reject(new ServiceFault(waitedTooLong)))
    }, waitMs)
  }

  private settle(waiting: Waiting, how: () => void): void {
    if (waiting.timer !== null) clearTimeout(waiting.timer)
    waiting.timer = null
    how()
  }

  private dispatch(): void {
    for (;;) {
      const waiting = this.queue.take((one) => this.laneFor(one) !== null)
      if (waiting === null) break
      const lane = this.laneFor(waiting)
      if (lane === null) break
      void this.runIn(lane, waiting)
    }
    if (this.queue.size > 0) this.grow()
  }

  /** An idle lane, or for a write the lane that writes for the same project. */
  private laneFor({ job, project }: Waiting): Lane | null {
    let idle: Lane | null = null
    let ofProject = 0
    for (const lane of this.lanes.values()) {
      if (lane.state !== 'ready') continue
      if (lane.running.size === 0) {
        idle ??= lane
        continue
      }
      const isOfProject = [...lane.running].every(({ waiting }) => waiting.project === project)
      if (!isOfProject) continue
      ofProject += 1
      const isWriting = [...lane.running].every(({ waiting }) => waiting.job.sharesLane)
      if (job.sharesLane && isWriting) return lane.running.size < WRITES_TOGETHER ? lane : null
    }
    // One project never holds all lanes, where there is more than one.
    return ofProject < Math.max(1, this.options.max - 1) ? idle : null
  }

  private grow(): void {
    if (this.closing || this.lanes.size >= this.options.max) return
    if ([...this.lanes.values()].some(({ state }) => state === 'starting')) return
    if (performance.now() < this.pausedUntilMs) return
    // A project that holds as many lanes as it may gets no other by more of them.
    const busy = [...this.lanes.values()].filter(({ running }) => running.size > 0)
    const waitsForMore = this.queue.some(({ project }) => {
      const held = busy.filter((lane) => [...lane.running].every(({ waiting }) => waiting.project === project)).length
      return held < Math.max(1, this.options.max - 1)
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
        onReport: (report) => this.reported(lane, report),
        onEnd: (how) => this.ended(lane, how),
      }),
      state: 'starting',
      running: new Set(),
      killedFor: null,
      failed: false,
      answers: 0,
    }
    this.lanes.set(number, lane)
  }

  private reported(lane: Lane, { report, bytes }: LaneReport): void {
    if (report === 'ready') {
      if (lane.state === 'starting') lane.state = 'ready'
      this.dispatch()
      return
    }
    const isLarge = bytes !== null && bytes > this.options.memoryMax
    if (isLarge && lane.running.size === 0 && lane.state === 'ready') {
      lane.state = 'ending'
      lane.process.tell({ order: 'stop' })
      // A client that reads a long answer slowly, or not at all, does not keep the lane from being replaced.
      const timer = setTimeout(() => lane.process.kill(), STOP_MS)
      void lane.process.stopped().then(() => clearTimeout(timer))
    }
  }

  private async runIn(lane: Lane, waiting: Waiting): Promise<void> {
    const { job } = waiting
    if (waiting.timer !== null) clearTimeout(waiting.timer)
    waiting.timer = null
    waiting.attempts += 1
    const startMs = performance.now()
    const running: Running = {
      waiting,
      startMs,
      timer: setTimeout(() => this.overrun(lane, running), job.limitMs + OVERRUN_MS),
    }
    lane.running.add(running)
    let answer: LaneAnswer | null = null
    try {
      answer = await lane.process.ask(job.head(), job.body ?? new Uint8Array())
    } catch (error) {
      if (!(error instanceof LaneEndedError)) throw error
      // It gets no further request, even before its end is reported.
      if (lane.state !== 'ending') {
        lane.state = 'ending'
        lane.failed = true
        lane.process.kill()
      }
    }
    clearTimeout(running.timer)
    lane.running.delete(running)
    this.queue.charge(waiting, performance.now() - startMs)
    if (answer === null) this.unanswered(running)
    else {
      lane.answers += 1
      this.answered += 1
      this.pauseMs = 0
      this.options.onCounts(answer.counts)
      const { status, headers, body } = answer
      waiting.resolve({ status, headers, body: '', bytes: body })
    }
    this.dispatch()
    if (this.closing && this.state.running === 0) this.onIdle?.()
  }

  private overrun(lane: Lane, { waiting }: Running): void {
    waiting.isOver = true
    lane.killedFor ??= `${waiting.job.what} exceeded its limit of ${waiting.job.limitMs} ms`
    waiting.reject(new ServiceFault(timedOut(waiting.job)))
    if (lane.state !== 'ending') this.killed += 1
    lane.state = 'ending'
    lane.process.kill()
  }

  /** A request whose lane ended: runs again where that changes nothing, else its outcome is not known. */
  private unanswered({ waiting }: Running): void {
    const { job } = waiting
    if (waiting.isOver) return
    const isAgain = job.signal?.aborted !== true && job.isRepeatable && waiting.attempts < ATTEMPTS_MAX && !this.closing
    if (!isAgain) waiting.reject(new ServiceFault(mayHaveChanged(job) ? outcomeUnknown : laneEnded))
    else {
      this.queue.putBack(waiting)
      this.waitFor(waiting)
    }
  }

  private ended(lane: Lane, how: string): void {
    this.lanes.delete(lane.number)
    const wasAsked = lane.state === 'ending' && lane.killedFor === null && !lane.failed
    if (!this.closing && !wasAsked) this.options.onEnded({ lane: lane.number, how, killedFor: lane.killedFor })
    if (this.closing) return
    this.checkReaders()
    if (lane.killedFor === null && lane.answers === 0 && !wasAsked) {
      this.pauseMs = this.pauseMs === 0 ? PAUSE_MIN_MS : Math.min(this.pauseMs * 2, PAUSE_MAX_MS)
    }
    this.pausedUntilMs = performance.now() + this.pauseMs
    const timer = setTimeout(() => {
      this.restarts.delete(timer)
      // A lane that was killed may have left work of the configuration unfinished, which the next one with its number ends.
      if (!wasAsked) this.ensureNumber(lane.number)
      this.dispatch()
    }, this.pauseMs + 1)
    this.restarts.add(timer)
  }

  private ensureNumber(number: number): void {
    if (this.closing || this.lanes.has(number) || this.lanes.size >= this.options.max) return
    this.start()
  }
}

const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const left: ServiceError = { kind: 'unavailable', message: 'the client has closed the connection' }
const queueFull: ServiceError = {
  kind: 'unavailable',
  message: 'too many large requests of this project are waiting',
  retryAfterS: 1,
}
const waitedTooLong: ServiceError = {
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
function mayHaveChanged({ isRepeatable, sharesLane }: LaneJob): boolean {
  return sharesLane || !isRepeatable
}

function timedOut(job: LaneJob): ServiceError {
  const message = `the time limit of ${job.limitMs} ms is reached`
  if (!mayHaveChanged(job)) return { kind: 'timed-out', message }
  return { kind: 'timed-out', message: `${message}; whether the change was stored is not known` }
}
