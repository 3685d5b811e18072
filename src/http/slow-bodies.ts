// Bodies that have not come whole yet: each has so long and no longer, and none holds up a stop.
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'

/** How often the clock is looked at. */
const LOOK_MS = 250
/** What a body that is on its way gets when the server stops. */
const GRACE_MS = 1000

const tooSlow: ServiceError = { kind: 'too-slow', message: 'the body did not come within the time limit' }
const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const cutOff: ServiceError = { kind: 'malformed', issues: ['body: the connection ended before the body'] }

/** A member of a ring, oldest first. Every request enters and leaves it; a set takes three times as long for that. */
class Wait {
  before: Wait = this
  next: Wait = this
  /** In looks. */
  readonly until: number
  readonly give: (fault: ServiceFault) => void

  constructor(until: number, give: (fault: ServiceFault) => void) {
    this.until = until
    this.give = give
  }

  /** Puts it behind all others of the ring that begins with `first`. */
  enter(first: Wait): void {
    this.before = first.before
    this.next = first
    first.before.next = this
    first.before = this
  }

  /** Calling it again has no effect. */
  leave(): void {
    this.before.next = this.next
    this.next.before = this.before
    this.before = this
    this.next = this
  }
}

export class SlowBodies {
  private readonly looksMax: number
  private readonly graceMs: number
  private looks = 0
  /** The sentinel before the oldest entry. */
  private readonly waits = new Wait(0, () => undefined)
  private readonly timer: ReturnType<typeof setInterval>

  constructor(timeMs: number) {
    this.looksMax = Math.ceil(timeMs / LOOK_MS)
    this.graceMs = Math.min(GRACE_MS, timeMs)
    // One for all: a timer of its own would cost each request more than all the rest here.
    this.timer = setInterval(() => this.look(), LOOK_MS)
    this.timer.unref()
  }

  /** The body when it comes; rejects with a ServiceFault when it does not. */
  wait(body: Promise<Uint8Array>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const wait = new Wait(this.looks + this.looksMax, reject)
      wait.enter(this.waits)
      body.then(
        (bytes) => {
          wait.leave()
          resolve(bytes)
        },
        (fault: unknown) => {
          wait.leave()
          reject(fault instanceof ServiceFault ? fault : new ServiceFault(cutOff))
        },
      )
    })
  }

  /** Refuses what has not come after a moment more. */
  stop(): void {
    clearInterval(this.timer)
    if (this.waits.next === this.waits) return
    setTimeout(() => this.refuse(stopping, Number.POSITIVE_INFINITY), this.graceMs)
  }

  private look(): void {
    this.looks += 1
    this.refuse(tooSlow, this.looks)
  }

  /** All that wait until before then: all have the same time, so the oldest are the first. */
  private refuse(error: ServiceError, before: number): void {
    for (let first = this.waits.next; first !== this.waits && first.until < before; first = this.waits.next) {
      first.leave()
      first.give(new ServiceFault(error))
    }
  }
}
