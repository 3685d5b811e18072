// The time limit for receiving a request body. Incomplete bodies also do not delay a stop.
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'

/** Resolution of the timeout, milliseconds. */
const TICK_MS = 250
/** Time that incomplete bodies get when the server stops, milliseconds. */
const STOP_GRACE_MS = 1000

const tooSlow: ServiceError = { kind: 'too-slow', message: 'the body was not received within the time limit' }
const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const connectionEnded: ServiceError = {
  kind: 'malformed',
  issues: ['body: the connection was closed before the end of the body'],
}

/** An entry of a doubly linked ring, oldest first. Insertion and removal are on the path of every request; a Set is 3× slower. */
class PendingBody {
  previous: PendingBody = this
  next: PendingBody = this
  /** In ticks. */
  readonly deadlineTick: number
  readonly reject: (error: ThrownServiceError) => void

  constructor(deadlineTick: number, reject: (error: ThrownServiceError) => void) {
    this.deadlineTick = deadlineTick
    this.reject = reject
  }

  /** Appends this entry to the ring with the sentinel `first`. */
  insertBefore(first: PendingBody): void {
    this.previous = first.previous
    this.next = first
    first.previous.next = this
    first.previous = this
  }

  /** Removes this entry from its ring. Idempotent. */
  remove(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

/** The timeout of all bodies of one server. */
export class BodyTimeout {
  private readonly timeoutTicks: number
  private readonly graceMs: number
  private tick = 0
  /** Head of the ring; its `next` is the oldest entry. */
  private readonly sentinel = new PendingBody(0, () => undefined)
  /** One timer for all bodies: a timer per request would cost more than the rest of this class. Null: no body is awaited. */
  private timer: ReturnType<typeof setInterval> | null = null

  constructor(timeMs: number) {
    this.timeoutTicks = Math.ceil(timeMs / TICK_MS)
    this.graceMs = Math.min(STOP_GRACE_MS, timeMs)
  }

  /** Resolves to the body. Rejects with ThrownServiceError: `too-slow`, `unavailable` (stopping) or `malformed` (disconnected). */
  wait(body: Promise<Uint8Array>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const wait = new PendingBody(this.tick + this.timeoutTicks, reject)
      wait.insertBefore(this.sentinel)
      this.timer ??= this.begin()
      body.then(
        (bytes) => {
          wait.remove()
          resolve(bytes)
        },
        (error: unknown) => {
          wait.remove()
          reject(error instanceof ThrownServiceError ? error : new ThrownServiceError(connectionEnded))
        },
      )
    })
  }

  /** Rejects incomplete bodies after a grace period. */
  stop(): void {
    this.end()
    if (this.sentinel.next === this.sentinel) return
    setTimeout(() => this.rejectExpired(stopping, Number.POSITIVE_INFINITY), this.graceMs)
  }

  private begin(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.onTick(), TICK_MS)
    timer.unref()
    return timer
  }

  private end(): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.timer = null
  }

  private onTick(): void {
    if (this.sentinel.next === this.sentinel) this.end()
    this.tick += 1
    this.rejectExpired(tooSlow, this.tick)
  }

  /** Rejects entries with a deadline before `before`. All have the same timeout, so the oldest expire first. */
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
