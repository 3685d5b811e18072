// Bodies that have not come whole yet: each has so long and no longer, and none holds up a stop.
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'

/** How often the clock is looked at. */
const TICK_MS = 250
/** What a body that is on its way gets when the server stops. */
const STOP_GRACE_MS = 1000

const tooSlow: ServiceError = { kind: 'too-slow', message: 'the body did not come within the time limit' }
const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const connectionEnded: ServiceError = { kind: 'malformed', issues: ['body: the connection ended before the body'] }

/** A member of a ring, oldest first. Every request enters and leaves it; a set takes three times as long for that. */
class PendingBody {
  previous: PendingBody = this
  next: PendingBody = this
  /** In looks. */
  readonly deadlineTick: number
  readonly reject: (fault: ThrownServiceError) => void

  constructor(until: number, give: (fault: ThrownServiceError) => void) {
    this.deadlineTick = until
    this.reject = give
  }

  /** Puts it behind all others of the ring that begins with `first`. */
  insertBefore(first: PendingBody): void {
    this.previous = first.previous
    this.next = first
    first.previous.next = this
    first.previous = this
  }

  /** Calling it again has no effect. */
  remove(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

export class BodyTimeout {
  private readonly timeoutTicks: number
  private readonly graceMs: number
  private tick = 0
  /** The sentinel before the oldest entry. */
  private readonly sentinel = new PendingBody(0, () => undefined)
  private readonly timer: ReturnType<typeof setInterval>

  constructor(timeMs: number) {
    this.timeoutTicks = Math.ceil(timeMs / TICK_MS)
    this.graceMs = Math.min(STOP_GRACE_MS, timeMs)
    // One for all: a timer of its own would cost each request more than all the rest here.
    this.timer = setInterval(() => this.onTick(), TICK_MS)
    this.timer.unref()
  }

  /** The body when it comes; rejects with a ServiceFault when it does not. */
  wait(body: Promise<Uint8Array>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const wait = new PendingBody(this.tick + this.timeoutTicks, reject)
      wait.insertBefore(this.sentinel)
      body.then(
        (bytes) => {
          wait.remove()
          resolve(bytes)
        },
        (fault: unknown) => {
          wait.remove()
          reject(fault instanceof ThrownServiceError ? fault : new ThrownServiceError(connectionEnded))
        },
      )
    })
  }

  /** Refuses what has not come after a moment more. */
  stop(): void {
    clearInterval(this.timer)
    if (this.sentinel.next === this.sentinel) return
    setTimeout(() => this.rejectExpired(stopping, Number.POSITIVE_INFINITY), this.graceMs)
  }

  private onTick(): void {
    this.tick += 1
    this.rejectExpired(tooSlow, this.tick)
  }

  /** All that wait until before then: all have the same time, so the oldest are the first. */
  private rejectExpired(error: ServiceError, before: number): void {
    for (
      let first = this.sentinel.next;
      first !== this.sentinel && first.deadlineTick < before;
      first = this.sentinel.next
    ) {
      first.remove()
      first.reject(new ThrownServiceError(error))
    }
  }
}
